/* Runs: supervisor. The calls that wait for the others to stand, and those whose memory is overwritten in turns. */
#include "scrub/release_hook/hook-internal.h"

#include "base/clock.h"
#include "base/log.h"

#include <errno.h>

#define PAUSE_USEC 500000 /* a task that does not stop in this time is in the kernel, for as long as it likes; only the region waits */
#define GOING_USEC 2000000
#define EXECUTES_USEC 60000000

static void start_turn(Hook *e);

static void drop(Hook *e, HookJob *j) {
        runs_deinit(&j->runs);
        *j = (HookJob){};
        if (e->turn == j) {
                e->turn = NULL;
                start_turn(e);
        }
}

static void unpause(Hook *e, HookJob *j) {
        guard_resume(&e->region->guard, j->serial);
        j->held = false;
}

void hook_let_go(Hook *e) {
        if (!e->job || !e->job->held)
                return;
        unpause(e, e->job);
        e->region->notify.freed.unheld++;
}

static void answer(Hook *e, HookJob *j, int error, bool go_on) {
        uint64_t wait;

        region_notify_answer(&e->region->notify, j->q.id, error, go_on);
        if (!j->held) {
                drop(e, j);
                return;
        }
        /* Whose image is overwritten must not go on with it, however long the file takes to be read. */
        wait = j->flags & GUARD_EXECUTES ? EXECUTES_USEC : GOING_USEC;
        j->state = HOOK_JOB_GOING;
        j->until = clock_mono_usec() + wait;
        hook_wake(e, wait);
}

static NotifyStep judge(Hook *e, const struct seccomp_notif *q, HookCallFn call, HookJob *j, bool open, int *ret_error) {
        NotifyStep step;

        e->region->notify.freed.unheld += open;
        e->job = j;
        e->open = open;
        step = call(e, q, ret_error);
        e->job = NULL;
        e->open = false;
        return step;
}

bool hook_doom(Hook *e) {
        return e->alone && e->job && e->job->held && guard_doom(&e->region->guard, e->job->serial) == 0;
}

/* Everybody stands, or will not. */
static void judge_job(Hook *e, HookJob *j, bool stand, bool alone) {
        uint64_t start = clock_mono_usec();
        NotifyStep step;
        int error = 0;

        if (!region_notify_waits(&e->region->notify, j->q.id)) {
                if (j->held)
                        unpause(e, j);
                drop(e, j);
                return;
        }
        j->open = !stand;
        j->state = HOOK_JOB_WRITING;
        e->alone = alone;
        step = judge(e, &j->q, j->call, j, j->open, &error);
        e->alone = true;
        e->region->notify.freed.usec += clock_mono_usec() - start;
        if (step == NOTIFY_LATER)
                hook_wake(e, 0);
        else
                answer(e, j, error, step == NOTIFY_GO_ON);
}

static HookJob *next_queued(Hook *e) {
        HookJob *next = NULL;

        for (size_t i = 0; i < HOOK_JOBS_MAX; i++)
                if (e->jobs[i].state == HOOK_JOB_QUEUED && (!next || (int32_t)(e->jobs[i].serial - next->serial) < 0))
                        next = &e->jobs[i];
        return next;
}

static void start_turn(Hook *e) {
        HookJob *j = e->turn ? NULL : next_queued(e);

        if (!j)
                return;
        e->turn = j;
        j->state = HOOK_JOB_ASKED;
        /* An order that cannot be sent is not answered. */
        guard_pause(&e->region->guard, (pid_t)j->q.pid, j->flags, j->serial);
        j->until = clock_mono_usec() + PAUSE_USEC;
        hook_wake(e, PAUSE_USEC);
}

HookJob *hook_job(Hook *e, const struct seccomp_notif *q) {
        if (e->job)
                return e->job;
        for (size_t i = 0; i < HOOK_JOBS_MAX; i++)
                if (e->jobs[i].state == HOOK_JOB_FREE) {
                        e->jobs[i] = (HookJob){.state = HOOK_JOB_WRITING, .q = *q, .serial = ++e->serial, .open = e->open};
                        return &e->jobs[i];
                }
        return NULL;
}

