/* What the tracer is told, and how it answers. A task that stops for no end is let go at once: the guard changes nothing of what it
 * does, but for restart_call(). */
#include "scrub/tracer/state.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define OPTIONS                                                                                                                            \
        (PTRACE_O_EXITKILL | PTRACE_O_TRACEEXIT | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC)

/* A thread that waits for others of its group, which was not killed, does not keep one from executing something for longer than this. */
#define PARKED_MAX_USEC 100000
#define ASKED_MOST 8 /* of more that may be running, nobody asks */

static void only_child(Guard *g, pid_t child, void *arg) {
        pid_t *found = arg;

        *found = *found == 0 ? child : -1;
}

int trace_attach(Guard *g) {
        Task *t;
        int e;

        if (g->program <= 0) {
                g->program = 0;
                e = task_each_child(g->init, only_child, g, &g->program);
                if (e < 0)
                        return e;
                if (g->program <= 0)
                        return -ECHILD;
        }
        t = task_add(g, g->program, TASK_RUNNING);
        if (!t || task_new_space(g, t, NULL) < 0)
                return -ENOMEM;
        t->space->program = true;
        t->space->worker = !g->warm;
        t->space->family->warm = g->warm;
        if (ptrace(PTRACE_SEIZE, g->program, NULL, (void *)(uintptr_t)OPTIONS) == 0)
                return 0;
        e = -errno;
        task_remove(g, t);
        return e;
}

/* One that cannot be let go would stand at its exit stop for ever: with this process the kernel lets it go. */
void trace_release(const Task *t) {
        if (ptrace(PTRACE_CONT, t->pid, NULL, NULL) < 0 && errno != ESRCH)
                abort();
}

void trace_request(const Task *t, unsigned request, int signal) {
        if (ptrace(request, t->pid, NULL, (void *)(intptr_t)signal) < 0 && errno != ESRCH)
                kill(t->pid, SIGKILL);
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
                trace_request(t, PTRACE_CONT, signal);
}

static bool in_group(pid_t group, pid_t pid) {
        return syscall(SYS_tgkill, group, pid, 0) == 0 || errno == EPERM;
}

/* t is a further user of k's space, and perhaps a thread of its group. */
static void joins(Guard *g, Task *t, const Task *k) {
        if (in_group(k->group, t->pid))
                t->group = k->group;
        task_join(g, t, k->space);
}

static bool same_files(const Task *other, const Task *t) {
        return syscall(SYS_kcmp, other->pid, t->pid, KCMP_FILES, 0, 0) == 0;
}

/* A task that was just made has run nothing yet: a child of vfork(2) uses its parent's memory and has a table of descriptors of its own. Where the kernel does
 * not say, who has the memory has the table. */
static bool made_with_files(const Task *t, const Task *parent, bool same_memory) {
        long k = syscall(SYS_kcmp, parent->pid, t->pid, KCMP_FILES, 0, 0);

        return k == 0 || (k < 0 && same_memory);
}

/* A task made by `parent` is a further user of its space, or has one of its own that shares its pages. */
static void belongs(Guard *g, Task *t, const Task *parent, int event) {
        int same = same_space(parent->pid, t->pid);

        if (same < 0)
                same = event != PTRACE_EVENT_FORK;
        if (same)
                joins(g, t, parent);
        else if (task_new_space(g, t, parent->space->family) < 0)
                abort();
        if (made_with_files(t, parent, same))
                t->space->closed_by_others = parent->space->closed_by_others = true;
}

static void on_child(Guard *g, Task *parent, int event) {
        unsigned long pid = 0;
        Task *t;

        /* Not told: what it made will be an early task that nobody named. */
        if (ptrace(PTRACE_GETEVENTMSG, parent->pid, NULL, &pid) < 0 && errno == ESRCH)
                return; /* killed */
        t = task_find(g, (pid_t)pid);
        if (t && t->state == TASK_EARLY && !t->space) {
                belongs(g, t, parent, event);
                task_move(g, t, TASK_RUNNING);
                go_on(g, t, 0);
        } else if (!t && pid > 0 && task_is_ours((pid_t)pid)) {
                t = task_add(g, (pid_t)pid, TASK_AWAITED);
                if (!t)
                        abort();
                belongs(g, t, parent, event);
        }
        go_on(g, parent, 0);
}

/* Which space a task uses that no event named: the kernel can compare, and a leader that has left is reaped only after
 * its threads. Else it has one of its own, with pages of the parent's. */
static void find_space(Guard *g, Task *t, const Task *parent) {
        for (size_t i = 0; i < BUCKETS; i++)
                for (Task *k = g->buckets[i]; k; k = k->next)
                        if (k != t && k->space && (k->state == TASK_LEAVING ? in_group(k->pid, t->pid) : same_space(k->pid, t->pid) == 1)) {
                                joins(g, t, k);
                                k->space->closed_by_others = true;
                                return;
                        }
        if (task_new_space(g, t, parent ? parent->space->family : NULL) < 0)
                abort();
        t->space->family->forked = true;
        t->space->closed_by_others = !parent || same_files(t, parent);
        if (parent && t->space->closed_by_others)
                parent->space->closed_by_others = true;
}

