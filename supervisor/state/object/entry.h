/* Runs: supervisor, CLI. One entry of an object's memory (O-5..O-7; schema/object.md): a line of canonical JSON with
 * the signature of the node that appended the entry.
 *
 *     TEXT SP KEYID SP SIGNATURE
 *
 * TEXT: canonical JSON (RFC 8785), at most ENTRY_TEXT_MAX bytes. KEYID: 8 hexadecimal digits, as in a signed note
 * (ledger/signed-note.h). SIGNATURE: base64 of Ed25519 (RFC 8032) over ENTRY_DOMAIN and TEXT. The hash of an entry is
 * SHA-256 of TEXT, and stands in the member "prev" of the next entry, so that each change, removal, move or insertion
 * of an entry is seen. */
#pragma once

#include "base/buf.h"
#include "base/diag.h"
#include "base/id.h"
#include "base/json.h"

#define ENTRY_TEXT_MAX (256 * 1024)
#define ENTRY_LINE_MAX (ENTRY_TEXT_MAX + 1 + ENTRY_KEYID_LEN + 1 + 88) /* bytes, without the newline */
#define ENTRY_DEPTH_MAX 128 /* levels of TEXT: intents of delegations nest */
#define ENTRY_DOMAIN "lethe object entry v1\n" /* a checkpoint begins with its origin, an envelope with DSSEv1 */
#define ENTRY_HASH_BYTES 32
#define ENTRY_KEYID_LEN 8
#define ENTRY_SIG_BYTES 64

/* O-16: the states; a fold over memory alone (O-17). */
typedef enum ObjectState {
        OBJECT_NONE, /* before the first entry */
        OBJECT_INSTANTIATED,
        OBJECT_EVALUATION,
        OBJECT_EXECUTION,
        OBJECT_MUTATION,
        OBJECT_DELEGATION,
        OBJECT_DORMANT,
        OBJECT_REENTRY,
        OBJECT_TERMINATED,
        OBJECT_STATE_COUNT_,
} ObjectState;
const char *object_state_name(ObjectState s); /* "instantiated" … */
ObjectState object_state_of(const char *name); /* OBJECT_NONE: no such name */
/* O-18, one table. The first entry goes from OBJECT_NONE to OBJECT_INSTANTIATED. */
bool object_state_can_move(ObjectState from, ObjectState to);

/* The kinds of entries. The first eight are moves into the state of the same index + 1 (ENTRY_STARTED: execution;
 * ENTRY_OUTCOME: execution > evaluation). Notes, the rest, leave the state as it is. */
typedef enum EntryKind {
        ENTRY_INSTANTIATED, /* data: {"intent", "context"} */
        ENTRY_EVALUATION,   /* data: {} */
        ENTRY_STARTED,      /* -> execution. data: {"skill", "args", "deadline_usec", "step", "attempt"} */
        ENTRY_MUTATION,     /* data: {"how": "narrow"|"rescope"|"reclassify", "before": intent, "after": intent,
                               "scope"?: a smaller trust scope, "why"} */
        ENTRY_DELEGATION,   /* data: {"children": {ID: intent}, "gather": {"mode","n"?,"within_usec"?}, "serial": n} */
        ENTRY_DORMANT,      /* data: {"trigger", "reason", "not_before": usec, "backoff"?: {"w","delay_usec"}} */
        ENTRY_REENTRY,      /* data: {"trigger": the part that holds, "evidence"} */
        ENTRY_TERMINATED,   /* data: {"reason": "satisfied"|"policy"|"deadline"|"attempts"|"requested"|…, "by"?} */
        ENTRY_OUTCOME,      /* execution > evaluation; "outcome" has the descriptor, data: {"region"?, "next"?} */
        ENTRY_CHILD,        /* note: data: {"child", "status": a descriptor's kind, "value"?, "late": bool, "serial"} */
        ENTRY_INPUT,        /* note: advisory (O-44): data: {"from", "input"} */
        ENTRY_CHECKPOINT,   /* note (O-54): data: {"fold": of memory_to_json()} */
        ENTRY_ADOPTED,      /* note (O-42): data: {"head": hash of the other branch, "from": n, "entries": [lines]} */
        ENTRY_KIND_COUNT_,
} EntryKind;
const char *entry_kind_name(EntryKind k); /* "instantiated", "evaluation", "started", … */
/* The state after an entry of this kind; OBJECT_NONE: a note. */
ObjectState entry_kind_state(EntryKind k);

