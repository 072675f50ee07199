/* Runs: supervisor. The dispatch: reads one line from a region's pipe, judges the request by the permit table, answers
 * with one line. The dispatch and the folders above are the only code that knows both wings. A hostile line can cause
 * an answer, a recorded refusal, or the end of its own region; no more. */
#pragma once

#include "base/buf.h"
#include "base/diag.h"
#include "base/json.h"
#include "base/line.h"
#include "policy/grant.h"
#include "store/store.h"

enum {
        DISPATCH_E_END = 1, /* end the region as `denied`, limiting_resource "pipe"; the message has the reason */
        DISPATCH_E_STORE,   /* the store cannot record: the caller cancels the region and starts no new regions */
};

typedef struct Dispatch Dispatch;

/* copies: from engine_region_start(), borrowed for the call; store, grant: for d's life. Returns 0, -ENOMEM. */
int dispatch_new(Store *store, const Grant *grant, const char *region, const json_t *copies, Dispatch **ret);
void dispatch_free(Dispatch *d);
/* The region's vault, borrowed: hello hands its key over, handle.* reaches its sections, its traces come here. */
struct Vault;
void dispatch_use_vault(Dispatch *d, struct Vault *vault);

/* From here on each progress of the region goes to tell(), too: {"done", "total"?, "message"?}, checked. */
void dispatch_tell_progress(Dispatch *d, void (*tell)(void *userdata, const json_t *params), void *userdata);

/* The region is a turn of a session: what it finds, and what it may carry on (I-48). */
typedef struct DispatchTurn {
        const char *session;    /* borrowed, like the two below */
        const json_t *sections; /* object name -> {"schema","bytes"} */
        const json_t *values;   /* object name -> {"value","version"}, as at the turn's start */
        struct Carry *carry;    /* borrowed: has room for each held write (region-carry.h); NULL: without */
        uint64_t number;        /* set with region.allocated */
        /* The loop around the skill (C-41). cognition: the name of the cognitive session; NULL: no loop */
        const char *cognition;
        const json_t *observed; /* borrowed: {"input": text}, for cognition_advised() */
        const struct CognitionProposal *proposal; /* borrowed, or NULL */
        json_t *ccs;            /* set with region.allocated, owned: as of cognition_advised() */
        json_t *carried;        /* set at the recorded end, owned: object name -> {"value","version"}; NULL: no write counts */
} DispatchTurn;
void dispatch_use_turn(Dispatch *d, const DispatchTurn *turn);
/* Held writes to sections of the session take effect with the end of a turn that succeeded (exit code 0); else
 * session.dropped with count and reason. In t, the transaction of the end and before its event. Returns 0, -errno. */
int dispatch_carry_end(Dispatch *d, Txn *t, bool keep, const char *reason);
/* The decision and the held tools of a turn that succeeded are evidence (C-35). said: standard output. Returns 0, -errno. */
int dispatch_ccs_end(Dispatch *d, Txn *t, const char *who, const char *said, size_t n);
#define DISPATCH_SAID_MAX (256 * 1024) /* bytes of a decision */
/* The writes that dispatch_carry_end() kept: new reference, NULL for none. */
json_t *dispatch_carried(const Dispatch *d);

/* Tells the region that no proposal is kept, because a region above broke its budget (I-98). */
void dispatch_set_discards(Dispatch *d);

/* A complete line without its newline; n may be up to PIPE_LINE_MAX. Appends the answer, newline included, to reply
 * (empty for a notification or an empty line). The caller sends reply whatever the return value. A positive answer is
 * durable, except those to memory.save and memory.delete. Returns 0, DISPATCH_E_*, -errno. */
int dispatch_line(Dispatch *d, const char *line, size_t n, Buf *reply, Diag *reterr);
/* LINE_TOO_LONG (skipped) or LINE_PARTIAL (n bytes without newline) came. Returns as dispatch_line(). */
int dispatch_bad_frame(Dispatch *d, LineKind kind, size_t n, Buf *reply, Diag *reterr);
/* The parameters of skill.run; all borrowed during the call. */
typedef struct DispatchStart {
        const json_t *id;        /* of the request: for dispatch_answer_started() */
        const char *skill;       /* a name of the grant's sub_skills */
        const char *entry;       /* NULL: main */
        const char *const *args; /* NULL-terminated */
        const char *input;       /* standard input, may be NULL */
        size_t n_input;
} DispatchStart;
enum {
        DISPATCH_START_E_SKILL = 1, /* not registered, changed since, or without that entry */
        DISPATCH_START_E_REFUSED,   /* the policy or this machine forbids the skill */
        DISPATCH_START_E_TOO_MANY,  /* too deep, too many at once or in all */
        DISPATCH_START_E_BUDGET,    /* too little is left of the region's budget */
        DISPATCH_START_E_STORE,     /* the store cannot record */
};
/* Starts the sub-skill. Returns 0, DISPATCH_START_E_* with a message for the region (no fact of the host), -errno. */
typedef int (*DispatchStartFn)(void *userdata, const DispatchStart *start, Diag *reterr);
/* Without a starter, every skill.run is refused. */
void dispatch_set_starter(Dispatch *d, DispatchStartFn fn, void *userdata);
/* The answer to a skill.run, when the sub-skill's end is recorded. result is borrowed. Returns 0, -ENOMEM. */
int dispatch_answer_started(const json_t *id, json_t *result, Buf *reply);
/* n bytes of output are withheld, because the bytes hold a key; method: "skill.run" for a sub-skill's output, "output"
 * for a turn's decision. Returns as dispatch_line(). */
int dispatch_output_refused(Dispatch *d, const char *method, size_t n, Diag *reterr);
/* The value of the region's `result`, or NULL: borrowed. */
const json_t *dispatch_result(const Dispatch *d);
/* How many notes the region added to the run that has the region's id. */
uint64_t dispatch_notes(const Dispatch *d);
/* Held saves and deletions of typed memory enter the ledger at the region's end (I-24), in t, the transaction of that
 * end and before its event. With keep, all in order, where a late refusal leaves mutation.refused; else
 * memory.discarded with count and reason. May be called again when t was aborted. Returns 0, -errno. */
int dispatch_memory_end(Dispatch *d, Txn *t, bool keep, const char *reason);
bool dispatch_holds_memory(const Dispatch *d);
/* The result of dispatch_memory_end(), for the receipt:
 * {"held","committed","discarded","refused":[{"op","scope","kind","id","code"}]}; NULL: no write was held. Borrowed. */
const json_t *dispatch_memory_ended(const Dispatch *d);
/* context.read: the note and the shared belief on a region's standard input: {"scope", "run", "note", "rows":
 * [{"kind","id","version"}…]}. In the transaction of the region's beginning. Returns 0, -errno. */
int dispatch_record_given(Txn *t, const Grant *grant, const char *region, const json_t *given);
/* belief.read and memory.read: the region's reads of shared belief and of typed memory, with versions (I-77). In t, the
 * transaction of the region's end and before its event; may be called again when t was aborted. Returns 0, -errno. */
int dispatch_reads_end(Dispatch *d, Txn *t);
/* Records counts: further refusals of each code (request.refused), the summary of log messages (region.logged). Called
 * once before the region's end; also right after an end as `denied`. Returns 0, DISPATCH_E_STORE, -errno. */
int dispatch_finish(Dispatch *d, Diag *reterr);
