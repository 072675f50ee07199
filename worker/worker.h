/* Runs: worker. What the steps share. The worker is one image in three roles: the set-up, then PID 1 of the region (init.c) and the
 * process that becomes the program (program.c). */
#pragma once

#include "schema/launch.h"
#include "schema/status.h"

#include <errno.h>
#include <stdbool.h>
#include <sys/types.h>

/* Shared between init and the program's process until the program is executed. */
typedef struct Progress {
        int step;      /* the step that is being taken; STEP_EXEC from just before execve on */
        int reported;  /* the process told the supervisor itself why it ends */
        int detail;    /* of StatusRecord */
        int first;     /* 1: the first process is confined; nothing of the skill runs before */
} Progress;

typedef struct Worker {
        LaunchSpec spec;
        Progress *progress;
        int root;      /* tier namespaces: the private root, -1 when none */
        int notify;    /* seccomp notification descriptor */
        int scratch;   /* root folder of the scratch file system, -1 when none */
        dev_t root_dev, scratch_dev;
        pid_t program; /* -1 before the fork, 0 in the process that becomes the program */
        const uint8_t *words; /* LAUNCH_LATER: where arguments and environment will be */
        bool forked;   /* from a zygote, whose signals are as they are to be */
        int started;   /* of a warm region: an eventfd, which says that the program has begun; else -1 */
        int hand;      /* of a warm region: arguments and environment for who goes on as the program, instead of an execve; else -1 */
} Worker;

/* One step: returns 0 or -errno. The list of them is in lockdown.c. */
int step_signals(Worker *w);
int step_priority(Worker *w);
int step_oom(Worker *w);
int step_wait_maps(Worker *w);
int step_identity(Worker *w);
int step_lifeline(Worker *w);
int step_objects(Worker *w);
int step_hostname(Worker *w);
int step_root(Worker *w);
int step_scratch(Worker *w);
int step_bind(Worker *w);
int step_proc(Worker *w);
int step_pivot(Worker *w);
int step_workdir(Worker *w);
int step_capabilities(Worker *w);
int step_no_new_privs(Worker *w);
int step_landlock(Worker *w);
int step_fork(Worker *w);
int step_pid_namespace(Worker *w); /* of a template */
int step_zygote(Worker *w); /* instead of the fork */

/* Of a process made in a user namespace below the one that its zygote is in: nobody but itself may write its id maps. */
int maps_write_own(uint32_t uid, uint32_t gid);
/* In the program's process. */
int step_session(Worker *w);
int step_limits(Worker *w);
int step_descriptors(Worker *w);
int step_await_first(Worker *w);
int step_apart(Worker *w);
int step_seccomp(Worker *w);
int step_born(Worker *w);
int step_groups(Worker *w);
int step_ready(Worker *w);
int step_open_files(Worker *w);
int step_wait_go(Worker *w);
int step_words(Worker *w);
int step_exec(Worker *w);

/* In the region's first process. */
int step_init(Worker *w);

/* A new tmpfs that is attached nowhere yet. Returns its mount's descriptor or -errno. */
int new_tmpfs(uint64_t bytes, uint64_t inodes, const char *mode);

/* Runs the steps in order; ends the process at the first that fails. */
void lockdown(Worker *w);
void lockdown_zygote(Worker *w);
void lockdown_binder(Worker *w);
void lockdown_program(Worker *w);
/* The same but for the execve. */
void lockdown_confine(Worker *w);
void lockdown_init(Worker *w);

/* Reports {step, errno} and ends the process. */
void step_fail(Worker *w, Step step, int error) __attribute__((noreturn));
/* Sends one record, with a descriptor unless that is -1. Returns 0 or -errno. */
int report(const StatusRecord *r, int fd);
/* Waits for one byte on the lifeline, and takes the descriptors that come with it: room for LAUNCH_GROUPS_MAX. Returns 0, or -EPIPE when
 * the supervisor is gone. */
int lifeline_wait(int *ret_fds, size_t *n_fds);

/* What a zygote's child, and each worker that was executed, does with the descriptors that it has. */
void work(bool forked) __attribute__((noreturn));
/* Returns 0 or -errno. */
int spec_read(Worker *w);
/* The spec's strings are gone. */
void spec_forget(LaunchSpec *s);
/* Serves as the zygote of a view, whose root stands around this process. may: see zygote_serve(). */
void zygote_of_view(int (*may)(void)) __attribute__((noreturn));
/* Serves orders; ends with the supervisor. */
void zygote_work(void) __attribute__((noreturn));
/* Of a template: a /proc of its own PID namespace, as ZYGOTE_FD_KEPT. Returns 0 or -errno. */
int template_keep_proc(void);
/* Serves requests for detached mounts of the host's tree (LAUNCH_BINDER). */
void binder_work(Worker *w) __attribute__((noreturn));
/* A detached copy of an entry's source. Returns a descriptor or -errno. */
int bind_clone_source(const LaunchEntry *b);
/* The filter of a process that only waits; finds: and may look for the region's processes and kill them. Returns 0 or -errno. */
int init_confine(bool finds);
/* The region's first process after lock-down: never returns. */
void init_run(Worker *w) __attribute__((noreturn));
/* Tier landlock: kills every descendant of this process until none is left. */
void reap_all(void);
/* Installs a filter; returns the notification descriptor with `notify`, else 0, or -errno. */
int filter_install(const struct sock_filter *filter, size_t n, int notify);