/* The traced process that made it, if that is still there. */
static Task *parent_of(Guard *g, pid_t pid) {
        char text[512];
        const char *p = task_state(pid, text);
        Task *parent = p && p[1] ? task_find(g, (pid_t)strtol(p + 2, NULL, 10)) : NULL;

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

/* A thread that executes takes on its leader's pid; the others have ended before. What nobody but root may look into, because its file cannot
 * be read, could not be overwritten: an ordinary user's guard does not let it run its first instruction. */
static void on_exec(Guard *g, Task *t) {
        bool left = t->state == TASK_LEAVING || t->state == TASK_ENDING;
        unsigned ghosts;
        int e;

        /* The leader's entry goes on as the thread that took its place. */
        if (left) {
                space_count(g, t->space, 1);
                task_move(g, t, TASK_RUNNING);
        }
        ghosts = task_forget_ghosts(g, t);
        if (ghosts > 0 && !left)
                g->evidence->registers_missed++; /* the leader's: it never came to its stop */
        e = task_exec(g, t);
        if (e < 0)
                abort();
        g->evidence->exec_images += (uint64_t)e;
        if (scan_allowed(t->pid))
                go_on(g, t, 0);
        else
                kill(t->pid, SIGKILL);
}

/* A child of a task that was killed while it made it, and so did not say so; while the parent stands at its exit stop, the kernel knows. */
static void adopt(Guard *g, pid_t child, void *arg) {
        Task *t = task_find(g, child);

        if (t ? t->space != NULL : !task_is_ours(child))
                return;
        if (!t)
                t = task_add(g, child, TASK_AWAITED);
        if (!t)
                abort();
        find_space(g, t, arg);
        if (t->state == TASK_EARLY) {
                task_move(g, t, TASK_RUNNING);
                go_on(g, t, 0);
        } else if (g->frozen)
                kill(child, SIGKILL);
}

static bool same_group(const Task *other, const Task *t) {
        return other->group == t->group;
}

static void park(Guard *g, Task *t, Ends how) {
        task_move(g, t, TASK_ENDING);
        t->space->parked = t;
        t->space->parked_usec = how == ENDS_KILLED ? UINT64_MAX : now_usec();
        g->n_parked++;
}

static Task *unpark(Guard *g, Space *s) {
        Task *t = s->parked;

        s->parked = NULL;
        g->n_parked -= t != NULL;
        return t;
}

static void let_go(Guard *g, Task *t) {
        if (!t)
                return;
        task_move(g, t, TASK_LEAVING);
        trace_release(t);
}

/* t stands at its exit stop, and nobody uses its space any more. */
static void ends(Guard *g, Task *t) {
        Space *s = t->space;

        let_go(g, unpark(g, s));
        task_move(g, t, TASK_ENDING);
        if (s->last) { /* was found after that one came to its end */
                let_go(g, s->last);
                s->last = t;
                return;
        }
        s->last = t;
        s->next = NULL;
        *g->ending_tail = s;
        g->ending_tail = &s->next;
        s->family->ending++;
        g->report_usec = g->frozen ? now_usec() : 0;
}

/* A leader that ended without a stop is reported only after its threads: one that waits for it would wait for itself. */
static void look_at_leader(Guard *g, Space *s) {
        Task *leader = task_find(g, s->parked->group);
        char text[512];
        const char *state;

        if (!leader || leader->space != s || leader->state == TASK_LEAVING || leader->state == TASK_ENDING)
                return;
        state = task_state(leader->pid, text);
        if (!state || (*state != 'Z' && *state != 'X'))
                return;
        task_move(g, leader, TASK_LEAVING);
        g->evidence->registers_missed++;
        space_count(g, s, -1);
        if (s->users == 0)
                ends(g, unpark(g, s));
}

bool trace_others_run(Guard *g, const Task *t) {
        unsigned others = g->n_moving - task_is_moving(t);
        char text[512];

        if (others > ASKED_MOST)
                return true;
        for (size_t i = 0; others > 0 && i < BUCKETS; i++)
                for (const Task *k = g->buckets[i]; k; k = k->next) {
                        const char *state = k != t && task_is_moving(k) ? task_state(k->pid, text) : NULL;

                        if (state && *state != 't' && !task_is_doomed(k->pid))
                                return true;
                }
        return false;
}

/* The table of descriptors of t goes with it: what hangs there is kept. Until the region's end is certain, another process may still read what lies in a
 * socket or a pipe. */
static void keep_table(Guard *g, const Task *t) {
        bool over = end_all_die(g, t);

        files_count(g, t);
        files_keep(g, t);
        if (over)
                queues_keep(g, t->pid);
        queues_look(g, t->pid);
}

/* t stands at its exit stop, and others use its space. They may be on their way to their end without a stop, when the whole group dies. */
static void leaves(Guard *g, Task *t, Ends how) {
        const Task *parked = t->space->parked;

        if (!task_other(g, t, same_files) && !(parked && same_files(parked, t)))
                keep_table(g, t);
        if (how != ENDS_ALONE && !t->space->parked && task_other(g, t, same_group)) {
                park(g, t, how);
                look_at_leader(g, t->space);
                return;
        }
        let_go(g, t);
        if (t->space->parked && !task_other(g, t->space->parked, same_group))
                let_go(g, unpark(g, t->space));
}

static void on_exit_stop(Guard *g, Task *t) {
        bool again = t->state == TASK_LEAVING, made, held, executes;
        Ends how = regs_how_it_ends(g, t->pid, &made, &held, &executes);

        /* Who killed it may have said before that all of them end, and that is to be known by who looks what it leaves. */
        if (how == ENDS_KILLED && !g->frozen)
                order_take_sent(g);
        g->evidence->threads++;
        regs_clear(g, t->pid);
        if (!t->space)
                find_space(g, t, parent_of(g, t->pid));
        if (executes && !again)
                task_was_through(g, t);
        if (held && t->space->closed_by_others && files_ever(g)) {
                g->evidence->calls_cut++;
                files_miss(g, &(struct stat){});
        }
        /* Left before: now it is a thread that took on this pid to execute something, and was killed before it could say so. */
        if (again)
                space_count(g, t->space, 1);
        if (again || (how != ENDS_ALONE && t->space->users > 1 && !t->space->parked))
                task_forget_ghosts(g, t);
        if (made)
                task_each_child(t->pid, adopt, g, t);
        space_count(g, t->space, -1);
        if (t->space->users > 0)
                leaves(g, t, how);
        else
                ends(g, t);
}

static void on_dead(Guard *g, Task *t) {
        Space *s = t->space;
        unsigned lost = 0;

        /* The kernel leaves the exit stop out when the task is killed between its own exit and the stop. */
        if (s && s->tasks > 1 && t->group == t->pid)
                lost = task_forget_ghosts(g, t);
        if (s && t->state != TASK_LEAVING && t->state != TASK_ENDING) {
                space_count(g, s, -1);
                lost++;
                g->evidence->registers_missed++;
        }
        if (s && s->parked == t)
                unpark(g, s);
        if (s && s->last == t) {
                end_forget(g, s);
                g->evidence->processes_missed++;
        }
        if (lost > 0 && s->users == 0 && !s->given_up) {
                if (s->parked)
                        ends(g, unpark(g, s));
                else
                        g->evidence->processes_missed++;
        }
        task_remove(g, t);
        files_clear(g, false);
}

void trace_unpark(Guard *g) {
        uint64_t now = g->n_parked > 0 ? now_usec() : 0;

        for (size_t i = 0; g->n_parked > 0 && i < BUCKETS; i++)
                for (Task *t = g->buckets[i]; t; t = t->next) {
                        Space *s = t->space;

                        if (!s || s->parked != t)
                                continue;
                        look_at_leader(g, s);
                        if (s->parked == t && !g->frozen && now > s->parked_usec && now - s->parked_usec > PARKED_MAX_USEC)
                                let_go(g, unpark(g, s));
                }
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
                trace_request(t, PTRACE_LISTEN, 0); /* its group is stopped, and stays so until SIGCONT */
}

/* A fault of the program's own has its address. */
static void note_signal(Guard *g, pid_t pid, int signal) {
        siginfo_t info;

        if (signal == SIGSEGV && ptrace(PTRACE_GETSIGINFO, pid, NULL, &info) == 0 && info.si_code == SI_KERNEL)
                g->evidence->facts |= GUARD_FACT_KERNEL_SEGV;
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
                note_signal(g, pid, WSTOPSIG(status));
                restart_call(g, pid);
                go_on(g, t, WSTOPSIG(status));
        }
}

