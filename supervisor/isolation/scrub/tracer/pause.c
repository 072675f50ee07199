/* While a task waits in a system call giving memory back, no task may write there again: all tasks of the address
 * space, or of the whole region, are stopped until the call is over. The waiting task is interrupted, too: it stands in
 * the call until the answer, and then reports before the next instruction. */
#include "scrub/tracer/state.h"
#include "base/machine.h"

#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>

bool pause_covers(const Tracer *g, const Task *t) {
        if (g->stands)
                return true;
        return g->pause.active && t->pid != g->pause.by && (!g->pause.space || !t->space || t->space == g->pause.space);
}

void pause_hold(Task *t, TaskHeld held, int signal) {
        t->held = held;
        t->signal = signal;
}

/* An unreleased task would stand at its exit stop for ever: with the guard's end the kernel releases the task. */
void task_release(const Task *t) {
        if (ptrace(PTRACE_CONT, t->pid, NULL, NULL) < 0 && errno != ESRCH)
                abort();
}

void task_request(const Task *t, unsigned request, int signal) {
        if (ptrace(request, t->pid, NULL, (void *)(intptr_t)signal) < 0 && errno != ESRCH)
                kill(t->pid, SIGKILL);
}

/* A killed task leaves the reported stop for the exit stop. A request would release the task there, memory unchanged.
 * On the way, each request fails; on arrival, a siginfo shows. That can be forged, a report cannot. */
static bool pause_left_its_stop(pid_t pid) {
        siginfo_t info;

        if (ptrace(PTRACE_GETSIGINFO, pid, NULL, &info) < 0)
                return errno == ESRCH;
        if (info.si_code != (PTRACE_EVENT_EXIT << 8 | SIGTRAP))
                return false;
        info.si_pid = 0;
        return waitid(P_PID, (id_t)pid, &info, WEXITED | WSTOPPED | WNOHANG | WNOWAIT | __WALL) < 0 || info.si_pid != 0;
}

/* Lets a task go on from any stop but its exit stop. */
void task_continue(Tracer *g, Task *t, int signal) {
        if (g->frozen)
                kill(t->pid, SIGKILL); /* which wakes it, too */
        else if (pause_covers(g, t))
                pause_hold(t, TASK_HELD, signal);
        else if (!pause_left_its_stop(t->pid))
                task_request(t, PTRACE_CONT, signal);
}

/* Lets a held task go on. */
static void pause_go_on(Tracer *g, Task *t) {
        TaskHeld held = t->held;

        t->held = TASK_NOT_HELD;
        if (held == TASK_HELD_GROUP)
                task_request(t, PTRACE_LISTEN, 0);
        else
                task_continue(g, t, t->signal);
}

void pause_start(Tracer *g, pid_t by, unsigned flags, uint32_t serial) {
        Task *waits = task_find(g, by);
        unsigned others = 0;

        if (g->pause.active || g->frozen || !waits || waits->state != TASK_RUNNING || !waits->space) {
                guard_tell(g, GUARD_PAUSED, EAGAIN, (int)serial);
                return;
        }
        g->pause = (Pause){.active = true, .by = by, .space = flags & GUARD_EVERYBODY ? NULL : waits->space,
                           .serial = serial};
        for (Task *t = task_first(g); t; t = task_next(g, t))
                if (pause_covers(g, t) && t->state <= TASK_RUNNING) {
                        others++;
                        if (t->state == TASK_RUNNING)
                                task_request(t, PTRACE_INTERRUPT, 0);
                }
        g->pause.alone = flags & GUARD_EXECUTES && waits->space->users == 1;
        others += flags & GUARD_EVERYBODY && (g->n_leaving > 0 || g->ending); /* they still have their pages */
        if (others > 0 || flags & GUARD_EXECUTES)
                task_request(waits, PTRACE_INTERRUPT, 0);
        if (others > 0)
                return;
        g->pause.told = true;
        g->pause.active = flags & GUARD_EXECUTES;
        guard_tell(g, GUARD_PAUSED, GUARD_ALONE, (int)serial);
}

