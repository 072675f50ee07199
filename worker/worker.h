/* Runs: worker. Shared by the steps. The worker is a single image in three roles: the set-up, then PID 1 of the
 * region (init.c) and the process that becomes the program (program.c). */
#pragma once

#include "schema/launch.h"
#include "schema/status.h"
#include "schema/zygote.h"

#include <errno.h>
#include <stdbool.h>
#include <sys/types.h>
#include <unistd.h>

#define FD_HIGH 192 /* above the descriptors of an order */
/* Of both processes of a warm region, at their start: the memory of the Progress, and the eventfd `started`. */
enum { FIRST_FD_SHARED = 254, FIRST_FD_STARTED };
#define FIRST_ARG "first" /* of lethe-worker as the first process of a warm region */

/* errno stays as it is. */
static inline void worker_close(const int *fd) {
        int e = errno;

        if (*fd >= 0)
                close(*fd);
        errno = e;
}
#define _autoclose_ __attribute__((cleanup(worker_close)))

/* Shared between init and the program's process until the program is executed. */
typedef struct Progress {
        int step;      /* the current step; STEP_EXEC from just before execve on */
        int reported;  /* the process itself reported the reason for its end */
        int detail;    /* of StatusRecord */
        int first;     /* 1: the first process is confined; no code of the skill runs before */
        int tell;      /* LAUNCH_TELL */
} Progress;

typedef struct Worker {
        LaunchSpec spec;
        Progress *progress;
        int root;      /* tier namespaces: the private root, -1 when none */
        int notify;    /* seccomp notification descriptor */
        int scratch;   /* root folder of the scratch file system, -1 when none */
        dev_t root_dev, scratch_dev;
        unsigned layers; /* made so far (LAUNCH_LAYER) */
        pid_t program; /* -1 before the fork, 0 in the process that becomes the program */
        const uint8_t *words; /* LAUNCH_LATER: the place of arguments and environment */
        bool forked;   /* from a zygote, with correct signals */
        bool apart;    /* the first process exists already, in an image of its own */
        void (*work)(bool forked); /* a zygote's child goes on there */
        int started;   /* of a warm region: an eventfd, written when the program begins; else -1 */
        /* With LAUNCH_TELL: a pipe that execve closes. The first process has the read end, or the eventfd `started`.
         * Else -1. */
        int executed;
        int hand; /* of a warm region: arguments and environment for the program's process; else -1 */
} Worker;

/* A step returns 0 or -errno. The list is in lockdown.c. */
typedef int StepFn(Worker *w);
StepFn step_signals, step_priority, step_oom, step_wait_maps, step_identity, step_lifeline, step_objects, step_hostname, step_loopback;
StepFn step_root, step_scratch, step_bind, step_proc, step_terminals, step_pivot, step_workdir;
StepFn step_capabilities, step_no_new_privs, step_landlock;
StepFn step_fork, step_zygote; /* of a template: step_zygote instead of the fork */
StepFn step_pid_namespace;     /* of a template */
StepFn step_init;              /* in the region's first process */
/* In the program's process. */
StepFn step_session, step_limits, step_descriptors, step_await_first, step_apart, step_seccomp, step_born, step_groups;
StepFn step_ready, step_open_files, step_wait_go, step_words, step_exec;

/* Makes a tmpfs without a mount point. Returns its mount's descriptor or -errno. */
int new_tmpfs(uint64_t bytes, uint64_t inodes, const char *mode);

/* Runs the steps in order; ends the process at the first failing step. */
void lockdown(Worker *w);
void lockdown_zygote(Worker *w);
void lockdown_binder(Worker *w);
void lockdown_program(Worker *w);
/* The same but for the execve. */
void lockdown_confine(Worker *w);
void lockdown_init(Worker *w);

/* Reports {step, errno} and ends the process. */
void step_fail(Worker *w, Step step, int error) __attribute__((noreturn));
/* Sends a record, with a descriptor unless fd is -1. Returns 0 or -errno. */
int report(const StatusRecord *r, int fd);
/* Waits for a byte on the lifeline; takes up to LAUNCH_GROUPS_MAX descriptors. Returns 0, or -EPIPE at its end. */
int lifeline_wait(int *ret_fds, size_t *n_fds);

/* Reads the spec, and makes the shared Progress. Returns 0 or -errno. */
int spec_read(Worker *w);
/* Frees the spec: its strings are gone. */
void spec_forget(LaunchSpec *s);
/* Serves as the zygote of a view, with the view's root around this process. */
void zygote_of_view(const ZygoteWay *way_or_null, void (*work)(bool forked)) __attribute__((noreturn));
/* Serves orders; ends with the supervisor. */
void zygote_work(void) __attribute__((noreturn));
/* Of a template: a /proc of its own PID namespace, as ZYGOTE_FD_KEPT. Returns 0 or -errno. */
int template_keep_proc(void);
/* A mount, attached nowhere yet, of a layer of the region's own above the folder `tree`, which is taken over. Returns
 * its descriptor or -errno. */
int layer_mount(Worker *w, int tree);
/* Returns a descriptor of a detached copy of an entry's source, or -errno. */
int bind_clone_source(const LaunchEntry *b);
/* Empties the bounding set, and fixes the rules of an exec, with system calls alone. Needs CAP_SETPCAP. Returns 0 or
 * -errno. */
int caps_close(void);
/* With Landlock: no signal and no abstract socket beyond later children; no file and no TCP. Return 0 or -errno. */
int landlock_scope(void);
int landlock_nothing(void);
/* Goes on as the first process of a warm region. */
void first_work(void) __attribute__((noreturn));
/* Installs the filter of a waiting process; finds: with finding and killing processes. Returns 0 or -errno. */
int init_confine(bool finds);
/* The region's first process after lock-down: never returns. */
void init_run(Worker *w) __attribute__((noreturn));
/* Installs a filter; returns the notification descriptor with `notify`, else 0, or -errno. */
int filter_install(const struct sock_filter *filter, size_t n, int notify);
