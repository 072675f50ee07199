/* Runs: CLI, supervisor. A skill as advisor (belief/interpret.h): each question is an invocation of the skill, in a
 * region of its own. */
#pragma once

#include "belief/interpret.h"
#include "request/resolve-request.h"
#include "invoke/options.h"

#define ADVISE_TIMEOUT "60s" /* wall time of a question, where manifest, policy and command line do not say less */

typedef struct Advise {
        Store *store;           /* STORE_SUPERVISE, borrowed; this thread has no transaction on it during a question */
        const Policy *policy;   /* borrowed */
        Spawner *spawner;       /* as in RunOptions */
        /* the skill, and the grants of the command line; borrowed. An output limit is set by advise_ask() */
        SkillRequest ask;
        bool reads_only;        /* rights to write outside of the region are taken off the grant (C-28) */
        int signals;            /* of run_take_signals(): a signal ends the question */
        /* As in RunOptions, for signals of an eventfd; or NULL. */
        bool (*ordered)(void *userdata, struct signalfd_siginfo *ret);
        void (*begun)(void *userdata, const char *region);
        void *ordered_data;
        /* As in RunOptions, for the first question. */
        int (*recover)(Store *store, const Policy *policy_or_null, Spawner *spawner_or_null, bool quiet, Diag *reterr);
        /* The run whose notes are asked about, borrowed: rows of shared belief in a question are recorded as read
         * (I-77). NULL: no row is recorded. */
        const char *run, *scope;
        uint64_t note;              /* the note of the question */
        char region[REGION_ID_MAX]; /* of the last question; empty: no question yet */
        json_t **ret_skill; /* name and digest of the skill of the last question: {"name","digest"}, new reference; or NULL */
} Advise;

/* Before the first question: skill and grant can be had. Returns 0, or BELIEF_E_ADVISOR_REFUSED with a message. */
int advise_check(const Advise *a, Diag *reterr);

/* An InterpretFn; userdata is an Advise. Returns 0, BELIEF_E_ADVISOR_*, -ECANCELED after a signal, -EIO after a failure
 * of the store, -errno. */
int advise_ask(void *userdata, const char *line, char **ret_line, Diag *reterr);
