/* Runs: supervisor. From a grant and the facts of this machine to a launch spec. Pure: it looks at nothing but its arguments. */
#pragma once

#include "base/diag.h"
#include "policy/grant.h"
#include "schema/launch.h"
#include "spawn/probe.h"

/* Something that the supervisor itself binds, as a detached mount that the worker receives: the spec's tree of the same index. */
typedef struct PlanTree {
        const char *source; /* borrowed from the grant or the input */
        bool write;
        uint16_t entry;     /* index in spec.entries */
        const char *of;     /* whose owner the region stands for, where it is a part of another grant; NULL: the source's own */
        bool uniform;       /* ours: what stands below is as readable as the folder itself, so one that all may read needs no map */
} PlanTree;

typedef struct PlanInput {
        const Grant *grant;
        const Probe *probe;
        Tier tier;
        const char *region;
        const char *shim_dir;  /* host folder bound at /lethe, or NULL */
        const char *skill_dir, *program; /* tier landlock: host paths of what was lent in place of what the grant names (lend.h), or NULL */
        const char *scratch;   /* tier landlock: host folder made for this region */
        bool memory_in_cgroup;
        bool tasks_in_cgroup;
        bool watches;          /* inotify is allowed (FilterInput) */
        bool trees;            /* the supervisor may make detached mounts: it is root */
        const struct sock_filter *filter; /* borrowed */
        size_t n_filter;
        bool later;            /* arguments and environment are not known yet: plan_words() */
} PlanInput;

typedef struct Plan {
        LaunchSpec spec; /* arrays owned by the plan; argv, env and strings borrowed or in `texts` */
        PlanTree *trees;
        size_t n_trees;
        char **texts;    /* owned strings */
        size_t n_texts;
        bool failed;     /* out of memory while it was built */
        size_t granted;  /* entries from here on are the skill, the program and files: what somebody placed. Those before are the system's and the shims */
        const char *interpreter; /* what can be warm, absolute; NULL: the program is executed */
        char *const *preload;    /* borrowed from the grant: what it imports */
} Plan;

/* What can be warm. */
typedef struct PlanWarm {
        const char *name;
        const char *program; /* which one a bare name means */
        const char *options[6]; /* its first arguments: isolation of its own, and the bootstrap. Behind them come the folders of the next member, and then
                                 * the names of what it is to load */
        bool folders;        /* one argument names those from which it may load: trusted_folders() */
        bool judges;         /* it executes what it cannot go on as; of the others the grant says so (Grant.interpreter) */
} PlanWarm;
#define PLAN_WARM_N 3
extern const PlanWarm plan_warm[PLAN_WARM_N];

/* Which tier this grant gets on this machine. Returns 0 or SPAWN_E_TIER (1) with what is missing and the fix. */
int plan_tier(const Grant *g, const Probe *p, Tier *ret, Diag *reterr);
/* Returns 0 or -ENOMEM. */
int plan_make(const PlanInput *in, Plan *ret);
/* A view is what a template shows: the system's entries and the shims, and for each grant an empty place. Two halves of one plan: the entries and trees of
 * the view (to be freed with plan_deinit(); its strings are borrowed from p), and, in p itself, what is left for a region of it: all that was granted, each
 * as a tree. Return 0 or -ENOMEM. */
int plan_of_view(const Plan *p, Plan *ret);
int plan_use_view(Plan *p);
/* Nothing is started before its words are there after all; without LAUNCH_AHEAD nothing changes. */
void plan_not_ahead(Plan *p);
/* Of the same input, but for the grant's argv and env, which are known now: a plan with search, argv and env alone. Returns 0 or -ENOMEM. */
int plan_words(const PlanInput *in, Plan *ret);
void plan_deinit(Plan *p);
#define _cleanup_plan_ _cleanup_(plan_deinit)
