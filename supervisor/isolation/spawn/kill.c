/* Runs: supervisor. Ends a region and proves that no process is left. */
#include "base/clock.h"
#include "base/dirents.h"
#include "base/io.h"
#include "base/proc.h"
#include "base/child-registry.h"
#include "spawn/clone.h"
#include "spawn/spawner-private.h"
#include "spawn/uids.h"
#include "spawn/private.h"

#include <errno.h>
#include <signal.h>
#include <sodium.h>
#include <string.h>
#include <sys/syscall.h>

#define ROUNDS_MAX 1000
#define KILL_DEPTH_MAX 256 /* generations: a thread of the daemon has a small stack */
#define REAP_MS 5000
#define TERMINATE_MAX 4096 /* processes that are told with SIGTERM */

void spawn_wipe_spec(Spawned *s) {
        if (s->spec) {
                sodium_memzero(s->spec, s->n_spec);
                /* The words are seldom longer than the spec before the words. */
                if (s->memory >= 0 && lseek(s->memory, 0, SEEK_SET) == 0 &&
                    io_write_full(s->memory, s->spec, s->n_spec) == 0)
                        for (size_t at = 0; at < s->n_words; at += s->n_spec)
                                io_write_full(s->memory, s->spec, MIN(s->n_spec, s->n_words - at));
        }
        closep(&s->memory);
}

void spawned_leave(Spawned *s) {
        child_registry_reap_later(s->pid);
        s->pid = 0; /* the child registry keeps the worker until a reap */
}

void spawned_deinit(Spawned *s) {
        if (s->pid > 0)
                child_registry_forget(s->pid);
        if (s->spec)
                sodium_memzero(s->spec, s->n_spec);
        closep(&s->memory);
        uids_give(s->uid);
        closep(&s->pidfd);
        closep(&s->status);
        closep(&s->lifeline);
        for (size_t i = 0; i < LISTEN_MAX; i++)
                closep(&s->listeners[i]);
        closep(&s->terminal);
        closep(&s->sockets);
        view_marks_deinit(&s->view);
        free(s->scratch);
        free(s->spec);
        if (s->template)
                spawner_give_back(s->spawner, s->template);
        *s = SPAWNED_NULL;
}

/* A child belongs to the thread that made the child, and an orphan to the thread that the kernel chose. */
static void kill_each_own_child(void (*fn)(pid_t child, void *arg), void *arg) {
        _cleanup_closedir_ DIR *d = opendir("/proc/self/task");
        struct dirent *e;

        while (d && (e = readdir(d)))
                if (e->d_name[0] != '.')
                        clone_each_child((pid_t)strtol(e->d_name, NULL, 10), fn, arg);
}

/* arg: the depth. Processes below the greatest depth fall to the subreaper, and are found there. */
static void kill_tree(pid_t pid, void *arg) {
        uintptr_t depth = (uintptr_t)arg;

        if (depth < KILL_DEPTH_MAX)
                clone_each_child(pid, kill_tree, (void *)(depth + 1));
        kill(pid, SIGKILL);
}

typedef struct Terminate {
        pid_t parent;
        unsigned depth, n;
} Terminate;

/* The number of a process that has ended may be another process's by now: a descriptor holds the process, and the parent
 * is looked at behind that. */
static void terminate_tree(pid_t pid, void *arg) {
        Terminate *t = arg, below = {.parent = pid, .depth = t->depth + 1, .n = t->n};
        _cleanup_close_ int fd = (int)syscall(SYS_pidfd_open, pid, 0);
        uint64_t state_and_parent[2];

        if (fd < 0 || t->n >= TERMINATE_MAX || !proc_stat(pid, state_and_parent, 2) ||
            (pid_t)state_and_parent[1] != t->parent)
                return;
        if (below.depth < KILL_DEPTH_MAX)
                clone_each_child(pid, terminate_tree, &below);
        t->n = below.n + (syscall(SYS_pidfd_send_signal, fd, SIGTERM, NULL, 0) == 0);
}

unsigned spawn_terminate(const Spawned *s) {
        Terminate t = {.parent = s->pid};

        if (s->pid > 0)
                clone_each_child(s->pid, terminate_tree, &t);
        return t.n;
}

int spawn_kill(Spawned *s) {
        bool again = s->lifeline < 0;

        if (s->tier == TIER_LANDLOCK) {
                /* The worker is the subreaper: the closed lifeline makes the worker end all processes, and the
                 * supervisor helps. Only a second call ends the worker, and leaves its orphans to the supervisor. */
                closep(&s->lifeline);
                clone_each_child(s->pid, kill_tree, NULL);
                if (!again)
                        return 0;
        }
        if (syscall(SYS_pidfd_send_signal, s->pidfd, SIGKILL, NULL, 0) < 0 && errno != ESRCH)
                return -errno;
        return 0;
}

/* Only lethe-guards trace: a process held by another region's guard belongs to that region, and waits for its turn. */
static bool kill_is_held_by_another(const char *status, pid_t guard) {
        pid_t tracer = (pid_t)proc_number(status, "\nTracerPid:\t", 10);

        return tracer > 0 && tracer != guard &&
               (pid_t)proc_field(PROC_PATH("%d/status", tracer), "\nPPid:\t", 10) == getpid();
}

/* An orphan of a region: under a filter, without a way to gain privileges, and younger than the region. */
static bool kill_is_orphan(pid_t pid, const Spawned *s, pid_t guard) {
        char text[4096];
        uint64_t ticks;

        return proc_read_status(PROC_PATH("%d/status", pid), text, sizeof(text)) > 0 && strstr(text, "\nNoNewPrivs:\t1") && strstr(text, "\nSeccomp:\t2") &&
               (ticks = proc_start_ticks(pid)) > 0 && ticks >= s->start_ticks && !kill_is_held_by_another(text, guard);
}

typedef struct Hunt {
        const Spawned *s;
        pid_t guard;
        size_t found;
} Hunt;

static void kill_hunt_one(pid_t pid, void *arg) {
        Hunt *h = arg;

        if ((pid != h->s->pid && child_registry_is(pid)) || !kill_is_orphan(pid, h->s, h->guard))
                return;
        h->found++;
        kill_tree(pid, NULL);
        clone_reap(pid, REAP_MS); /* killed processes die soon or not at all */
}

int spawn_prove_empty(Spawned *s, pid_t guard, Diag *reterr) {
        /* The kernel reaps the first process of a PID namespace last: a reaped worker proves an empty namespace. */
        if (syscall(SYS_pidfd_send_signal, s->pidfd, 0, NULL, 0) == 0)
                return diag(reterr, SPAWN_E_KERNEL, "the worker, process %d, still exists", (int)s->pid);
        if (s->tier == TIER_LANDLOCK) {
                uint64_t until = clock_mono_usec() + UINT64_C(1000) * REAP_MS;
                Hunt h = {.s = s, .guard = guard};

                for (size_t i = 0; i < ROUNDS_MAX; i++) {
                        h.found = 0;
                        child_registry_hold();
                        kill_each_own_child(kill_hunt_one, &h);
                        child_registry_done();
                        if (h.found == 0 || clock_mono_usec() > until)
                                break;
                }
                if (h.found > 0)
                        return diag(reterr, SPAWN_E_KERNEL, "%zu processes of the region still appear", h.found);
        }
        return 0;
}
