/* Runs: supervisor. */
#include "scrub/teardown.h"

#include "base/clock.h"
#include "region/region-locks.h"
#include "region/region-proc.h"
#include "scrub/scratch.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#define SUM_TRIES 3
#define STOP_WAIT_USEC 10000000 /* then the region counts as not killable; 1,000 processes take 34 ms */

/* The end of the first process ends the whole PID namespace; only cgroup.kill is quicker. */
static void teardown_kill_now(Region *r) {
        spawn_kill(&r->spawned);
        if (r->cgroup.made && (r->cgroup.v2 || r->tier != TIER_NAMESPACES))
                region_cgroup_kill_once(&r->cgroup);
}

static bool teardown_needs_guard(const Region *r) {
        return r->guard.sent && !r->guard.empty && !r->guard.scrub;
}

/* Without free memory the region's limit would block the overwriting. The limit must stay until no process of the
 * region runs: a process asleep at the limit would go on beyond it before the kill arrives, in a PID namespace after
 * the end of the first process. So the guard kills each process by itself, and overwrites when all of them stand.
 * Returns whether the caller has to wait for the guard. */
static bool teardown_must_stand_first(Region *r) {
        if (!teardown_needs_guard(r) || !region_budget_is_full(&r->budget))
                return false;
        if (guard_living(&r->guard) > 0)
                return guard_freeze(&r->guard) == 0;
        region_budget_unlimit(&r->budget);
        return false;
}

/* Runs before the kill: an interrupted call drops its file references before any process can look. The sum counts
 * only when such a call existed: otherwise the program itself freed the bytes missing at the exit stops. */
static void teardown_sum_scratch(Region *r) {
        uint64_t known, again, step, step_again, used;

        if (r->tier != TIER_NAMESPACES || r->grant->passes != 1 || !teardown_needs_guard(r))
                return;
        for (int i = 0; i < SUM_TRIES; i++) {
                if (!guard_scratch_known(&r->guard, &known, &step))
                        continue;
                used = region_budget_scratch_used(&r->budget);
                if (!guard_scratch_known(&r->guard, &again, &step_again) || step != step_again || known != again)
                        continue;
                if (used > 0)
                        r->scratch_sum = MAX(r->scratch_sum, used + known);
                return;
        }
}

void teardown_kill(Region *r) {
        if (!r->has_worker || r->killed)
                return;
        teardown_sum_scratch(r);
        r->killed = true;
        /* The order comes before the kill and its exit stops. Without a PID namespace only the guard finds all
         * processes. */
        r->stands_first = teardown_must_stand_first(r);
        if (r->tier == TIER_LANDLOCK && teardown_needs_guard(r) && !r->stands_first)
                guard_freeze(&r->guard);
        teardown_kill_now(r);
}

void teardown_go_on(Region *r) {
        if (!r->stands_first || r->freezing || r->guard.scrub || !r->guard.frozen)
                return;
        region_budget_unlimit(&r->budget);
        guard_scrub(&r->guard);
}

/* Waits for the worker's death and reaps it. In tier namespaces the kernel lets the caller reap it only after every
 * process of its PID namespace. In tier landlock the worker ends with its last descendant, or is killed. Returns 0,
 * -ETIMEDOUT, -errno. */
static int teardown_reap_worker(Region *r) {
        uint64_t now = clock_mono_usec(), until = now + STOP_WAIT_USEC, again = now + TEARDOWN_AGAIN_USEC;

        for (;;) {
                siginfo_t info = {};
                struct pollfd p = {.fd = r->spawned.pidfd, .events = POLLIN};

                if (waitid(P_PID, (id_t)r->spawned.pid, &info, WEXITED | WNOHANG) < 0) {
                        if (errno == EINTR)
                                continue;
                        return errno == ECHILD ? 0 : -errno;
                }
                if (info.si_pid)
                        return 0;
                now = clock_mono_usec();
                if (now > until)
                        return -ETIMEDOUT;
                if (now > again) {
                        teardown_kill_now(r);
                        again = now + TEARDOWN_AGAIN_USEC;
                }
                if (poll(&p, 1, (int)(TEARDOWN_AGAIN_USEC / 1000)) > 0 && p.revents & POLLNVAL)
                        return -EBADF;
        }
}

static void teardown_kill_all(Region *r) {
        teardown_kill(r);
        if (!teardown_needs_guard(r) || r->stands_first)
                return;
        /* In a PID namespace, the guard takes many processes together once all are known to be on their way. */
        if (r->tier == TIER_NAMESPACES && guard_living(&r->guard) > 1)
                guard_freeze_at_once(&r->guard);
        else if (r->tier == TIER_LANDLOCK)
                guard_scrub(&r->guard);
}

