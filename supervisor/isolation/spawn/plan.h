/* Runs: supervisor. Makes a launch spec from a grant and the facts of this machine. Pure: reads only its arguments. */
#pragma once

#include "base/diag.h"
#include "policy/grant.h"
#include "schema/launch.h"
#include "spawn/probe.h"

/* A source that the supervisor binds, as a detached mount for the worker: the spec's tree of the same index. */
typedef struct PlanTree {
        const char *source; /* borrowed from the grant or the input */
        bool write;
        uint16_t entry;     /* index in spec.entries */
        const char *of; /* the path whose owner the region stands for, if source is a part of that grant */
        bool uniform; /* Lethe's: all files below are as readable as the folder */
} PlanTree;

typedef struct PlanInput {
        const Grant *grant;
        const Probe *probe;
        Tier tier;
        const char *region;
        const char *shim_dir;  /* host folder bound at /lethe, or NULL */
        const char *skill_dir, *program; /* tier landlock: host paths of lent copies (private.h), or NULL */
        const char *scratch;   /* tier landlock: the region's host folder */
        bool memory_in_cgroup;
        bool tasks_in_cgroup;
        bool watches;          /* inotify is allowed (FilterInput) */
        unsigned cpus;         /* processors for the region; 0: unknown. Only for a grant with /proc */
        bool trees;            /* the supervisor is root and may make detached mounts */
        const struct sock_filter *filter; /* borrowed */
        size_t n_filter;
        bool tell;             /* of SpawnRequest */
        bool later;            /* argv and env are not known yet: plan_words() */
} PlanInput;

typedef struct Plan {
        LaunchSpec spec; /* arrays owned by the plan; argv, env and strings borrowed or in `texts` */
        PlanTree *trees;
        size_t n_trees;
        char **texts;    /* owned strings */
        size_t n_texts;
        bool failed;     /* out of memory during plan_make() */
        size_t granted; /* from here on: skill, program, files; before: the system and the shims */
        const char *interpreter; /* absolute path of an interpreter that can be warm; NULL: the program is executed */
        char *const *preload;    /* borrowed from the grant: the modules to import */
} Plan;

/* An interpreter that can be warm. */
typedef struct PlanWarm {
        const char *name;
        const char *program; /* the meaning of a bare name */
        const char *options[6]; /* first arguments; then the folders (see folders), and the names to load */
        bool folders;        /* an argument names the folders for loading: template_folders() */
        bool judges; /* executes a program that cannot go on in a child; else see Grant.interpreter */
} PlanWarm;
#define PLAN_WARM_N 3
extern const PlanWarm plan_warm[PLAN_WARM_N];

/* Is the path of a region in its scratch? */
bool plan_in_scratch(const char *path);
/* The grant's tier on this machine. Returns 0 or SPAWN_E_TIER (1) with the missing part and the fix. */
int plan_tier(const Grant *g, const Probe *p, Tier *ret, Diag *reterr);
/* Returns 0 or -ENOMEM. */
int plan_make(const PlanInput *in, Plan *ret);
/* A template shows a view: the system's entries, the shims, and an empty place for each grant. A view splits a plan:
 * *ret has entries and trees of the view (plan_deinit() frees *ret; its strings are borrowed from p). p keeps the
 * region's part: all grants, each as a tree. Return 0 or -ENOMEM. */
int plan_of_view(const Plan *p, Plan *ret);
int plan_use_view(Plan *p);
/* The program starts only with its words; without LAUNCH_AHEAD no change. */
void plan_not_ahead(Plan *p);
/* As plan_make(), once argv and env are known: a plan with search, argv, env alone. Returns 0 or -ENOMEM. */
int plan_words(const PlanInput *in, Plan *ret);
void plan_deinit(Plan *p);
#define _cleanup_plan_ _cleanup_(plan_deinit)
