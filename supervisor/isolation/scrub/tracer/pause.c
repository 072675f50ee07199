/* While a task waits in a system call that gives something back, nobody else may write there again: the others of its address space, or of the
 * whole region, are stopped until it comes out of the call. It is interrupted, too, but stands in its call until that is answered, and then
 * reports before it runs another instruction. */
#include "scrub/tracer/state.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <unistd.h>

bool pause_covers(const Guard *g, const Task *t) {
        if (g->stands)
                return true;
        return g->pause.active && t->pid != g->pause.by && (!g->pause.space || !t->space || t->space == g->pause.space);
}

void pause_hold(Task *t, TaskHeld held, int signal) {
        t->held = held;
        t->signal = signal;
}

void pause_start(Guard *g, pid_t by, unsigned flags, uint32_t serial) {
        Task *waits = task_find(g, by);
        unsigned others = 0;

        if (g->pause.active || g->frozen || !waits || waits->state != TASK_RUNNING || !waits->space) {
                order_tell(g, GUARD_PAUSED, EAGAIN, (int)serial);
                return;
        }
        g->pause = (Pause){.active = true, .by = by, .space = flags & GUARD_EVERYBODY ? NULL : waits->space, .serial = serial};
        for (size_t i = 0; i < BUCKETS; i++)
                for (Task *t = g->buckets[i]; t; t = t->next)
                        if (pause_covers(g, t) && t->state <= TASK_RUNNING) {
                                others++;
                                if (t->state == TASK_RUNNING)
                                        trace_request(t, PTRACE_INTERRUPT, 0);
                        }
        g->pause.alone = flags & GUARD_EXECUTES && waits->space->users == 1;
        others += flags & GUARD_EVERYBODY && (g->n_leaving > 0 || g->ending); /* they have their pages still */
        if (others > 0 || flags & GUARD_EXECUTES)
                trace_request(waits, PTRACE_INTERRUPT, 0);
        if (others > 0)
                return;
        g->pause.told = true;
        g->pause.active = flags & GUARD_EXECUTES;
        order_tell(g, GUARD_PAUSED, GUARD_ALONE, (int)serial);
}

/* It stands in a call that writes nothing to memory, and cannot come out of it without a report: it waits for its vfork child, or for the
 * supervisor's word, too. */
static bool stands_in_call(pid_t pid) {
        static const int calls[] = {
                SYS_vfork, SYS_clone, SYS_munmap, SYS_brk, SYS_madvise, SYS_mmap, SYS_mremap, SYS_execve, SYS_execveat, SYS_unlink, SYS_unlinkat,
                SYS_rename, SYS_renameat, SYS_renameat2, SYS_truncate, SYS_ftruncate, SYS_fallocate, SYS_open, SYS_openat, SYS_creat, SYS_connect,
        };
        char path[64], text[32];
        ssize_t n;
        int fd;

        snprintf(path, sizeof(path), "/proc/%d/syscall", (int)pid);
        fd = openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
        if (fd < 0)
                return false;
        n = read(fd, text, sizeof(text) - 1);
        close(fd);
        if (n <= 0 || text[0] < '0' || text[0] > '9')
                return false;
        text[n] = 0;
        for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++)
                if (atoi(text) == calls[i])
                        return true;
        return false;
}

bool pause_keeps(const Guard *g) {
        return g->pause.active && !g->pause.space;
}

bool pause_step(Guard *g) {
        if (!g->pause.active || g->pause.told)
                return false;
        /* Who was not let go for the first time does not count: that will not be before the end of the pause. */
        for (size_t i = 0; i < BUCKETS; i++)
                for (const Task *t = g->buckets[i]; t; t = t->next)
                        if (t->state == TASK_RUNNING && t->held == TASK_NOT_HELD && pause_covers(g, t) && !stands_in_call(t->pid))
                                return true;
        /* A task that was let go from its exit stop has its pages until it is dead. */
        if (pause_keeps(g) && g->n_leaving > 0)
                return true;
        g->pause.told = true;
        order_tell(g, GUARD_PAUSED, g->pause.alone ? GUARD_ALONE : 0, (int)g->pause.serial);
        return false;
}

static void let_go_on(Guard *g) {
        for (size_t i = 0; i < BUCKETS; i++)
                for (Task *t = g->buckets[i]; t; t = t->next)
                        if (t->held != TASK_NOT_HELD && t->state == TASK_RUNNING && !pause_covers(g, t))
                                trace_go_on(g, t);
}

void pause_stand(Guard *g) {
        if (g->stands || g->frozen)
                return;
        g->stands = true;
        for (size_t i = 0; i < BUCKETS; i++)
                for (Task *t = g->buckets[i]; t; t = t->next)
                        if (t->state == TASK_RUNNING && t->held == TASK_NOT_HELD)
                                trace_request(t, PTRACE_INTERRUPT, 0);
}

void pause_walk(Guard *g) {
        if (!g->stands)
                return;
        g->stands = false;
        let_go_on(g);
}

void pause_end(Guard *g, int error) {
        if (!g->pause.active)
                return;
        g->pause.active = false;
        let_go_on(g);
        if (!g->orphaned)
                order_tell(g, GUARD_RESUMED, error, (int)g->pause.serial);
}
