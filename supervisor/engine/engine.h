/* Runs: supervisor. The one way in which anything that persists changes. Every function that takes a Txn works inside the caller's
 * LMDB write transaction; nothing is durable before store_commit() returned 0.
 *
 * A region's writes are held: engine_propose() checks and records the proposal (event slot.proposed, durable with its
 * acknowledgement) and reserves the slot; engine_region_end() projects all of a region's proposals as slot.written, or
 * discards them all when the region broke a budget (I-24). Recovery of a region whose supervisor died projects them.
 *
 * A slot with a rule of arbitration (arbiter.h) is reserved by nobody. What a region proposed for it is gathered at the region's end (slot.gathered);
 * the end of the region that makes it enough has the verdict in its transaction (slot.arbitrated, and slot.written when one is taken). Only what is
 * gathered is looked at (I-56), and nobody reads it before (I-55). */
#pragma once

#include "base/diag.h"
#include "base/json.h"
#include "base/keyscan.h"
#include "base/util.h"
#include "store/store.h"

/* Positive codes: refusals. engine_code_name() gives the word that goes into events and replies. */
typedef enum EngineCode {
        ENGINE_OK = 0,
        ENGINE_E_BAD_NAME = 1,   /* bad_name: not a slot name */
        ENGINE_E_NOT_GRANTED,    /* not_granted: the region's grant does not list the slot for this */
        ENGINE_E_UNDEFINED,      /* undefined_slot: no such slot */
        ENGINE_E_SCHEMA,         /* schema: the value does not fit the slot's schema; the message has the JSON pointer and the keyword */
        ENGINE_E_BAD_SCHEMA,     /* bad_schema: the schema itself is refused */
        ENGINE_E_CONFLICT,       /* conflict: expected version is not the current one; another region holds the slot (message says which) */
        ENGINE_E_TOO_LARGE,      /* too_large */
        ENGINE_E_EXISTS,         /* exists: defined already, with another schema */
        ENGINE_E_NO_VALUE,       /* no_value: defined, never written */
        ENGINE_E_TOO_MANY,       /* too_many: proposals of one region; regions alive at once */
        ENGINE_E_NO_REGION,      /* no_region: no such region alive */
        ENGINE_E_KEY_ESCAPE,     /* key_escape: the value, or the name, holds a living region's key (I-11) */
        ENGINE_E_GATE,           /* gate: a gate's evidence is not there or does not satisfy its schema; message says which */
        /* of records (mutate.h) */
        ENGINE_E_NO_SCOPE,       /* no_scope: no scope of that name */
        ENGINE_E_NO_RECORD,      /* no_record: no such record in that scope */
        ENGINE_E_BAD_OPERATION,  /* bad_operation: not one of this kind of record (G-39) */
        ENGINE_E_BAD_STATE,      /* bad_state: the record's state does not accept it (M-39) */
        ENGINE_E_BAD_REF,        /* bad_ref: a reference that cannot be: to nothing, to itself, to a kind that takes none */
        ENGINE_E_OLD_INDEX,      /* old_index: the store's index is of an older form, and cannot be made anew now (engine/fold.h) */
        ENGINE_E_CROSS_SCOPE,    /* cross_scope: a reference into another scope (M-23) */
        ENGINE_E_BAD_PAYLOAD,    /* bad_payload: unknown or missing field, wrong type, out of range */
        ENGINE_E_SERVICE_FIELD,  /* service_metadata: a field that only the service fills in (M-18) */
        ENGINE_E_BLOCKED,        /* blocked: an earlier event about the record could not be projected yet (G-30) */
        ENGINE_E_DEPENDENTS,     /* dependents: others depend on it (M-54) */
        ENGINE_E_BAD_QUERY,      /* bad_query: a search that is not understood */
        ENGINE_E_EMPTY,          /* empty: a note without anything in it */
        ENGINE_E_BAD_UTF8,       /* bad_utf8: bytes that are not UTF-8 */
        ENGINE_E_CONTROL,        /* control_character: a NUL */
        ENGINE_E_RULE,           /* rule: not a rule of arbitration; or the slot's rule does not allow this; message says which */
} EngineCode;
const char *engine_code_name(EngineCode c);

/* Operator verbs. `who` is "uid:1000". All return 0, EngineCode (positive) or -errno.
 * A refused definition leaves the transaction as it was; a refused value leaves slot.refused in it: commit all the same. */
