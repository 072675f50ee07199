/* Runs: supervisor. The only writer of persistent state. A function with a Txn works inside the caller's LMDB write
 * transaction; nothing is durable before store_commit() returned 0.
 *
 * A region's writes are held. engine_slot_propose() checks and records the proposal (event slot.proposed, durable with
 * the acknowledgement) and reserves the slot. engine_region_end() projects all of a region's proposals as slot.written,
 * or discards all of a region that broke a budget (I-24). Recovery projects the proposals of a region whose supervisor
 * died.
 *
 * No region reserves a slot with a rule of arbitration (arbitration.h). The region's end gathers its proposals for the
 * slot (slot.gathered). The end that brings enough proposals has the verdict in its transaction (slot.arbitrated, and
 * slot.written for a winner). Only gathered proposals count (I-56), and no region reads a proposal before the verdict
 * (I-55). */
#pragma once

#include "base/diag.h"
#include "base/json.h"
#include "base/keyscan.h"
#include "base/util.h"
#include "record/code.h"
#include "store/store.h"

/* Operator verbs. `who` is "uid:1000". All return 0, EngineCode (positive) or -errno. A refused definition leaves the
 * transaction unchanged; a refused value leaves slot.refused in the transaction: commit. The same schema again returns
 * 0 with *ret_seq of the first definition. */
int engine_slot_define(Txn *t, const char *who, const char *region_or_null, const char *name, const json_t *schema,
                       uint64_t *ret_seq, Diag *reterr);
/* Operator only: with a rule (arbitration_rule_json()), or NULL for none. The same definition again returns 0; another
 * schema or rule ENGINE_E_EXISTS. */
int engine_slot_define_ruled(Txn *t, const char *who, const char *name, const json_t *schema, const json_t *rule,
                             uint64_t *ret_seq, Diag *reterr);
/* The verdict on the gathered proposals, even if too few. *ret: the fields of slot.arbitrated; owned. ENGINE_E_RULE:
 * the slot has no rule; ENGINE_E_NO_VALUE: nothing is gathered. A refusal leaves slot.refused in the transaction. */
int engine_slot_decide(Txn *t, const char *who, const char *name, uint64_t *ret_seq, json_t **ret, Diag *reterr);
int engine_slot_put(Txn *t, const char *who, const char *name, const json_t *value, int64_t expect /* -1: any */,
                    uint64_t *ret_seq, uint64_t *ret_version, Diag *reterr);

/* The start of a region. */
typedef struct RegionStart {
        const char *region;      /* id */
        const char *skill_name, *skill_digest;
        const char *tier;
        const char *start;       /* "cold", "pool", "warm" */
        const char *started_ahead; /* the interpreter started before the invocation; NULL: none */
        const json_t *grant;     /* grant_to_json() */
        const char *const *reads, *const *writes; /* NULL-terminated or NULL */
        const json_t *slots;     /* the manifest's definitions, or NULL */
        const char *lineage;     /* detail: "stats", "events", "handles"; NULL: events */
        json_t *by;              /* the caller: {"host", "uid", "version", "client_uid"?}; borrowed, or NULL */
        uint64_t supervisor_pid;
        const char *parent;      /* the starting region, which must be alive; NULL: none */
        const char *session;     /* the region is a turn of this session, its parent; NULL: no turn */
        uint64_t *ret_turn;      /* with session: the number of the turn */
        const char *callback;    /* with parent: the entry of the parent's release callback (I-35); NULL: a sub-skill */
        bool callback_again;     /* the callback did not run before: a second start is allowed, a third is not (I-74) */
        const char *folder; /* with release callbacks: the skill's folder, for the start after a crash; or NULL */
        const json_t *release;   /* array of the callbacks' entries; NULL: none */
        uint64_t max_regions; /* refuse more with ENGINE_E_TOO_MANY; 0: no limit; store_regions_ahead() do not count */
        const json_t *gates;     /* array of {"slot","schema","max_age_usec"?} (I-50..I-52, I-76), or NULL */
        uint64_t now_usec;       /* CLOCK_REALTIME, for the age of evidence; 0: read the clock */
        bool *ret_discards; /* a region above broke a budget: all proposals will be discarded (I-98); may be NULL */
        json_t **ret_evidence; /* object slot -> {"value","until_usec"?: CLOCK_MONOTONIC}, as the gates read; or NULL */
        const char *object;    /* an execution of this persistent object (execution.h); NULL: none. The grant must have
                                  commit "success", so that a second try finds no changes of the first (O-21, O-38) */
        const char *trace;     /* with object: the trace of its entry `started` */
} RegionStart;
/* Appends region.allocated, slot.defined for each new slot of `slots`, and slot.read for each slot of `reads` with a
 * value; makes the region's row. The start of a callback is noted in the parent's row, as {"entry","region"} in
 * `callbacks`: a callback never starts twice. *ret_copies: object name -> {"version":n,"value":…} (I-20), null for a
 * slot without value or definition. *ret_seq: of region.allocated. The gates are evaluated first, on the present values
 * of the slots; each verdict becomes an event gate.evaluated. With object: region.allocated, the row, and later
 * invocation.ended have "object" and "trace", for regions below with "below" true; invocation.ended also has "kept".
 * ENGINE_E_CONFLICT: the object has no open execution of this trace, or the execution has its region already. After a
 * refusal (bad_name, bad_schema, exists, too_many, not_granted, conflict): abort the transaction. After ENGINE_E_GATE
 * the transaction has only the verdicts and region.refused: commit. */
