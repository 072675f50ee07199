/* Runs: supervisor, CLI. The policy's schedule: passes of the digest in each scope with `every`, and retention (M-66,
 * M-67). A scope is due when the last pass is older than `every`, or missing: missed times are made up for once. Each
 * turn is short; a failure is an event (schedule.failed). */
#pragma once

#include "invoke/advise.h"
#include "policy/policy.h"

typedef struct Upkeep {
        Store *store;
        const Policy *policy;
        const char *who;     /* "uid:0" */
        Advise advise;       /* for the routines: spawner, signals, recover…; store, policy and skill are set here */
} Upkeep;

/* A pass by a routine of the policy, or the built-in routine (NULL or POLICY_ROUTINE_OWN), with the approvals of `row`.
 * *ret_found: of memory_digest(). Returns 0, UPKEEP_E_*, -errno. */
enum {
        UPKEEP_E_STORE = 1, /* the store: see the message */
        UPKEEP_E_ROUTINE,   /* the routine failed */
        UPKEEP_E_REFUSED,   /* the engine refused; recorded */
        UPKEEP_E_CANCELLED, /* by a signal */
};
int upkeep_pass(Upkeep *u, const DigestPolicy *row, const char *routine, json_t **ret_found, Diag *reterr);

/* Does all due work. failed: object {key: [CLOCK_MONOTONIC usec of the next try, delay]}, kept between calls, or NULL.
 * *ret_next: CLOCK_REALTIME usec of the next work, UINT64_MAX: never by this policy. *ret_report (or NULL): {"passes":
 * [{"scope","routine","pass","archived","removed"}],"erased","failed":[{"what","scope"?,"routine"?,"code","message"}]}.
 * over: ends the work between two turns; or NULL. Returns 0, UPKEEP_E_STORE, UPKEEP_E_CANCELLED, -errno. */
int upkeep_run(Upkeep *u, json_t *failed, bool (*over)(void *userdata), void *userdata, uint64_t *ret_next,
               json_t **ret_report, Diag *reterr);