static unsigned said(const uint32_t *number) {
        return __atomic_load_n(number, __ATOMIC_ACQUIRE);
}

/* Whether somebody else could use what the call gives back. Threads that were not let run yet cannot; the guard tells of them before. */
static bool has_others(const Hook *e, bool everybody) {
        const GuardEvidence *g = e->region->guard.page;

        return !g || (everybody ? said(&g->living) > 1 : said(&g->sharing) > 0);
}

NotifyStep hook_judge(Hook *e, const struct seccomp_notif *q, HookCallFn call, HookKind kind, int *ret_error) {
        bool everybody = kind == HOOK_FILE || e->region->grant->proc; /* whose memory has a name in /proc can be written by its siblings, too */
        NotifyStep step;
        HookJob *j;

        e->asking = true;
        e->common = false;
        step = call(e, q, ret_error);
        e->asking = false;
        if (step == NOTIFY_LATER && kind != HOOK_IMAGE && !e->common && !has_others(e, everybody))
                return judge(e, q, call, NULL, false, ret_error);
        everybody |= e->common;
        if (step != NOTIFY_LATER)
                return step;
        j = e->can_pause && e->region->guard.page ? hook_job(e, q) : NULL;
        if (!j) {
                e->alone = false;
                step = judge(e, q, call, NULL, true, ret_error);
                e->alone = true;
                return step;
        }
        j->state = HOOK_JOB_QUEUED;
        j->call = call;
        j->flags = (everybody ? GUARD_EVERYBODY : 0) | (kind == HOOK_IMAGE ? GUARD_EXECUTES : 0);
        start_turn(e);
        return NOTIFY_LATER;
}

void hook_paused(Hook *e, uint32_t serial, int error) {
        HookJob *j = e->turn;

        if (!j || j->serial != serial || j->state != HOOK_JOB_ASKED)
                return;
        j->held = error == 0 || (error == GUARD_ALONE && j->flags & GUARD_EXECUTES);
        judge_job(e, j, error == 0 || error == GUARD_ALONE, error == GUARD_ALONE);
}

void hook_resumed(Hook *e, uint32_t serial, int error) {
        HookJob *j = e->turn;

        if (error == ECHILD) {
                e->region->notify.freed.exec_failed++;
                log_warning("a process was killed: its execve failed after its memory had been overwritten (discipline multipass)");
        }
        if (!j || j->serial != serial)
                return;
        j->held = false;
        if (j->state == HOOK_JOB_GOING)
                drop(e, j);
        else if (j->state == HOOK_JOB_ASKED) /* its caller ended */
                judge_job(e, j, false, false);
        else if (!j->open) {
                j->open = true;
                e->region->notify.freed.unheld++;
        }
}

static void too_late(Hook *e, HookJob *j) {
        HookJobState was = j->state;

        unpause(e, j);
        if (was == HOOK_JOB_ASKED) {
                judge_job(e, j, false, false);
                return;
        }
        e->region->notify.freed.unheld++;
        drop(e, j);
}

static void write_slice(Hook *e, HookJob *j) {
        bool done;

        e->open = j->open;
        done = hook_write_slice(e, j);
        e->open = false;
        if (done)
                answer(e, j, 0, true);
        else
                hook_wake(e, 0);
}

void hook_jobs_step(Hook *e, uint64_t now) {
        size_t first = e->next_job;
        bool wrote = false;

        for (size_t k = 0; k < HOOK_JOBS_MAX; k++) {
                size_t i = (first + k) % HOOK_JOBS_MAX;
                HookJob *j = &e->jobs[i];

                switch (j->state) {
                case HOOK_JOB_WRITING: /* one slice, and then there is something else to do */
                        if (wrote) {
                                hook_wake(e, 0);
                                break;
                        }
                        wrote = true;
                        e->next_job = (i + 1) % HOOK_JOBS_MAX;
                        write_slice(e, j);
                        break;
                case HOOK_JOB_ASKED:
                case HOOK_JOB_GOING:
                        if (now >= j->until)
                                too_late(e, j);
                        else
                                hook_wake(e, j->until - now);
                        break;
                case HOOK_JOB_FREE:
                case HOOK_JOB_QUEUED:
                        break;
                }
        }
}
