/* Runs: supervisor, CLI. A pass of the digest: the only way into the states archived and removed. The pass judges a
 * routine's proposal anew against the refgraph from before the pass, and then does all steps in one transaction, or
 * none (M-34, M-36, M-37, M-43..M-47, M-50). */
#pragma once

#include "engine/pass-history.h"
#include "engine/reason.h"

typedef struct PassStep {
        Op op;           /* OP_ARCHIVE, OP_REMOVE */
        RecordKey key;   /* in the pass's scope */
        Reason reason;
        bool by_person;  /* approved by name; else by a reason in `admitted` */
} PassStep;

typedef struct Pass {
        const char *routine; /* a registered routine: "digest" (M-40) */
        const char *scope;   /* name */
        uint64_t number;     /* the scope's last number plus 1 (M-37) */
        unsigned admitted;   /* reasons for archiving approved by policy: 1 << code | … */
        unsigned admitted_removal; /* the same for removal */
        bool registered;       /* the policy admits the routine; else only "digest" is registered */
        bool scheduled;        /* no person asked for the pass; recorded */
        uint64_t stay_usec;    /* least time from the archival of a record to its removal (M-67) */
        uint64_t now_usec;     /* CLOCK_REALTIME, with stay_usec */
        const PassStep *steps;
        size_t n;
        const json_t *record; /* findings, candidates, evidence, approvals, blocked; becomes the event's body */
        const char *proposer; /* the ended region of the proposal; NULL: no region */
        const char *who, *region;
} Pass;
#define PASS_STEPS_MAX 65536

/* Returns 0, or the code for the first refused step, with all rows unchanged: ENGINE_E_NOT_GRANTED (the routine, or the
 * approval), ENGINE_E_NO_SCOPE, ENGINE_E_CONFLICT (the number, a record twice, a false reason, removal by the pass of
 * the archival, or within the stay), ENGINE_E_BAD_OPERATION (a kernel or another kind outside of the cleaning),
 * ENGINE_E_NO_RECORD,
 * ENGINE_E_BAD_STATE, ENGINE_E_DEPENDENTS (a blocker); -errno. A refusal leaves mutation.refused in the transaction:
 * commit. */
int engine_pass(Txn *t, const Pass *p, uint64_t *ret_seq, Diag *reterr);