/* In a call without writes to memory and without an end before a report: a wait for a vfork child or the supervisor. */
static bool pause_stands_in_call(pid_t pid) {
        static const int calls[] = {
                SYS_vfork, SYS_clone, SYS_munmap, SYS_brk, SYS_madvise, SYS_mmap, SYS_mremap, SYS_execve, SYS_execveat,
                SYS_unlink, SYS_unlinkat, SYS_rename, SYS_renameat, SYS_renameat2, SYS_truncate, SYS_ftruncate,
                SYS_fallocate, SYS_open, SYS_openat, SYS_creat, SYS_connect,
        };
        char text[32];

        if (task_read(pid, "syscall", text, sizeof(text)) <= 0 || text[0] < '0' || text[0] > '9')
                return false;
        for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++)
                if (atoi(text) == calls[i])
                        return true;
        return false;
}

bool pause_keeps(const Tracer *g) {
        return g->pause.active && !g->pause.space;
}

bool pause_step(Tracer *g) {
        if (!g->pause.active || g->pause.told)
                return false;
        /* A task not started yet does not count: the first start comes after the pause. */
        for (const Task *t = task_first(g); t; t = task_next(g, t))
                if (t->state == TASK_RUNNING && t->held == TASK_NOT_HELD && pause_covers(g, t) &&
                    !pause_stands_in_call(t->pid))
                        return true;
        /* A task let go from the exit stop keeps its pages until dead. */
        if (pause_keeps(g) && g->n_leaving > 0)
                return true;
        g->pause.told = true;
        guard_tell(g, GUARD_PAUSED, g->pause.alone ? GUARD_ALONE : 0, (int)g->pause.serial);
        return false;
}

static void pause_let_go_on(Tracer *g) {
        for (Task *t = task_first(g); t; t = task_next(g, t))
                if (t->held != TASK_NOT_HELD && t->state == TASK_RUNNING && !pause_covers(g, t))
                        pause_go_on(g, t);
}

void pause_stand(Tracer *g) {
        if (g->stands || g->frozen)
                return;
        g->stands = true;
        for (Task *t = task_first(g); t; t = task_next(g, t))
                if (t->state == TASK_RUNNING && t->held == TASK_NOT_HELD)
                        task_request(t, PTRACE_INTERRUPT, 0);
}

void pause_walk(Tracer *g) {
        if (!g->stands)
                return;
        g->stands = false;
        pause_let_go_on(g);
}

void pause_end(Tracer *g, int error) {
        if (!g->pause.active)
                return;
        g->pause.active = false;
        pause_let_go_on(g);
        if (!g->orphaned)
                guard_tell(g, GUARD_RESUMED, error, (int)g->pause.serial);
}

/* The guard stops processes that could exceed the region's memory budget without a call, when the machine's given-out
 * memory has grown so much that the growth could be the region's. The busy supervisor would be late. */

/* Guard and supervisor find a free processor at once; the region has one less. New tasks inherit the mask. */
static void pause_spare_processor(Tracer *g, bool spare) {
        cpu_set_t set;
        int last = CPU_SETSIZE - 1;

        if (!spare && !g->spares)
                return;
        g->spares = spare;
        if (sched_getaffinity(0, sizeof(set), &set) < 0 || CPU_COUNT(&set) < 2)
                return;
        while (!CPU_ISSET(last, &set))
                last--;
        if (spare)
                CPU_CLR(last, &set);
        for (const Task *t = task_first(g); t; t = task_next(g, t))
                sched_setaffinity(t->pid, sizeof(set), &set);
}

void watch_start(Tracer *g, const GuardOrder *o) {
        pause_spare_processor(g, o->flags & GUARD_SPARE);
        g->watch = (Watch){.machine = o->machine, .growth = o->growth, .usec = o->watch_usec,
                           .due_usec = now_usec() + o->watch_usec};
}

uint64_t watch_step(Tracer *g) {
        Watch *w = &g->watch;
        uint64_t now, machine;

        if (w->growth == 0 || g->stands || g->frozen)
                return WATCH_NOTHING;
        now = now_usec();
        if (now < w->due_usec)
                return w->due_usec - now;
        machine = machine_given();
        if (machine > 0 && machine < w->machine)
                w->machine = machine;
        w->due_usec = now + w->usec;
        if (machine < w->machine + w->growth)
                return w->usec;
        w->growth = 0;
        pause_stand(g);
        guard_tell(g, GUARD_STOOD, 0, (int)(uint32_t)now);
        return WATCH_NOTHING;
}
