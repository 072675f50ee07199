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
#include "record/code.h"
#include "store/store.h"

/* Operator verbs. `who` is "uid:1000". All return 0, EngineCode (positive) or -errno.
 * A refused definition leaves the transaction as it was; a refused value leaves slot.refused in it: commit all the same. */
int engine_slot_define(Txn *t, const char *who, const char *region_or_null, const char *name, const json_t *schema,
                       uint64_t *ret_seq, Diag *reterr); /* the same schema again is 0 with *ret_seq of the first definition */
/* With a rule (arbitration_rule_json()), or NULL for none: by the operator alone. The same again is 0; another schema or rule is ENGINE_E_EXISTS. */
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
