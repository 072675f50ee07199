/* Runs: supervisor, CLI. The digest without its proposer (memory/propose.h, in a region or here). Proposals are not
 * trusted: policy or the operator approves them, and the engine judges them anew (M-43, M-47..M-50). */
#pragma once

#include "engine/digest-pass.h"

/* The input of a digest: the records of a scope and the edges between records, without payloads, and of kernels only
 * the references (M-40..M-42). Reads only.
 * {"version":1,"scope","pass","reasons":[…],"records":[{"kind","id","state","in":[edge], "out":[edge],"since"?}]}: all
 * active and archived records of memory, knowledge and skill, by kind and id. pass: the number of the next pass. An
 * edge is {"kind","id","strength","role","state","event"?}; event: the event that archived the far end. since: with
 * unsupported_since among the reasons, the pass that first saw the record without support. Returns 0,
 * ENGINE_E_NO_SCOPE, -EUCLEAN, -errno. */
int memory_scan(Txn *t, const char *scope, unsigned reasons, json_t **ret, Diag *reterr);
/* Array of the names of a set 1 << ReasonCode | …. NULL: out of memory. */
json_t *memory_reason_names(unsigned reasons);

typedef struct Digest {
        const char *scope;
        unsigned reasons;         /* asked for: 1 << ReasonCode | … */
        unsigned automatic;       /* the subset that policy approves for archiving; 0: `ask` */
        unsigned automatic_removal; /* the same for removal */
        const char *approval;     /* source of the policy: "command_line", "policy_file"; recorded; NULL: no policy */
        const char *const *names; /* records approved by name, "kind/id" */
        size_t n_names;
        bool apply;               /* false: a dry run, without a change or a record */
        const json_t *scan;       /* memory_scan() */
        const json_t *proposed;   /* the answer of the proposer */
        const char *proposer;     /* the proposer's region, or NULL */
        const char *who;
        const char *routine;      /* NULL: "digest"; another one is admitted by the policy */
        bool scheduled;
        uint64_t stay_usec, now_usec; /* as of Pass: a record within its stay is not removed, whoever approves */
} Digest;

/* *ret: {"scope","pass","applied","seq"?,"candidates":[{"op","kind","id","reason","approved":"policy"|"name"|"no",
 * "until"?}],"blocked":[…],"archived","removed"}. Returns 0; ENGINE_E_BAD_PAYLOAD for an invalid proposal; the results of
 * engine_pass() (then commit); -errno. */
int memory_digest(Txn *t, const Digest *d, json_t **ret, Diag *reterr);

/* Array of {"pass","seq","time","routine","archived","removed","who"|"region","record"}, oldest first (M-47). */
int memory_passes(Txn *t, const char *scope, json_t **ret, Diag *reterr);
/* {"scope","kind","id","state","changes":[{"change","pass","seq","time","reason","candidate"?}],"now":[reason…],
 * "blockers":[…]}: the passes that changed the record, with the evidence of the time; and the reasons of now (M-48). */
int memory_why(Txn *t, const char *scope, Kind kind, const char *id, json_t **ret, Diag *reterr);
