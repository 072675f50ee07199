/* What the tracer is told, and how it answers. A task that stops for no end is let go at once: the guard changes nothing of what it does. */
#include "scrub/guard/state.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#define OPTIONS                                                                                                                            \
        (PTRACE_O_EXITKILL | PTRACE_O_TRACEEXIT | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC)

/* Calls back with each child of a thread. Returns 0 or -errno. */
static int each_child(pid_t pid, void (*f)(Guard *g, pid_t child, void *arg), Guard *g, void *arg) {
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

static void only_child(Guard *g, pid_t child, void *arg) {
        pid_t *found = arg;

        *found = *found == 0 ? child : -1;
}

int trace_attach(Guard *g) {
        Task *t;
        int e;

        if (g->program <= 0) {
                g->program = 0;
                e = each_child(g->init, only_child, g, &g->program);
                if (e < 0)
                        return e;
                if (g->program <= 0)
                        return -ECHILD;
        }
        t = task_add(g, g->program, TASK_RUNNING);
        if (!t || task_new_space(g, t, NULL) < 0)
                return -ENOMEM;
        t->space->program = t->space->worker = true;
        if (ptrace(PTRACE_SEIZE, g->program, NULL, (void *)(uintptr_t)OPTIONS) == 0)
                return 0;
        e = -errno;
        task_remove(g, t);
        return e;
}

void trace_release(const Task *t) {
        ptrace(PTRACE_CONT, t->pid, NULL, NULL);
}

/* A task that is killed leaves the stop that was reported of it for its exit stop, and would be let go from there, its memory as it is. While
 * it is on the way, each request fails; when it has arrived, its siginfo says so. A program can make one that looks so, but no report. */
static bool left_its_stop(pid_t pid) {
        siginfo_t info;

        if (ptrace(PTRACE_GETSIGINFO, pid, NULL, &info) < 0)
                return errno == ESRCH;
        if (info.si_code != (PTRACE_EVENT_EXIT << 8 | SIGTRAP))
                return false;
        info.si_pid = 0;
        return waitid(P_PID, (id_t)pid, &info, WEXITED | WSTOPPED | WNOHANG | WNOWAIT | __WALL) < 0 || info.si_pid != 0;
}

/* Lets a task go on from any stop but its exit stop. */
static void go_on(Guard *g, Task *t, int signal) {
        if (g->frozen)
                kill(t->pid, SIGKILL); /* which wakes it, too */
        else if (pause_covers(g, t))
                pause_hold(t, TASK_HELD, signal);
        else if (!left_its_stop(t->pid))
                ptrace(PTRACE_CONT, t->pid, NULL, (void *)(intptr_t)signal);
}

/* A task made by `parent` is a further user of its space, or has one of its own that shares its pages. */
static void belongs(Guard *g, Task *t, const Task *parent, int event) {
        int same = same_space(parent->pid, t->pid);

        if (same < 0)
                same = event != PTRACE_EVENT_FORK;
        t->leader = !(same && event == PTRACE_EVENT_CLONE);
        if (same)
                task_join(g, t, parent->space);
        else if (task_new_space(g, t, parent->space->family) < 0)
                abort();
}

static bool ours(pid_t pid) {
        siginfo_t info;

        return waitid(P_PID, (id_t)pid, &info, WEXITED | WSTOPPED | WNOHANG | WNOWAIT | __WALL) == 0;
}

static void on_child(Guard *g, Task *parent, int event) {
        unsigned long pid = 0;
        Task *t;

        if (ptrace(PTRACE_GETEVENTMSG, parent->pid, NULL, &pid) < 0)
                return; /* killed: what it made will be an early task that nobody named */
        t = task_find(g, (pid_t)pid);
        if (t && t->state == TASK_EARLY && !t->space) {
                belongs(g, t, parent, event);
                task_move(g, t, TASK_RUNNING);
                go_on(g, t, 0);
        } else if (!t && ours((pid_t)pid)) {
                t = task_add(g, (pid_t)pid, TASK_AWAITED);
                if (!t)
                        abort();
                belongs(g, t, parent, event);
        }
        go_on(g, parent, 0);
}

/* Which space a task uses that no event named: the kernel can compare. Else it has one of its own, with pages of the parent's. */
static void find_space(Guard *g, Task *t, const Task *parent) {
        for (size_t i = 0; i < BUCKETS; i++)
                for (Task *k = g->buckets[i]; k; k = k->next)
                        if (k != t && k->space && k->state != TASK_LEAVING && same_space(k->pid, t->pid) == 1) {
                                task_join(g, t, k->space);
                                return;
                        }
        if (task_new_space(g, t, parent ? parent->space->family : NULL) < 0)
                abort();
        t->space->family->forked = true;
}

/* The traced process that made it, if that is still there. */
static Task *parent_of(Guard *g, pid_t pid) {
        char path[64], text[512], *p;
        Task *parent;
        ssize_t n;
        int fd;

        snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
        fd = openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
        if (fd < 0)
                return NULL;
        n = read(fd, text, sizeof(text) - 1);
        close(fd);
        text[n > 0 ? n : 0] = 0;
        p = strrchr(text, ')'); /* the name before it may hold anything */
        parent = p && p[1] && p[2] && p[3] ? task_find(g, (pid_t)strtol(p + 4, NULL, 10)) : NULL;
        return parent && parent->space ? parent : NULL;
}

void trace_settle(Guard *g) {
        for (size_t i = 0; g->n_early > 0 && i < BUCKETS; i++)
                for (Task *t = g->buckets[i]; t; t = t->next)
                        if (t->state == TASK_EARLY) {
                                find_space(g, t, parent_of(g, t->pid));
                                task_move(g, t, TASK_RUNNING);
                                go_on(g, t, 0);
                        }
}

/* A thread that executes takes on its leader's pid; the others have ended before. */
static void on_exec(Guard *g, Task *t) {
        unsigned long former = 0;
        int e;

        if (ptrace(PTRACE_GETEVENTMSG, t->pid, NULL, &former) == 0 && former != 0 && (pid_t)former != t->pid) {
                Task *old = task_find(g, (pid_t)former);

                if (old && old->space == t->space) {
                        /* The leader's entry goes on as the thread that took its place. */
                        if (t->state == TASK_LEAVING)
                                space_count(g, t->space, 1);
                        task_move(g, t, TASK_RUNNING);
                        if (old->state != TASK_LEAVING)
                                space_count(g, old->space, -1);
                        task_remove(g, old);
                }
        }
        e = task_exec(g, t);
        if (e < 0)
                abort();
        g->evidence->exec_images += (uint64_t)e;
        go_on(g, t, 0);
}

static void find_unseen(Guard *g, pid_t child, void *arg) {
        if (!task_find(g, child) && ours(child)) {
                Task *t = task_add(g, child, TASK_AWAITED);

                if (!t)
                        abort();
                find_space(g, t, arg);
                kill(child, SIGKILL);
        }
}

static void on_exit_stop(Guard *g, Task *t) {
        Space *s;

        g->evidence->threads++;
        regs_clear(g, t->pid);
        if (!t->space)
                find_space(g, t, parent_of(g, t->pid));
        s = t->space;
        /* Killed while it made a child, it did not report it; what is frozen must be complete. */
        if (g->frozen)
                each_child(t->pid, find_unseen, g, t);
        space_count(g, s, -1);
        if (s->users > 0) {
                if (t->leader)
                        files_keep(g, t);
                task_move(g, t, TASK_LEAVING);
                trace_release(t);
                return;
        }
        task_move(g, t, TASK_ENDING);
        s->last = t;
        s->next = NULL;
        *g->ending_tail = s;
        g->ending_tail = &s->next;
}

static void on_dead(Guard *g, Task *t) {
        Space *s = t->space;

        /* The kernel leaves the exit stop out when the task is killed between its own exit and the stop. */
        if (t->state != TASK_LEAVING && s) {
                space_count(g, s, -1);
                if (s->users == 0 && !s->given_up)
                        g->evidence->processes_missed++;
        }
        task_remove(g, t);
        files_clear(g, false);
}

static void on_stop(Guard *g, Task *t, int signal, bool new) {
        if (new)
                return; /* EARLY: its parent's event or trace_settle() lets it go */
        if (t->state == TASK_AWAITED)
                task_move(g, t, TASK_RUNNING);
        if (signal == SIGTRAP || g->frozen)
                go_on(g, t, 0);
        else if (pause_covers(g, t))
                pause_hold(t, TASK_HELD_GROUP, 0);
        else
                ptrace(PTRACE_LISTEN, t->pid, NULL, NULL); /* its group is stopped, and stays so until SIGCONT */
}

static void take(Guard *g, pid_t pid, int status) {
        Task *t = task_find(g, pid);
        bool new = !t;

        if (new && (WIFEXITED(status) || WIFSIGNALED(status)))
                return;
        if (new) {
                t = task_add(g, pid, TASK_EARLY);
                if (!t)
                        abort(); /* with EXITKILL: no process goes on that nobody will clear */
        }
        t->held = TASK_NOT_HELD;
        if (!WIFSTOPPED(status)) {
                on_dead(g, t);
                return;
        }
        switch (status >> 16) {
        case PTRACE_EVENT_EXIT:
                on_exit_stop(g, t);
                return;
        case PTRACE_EVENT_EXEC:
                on_exec(g, t);
                return;
        case PTRACE_EVENT_FORK:
        case PTRACE_EVENT_VFORK:
        case PTRACE_EVENT_CLONE:
                on_child(g, t, status >> 16);
                return;
        case PTRACE_EVENT_STOP:
                on_stop(g, t, WSTOPSIG(status), new);
                return;
        default:
                go_on(g, t, WSTOPSIG(status));
        }
}

void trace_report(Guard *g, pid_t pid, int status) {
        take(g, pid, status);
        if (g->pause.active && pid == g->pause.by) /* its call is over, or it is */
                pause_end(g);
}

void trace_go_on(Guard *g, Task *t) {
        TaskHeld held = t->held;

        t->held = TASK_NOT_HELD;
        if (held == TASK_HELD_GROUP)
                ptrace(PTRACE_LISTEN, t->pid, NULL, NULL);
        else
                go_on(g, t, t->signal);
}

void trace_kill_all(Guard *g) {
        for (size_t i = 0; i < BUCKETS; i++)
                for (Task *t = g->buckets[i]; t; t = t->next)
                        if (t->state == TASK_AWAITED || t->state == TASK_RUNNING || t->state == TASK_EARLY)
                                kill(t->pid, SIGKILL);
}