enum {
        OBJECT_E_SYNTAX = 1, /* not an entry, not a bundle, not an intent: message with the place */
        OBJECT_E_VERSION,    /* of a newer version (O-41) */
        OBJECT_E_CHAIN,      /* a wrong number, hash, or object: edited, cut, reordered, of another object (O-7) */
        OBJECT_E_SIGNATURE,  /* does not verify */
        OBJECT_E_SIGNER,     /* no key for it, or revoked (O-9) */
        OBJECT_E_MOVE,       /* a transition that O-18 forbids */
        OBJECT_E_SIZE,
        OBJECT_E_INTENT,     /* an intent, a trigger or a context that does not parse (O-2, O-31) */
        OBJECT_E_SCOPE,      /* more than the trust scope allows (O-23, O-25) */
};

/* The members of an entry as JSON: {"version":1, "object", "n", "time", "node", "trace", "kind", "state", "policy":
 * {"ref","verdict","rule"?}|null, "outcome": descriptor|null, "data", "prev"}. n and time (usec of CLOCK_REALTIME) as
 * of json_u64(); object and trace: region ids; node: store_origin(); prev: 64 hexadecimal digits in lower case, zeros
 * for the first entry. U+0000 may stand in strings inside of data and outcome alone. */
typedef struct Entry {
        json_t *json; /* owned */
        uint64_t n, time_usec;
        EntryKind kind;
        ObjectState state; /* as the entry says; memory.h checks */
        char *text;        /* canonical, NUL-terminated; owned */
        size_t n_text;
        uint8_t hash[ENTRY_HASH_BYTES], prev[ENTRY_HASH_BYTES];
        char keyid[ENTRY_KEYID_LEN + 1];
        uint8_t sig[ENTRY_SIG_BYTES];
} Entry;
#define ENTRY_NULL ((Entry){0})
void entry_deinit(Entry *e);
#define _cleanup_entry_ _cleanup_(entry_deinit)

typedef struct EntryNew {
        const char *object; /* id */
        uint64_t n, time_usec;
        const uint8_t *prev; /* NULL: the first entry */
        const char *node, *trace;
        EntryKind kind;
        ObjectState state;   /* after the entry */
        const json_t *policy, *outcome, *data; /* borrowed; NULL: null; data NULL: {} */
} EntryNew;
/* Signs with `sign`, which returns 0 or -errno (store_sign() behind it; tests bring keys of their own). keyid:
 * note_keyid() of node and key. ret->json is a copy. Entries that entry_parse() would refuse are not signed.
 * Returns 0, OBJECT_E_SIZE, OBJECT_E_SYNTAX (a member of a wrong form, an integer beyond 2^53-1) with a message,
 * -errno. */
typedef int (*EntrySign)(void *userdata, const void *msg, size_t n, uint8_t ret[static ENTRY_SIG_BYTES]);
int entry_make(const EntryNew *e, const char keyid[static ENTRY_KEYID_LEN + 1], EntrySign sign, void *userdata,
               Entry *ret, Diag *reterr);
/* The line, without a newline, appended to `line`. Returns 0 or -ENOMEM. */
int entry_print(const Entry *e, Buf *line);
/* Parses a line strictly: TEXT must be canonical, with exactly the members above. Does not check the signature. Returns
 * 0, OBJECT_E_SYNTAX, OBJECT_E_VERSION, OBJECT_E_SIZE, -errno. */
int entry_parse(const char *line, size_t n, Entry *ret, Diag *reterr);
/* Returns 0, OBJECT_E_SIGNATURE, -ENOMEM. */
int entry_verify(const Entry *e, const uint8_t key[static 32], Diag *reterr);
