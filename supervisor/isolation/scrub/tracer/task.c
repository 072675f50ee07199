#include "scrub/tracer/state.h"

#include <linux/kcmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define MISSES_MAX 8
#define ASKED_MOST 8 /* with more running tasks, none is asked */
#define EXITING 4 /* PF_EXITING of the kernel */

static Task **task_bucket(Tracer *g, pid_t pid) {
        return &g->buckets[(unsigned)pid % BUCKETS];
}

static Task *task_first_from(const Tracer *g, size_t i) {
        while (i < BUCKETS && !g->buckets[i])
                i++;
        return i < BUCKETS ? g->buckets[i] : NULL;
}

Task *task_first(const Tracer *g) {
        return task_first_from(g, 0);
}

Task *task_next(const Tracer *g, const Task *t) {
        return t->next ?: task_first_from(g, (unsigned)t->pid % BUCKETS + 1);
}

Task *task_find(Tracer *g, pid_t pid) {
        Task *t = *task_bucket(g, pid);

        while (t && t->pid != pid)
                t = t->next;
        return t;
}

static bool task_state_moves(TaskState s) {
        return s == TASK_AWAITED || s == TASK_EARLY || s == TASK_RUNNING;
}

/* The count rises before a new task's first start, so that the supervisor knows of every running task. */
static void task_count_moving(Tracer *g, int by) {
        g->n_moving += (unsigned)by;
        __atomic_store_n(&g->evidence->living, g->n_moving, __ATOMIC_RELEASE);
}

void space_count(Tracer *g, Space *s, int by) {
        unsigned before = s->users > 1 ? s->users - 1 : 0, after;

        s->users += (unsigned)by;
        after = s->users > 1 ? s->users - 1 : 0;
        __atomic_store_n(&g->evidence->sharing, g->evidence->sharing + after - before, __ATOMIC_RELEASE);
}

ssize_t task_read(pid_t pid, const char *name, char *text, size_t size) {
        _autoclose_ int fd = scan_open(pid, name);
        ssize_t n = fd < 0 ? -1 : read(fd, text, size - 1);

        text[n > 0 ? n : 0] = 0;
        return n;
}