int engine_slot_define(Txn *t, const char *who, const char *region_or_null, const char *name, const json_t *schema,
                       uint64_t *ret_seq, Diag *reterr); /* the same schema again is 0 with *ret_seq of the first definition */
/* With a rule (arbiter_rule_json()), or NULL for none: by the operator alone. The same again is 0; another schema or rule is ENGINE_E_EXISTS. */
int engine_slot_define_ruled(Txn *t, const char *who, const char *name, const json_t *schema, const json_t *rule, uint64_t *ret_seq, Diag *reterr);
/* The verdict on what is gathered now, be it enough or not. *ret: the fields of slot.arbitrated; owned. ENGINE_E_RULE: the slot has no rule;
 * ENGINE_E_NO_VALUE: nothing is gathered. A refusal is in the transaction as slot.refused. */
int engine_slot_decide(Txn *t, const char *who, const char *name, uint64_t *ret_seq, json_t **ret, Diag *reterr);
int engine_slot_put(Txn *t, const char *who, const char *name, const json_t *value, int64_t expect_version /* -1: any */,
                    uint64_t *ret_seq, uint64_t *ret_version, Diag *reterr);

/* A region's life. `fields` become the event's fields (borrowed). */
typedef struct RegionStart {
        const char *region;      /* id */
        const char *skill_name, *skill_digest;
        const char *tier;
        const char *start;       /* how it came to be: "cold", "pool", "warm" */
        const char *started_ahead; /* the interpreter that was started before its invocation; NULL: none */
        const json_t *grant;     /* grant_to_json() */
        const char *const *reads, *const *writes; /* NULL-terminated or NULL */
        const json_t *slots;     /* definitions by the manifest, or NULL */
        const char *lineage;     /* detail: "stats", "events", "handles"; NULL: events */
        json_t *by;              /* who runs it: {"host", "uid", "version", "client_uid"?}; borrowed, or NULL */
        uint64_t supervisor_pid;
        const char *parent;      /* region that started it, which must be alive; NULL: none */
        const char *callback;    /* with parent: it is that region's release callback of this entry (I-35); NULL: it is a sub-skill */
        bool callback_again;     /* it did not run before: noted a second time, and no third (I-74) */
        const char *folder;      /* of a skill with release callbacks: where the next start finds them, when this one dies; else NULL */
        const json_t *release;   /* array of the entries of its callbacks; NULL: none */
        uint64_t max_regions;    /* refuse with ENGINE_E_TOO_MANY beyond; 0: no limit; store_regions_ahead() do not count */
        const json_t *gates;     /* array of {"slot","schema","max_age_usec"?} that must hold (I-50..I-52, I-76), or NULL */
        uint64_t now_usec;       /* CLOCK_REALTIME, for the age of evidence; 0: the clock is asked */
        bool *ret_discards;      /* a region above broke its budget, so that nothing of this one will be kept (I-98); may be NULL */
        json_t **ret_evidence;   /* object slot -> {"value","until_usec"?: CLOCK_MONOTONIC}, of what the gates read in this transaction; may be NULL when gates is */
} RegionStart;
/* Appends region.allocated, slot.defined for each new one of `slots`, and one slot.read for each slot of `reads` that has a value; makes
 * the region's row. That a callback began is noted in its parent's row, as {"entry","region"} in `callbacks`, so that it never begins twice.
 * *ret_copies: object name -> {"version":n,"value":…} (I-20), null for a slot that has no value yet or is not defined yet.
 * *ret_seq: of region.allocated. Gates are evaluated first, on what the slots hold now, and each verdict becomes an event gate.evaluated.
 * After a refusal (bad_name, bad_schema, exists, too_many) the transaction is to be aborted; after ENGINE_E_GATE it has the verdicts and
 * region.refused in it and nothing else, and is to be committed. */
int engine_region_start(Txn *t, const RegionStart *s, uint64_t *ret_seq, json_t **ret_copies, Diag *reterr);
/* Before anything is allocated: policy forbids it, or its teardown would not fit its bound (I-72, I-73). Appends region.refused. name: of --name. */
int engine_region_refuse(Txn *t, const char *region, const char *skill, const char *digest_or_null, const char *name_or_null, const char *code,
                         const char *message);
