/* Reports of traced tasks. A task that stops without ending is let go at once: only restart_call() changes results. */
#include "scrub/tracer/state.h"

#include <linux/kcmp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define OPTIONS                                                                                                    \
        (PTRACE_O_EXITKILL | PTRACE_O_TRACEEXIT | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE | \
         PTRACE_O_TRACEEXEC)

/* A parked thread that was not killed delays another thread's execve at most for this time. */
#define PARKED_MAX_USEC 100000

static void trace_only_child(Tracer *g, pid_t child, void *arg) {
        pid_t *found = arg;

        *found = *found == 0 ? child : -1;
}

int trace_attach(Tracer *g) {
        Task *t;
        int e;

        if (g->program <= 0) {
                g->program = 0;
                e = task_each_child(g->init, trace_only_child, g, &g->program);
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
        e = errno == EPERM && task_is_doomed(g->program) ? -ESRCH : -errno; /* the kernel says EPERM of a zombie, too */
        task_remove(g, t);
        return e;
}

static bool trace_is_in_group(pid_t group, pid_t pid) {
        return syscall(SYS_tgkill, group, pid, 0) == 0 || errno == EPERM;
}

/* t is a further user of k's space, and perhaps a thread of its group. */
static void trace_join_space(Tracer *g, Task *t, const Task *k) {
        if (trace_is_in_group(k->group, t->pid))
                t->group = k->group;
        task_join(g, t, k->space);
}

static bool trace_same_files(const Task *other, const Task *t) {
        return syscall(SYS_kcmp, other->pid, t->pid, KCMP_FILES, 0, 0) == 0;
}

/* A task made by `parent` joins the parent's space, or gets an own space with common pages. */
static void trace_assign_space(Tracer *g, Task *t, const Task *parent, int event) {
        int same = same_space(parent->pid, t->pid);
        long files = syscall(SYS_kcmp, parent->pid, t->pid, KCMP_FILES, 0, 0);

        if (same < 0)
                same = event != PTRACE_EVENT_FORK;
        if (same)
                trace_join_space(g, t, parent);
        else if (task_new_space(g, t, parent->space->family) < 0)
                abort();
        /* A new task has run no code yet: a child of vfork(2) uses the parent's memory and an own descriptor table.
         * Where the kernel does not tell, a task with the parent's memory has the parent's table, too. */
        if (files == 0 || (files < 0 && same))
                t->space->closed_by_others = parent->space->closed_by_others = true;
}

static void trace_on_child(Tracer *g, Task *parent, int event) {
        unsigned long pid = 0;
        Task *t;

        /* A lost event leaves an early task without a parent's word. */
        if (ptrace(PTRACE_GETEVENTMSG, parent->pid, NULL, &pid) < 0 && errno == ESRCH)
                return; /* killed */
        t = task_find(g, (pid_t)pid);
        if (t && t->state == TASK_EARLY && !t->space) {
                trace_assign_space(g, t, parent, event);
                task_move(g, t, TASK_RUNNING);
                task_continue(g, t, 0);
        } else if (!t && pid > 0 && task_is_ours((pid_t)pid)) {
                t = task_add(g, (pid_t)pid, TASK_AWAITED);
                if (!t)
                        abort();
                trace_assign_space(g, t, parent, event);
        }
        task_continue(g, parent, 0);
}

/* Finds the space of a task without an event: the kernel can compare, and a leader past the exit stop is reaped only
 * after all threads. Else the task has an own space, with pages of the parent. */
static void trace_find_space(Tracer *g, Task *t, const Task *parent) {
        for (Task *k = task_first(g); k; k = task_next(g, k))
                if (k != t && k->space &&
                    (k->state == TASK_LEAVING ? trace_is_in_group(k->pid, t->pid)
                                              : same_space(k->pid, t->pid) == 1)) {
                        trace_join_space(g, t, k);
                        k->space->closed_by_others = true;
                        return;
                }
        if (task_new_space(g, t, parent ? parent->space->family : NULL) < 0)
                abort();
        t->space->family->forked = true;
        t->space->closed_by_others = !parent || trace_same_files(t, parent);
        if (parent && t->space->closed_by_others)
                parent->space->closed_by_others = true;
}

/* The traced parent of the task, if still there. */
static Task *trace_parent(Tracer *g, pid_t pid) {
        char text[512];
        const char *p = task_state(pid, text);
        Task *parent = p && p[1] ? task_find(g, (pid_t)strtol(p + 2, NULL, 10)) : NULL;

        return parent && parent->space ? parent : NULL;
}

void trace_settle(Tracer *g) {
        for (Task *t = task_first(g); t && g->n_early > 0; t = task_next(g, t))
                if (t->state == TASK_EARLY) {
                        trace_find_space(g, t, trace_parent(g, t->pid));
                        task_move(g, t, TASK_RUNNING);
                        task_continue(g, t, 0);
                }
}

/* An executing thread takes on its leader's pid; the other threads have ended before. An image that only root may read
 * could not be overwritten: an ordinary user's guard kills the task before its first instruction. */
static void trace_on_exec(Tracer *g, Task *t) {
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
                g->evidence->registers_missed++; /* the leader's, without an exit stop */
        e = task_exec(g, t);
        if (e < 0)
                abort();
        g->evidence->exec_images += (uint64_t)e;
        if (scan_allowed(t->pid))
                task_continue(g, t, 0);
        else
                kill(t->pid, SIGKILL);
}

/* A child whose parent was killed before its report. At the parent's exit stop, the kernel still knows the child. */
static void trace_adopt(Tracer *g, pid_t child, void *arg) {
        Task *t = task_find(g, child);

        if (t ? t->space != NULL : !task_is_ours(child))
                return;
        if (!t)
                t = task_add(g, child, TASK_AWAITED);
        if (!t)
                abort();
        trace_find_space(g, t, arg);
        if (t->state == TASK_EARLY) {
                task_move(g, t, TASK_RUNNING);
                task_continue(g, t, 0);
        } else if (g->frozen)
                kill(child, SIGKILL);
}

static bool trace_same_group(const Task *other, const Task *t) {
        return other->group == t->group;
}

static void trace_park(Tracer *g, Task *t, Ends how) {
        task_move(g, t, TASK_ENDING);
        t->space->parked = t;
        t->space->parked_usec = how == ENDS_KILLED ? UINT64_MAX : now_usec();
        g->n_parked++;
}

static Task *trace_take_parked(Tracer *g, Space *s) {
        Task *t = s->parked;

        s->parked = NULL;
        g->n_parked -= t != NULL;
        return t;
}

static void trace_let_go(Tracer *g, Task *t) {
        if (!t)
                return;
        task_move(g, t, TASK_LEAVING);
        task_release(t);
}

/* t stands at its exit stop, and its space has no further user. */
static void trace_on_space_end(Tracer *g, Task *t) {
        Space *s = t->space;

        trace_let_go(g, trace_take_parked(g, s));
        task_move(g, t, TASK_ENDING);
        if (s->last) { /* t was found after that task came to its end */
                trace_let_go(g, s->last);
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

/* A leader that ended without a stop is reported only after its threads: a parked thread would wait for itself. */
static void trace_look_at_leader(Tracer *g, Space *s) {
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
                trace_on_space_end(g, trace_take_parked(g, s));
}

/* The descriptor table goes with t: open files are kept. Before the region's end, other processes may read sockets and
 * pipes. */
static void trace_keep_table(Tracer *g, const Task *t) {
        bool over = end_all_die(g, t);

        files_count(g, t);
        files_keep(g, t);
        if (over)
                queues_keep(g, t->pid);
        queues_look(g, t->pid);
}

/* t stands at its exit stop, and further tasks use its space. In a dying group, these may end without a stop. */
static void trace_on_leave(Tracer *g, Task *t, Ends how) {
        const Task *parked = t->space->parked;

        if (!task_other(g, t, trace_same_files) && !(parked && trace_same_files(parked, t)))
                trace_keep_table(g, t);
        if (how != ENDS_ALONE && !t->space->parked && task_other(g, t, trace_same_group)) {
                trace_park(g, t, how);
                trace_look_at_leader(g, t->space);
                return;
        }
        trace_let_go(g, t);
        if (t->space->parked && !task_other(g, t->space->parked, trace_same_group))
                trace_let_go(g, trace_take_parked(g, t->space));
}

static void trace_on_exit_stop(Tracer *g, Task *t) {
        bool again = t->state == TASK_LEAVING, made, held, executes;
        Ends how = regs_how_it_ends(g, t->pid, &made, &held, &executes);

        /* A kill order may have announced the end of all tasks, and the code below has to know. */
        if (how == ENDS_KILLED && !g->frozen)
                g->take_sent(g);
        g->evidence->threads++;
        regs_clear(g, t->pid);
        if (!t->space)
                trace_find_space(g, t, trace_parent(g, t->pid));
        if (executes && !again)
                task_was_through(g, t);
        if (held && t->space->closed_by_others && files_ever(g)) {
                g->evidence->calls_cut++;
                files_miss(g, &(struct stat){});
        }
        /* Left before: a thread took on this pid to execute, and was killed before its report. */
        if (again)
                space_count(g, t->space, 1);
        if (again || (how != ENDS_ALONE && t->space->users > 1 && !t->space->parked))
                task_forget_ghosts(g, t);
        if (made)
                task_each_child(t->pid, trace_adopt, g, t);
        space_count(g, t->space, -1);
        if (t->space->users > 0)
                trace_on_leave(g, t, how);
        else
                trace_on_space_end(g, t);
}

static void trace_on_dead(Tracer *g, Task *t) {
        Space *s = t->space;
        unsigned lost = 0;

        /* The kernel leaves the exit stop out when the task is killed between exit and stop. */
        if (s && s->tasks > 1 && t->group == t->pid)
                lost = task_forget_ghosts(g, t);
        if (s && t->state != TASK_LEAVING && t->state != TASK_ENDING) {
                space_count(g, s, -1);
                lost++;
                g->evidence->registers_missed++;
        }
        if (s && s->parked == t)
                trace_take_parked(g, s);
        if (s && s->last == t) {
                end_forget(g, s);
                g->evidence->processes_missed++;
        }
        if (lost > 0 && s->users == 0 && !s->given_up) {
                if (s->parked)
                        trace_on_space_end(g, trace_take_parked(g, s));
                else
                        g->evidence->processes_missed++;
        }
        task_remove(g, t);
        files_clear(g, false);
}

void trace_unpark(Tracer *g) {
        uint64_t now = g->n_parked > 0 ? now_usec() : 0;

        for (Task *t = task_first(g); t && g->n_parked > 0; t = task_next(g, t)) {
                Space *s = t->space;

                if (!s || s->parked != t)
                        continue;
                trace_look_at_leader(g, s);
                if (s->parked == t && !g->frozen && now > s->parked_usec &&
                    now - s->parked_usec > PARKED_MAX_USEC)
                        trace_let_go(g, trace_take_parked(g, s));
        }
}

static void trace_on_stop(Tracer *g, Task *t, int signal, bool new) {
        if (new)
                return; /* EARLY: the parent's event or trace_settle() lets the task go */
        if (t->state == TASK_AWAITED)
                task_move(g, t, TASK_RUNNING);
        if (signal == SIGTRAP || g->frozen)
                task_continue(g, t, 0);
        else if (pause_covers(g, t))
                pause_hold(t, TASK_HELD_GROUP, 0);
        else
                task_request(t, PTRACE_LISTEN, 0); /* the group is stopped until SIGCONT */
}

/* A fault of the program itself has an address. */
static void trace_note_signal(Tracer *g, pid_t pid, int signal) {
        siginfo_t info;

        if (signal == SIGSEGV && ptrace(PTRACE_GETSIGINFO, pid, NULL, &info) == 0 && info.si_code == SI_KERNEL)
                g->evidence->facts |= GUARD_FACT_KERNEL_SEGV;
}

static void trace_handle(Tracer *g, pid_t pid, int status) {
        Task *t = task_find(g, pid);
        bool new = !t;

        if (new && (WIFEXITED(status) || WIFSIGNALED(status)))
                return;
        if (new) {
                t = task_add(g, pid, TASK_EARLY);
                if (!t)
                        abort(); /* with EXITKILL: no process goes on that the guard cannot clear */
        }
        t->held = TASK_NOT_HELD;
        if (!WIFSTOPPED(status)) {
                trace_on_dead(g, t);
                return;
        }
        switch (status >> 16) {
        case PTRACE_EVENT_EXIT:
                trace_on_exit_stop(g, t);
                return;
        case PTRACE_EVENT_EXEC:
                trace_on_exec(g, t);
                return;
        case PTRACE_EVENT_FORK:
        case PTRACE_EVENT_VFORK:
        case PTRACE_EVENT_CLONE:
                trace_on_child(g, t, status >> 16);
                return;
        case PTRACE_EVENT_STOP:
                trace_on_stop(g, t, WSTOPSIG(status), new);
                return;
        default:
                trace_note_signal(g, pid, WSTOPSIG(status));
                restart_call(g, pid);
                task_continue(g, t, WSTOPSIG(status));
        }
}

void trace_report(Tracer *g, pid_t pid, int status) {
        bool waited = g->pause.active && pid == g->pause.by;
        bool over = !WIFSTOPPED(status) || status >> 16 == PTRACE_EVENT_EXEC || status >> 16 == PTRACE_EVENT_EXIT;

        if (waited)
                g->take_sent(g); /* orders from before the call went on */
        if (waited && !over && g->pause.active && g->pause.doomed) {
                kill(pid, SIGKILL); /* wakes the task for the exit stop only */
                pause_end(g, ECHILD);
                return;
        }
        trace_handle(g, pid, status);
        if (waited) /* the call is over, or the task */
                pause_end(g, 0);
}

void trace_kill_all(Tracer *g) {
        for (Task *t = task_first(g); t; t = task_next(g, t))
                if (t->state == TASK_AWAITED || t->state == TASK_RUNNING || t->state == TASK_EARLY)
                        kill(t->pid, SIGKILL);
}