void trace_report(Guard *g, pid_t pid, int status) {
        bool waited = g->pause.active && pid == g->pause.by;
        bool over = !WIFSTOPPED(status) || status >> 16 == PTRACE_EVENT_EXEC || status >> 16 == PTRACE_EVENT_EXIT;

        if (waited)
                order_take_sent(g); /* what was said before its call went on */
        if (waited && !over && g->pause.active && g->pause.doomed) {
                kill(pid, SIGKILL); /* which wakes it for its exit stop, and nothing else */
                pause_end(g, ECHILD);
                return;
        }
        take(g, pid, status);
        if (waited) /* its call is over, or it is */
                pause_end(g, 0);
}

void trace_go_on(Guard *g, Task *t) {
        TaskHeld held = t->held;

        t->held = TASK_NOT_HELD;
        if (held == TASK_HELD_GROUP)
                trace_request(t, PTRACE_LISTEN, 0);
        else
                go_on(g, t, t->signal);
}

void trace_kill_all(Guard *g) {
        for (size_t i = 0; i < BUCKETS; i++)
                for (Task *t = g->buckets[i]; t; t = t->next)
                        if (t->state == TASK_AWAITED || t->state == TASK_RUNNING || t->state == TASK_EARLY)
                                kill(t->pid, SIGKILL);
}