/* The supervisor learnt the pid of the region's first process: for recovery after a crash. start_ticks: field 22 of /proc/PID/stat. */
int engine_region_pid(Txn *t, const char *region, uint64_t pid, uint64_t start_ticks, const char *cgroup_or_null, const char *scratch_or_null);

/* A held proposal. keys: of the regions that live, or NULL; looked for before all else. Returns 0 with *ret_seq of slot.proposed and the
 * version that the slot will have. On refusal appends slot.refused (code, message, slot) and returns the code: commit the transaction all
 * the same. */
int engine_propose(Txn *t, const char *region, const char *name, const json_t *value, int64_t expect_version, const KeySet *keys_or_null,
                   uint64_t *ret_seq, uint64_t *ret_version, Diag *reterr);
/* The same with a confidence, 0 to 1, for slots that are decided by it; NULL: none. For a slot with a rule *ret_version is what the slot would have if it
 * were decided for this now, and *ret_arbitrated is set: a proposal of the same region again replaces this one. */
typedef struct SlotProposal {
        const char *region, *name;
        const json_t *value;
        int64_t expect; /* -1: any */
        const double *confidence;
        const KeySet *keys; /* or NULL */
} SlotProposal;
int engine_slot_propose(Txn *t, const SlotProposal *p, uint64_t *ret_seq, uint64_t *ret_version, bool *ret_arbitrated, Diag *reterr);
/* Anything else that happened in a region: request.refused, region.faulted, region.denied, log …; fields borrowed. Below the lineage detail at
 * which the type is recorded it is counted, and *ret_seq is left alone (lineage.h). */
int engine_event(Txn *t, const char *region, const char *type, const json_t *fields, uint64_t *ret_seq);

typedef struct RegionEnd {
        const char *region;
        bool keep;               /* project the held proposals; false: discard (a breach) */
        const json_t *released;  /* fields of region.released: teardown evidence, usage, denials */
        const json_t *ended;     /* fields of invocation.ended: outcome, exit_code, signal, limiting_resource */
        const char *why;         /* with keep false, when it is not the outcome: the reason that is recorded ("not_success", I-78); NULL: the outcome */
} RegionEnd;
/* One transaction: slot.written, slot.gathered or slot.discarded for each proposal, region.released, invocation.ended, and the verdicts for which enough
 * is gathered now; the row goes (I-15). */
int engine_region_end(Txn *t, const RegionEnd *e, uint64_t *ret_released, uint64_t *ret_ended, Diag *reterr);
/* Why nothing of this living region is kept, whatever its own end: "discard_asked" (engine_region_discard()), or "timed_out of REGION", which stands above it
 * (I-98). Empty: no such reason. engine_region_end() and engine_region_recover() look for themselves. Returns 0, ENGINE_E_NO_REGION, -errno. */
#define ENGINE_DISCARDS_MAX 96
int engine_region_discards(Txn *t, const char *region, char ret[static ENGINE_DISCARDS_MAX]);
/* `lethe kill --discard`: nothing that this living region or those below it proposed is kept, however it ends (I-78). Appends region.discard_asked, once.
 * who: "uid:1000". Returns 0, ENGINE_E_NO_REGION, -errno. */
int engine_region_discard(Txn *t, const char *region, const char *who, Diag *reterr);
/* For the next start: region.released with what is known, region.recovered, invocation.ended{outcome cancelled, reason supervisor_died, or left_behind after
 * region.left}. */
int engine_region_recover(Txn *t, const char *region, const json_t *evidence, Diag *reterr);

/* Reads: any transaction. */
typedef struct RegionRow {
        char region[27];
        uint64_t supervisor_pid;
        uint64_t supervisor_lock; /* store_own_lock() of the supervisor */
        uint64_t pid, start_ticks;
        char *cgroup, *scratch;   /* owned, may be NULL */
        json_t *detail;           /* as recorded at start: skill, tier, time … */
} RegionRow;
void region_row_deinit(RegionRow *r);
/* How many count against max_regions. */
int engine_region_count(Txn *t, uint64_t *ret);
int engine_region_list(Txn *t, RegionRow **ret, size_t *ret_n); /* all alive, by id */
int engine_region_get(Txn *t, const char *region, RegionRow *ret); /* 0, ENGINE_E_NO_REGION, -errno */
