/* Runs: supervisor. The calls that wait for the others to stand, and those whose memory is overwritten in turns. */
#include "scrub/early-internal.h"

#include "base/clock.h"
#include "base/log.h"

#include <errno.h>

#define PAUSE_USEC 500000 /* a task that does not stop in this time is in the kernel, for as long as it likes; only the region waits */
#define GOING_USEC 2000000
#define EXECUTES_USEC 60000000

static void start_turn(Early *e);

static void drop(Early *e, EarlyJob *j) {
        runs_deinit(&j->runs);
        *j = (EarlyJob){};
        if (e->turn == j) {
                e->turn = NULL;
                start_turn(e);
        }
}

static void unpause(Early *e, EarlyJob *j) {
        guard_resume(&e->region->guard, j->serial);
        j->held = false;
}

void early_let_go(Early *e) {
        if (!e->job || !e->job->held)
                return;
        unpause(e, e->job);
        e->region->notify.freed.unheld++;
}

static void answer(Early *e, EarlyJob *j, int error, bool go_on) {
        uint64_t wait;

        region_notify_answer(&e->region->notify, j->q.id, error, go_on);
        if (!j->held) {
                drop(e, j);
                return;
        }
        /* Whose image is overwritten must not go on with it, however long the file takes to be read. */
        wait = j->flags & GUARD_EXECUTES ? EXECUTES_USEC : GOING_USEC;
        j->state = EARLY_JOB_GOING;
        j->until = clock_mono_usec() + wait;
        early_wake(e, wait);
}

static NotifyStep judge(Early *e, const struct seccomp_notif *q, EarlyCallFn call, EarlyJob *j, bool open, int *ret_error) {
        NotifyStep step;

        e->region->notify.freed.unheld += open;
        e->job = j;
        e->open = open;
        step = call(e, q, ret_error);
        e->job = NULL;
        e->open = false;
        return step;
}

bool early_doom(Early *e) {
        return e->alone && e->job && e->job->held && guard_doom(&e->region->guard, e->job->serial) == 0;
}

/* Everybody stands, or will not. */
static void judge_job(Early *e, EarlyJob *j, bool stand, bool alone) {
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
        j->state = EARLY_JOB_WRITING;
        e->alone = alone;
        step = judge(e, &j->q, j->call, j, j->open, &error);
        e->alone = true;
        e->region->notify.freed.usec += clock_mono_usec() - start;
        if (step == NOTIFY_LATER)
                early_wake(e, 0);
        else
                answer(e, j, error, step == NOTIFY_GO_ON);
}

static EarlyJob *next_queued(Early *e) {
        EarlyJob *next = NULL;

        for (size_t i = 0; i < EARLY_JOBS_MAX; i++)
                if (e->jobs[i].state == EARLY_JOB_QUEUED && (!next || (int32_t)(e->jobs[i].serial - next->serial) < 0))
                        next = &e->jobs[i];
        return next;
}

static void start_turn(Early *e) {
        EarlyJob *j = e->turn ? NULL : next_queued(e);

        if (!j)
                return;
        e->turn = j;
        j->state = EARLY_JOB_ASKED;
        /* An order that cannot be sent is not answered. */
        guard_pause(&e->region->guard, (pid_t)j->q.pid, j->flags, j->serial);
        j->until = clock_mono_usec() + PAUSE_USEC;
        early_wake(e, PAUSE_USEC);
}

EarlyJob *early_job(Early *e, const struct seccomp_notif *q) {
        if (e->job)
                return e->job;
        for (size_t i = 0; i < EARLY_JOBS_MAX; i++)
                if (e->jobs[i].state == EARLY_JOB_FREE) {
                        e->jobs[i] = (EarlyJob){.state = EARLY_JOB_WRITING, .q = *q, .serial = ++e->serial, .open = e->open};
                        return &e->jobs[i];
                }
        return NULL;
}

static unsigned said(const uint32_t *number) {
        return __atomic_load_n(number, __ATOMIC_ACQUIRE);
}

