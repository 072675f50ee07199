#include "worker/worker.h"


/* All steps of a worker before any code of a skill runs. A step without work in a tier returns at once. */
typedef struct StepRow {
        Step step;
        StepFn *take;
} StepRow;

static const StepRow setup[] = {
        {STEP_SIGNALS, step_signals},           /* default dispositions, no signal blocked, a known umask */
        {STEP_PRIORITY, step_priority},         /* no better priority than usual, random addresses */
        {STEP_PRIORITY, step_oom},              /* while the host's /proc is in reach */
        {STEP_WAIT_MAPS, step_wait_maps},       /* the supervisor has written uid_map, gid_map and cgroup.procs */
        {STEP_IDENTITY, step_identity},         /* no supplementary group, the region's uid and gid */
        {STEP_LIFELINE, step_lifeline},         /* after the ids: their change clears the parent-death signal */
        {STEP_LOOPBACK, step_loopback},         /* while the host's /proc is in reach; the next step closes that of a template */
        {STEP_OBJECTS, step_objects},           /* while the host's /proc is in reach */
        {STEP_HOSTNAME, step_hostname},
        {STEP_ROOT, step_root},                 /* from here on: the program's view of files */
        {STEP_SCRATCH, step_scratch},
        {STEP_BIND, step_bind},
        {STEP_PROC, step_proc},
        {STEP_TERMINALS, step_terminals},
        {STEP_PIVOT, step_pivot},               /* the host's tree is gone, the private root read-only */
        {STEP_WORKDIR, step_workdir},
        {STEP_CAPABILITIES, step_capabilities}, /* last of the steps that need a capability */
        {STEP_NO_NEW_PRIVS, step_no_new_privs},
        {STEP_LANDLOCK, step_landlock},
        {STEP_FORK, step_fork},
};

/* A template: a root of system folders, ready for many regions. The same steps as far as they apply. Confined before
 * serving or becoming an interpreter: namespaces, limits, filter, no privilege, host files read-only. */
static const StepRow zygote[] = {
        {STEP_SIGNALS, step_signals},
        {STEP_PRIORITY, step_priority},
        {STEP_PRIORITY, step_oom},
        {STEP_WAIT_MAPS, step_wait_maps},
        {STEP_GROUPS, step_groups}, /* inherited by both processes made below */
        {STEP_IDENTITY, step_identity},
        {STEP_PID_NAMESPACE, step_pid_namespace}, /* from here on a child process */
        {STEP_LIFELINE, step_lifeline},
        {STEP_HOSTNAME, step_hostname},
        {STEP_ROOT, step_root},
        {STEP_SCRATCH, step_scratch}, /* only its mount points */
        {STEP_BIND, step_bind},
        {STEP_PROC, step_proc},       /* through a descriptor, not in the root */
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
        {STEP_BORN, step_born}, /* the guard attaches to this process while it goes on */
        /* tier landlock: the first process must keep seeing /proc, so only the program is confined */
        {STEP_LANDLOCK, step_landlock},
        {STEP_LIMITS, step_limits},
        {STEP_SECCOMP, step_apart}, /* memory given back after the next step may be overwritten */
        {STEP_SECCOMP, step_seccomp}, /* last: all later calls must be in the filter */
        {STEP_GROUPS, step_groups},
        {STEP_READY, step_ready},
        {STEP_LIMITS, step_open_files}, /* the last limit: all descriptors are sent by now */
        {STEP_WAIT_GO, step_wait_go},
        {STEP_INIT, step_await_first}, /* may still be busy with its own steps since the fork */
};

static const StepRow last[] = {
        {STEP_WORDS, step_words}, /* the words of the invocation, if they came late */
        {STEP_EXEC, step_exec},
};

static const StepRow first[] = {
        {STEP_INIT, step_init},
};

/* told: the shared record follows the process that becomes the program. The first process must not write there: when
 * it comes late, the program may have been executed already, and its end would look like a failed step. */
static void lockdown_take(Worker *w, const StepRow *rows, size_t n, bool told) {
        for (size_t i = 0; i < n; i++) {
                int e;

                if (told)
                        w->progress->step = rows[i].step;
                e = rows[i].take(w);
                if (e < 0)
                        step_fail(w, rows[i].step, -e);
        }
}

#define TAKE(rows, told) lockdown_take(w, rows, sizeof(rows) / sizeof((rows)[0]), told)

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
