/* Runs: supervisor. Calls that wait until other tasks stand, and calls whose memory is overwritten in turns. */
#include "scrub/release_hook/hook-internal.h"

#include "base/clock.h"
#include "base/log.h"

#include <errno.h>

/* a task still running after this time is in the kernel, for any time; only the region waits */
#define PAUSE_USEC 500000
#define GOING_USEC 2000000
#define EXECUTES_USEC 60000000

static void job_start_turn(ReleaseHook *e);

static void job_drop(ReleaseHook *e, HookJob *j) {
        runs_deinit(&j->runs);
        *j = (HookJob){};
        if (e->turn == j) {
                e->turn = NULL;
                job_start_turn(e);
        }
}

static void job_unpause(ReleaseHook *e, HookJob *j) {
        guard_resume(&e->region->guard, j->serial);
        j->held = false;
}

void hook_let_go(ReleaseHook *e) {
        if (!e->job || !e->job->held)
                return;
        job_unpause(e, e->job);
        e->region->notify.freed.unheld++;
}

static void job_answer(ReleaseHook *e, HookJob *j, int error, bool go_on) {
        uint64_t wait;

        region_notify_answer(&e->region->notify, j->q.id, error, go_on);
        if (!j->held) {
                job_drop(e, j);
                return;
        }
        /* A process must not go on with an overwritten image, however long reading the file takes. */
        wait = j->flags & GUARD_EXECUTES ? EXECUTES_USEC : GOING_USEC;
        j->state = HOOK_JOB_GOING;
        j->until = clock_mono_usec() + wait;
        hook_wake(e, wait);
}

static NotifyStep job_call(ReleaseHook *e, const HookCall *c, const struct seccomp_notif *q, HookJob *j, bool open,
                           int *ret_error) {
        NotifyStep step;

        e->region->notify.freed.unheld += open;
        e->job = j;
        e->open = open;
        step = c->judge(e, c, q, ret_error);
        e->job = NULL;
        e->open = false;
        return step;
}

bool hook_doom(ReleaseHook *e) {
        return e->alone && e->job && e->job->held && guard_doom(&e->region->guard, e->job->serial) == 0;
}

/* Called when all tasks stand, or will not. */
static void job_judge(ReleaseHook *e, HookJob *j, bool stand, bool alone) {
        uint64_t start = clock_mono_usec();
        NotifyStep step;
        int error = 0;

        if (!region_notify_waits(&e->region->notify, j->q.id)) {
                if (j->held)
                        job_unpause(e, j);
                job_drop(e, j);
                return;
        }
        j->open = !stand;
        j->state = HOOK_JOB_WRITING;
        e->alone = alone;
        step = job_call(e, j->call, &j->q, j, j->open, &error);
        e->alone = true;
        e->region->notify.freed.usec += clock_mono_usec() - start;
        if (step == NOTIFY_LATER)
                hook_wake(e, 0);
        else
                job_answer(e, j, error, step == NOTIFY_GO_ON);
}

static HookJob *job_next_queued(ReleaseHook *e) {
        HookJob *next = NULL;

        for (size_t i = 0; i < HOOK_JOBS_MAX; i++)
                if (e->jobs[i].state == HOOK_JOB_QUEUED && (!next || (int32_t)(e->jobs[i].serial - next->serial) < 0))
                        next = &e->jobs[i];
        return next;
}

static void job_start_turn(ReleaseHook *e) {
        HookJob *j = e->turn ? NULL : job_next_queued(e);

        if (!j)
                return;
        e->turn = j;
        j->state = HOOK_JOB_ASKED;
        /* A failed order gets no answer: the job then ends at the deadline. */
        guard_pause(&e->region->guard, (pid_t)j->q.pid, j->flags, j->serial);
        j->until = clock_mono_usec() + PAUSE_USEC;
        hook_wake(e, PAUSE_USEC);
}

static unsigned job_count_of_guard(const uint32_t *number) {
        return __atomic_load_n(number, __ATOMIC_ACQUIRE);
}

