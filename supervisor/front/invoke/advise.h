/* Runs: CLI, supervisor. An advisor (belief/interpret.h) that is a skill: each question is an invocation of it, in a region of its own. */
#pragma once

#include "belief/interpret.h"
#include "request/resolve-request.h"
#include "invoke/run.h"

#define ADVISE_TIMEOUT "60s" /* wall time of one question, where neither manifest, policy nor command line say less */

typedef struct Advise {
        Store *store;           /* STORE_SUPERVISE, borrowed; this thread has no transaction on it while it asks */
        const Policy *policy;   /* borrowed */
        Spawner *spawner;       /* as in RunOptions */
        SkillRequest ask;                /* skill, and what the operator grants it on the command line; borrowed. No output limit: there is one */
        int signals;            /* of run_take_signals(): a signal ends the question */
        int (*recover)(Store *store, const Policy *policy_or_null, Spawner *spawner_or_null, unsigned *ret_n, Diag *reterr); /* as in RunOptions, for the
                                                                                                                             * first question */
        const char *run, *scope; /* whose notes it is asked about, borrowed: what it is told of shared belief is recorded as read (I-77); NULL: nothing is */
        uint64_t note;          /* which one */
        char region[REGION_ID_MAX]; /* of the last question; empty: there was none */
} Advise;

/* The skill is looked up, and what it may do: for who wants to know before the first question. Returns 0, or BELIEF_E_ADVISOR_REFUSED with a message. */
int advise_check(const Advise *a, Diag *reterr);

/* An InterpretFn; userdata is an Advise. Returns 0, BELIEF_E_ADVISOR_*, -ECANCELED after a signal, -EIO when the store failed, -errno. */
int advise_ask(void *userdata, const char *line, char **ret_line, Diag *reterr);
