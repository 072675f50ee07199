#include "scrub/tracer/state.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define MISSES_MAX 8
#define EXITING 4 /* PF_EXITING of the kernel */

static Task **bucket(Guard *g, pid_t pid) {
        return &g->buckets[(unsigned)pid % BUCKETS];
}

Task *task_find(Guard *g, pid_t pid) {
        Task *t = *bucket(g, pid);

        while (t && t->pid != pid)
                t = t->next;
        return t;
}

static bool moving(TaskState s) {
        return s == TASK_AWAITED || s == TASK_EARLY || s == TASK_RUNNING;
}

bool task_is_moving(const Task *t) {
        return moving(t->state);
}

/* Nobody runs of whom the supervisor cannot know: this is said before a task is let go for the first time. */
static void count_moving(Guard *g, int by) {
        g->n_moving += (unsigned)by;
        __atomic_store_n(&g->evidence->living, g->n_moving, __ATOMIC_RELEASE);
}

void space_count(Guard *g, Space *s, int by) {
        unsigned before = s->users > 1 ? s->users - 1 : 0, after;

        s->users += (unsigned)by;
        after = s->users > 1 ? s->users - 1 : 0;
        __atomic_store_n(&g->evidence->sharing, g->evidence->sharing + after - before, __ATOMIC_RELEASE);
}

const char *task_state(pid_t pid, char text[static 512]) {
        const char *p;
        char path[64];
        ssize_t n;
        int fd;

        snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
        fd = openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
        if (fd < 0)
                return NULL;
        n = read(fd, text, 511);
        close(fd);
        text[n > 0 ? n : 0] = 0;
        p = strrchr(text, ')'); /* the name before it may hold anything */
        return p && p[1] && p[2] ? p + 2 : NULL;
}

bool task_is_doomed(pid_t pid) {
        enum { STATE = 3, FLAGS = 9, SIGNALS = 31 };
        char text[512];
        const char *p = task_state(pid, text);
        bool doomed = !p || *p == 'Z' || *p == 'X';

        for (int field = STATE; p && !doomed && field <= SIGNALS; field++, p = strchr(p, ' '), p += p != NULL) {
                doomed = field == FLAGS && strtoul(p, NULL, 10) & EXITING;
                doomed = doomed || (field == SIGNALS && strtoul(p, NULL, 10) >> (SIGKILL - 1) & 1);
        }
        return doomed;
}

bool task_executes(pid_t pid) {
        enum { STATE = 3, START_CODE = 26 };
        char text[512];
        const char *p = task_state(pid, text);

        for (int field = STATE; p && field < START_CODE; field++, p = strchr(p, ' '), p += p != NULL)
                ;
        return p && *p == '0' && p[1] == ' ';
}

Task *task_add(Guard *g, pid_t pid, TaskState state) {
        Task **b = bucket(g, pid), *t = calloc(1, sizeof(*t));

        if (!t)
                return NULL;
        *t = (Task){.pid = pid, .state = state, .group = pid, .next = *b};
        *b = t;
        g->n_tasks++;
        count_moving(g, moving(state));
        g->n_early += state == TASK_EARLY;
        return t;
}

void task_move(Guard *g, Task *t, TaskState state) {
        g->n_early -= t->state == TASK_EARLY;
        count_moving(g, moving(state) - moving(t->state));
        t->state = state;
        g->n_early += state == TASK_EARLY;
}

static void leave_family(Guard *g, Space *s) {
        if (s->given_up)
                return;
        s->given_up = true;
        s->family->leaving -= s->leaving;
        g->n_leaving -= s->leaving;
        if (--s->family->living == 0) {
                round_end(s->family);
                free(s->family);
        }
}

static void drop_space(Guard *g, Space *s) {
        leave_family(g, s);
        round_close(s);
        free(s->objects.v);
        free(s);
}

void task_remove(Guard *g, Task *t) {
        Task **p = bucket(g, t->pid);
        Space *s = t->space;

        while (*p != t)
                p = &(*p)->next;
        *p = t->next;
        task_move(g, t, TASK_LEAVING);
        g->n_tasks--;
        free(t);
        if (s && --s->tasks == 0)
                drop_space(g, s);
}