/* Whether somebody else could use what the call gives back. Threads that were not let run yet cannot; the guard tells of them before. */
static bool has_others(const Early *e, bool everybody) {
        const GuardEvidence *g = e->region->guard.page;

        return !g || (everybody ? said(&g->living) > 1 : said(&g->sharing) > 0);
}

NotifyStep early_judge(Early *e, const struct seccomp_notif *q, EarlyCallFn call, EarlyKind kind, int *ret_error) {
        bool everybody = kind == EARLY_FILE || e->region->grant->proc; /* whose memory has a name in /proc can be written by its siblings, too */
        NotifyStep step;
        EarlyJob *j;

        e->asking = true;
        e->common = false;
        step = call(e, q, ret_error);
        e->asking = false;
        if (step == NOTIFY_LATER && kind != EARLY_IMAGE && !e->common && !has_others(e, everybody))
                return judge(e, q, call, NULL, false, ret_error);
        everybody |= e->common;
        if (step != NOTIFY_LATER)
                return step;
        j = e->can_pause && e->region->guard.page ? early_job(e, q) : NULL;
        if (!j) {
                e->alone = false;
                step = judge(e, q, call, NULL, true, ret_error);
                e->alone = true;
                return step;
        }
        j->state = EARLY_JOB_QUEUED;
        j->call = call;
        j->flags = (everybody ? GUARD_EVERYBODY : 0) | (kind == EARLY_IMAGE ? GUARD_EXECUTES : 0);
        start_turn(e);
        return NOTIFY_LATER;
}

void early_paused(Early *e, uint32_t serial, int error) {
        EarlyJob *j = e->turn;

        if (!j || j->serial != serial || j->state != EARLY_JOB_ASKED)
                return;
        j->held = error == 0 || (error == GUARD_ALONE && j->flags & GUARD_EXECUTES);
        judge_job(e, j, error == 0 || error == GUARD_ALONE, error == GUARD_ALONE);
}

void early_resumed(Early *e, uint32_t serial, int error) {
        EarlyJob *j = e->turn;

        if (error == ECHILD) {
                e->region->notify.freed.exec_failed++;
                log_warning("a process was killed: its execve failed after its memory had been overwritten (discipline multipass)");
        }
        if (!j || j->serial != serial)
                return;
        j->held = false;
        if (j->state == EARLY_JOB_GOING)
                drop(e, j);
        else if (j->state == EARLY_JOB_ASKED) /* its caller ended */
                judge_job(e, j, false, false);
        else if (!j->open) {
                j->open = true;
                e->region->notify.freed.unheld++;
        }
}

static void too_late(Early *e, EarlyJob *j) {
        EarlyJobState was = j->state;

        unpause(e, j);
        if (was == EARLY_JOB_ASKED) {
                judge_job(e, j, false, false);
                return;
        }
        e->region->notify.freed.unheld++;
        drop(e, j);
}

static void write_slice(Early *e, EarlyJob *j) {
        bool done;

        e->open = j->open;
        done = early_write_slice(e, j);
        e->open = false;
        if (done)
                answer(e, j, 0, true);
        else
                early_wake(e, 0);
}

void early_jobs_step(Early *e, uint64_t now) {
        size_t first = e->next_job;
        bool wrote = false;

        for (size_t k = 0; k < EARLY_JOBS_MAX; k++) {
                size_t i = (first + k) % EARLY_JOBS_MAX;
                EarlyJob *j = &e->jobs[i];

                switch (j->state) {
                case EARLY_JOB_WRITING: /* one slice, and then there is something else to do */
                        if (wrote) {
                                early_wake(e, 0);
                                break;
                        }
                        wrote = true;
                        e->next_job = (i + 1) % EARLY_JOBS_MAX;
                        write_slice(e, j);
                        break;
                case EARLY_JOB_ASKED:
                case EARLY_JOB_GOING:
                        if (now >= j->until)
                                too_late(e, j);
                        else
                                early_wake(e, j->until - now);
                        break;
                case EARLY_JOB_FREE:
                case EARLY_JOB_QUEUED:
                        break;
                }
        }
}
