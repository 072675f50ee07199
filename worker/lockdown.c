#include "worker/worker.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* The one list of what a worker does before anything of a skill runs. A step that is not taken in a tier says so itself. */
typedef struct StepRow {
        Step step;
        int (*take)(Worker *w);
} StepRow;

static const StepRow setup[] = {
        {STEP_SIGNALS, step_signals},           /* default dispositions, nothing blocked, a known umask */
        {STEP_PRIORITY, step_priority},         /* nothing of the caller's that is better than usual, addresses at random */
        {STEP_PRIORITY, step_oom},              /* while the host's /proc is in reach */
        {STEP_WAIT_MAPS, step_wait_maps},       /* the supervisor has written uid_map, gid_map and cgroup.procs */
        {STEP_IDENTITY, step_identity},         /* no supplementary group, the region's uid and gid */
        {STEP_LIFELINE, step_lifeline},         /* after the ids, because changing them clears the parent-death signal */
        {STEP_OBJECTS, step_objects},           /* while the host's /proc is in reach */
        {STEP_HOSTNAME, step_hostname},
        {STEP_ROOT, step_root},                 /* from here on: what the program can see */
        {STEP_SCRATCH, step_scratch},
        {STEP_BIND, step_bind},
        {STEP_PROC, step_proc},
        {STEP_PIVOT, step_pivot},               /* the host's tree is gone, the private root read-only */
        {STEP_WORKDIR, step_workdir},
        {STEP_CAPABILITIES, step_capabilities}, /* last of all steps that need one */
        {STEP_NO_NEW_PRIVS, step_no_new_privs},
        {STEP_LANDLOCK, step_landlock},
        {STEP_FORK, step_fork},
};

/* A template: a root of system folders that stands ready for many regions. The same steps as far as they go. What keeps the root is confined before it
 * serves, or becomes an interpreter: it has namespaces, limits and a filter, no privilege, and nothing of the host but what is read-only in its root. */
static const StepRow zygote[] = {
        {STEP_SIGNALS, step_signals},
        {STEP_PRIORITY, step_priority},
        {STEP_PRIORITY, step_oom},
        {STEP_WAIT_MAPS, step_wait_maps},
        {STEP_GROUPS, step_groups}, /* both processes that come of this one are in them */
        {STEP_IDENTITY, step_identity},
        {STEP_PID_NAMESPACE, step_pid_namespace}, /* from here on another process */
        {STEP_LIFELINE, step_lifeline},
        {STEP_HOSTNAME, step_hostname},
        {STEP_ROOT, step_root},
        {STEP_SCRATCH, step_scratch}, /* the places for it */
        {STEP_BIND, step_bind},
        {STEP_PROC, step_proc},       /* seen through a descriptor, not in the root */
        {STEP_PIVOT, step_pivot},
        {STEP_CAPABILITIES, step_capabilities},
        {STEP_NO_NEW_PRIVS, step_no_new_privs},
        {STEP_LIMITS, step_limits},
        {STEP_INIT, step_await_first},
        {STEP_ZYGOTE, step_zygote}, /* its filter, which its regions have below their own */
};

/* The host's tree and the privilege to copy mounts stay. */
static const StepRow binder[] = {
        {STEP_SIGNALS, step_signals},
        {STEP_WAIT_MAPS, step_wait_maps},
        {STEP_LIFELINE, step_lifeline},
        {STEP_NO_NEW_PRIVS, step_no_new_privs},
};

static const StepRow program[] = {
        {STEP_SESSION, step_session},
        {STEP_DESCRIPTORS, step_descriptors},
        {STEP_BORN, step_born}, /* the guard takes hold of this process while it goes on */
        {STEP_LANDLOCK, step_landlock}, /* tier landlock: the first process must keep seeing /proc, so only the program is confined */
        {STEP_LIMITS, step_limits},
        {STEP_SECCOMP, step_apart}, /* what is given back after the next step may be overwritten */
        {STEP_SECCOMP, step_seccomp}, /* last: what follows must be in the filter */
        {STEP_GROUPS, step_groups},
        {STEP_READY, step_ready},
        {STEP_LIMITS, step_open_files}, /* the last limit: what it would have kept from being sent is sent */
        {STEP_WAIT_GO, step_wait_go},
        {STEP_INIT, step_await_first}, /* it went its own way since the fork, and may have been late */
};

static const StepRow last[] = {
        {STEP_WORDS, step_words}, /* those of the invocation, when it was not known before */
        {STEP_EXEC, step_exec},
};

static const StepRow first[] = {
        {STEP_INIT, step_init},
};

/* told: the shared record says where the process stands that becomes the program. The first process must not write there: when it comes
 * late, the program may have been executed already, and its end would look like a step that failed. */
static void take(Worker *w, const StepRow *rows, size_t n, bool told) {
        for (size_t i = 0; i < n; i++) {
                int e;

                if (told)
                        w->progress->step = rows[i].step;
                e = rows[i].take(w);
                if (e < 0)
                        step_fail(w, rows[i].step, -e);
        }
}

#define TAKE(rows, told) take(w, rows, sizeof(rows) / sizeof((rows)[0]), told)

void lockdown(Worker *w) {
        TAKE(setup, true);
}

void lockdown_zygote(Worker *w) {
        TAKE(zygote, true);
}

void lockdown_binder(Worker *w) {
        TAKE(binder, true);
}

void lockdown_confine(Worker *w) {
        TAKE(program, true);
}

void lockdown_program(Worker *w) {
        TAKE(program, true);
        TAKE(last, true);
}

void lockdown_init(Worker *w) {
        TAKE(first, false);
        __atomic_store_n(&w->progress->first, 1, __ATOMIC_RELEASE);
}
