/* Runs: supervisor, CLI. The digest, but for what proposes (memory/propose.h, in a region or here): its proposals are taken as anybody's, approved by
 * policy or by name,
 * and given to the engine, which judges them anew (M-43, M-47..M-50). */
#pragma once

#include "engine/pass.h"

typedef struct Digest {
        const char *scope;
        unsigned reasons;         /* that were looked for: 1 << ReasonCode | … */
        unsigned automatic;       /* of these, those that policy approves for archiving; 0: `ask` */
        unsigned automatic_removal; /* the same for removal */
        const char *approval;     /* whose policy that is: "command_line", "policy_file"; recorded; NULL: none */
        const char *const *names; /* records approved by name, "kind/id" */
        size_t n_names;
        bool apply;               /* else a dry run: nothing changes, nothing is recorded */
        const json_t *scan;       /* memory_scan() */
        const json_t *proposed;   /* what was made of it, by whomever */
        const char *proposer;     /* the region in which that was, NULL: none */
        const char *who;
} Digest;

/* *ret:
 * {"scope","pass","applied","seq"?,"candidates":[{"op","kind","id","reason","approved":"policy"|"name"|"no"}],"blocked":[…],"archived","removed"}.
 * Returns 0; ENGINE_E_BAD_PAYLOAD: what proposed said something that is no proposal; what engine_pass() returns (then commit); -errno. */
int memory_digest(Txn *t, const Digest *d, json_t **ret, Diag *reterr);

/* Array of {"pass","seq","time","routine","archived","removed","who"|"region","record"} oldest first: what each recorded (M-47). */
int memory_passes(Txn *t, const char *scope, json_t **ret, Diag *reterr);
/* {"scope","kind","id","state","changes":[{"change","pass","seq","time","reason","candidate"?}],"now":[reason…],"blockers":[…]}: which pass did what to the
 * record, for which
 * reason, with the refs as they were; and what holds now (M-48). */
int memory_why(Txn *t, const char *scope, Kind kind, const char *id, json_t **ret, Diag *reterr);