int engine_region_start(Txn *t, const RegionStart *s, uint64_t *ret_seq, json_t **ret_copies, Diag *reterr);
/* For a refusal before any allocation: policy forbids the region, or the teardown would exceed its bound (I-72, I-73).
 * Appends region.refused. name: of --name. */
int engine_region_refuse(Txn *t, const char *region, const char *skill, const char *digest_or_null,
                         const char *name_or_null, const char *code, const char *message);
/* Notes the pid of the region's first process, for recovery after a crash. start_ticks: field 22 of /proc/PID/stat. */
int engine_region_pid(Txn *t, const char *region, uint64_t pid, uint64_t start_ticks, const char *cgroup_or_null,
                      const char *scratch_or_null);

typedef struct SlotProposal {
        const char *region, *name;
        const json_t *value;
        int64_t expect;           /* version; -1: any */
        const double *confidence; /* 0 to 1, for slots with the rule "confidence"; NULL: none */
        const KeySet *keys;       /* of the living regions, or NULL; searched for first */
} SlotProposal;
/* A held proposal. Returns 0 with *ret_seq of slot.proposed and the slot's future version. A refusal appends
 * slot.refused (code, message, slot) and returns the code: commit. For a slot with a rule *ret_version is the version
 * after a win, and *ret_arbitrated (may be NULL) is set: a new proposal of the same region replaces the old one. */
int engine_slot_propose(Txn *t, const SlotProposal *p, uint64_t *ret_seq, uint64_t *ret_version, bool *ret_arbitrated,
                        Diag *reterr);
/* Any other event of a region: request.refused, region.faulted, region.denied, log …; fields borrowed. Below the
 * lineage detail of the type the event is only counted, and *ret_seq is not set (lineage.h). */
int engine_event(Txn *t, const char *region, const char *type, const json_t *fields, uint64_t *ret_seq);

typedef struct RegionEnd {
        const char *region;
        bool keep;               /* project the held proposals; false: discard (a breach) */
        const json_t *released;  /* fields of region.released: teardown evidence, usage, denials */
        const json_t *ended;     /* fields of invocation.ended: outcome, exit_code, signal, limiting_resource */
        const char *why;         /* with keep false: the recorded reason ("not_success", I-78); NULL: the outcome */
} RegionEnd;
/* Appends slot.written, slot.gathered or slot.discarded for each proposal, region.released, invocation.ended, and the
 * verdicts for slots with enough proposals; deletes the row (I-15). */
int engine_region_end(Txn *t, const RegionEnd *e, uint64_t *ret_released, uint64_t *ret_ended, Diag *reterr);
/* The reason to discard all of a living region at any end: "discard_asked" (engine_region_discard()), "timed_out of
 * REGION", a region above (I-98), or a reason of execution.h. Empty: no reason. engine_region_end() and engine_region_recover() check for
 * themselves. Returns 0, ENGINE_E_NO_REGION, -errno. */
#define ENGINE_DISCARDS_MAX 96
int engine_region_discards(Txn *t, const char *region, char ret[static ENGINE_DISCARDS_MAX]);
/* `lethe kill --discard`: discards all proposals of this living region and of the regions below, at any end (I-78).
 * Appends region.discard_asked, once. who: "uid:1000". Returns 0, ENGINE_E_NO_REGION, -errno. */
int engine_region_discard(Txn *t, const char *region, const char *who, Diag *reterr);
/* For the next start: appends region.released with the known evidence, region.recovered, invocation.ended{outcome
 * cancelled, reason supervisor_died, or left_behind after region.left}. */
int engine_region_recover(Txn *t, const char *region, const json_t *evidence, Diag *reterr);

/* Reads: any transaction. */
typedef struct RegionRow {
        char region[27];
        uint64_t supervisor_pid;
        uint64_t supervisor_lock; /* store_own_lock() of the supervisor */
        uint64_t pid, start_ticks;
        const char *cgroup, *scratch; /* of `detail`, may be NULL */
        json_t *detail;           /* owned; from the start: skill, tier, time … */
} RegionRow;
void region_row_deinit(RegionRow *r);
void region_rows_free(RegionRow *rows, size_t n);
/* The number of regions that counts against max_regions. */
int engine_region_count(Txn *t, uint64_t *ret);
int engine_region_list(Txn *t, RegionRow **ret, size_t *ret_n); /* all living, by id */
int engine_region_get(Txn *t, const char *region, RegionRow *ret); /* 0, ENGINE_E_NO_REGION, -errno */
