/* Runs: tests. One program in one region by spawn/ alone: a small stand-in for region/, which answers each notification as
 * filter_judge() says. */
#pragma once

#include "spawn/spawn.h"

typedef struct RunWish {
        const char *const *argv;
        const char *program;      /* bound at its own path; NULL: none */
        const char *skill_dir;
        const char *const *preload; /* of a warm interpreter; NULL: none */
        const FileGrant *files;
        size_t n_files;
        NetworkMode network;
        uint16_t listen[LISTEN_MAX]; /* each connection to the last of them gets "answer" */
        const char *const *cgroups;     /* version 1, entered at go */
        bool proc, report_paths, no_memory_cgroup, no_tasks_cgroup;
        Tier tier;                /* 0: namespaces */
        bool later;               /* it is told its arguments when it is ready */
        bool kill_when_ready;     /* spawn_kill() instead of spawn_go() */
        bool kill_when_running;   /* spawn_kill() once something was written */
        bool close_lifeline;      /* the supervisor "dies" once something was written */
        int tell;                 /* > 0: gets one byte when the program has written something */
        const char *peek;         /* a file of the host that is read when the program has written something */
        const char *region;       /* its id; NULL: a new one */
        uid_t client;             /* for whom it is; 0: the supervisor's own user */
        const char *store;
        Budget budget;            /* zero members get small defaults */
} RunWish;

typedef struct RunEnd {
        int start;         /* of spawn_start() */
        char message[1024];
        int status;        /* wait status of the program; -1 when it never ended by STATUS_ENDED */
        int step, error;   /* of a STATUS_STEP_FAILED or STATUS_EXEC_FAILED; 0 when none */
        char out[32768];   /* standard output and error together */
        char denied[4096]; /* "operation/rule " of each denial */
        int n_path, n_memory, n_task, n_listeners;
        char peeked[256];
        int prove;         /* of spawn_prove_empty() */
        bool warm;
        bool hung;         /* it had to be killed because nothing happened any more */
        bool orphans;      /* something was left when the worker had ended by itself */
        Tier tier;
} RunEnd;

void region_try(const RunWish *w, RunEnd *ret);
/* Whether this process has no child. A busy machine lets one die late that was killed: such a child is in the list of those that are reaped as soon as they
 * are dead (base/child-registry.h), and is waited for; nobody else is. */
bool region_no_child_is_left(void);
/* The same from a Spawner, or by execution when that is NULL. */
void region_try_with(Spawner *spawner, const RunWish *w, RunEnd *ret);
/* How many of these tiers the kernel can have: 1 (namespaces) where its Landlock is older than ABI 6. Asked of the kernel itself. */
extern const Tier region_tiers[2];
size_t region_tiers_here(void);
/* A store folder that the current user owns: below $TMPDIR, made by this call. Returns it. */
const char *region_store(void);