/* Held: no process of the region runs from here on, and none is overwritten before teardown_clear(). The limit stays
 * until then: the guard's kill wakes processes asleep there, and the callbacks must fit into the budget, too (I-35). */
static void teardown_freeze(Region *r) {
        teardown_sum_scratch(r);
        r->hold = guard_freeze(&r->guard) == 0;
        r->freezing = r->hold;
}

void teardown_begin_stop(Region *r) {
        if (!r->has_worker || r->freezing)
                return;
        if (r->hold)
                teardown_freeze(r);
        if (!r->hold)
                teardown_kill_all(r);
}

void teardown_begin_clear(Region *r) {
        if (!r->has_worker)
                return;
        region_budget_unlimit(&r->budget);
        if (!r->guard.scrub)
                guard_scrub(&r->guard);
        teardown_kill_all(r);
}

static bool teardown_worker_is_dead(const Region *r) {
        siginfo_t info = {};

        return waitid(P_PID, (id_t)r->spawned.pid, &info, WEXITED | WNOHANG | WNOWAIT) < 0 ? errno == ECHILD
                                                                                           : info.si_pid != 0;
}

bool teardown_is_ready(Region *r) {
        if (!r->has_worker)
                return true;
        if (r->freezing && !r->guard.scrub)
                return r->guard.frozen || r->guard.control < 0;
        return (!r->guard.sent || r->guard.empty || r->guard.control < 0) && teardown_worker_is_dead(r);
}

/* A task that waits for a FUSE server cannot be killed before the answer, and its PID namespace stays with it. The
 * budget has ended the region all the same: no process of it runs. */
static bool teardown_must_leave(Region *r) {
        ProcBlocked b;

        if (!(r->killed || r->freezing) || proc_blocked(r->spawned.pid, &b) < 0) {
                r->wait = (ProcWait){};
                return false;
        }
        b.blocked += proc_is_blocked(r->spawned.pid); /* during the mounts of granted files */
        if (b.blocked == 0 && proc_is_blocked(r->guard.pid))
                b.blocked = 1;
        if (!proc_wait_look(&r->wait, &b, guard_progress(&r->guard), clock_mono_usec(), PROC_BLOCKED_USEC))
                return false;
        r->left = b.blocked;
        return true;
}

bool teardown_again(Region *r, uint64_t since) {
        bool waits_for_guard = r->guard.sent && !r->guard.empty && r->guard.control >= 0;

        if (teardown_must_leave(r))
                return false;
        if (waits_for_guard)
                return !guard_stalled(&r->guard, STOP_WAIT_USEC);
        if (clock_mono_usec() - since > STOP_WAIT_USEC)
                return false;
        /* not before: a second kill ends the worker of tier landlock, and its orphans would become the supervisor's */
        if (r->killed)
                teardown_kill_now(r);
        return true;
}

/* Kills, waits until all processes are overwritten, reaps and proves. Returns 0, TEARDOWN_E_ALIVE, -errno. */
static int teardown_end_all(Region *r, Diag *reterr) {
        int e;

        if (r->left > 0)
                return diag(
                        reterr, TEARDOWN_E_ALIVE,
                        "of its tasks %u wait%s in the kernel, for a file system that does not answer, and cannot be killed",
                        r->left, r->left == 1 ? "s" : "");
        teardown_kill_all(r);
        if (r->stands_first && !r->guard.scrub && guard_wait_frozen(&r->guard, STOP_WAIT_USEC) == 0)
                teardown_go_on(r);
        if (r->guard.sent && !r->guard.empty)
                guard_wait_empty(&r->guard, STOP_WAIT_USEC);
        e = teardown_reap_worker(r);
        if (e == -ETIMEDOUT)
                return diag(reterr, TEARDOWN_E_ALIVE, "process %d does not die", (int)r->spawned.pid);
        if (e < 0)
                return e;
        e = spawn_prove_empty(&r->spawned, r->guard.pid, reterr);
        if (e != 0)
                return e > 0 ? TEARDOWN_E_ALIVE : e;
        if (r->cgroup.made && !region_cgroup_empty(&r->cgroup))
                return diag(reterr, TEARDOWN_E_ALIVE, "a process is left in the region's control group");
        r->has_worker = false;
        return 0;
}

static BudgetEnd teardown_budget_end(const Region *r) {
        if (r->outcome == OUTCOME_SIGNALED && r->status == SIGSEGV && guard_facts(&r->guard) & GUARD_FACT_KERNEL_SEGV)
                return BUDGET_END_CRASHED;
        return r->outcome == OUTCOME_EXITED && r->status == 0 ? BUDGET_END_WELL : BUDGET_END_FAILED;
}