const char *task_state(pid_t pid, char text[static 512]) {
        const char *p;

        task_read(pid, "stat", text, 512);
        p = strrchr(text, ')'); /* the name before may hold any byte */
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

Task *task_add(Tracer *g, pid_t pid, TaskState state) {
        Task **b = task_bucket(g, pid), *t = calloc(1, sizeof(*t));

        if (!t)
                return NULL;
        *t = (Task){.pid = pid, .state = state, .group = pid, .next = *b};
        *b = t;
        g->n_tasks++;
        task_count_moving(g, task_state_moves(state));
        g->n_early += state == TASK_EARLY;
        return t;
}

void task_move(Tracer *g, Task *t, TaskState state) {
        g->n_early -= t->state == TASK_EARLY;
        task_count_moving(g, task_state_moves(state) - task_state_moves(t->state));
        t->state = state;
        g->n_early += state == TASK_EARLY;
}

void space_close(Space *s) {
        if (s->maps > 0)
                close(s->maps);
        if (s->pagemap > 0)
                close(s->pagemap);
        s->maps = s->pagemap = 0;
}

void family_end_round(ForkFamily *f) {
        if (f->round)
                free(f->round->v);
        free(f->round);
        f->round = NULL;
}

static void space_leave_family(Tracer *g, Space *s) {
        if (s->given_up)
                return;
        s->given_up = true;
        s->family->leaving -= s->leaving;
        g->n_leaving -= s->leaving;
        if (--s->family->living == 0) {
                family_end_round(s->family);
                free(s->family);
        }
}

static void space_drop(Tracer *g, Space *s) {
        space_leave_family(g, s);
        space_close(s);
        free(s->objects.v);
        free(s);
}

void task_remove(Tracer *g, Task *t) {
        Task **p = task_bucket(g, t->pid);
        Space *s = t->space;

        while (*p != t)
                p = &(*p)->next;
        *p = t->next;
        task_move(g, t, TASK_LEAVING);
        g->n_tasks--;
        free(t);
        if (s && --s->tasks == 0)
                space_drop(g, s);
}

pid_t task_report(Tracer *g, int *ret_status) {
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

void task_join(Tracer *g, Task *t, Space *s) {
        t->space = s;
        space_count(g, s, 1);
        s->tasks++;
}

int task_new_space(Tracer *g, Task *t, ForkFamily *f) {
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

int task_exec(Tracer *g, Task *t) {
        Space *old = t->space;
        int e = task_new_space(g, t, NULL), given_up = 0;

        if (e < 0)
                return e;
        t->space->program = t->pid == g->program;
        space_count(g, old, -1);
        if (old->users == 0) {
                given_up = !old->worker;
                space_leave_family(g, old);
        }
        if (--old->tasks == 0)
                space_drop(g, old);
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

unsigned task_forget_ghosts(Tracer *g, const Task *t) {
        unsigned n = 0;

        for (size_t i = 0; i < BUCKETS; i++)
                for (Task *k = g->buckets[i], *next; k; k = next) {
                        next = k->next;
                        if (k == t || k->group != t->group || task_is_ours(k->pid))
                                continue;
                        if (task_state_moves(k->state) && k->space) {
                                space_count(g, k->space, -1);
                                n += k->space == t->space;
                                if (k->space != t->space && k->space->users == 0 && !k->space->given_up)
                                        g->evidence->processes_missed++;
                        }
                        task_remove(g, k);
                }
        return n;
}

Task *task_other(Tracer *g, const Task *t, bool (*f)(const Task *other, const Task *t)) {
        for (Task *k = task_first(g); k; k = task_next(g, k))
                if (k != t && k->space == t->space && task_state_moves(k->state) && f(k, t))
                        return k;
        return NULL;
}

static bool task_uses_memory(const Task *other, const Task *t) {
        return same_space(other->pid, t->pid) == 1;
}

/* A task at its end has no memory; a task with memory after the comparison had it before. */
static bool task_has_other_memory(const Task *other, const Task *t) {
        return same_space(other->pid, t->pid) == 0 && !task_executes(other->pid);
}

void task_was_through(Tracer *g, Task *t) {
        if (t->space->users < 2)
                return;
        if (!scan_allowed(t->pid)) {
                g->evidence->processes_missed++;
                return;
        }
        if (task_other(g, t, task_uses_memory) || !task_other(g, t, task_has_other_memory))
                return;
        if (task_exec(g, t) < 0)
                abort();
}

int task_each_child(pid_t pid, void (*f)(Tracer *g, pid_t child, void *arg), Tracer *g, void *arg) {
        char path[64], text[4096];
        _autoclose_ int fd = -1;
        long child = 0;
        ssize_t n;

        snprintf(path, sizeof(path), "task/%d/children", (int)pid);
        fd = scan_open(pid, path);
        if (fd < 0)
                return fd;
        while ((n = read(fd, text, sizeof(text))) > 0)
                for (ssize_t i = 0; i < n; i++)
                        if (text[i] >= '0' && text[i] <= '9')
                                child = child * 10 + (text[i] - '0');
                        else if (child > 0) {
                                f(g, (pid_t)child, arg);
                                child = 0;
                        }
        return n < 0 ? -errno : 0;
}

bool task_others_run(Tracer *g, const Task *t) {
        unsigned others = g->n_moving - task_state_moves(t->state);
        char text[512];

        if (others > ASKED_MOST)
                return true;
        for (const Task *k = task_first(g); k && others > 0; k = task_next(g, k)) {
                const char *state = k != t && task_state_moves(k->state) ? task_state(k->pid, text) : NULL;

                if (state && *state != 't' && !task_is_doomed(k->pid))
                        return true;
        }
        return false;
}