/* Whether further tasks could use the memory given back. The guard counts new threads before their start. */
static bool job_has_other_users(const ReleaseHook *e, bool everybody) {
        const GuardEvidence *g = e->region->guard.page;

        return !g || (everybody ? job_count_of_guard(&g->living) > 1 : job_count_of_guard(&g->sharing) > 0);
}

NotifyStep hook_judge(ReleaseHook *e, const HookCall *c, const struct seccomp_notif *q, int *ret_error) {
        /* memory with a name in /proc can be written by siblings, too */
        bool everybody = c->kind == HOOK_FILE || e->region->grant->proc;
        NotifyStep step;
        HookJob *j;

        e->asking = true;
        e->common = false;
        step = c->judge(e, c, q, ret_error);
        e->asking = false;
        if (step == NOTIFY_LATER && c->kind != HOOK_IMAGE && !e->common && !job_has_other_users(e, everybody))
                return job_call(e, c, q, NULL, false, ret_error);
        everybody |= e->common;
        if (step != NOTIFY_LATER)
                return step;
        j = e->can_pause && e->region->guard.page ? hook_job(e, q) : NULL;
        if (!j) {
                e->alone = false;
                step = job_call(e, c, q, NULL, true, ret_error);
                e->alone = true;
                return step;
        }
        j->state = HOOK_JOB_QUEUED;
        j->call = c;
        j->flags = (everybody ? GUARD_EVERYBODY : 0) | (c->kind == HOOK_IMAGE ? GUARD_EXECUTES : 0);
        job_start_turn(e);
        return NOTIFY_LATER;
}

void hook_paused(ReleaseHook *e, uint32_t serial, int error) {
        HookJob *j = e->turn;

        if (!j || j->serial != serial || j->state != HOOK_JOB_ASKED)
                return;
        j->held = error == 0 || (error == GUARD_ALONE && j->flags & GUARD_EXECUTES);
        job_judge(e, j, error == 0 || error == GUARD_ALONE, error == GUARD_ALONE);
}

void hook_resumed(ReleaseHook *e, uint32_t serial, int error) {
        HookJob *j = e->turn;

        if (error == ECHILD) {
                e->region->notify.freed.exec_failed++;
                log_warning(
                        "a process was killed: its execve failed after its memory had been overwritten (discipline multipass)");
        }
        if (!j || j->serial != serial)
                return;
        j->held = false;
        if (j->state == HOOK_JOB_GOING)
                job_drop(e, j);
        else if (j->state == HOOK_JOB_ASKED) /* the caller ended */
                job_judge(e, j, false, false);
        else if (!j->open) {
                j->open = true;
                e->region->notify.freed.unheld++;
        }
}

static void job_too_late(ReleaseHook *e, HookJob *j) {
        HookJobState was = j->state;

        job_unpause(e, j);
        if (was == HOOK_JOB_ASKED) {
                job_judge(e, j, false, false);
                return;
        }
        e->region->notify.freed.unheld++;
        job_drop(e, j);
}

static void job_write_slice(ReleaseHook *e, HookJob *j) {
        bool done;

        e->open = j->open;
        done = hook_write_slice(e, j);
        e->open = false;
        if (done)
                job_answer(e, j, 0, true);
        else
                hook_wake(e, 0);
}

void hook_jobs_step(ReleaseHook *e, uint64_t now) {
        size_t first = e->next_job;
        bool wrote = false;

        for (size_t k = 0; k < HOOK_JOBS_MAX; k++) {
                size_t i = (first + k) % HOOK_JOBS_MAX;
                HookJob *j = &e->jobs[i];

                switch (j->state) {
                case HOOK_JOB_WRITING: /* one slice, and then a turn of the loop */
                        if (wrote) {
                                hook_wake(e, 0);
                                break;
                        }
                        wrote = true;
                        e->next_job = (i + 1) % HOOK_JOBS_MAX;
                        job_write_slice(e, j);
                        break;
                case HOOK_JOB_ASKED:
                case HOOK_JOB_GOING:
                        if (now >= j->until)
                                job_too_late(e, j);
                        else
                                hook_wake(e, j->until - now);
                        break;
                case HOOK_JOB_FREE:
                case HOOK_JOB_QUEUED:
                        break;
                }
        }
}