int teardown_stop(Region *r, Diag *reterr) {
        Breach late;
        int e = 0;

        assert(r->state == REGION_ENDED);
        teardown_begin_stop(r);
        if (r->freezing && r->left == 0)
                r->hold = guard_wait_frozen(&r->guard, STOP_WAIT_USEC) == 0;
        if (r->has_worker && (!r->hold || r->left > 0))
                e = teardown_end_all(r, reterr);
        if (e != 0)
                return e;
        /* Now no writer is left: the pipes will get no further bytes. */
        if (region_io_drain(&r->io))
                region_end_late(r, &(Breach){.outcome = OUTCOME_OUTPUT_EXCEEDED, .resource = "output",
                                             .limit = r->io.output_max, .used = r->io.output_used});
        late = region_budget_final(&r->budget, r->program_cpu_usec, r->program_max_rss);
        if (late.outcome == OUTCOME_NONE)
                late = region_budget_refused(&r->budget, teardown_budget_end(r));
        region_end_late(r, &late);
        region_explain_outside(r);
        region_explain_denials(r); /* no process of the region is left to measure the duration */
        region_move(r, REGION_STOPPED);
        return 0;
}

int teardown_drop(Region *r, Diag *reterr) {
        int e = teardown_end_all(r, reterr);

        spawn_wipe_spec(&r->spawned); /* the spec may hold arguments of the skill */
        region_cgroup_remove(&r->cgroup);
        if (r->spawned.scratch)
                spawn_scratch_remove(r->spawned.scratch);
        r->has_worker = false;
        return e;
}

void teardown_leave(Region *r, TeardownEvidence *ret) {
        /* a file may be in use where the kernel waits: the guard overwrites it afterwards */
        ScratchWiped scratch = {.failed = true};
        VaultWiped vault;

        region_sections_wipe(r, &vault);
        spawn_wipe_spec(&r->spawned);
        evidence_collect(r, &scratch, &vault, ret);
        ret->usec = clock_mono_usec() - r->ended_usec;
        guard_leave(&r->guard);
        spawned_leave(&r->spawned);
}

/* Deleted files held only by the supervisor, because of its locks on them. The guard counted them as lent. */
static void teardown_wipe_locked(Region *r, ScratchSum *sum, ScratchWiped *ret) {
        uint64_t bytes = 0;
        int fd;

        while (r->notify.locks && (fd = region_locks_take(r->notify.locks)) >= 0) {
                bytes += scratch_wipe_deleted(r->budget.scratch, fd, r->grant->passes, ret);
                close(fd);
        }
        sum->known += bytes - MIN(bytes, sum->lent);
        sum->lent -= MIN(bytes, sum->lent);
}

/* Overwrites the scratch's files, and the launch spec. */
static void teardown_wipe_rest(Region *r, ScratchWiped *ret) {
        GuardEvidence said;
        ScratchSum sum;

        *ret = (ScratchWiped){0};
        if (r->grant->discipline == DISCIPLINE_NONE || r->go_usec == 0)
                return;
        guard_evidence(&r->guard, &said);
        sum = (ScratchSum){.most = MAX(said.calls_cut > 0 ? r->scratch_sum : 0, said.scratch_sum),
                           .known = said.scratch_known, .lent = said.file_bytes_lent};
        teardown_wipe_locked(r, &sum, ret);
        if (r->budget.scratch < 0 || scratch_wipe(r->budget.scratch, r->grant->passes, &sum, ret) < 0)
                ret->failed = true;
        spawn_wipe_spec(&r->spawned);
}

int teardown_clear(Region *r, TeardownEvidence *ret, Diag *reterr) {
        ScratchWiped scratch;
        VaultWiped vault;
        int e = 0, k;

        assert(r->state == REGION_STOPPED);
        if (r->has_worker) {
                teardown_begin_clear(r);
                e = teardown_end_all(r, reterr);
                if (e != 0)
                        return e > 0 ? e : TEARDOWN_E_ALIVE;
        }
        teardown_wipe_rest(r, &scratch);
        region_sections_wipe(r, &vault);
        evidence_collect(r, &scratch, &vault, ret);

        /* Storage goes back: the last descriptor of the scratch frees its pages. */
        closep(&r->budget.scratch);
        if (r->spawned.scratch && (k = spawn_scratch_remove(r->spawned.scratch)) < 0)
                e = diag(reterr, k, "scratch folder %s cannot be removed: %s", r->spawned.scratch, strerror(-k));
        region_notify_deinit(&r->notify);
        conn_deinit(&r->pipe);
        closep(&r->region_pipe_in);
        closep(&r->region_pipe_out);
        region_io_started(&r->io);
        k = region_cgroup_remove(&r->cgroup);
        if (k < 0) {
                e = diag(reterr, k, "control group of region %s cannot be removed: %s", r->id, strerror(-k));
                r->cgroup.made = false;
        }
        spawned_deinit(&r->spawned);
        ret->usec = clock_mono_usec() - r->ended_usec;
        region_move(r, REGION_CLEARED);
        return e;
}