pid_t task_report(Guard *g, int *ret_status) {
        unsigned misses = 0;

        for (size_t n = 0; n < BUCKETS && misses < MISSES_MAX; n++, g->asked = (g->asked + 1) % BUCKETS)
                for (const Task *t = g->buckets[g->asked]; t; t = t->next) {
                        pid_t pid = t->state == TASK_ENDING ? 0 : wait4(t->pid, ret_status, __WALL | WNOHANG, NULL);

                        if (pid > 0)
                                return pid;
                        misses += t->state != TASK_ENDING;
                }
        return 0;
}

void task_join(Guard *g, Task *t, Space *s) {
        t->space = s;
        space_count(g, s, 1);
        s->tasks++;
}

int task_new_space(Guard *g, Task *t, Family *f) {
        Space *s = calloc(1, sizeof(*s));

        if (s && !f)
                f = calloc(1, sizeof(*f));
        else if (f)
                f->forked = true;
        if (!s || !f) {
                free(s);
                return -ENOMEM;
        }
        s->family = f;
        f->living++;
        task_join(g, t, s);
        return 0;
}

int task_exec(Guard *g, Task *t) {
        Space *old = t->space;
        int e = task_new_space(g, t, NULL), given_up = 0;

        if (e < 0)
                return e;
        t->space->program = t->pid == g->program;
        space_count(g, old, -1);
        if (old->users == 0) {
                given_up = !old->worker;
                leave_family(g, old);
        }
        if (--old->tasks == 0)
                drop_space(g, old);
        return given_up;
}

int same_space(pid_t a, pid_t b) {
        long k = syscall(SYS_kcmp, a, b, KCMP_VM, 0, 0);

        return k < 0 ? -errno : k == 0;
}

bool task_is_ours(pid_t pid) {
        siginfo_t info;

        return waitid(P_PID, (id_t)pid, &info, WEXITED | WSTOPPED | WNOHANG | WNOWAIT | __WALL) == 0;
}

unsigned task_forget_ghosts(Guard *g, const Task *t) {
        unsigned n = 0;

        for (size_t i = 0; i < BUCKETS; i++)
                for (Task *k = g->buckets[i], *next; k; k = next) {
                        next = k->next;
                        if (k == t || k->group != t->group || task_is_ours(k->pid))
                                continue;
                        if (moving(k->state) && k->space) {
                                space_count(g, k->space, -1);
                                n += k->space == t->space;
                                if (k->space != t->space && k->space->users == 0 && !k->space->given_up)
                                        g->evidence->processes_missed++;
                        }
                        task_remove(g, k);
                }
        return n;
}

Task *task_other(Guard *g, const Task *t, bool (*f)(const Task *other, const Task *t)) {
        for (size_t i = 0; i < BUCKETS; i++)
                for (Task *k = g->buckets[i]; k; k = k->next)
                        if (k != t && k->space == t->space && moving(k->state) && f(k, t))
                                return k;
        return NULL;
}

static bool uses_memory(const Task *other, const Task *t) {
        return same_space(other->pid, t->pid) == 1;
}

/* A task at its end has no memory any more; a task that has some after the comparison had it before. */
static bool has_other_memory(const Task *other, const Task *t) {
        return same_space(other->pid, t->pid) == 0 && !task_executes(other->pid);
}

void task_was_through(Guard *g, Task *t) {
        if (t->space->users < 2)
                return;
        if (!scan_allowed(t->pid)) {
                g->evidence->processes_missed++;
                return;
        }
        if (task_other(g, t, uses_memory) || !task_other(g, t, has_other_memory))
                return;
        if (task_exec(g, t) < 0)
                abort();
}

int task_each_child(pid_t pid, void (*f)(Guard *g, pid_t child, void *arg), Guard *g, void *arg) {
        char path[64], text[4096];
        long child = 0;
        ssize_t n;
        int fd;

        snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)pid, (int)pid);
        fd = openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
        if (fd < 0)
                return -errno;
        while ((n = read(fd, text, sizeof(text))) > 0)
                for (ssize_t i = 0; i < n; i++)
                        if (text[i] >= '0' && text[i] <= '9')
                                child = child * 10 + (text[i] - '0');
                        else if (child > 0) {
                                f(g, (pid_t)child, arg);
                                child = 0;
                        }
        close(fd);
        return n < 0 ? -errno : 0;
}
