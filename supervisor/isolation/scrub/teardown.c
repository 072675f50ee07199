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
#define STOP_WAIT_USEC 10000000 /* then we say that the region cannot be killed; 1,000 processes take 34 ms */

/* In a PID namespace the end of the first process is the end of all; only cgroup.kill is quicker than that. */
static void kill_groups(const Region *r) {
        if (r->cgroup.made && (r->cgroup.v2 || r->tier != TIER_NAMESPACES))
                region_cgroup_kill_once(&r->cgroup);
}

static bool guard_is_needed(const Region *r) {
        return r->guard.sent && !r->guard.empty && !r->guard.scrub;
}

/* Where no memory is left its limit would be in the way of whoever overwrites it. It is lifted when nothing of the region runs any more: who sleeps at it
 * would go on beyond it until the kill has reached it, which in a PID namespace is after the first process has come to its end. So the guard kills each
 * by itself, and overwrites when all of them stand. Returns whether that is to be waited for. */
static bool must_stand_first(Region *r) {
        if (!guard_is_needed(r) || !region_budget_is_full(&r->budget))
                return false;
        if (guard_living(&r->guard) > 0)
                return guard_freeze(&r->guard) == 0;
        region_cgroup_unlimit(&r->cgroup);
        return false;
}

/* Before anything of it is killed: a call that is cut short gives up what only it had a hold of, before anybody can look. The sum counts only when there
 * was such a call: else whatever is gone by the time of the exit stops was freed by the program. */
static void sum_scratch(Region *r) {
        uint64_t known, again, step, step_again, used;

        if (r->tier != TIER_NAMESPACES || r->grant->passes != 1 || !guard_is_needed(r))
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
        sum_scratch(r);
        r->killed = true;
        /* Before the kill: no exit stop is seen before the order. Without a PID namespace nobody but the guard finds every process at once. */
        r->stands_first = must_stand_first(r);
        if (r->tier == TIER_LANDLOCK && guard_is_needed(r) && !r->stands_first)
                guard_freeze(&r->guard);
        spawn_kill(&r->spawned);
        kill_groups(r);
}

void teardown_go_on(Region *r) {
        if (!r->stands_first || r->freezing || r->guard.scrub || !r->guard.frozen)
                return;
        region_cgroup_unlimit(&r->cgroup);
        guard_scrub(&r->guard);
}

/* Waits for the worker's death and reaps it. In tier namespaces the kernel lets it be reaped only after every process of its PID
 * namespace was; in tier landlock it ends when no descendant is left, and is killed itself when that takes too long.
 * Returns 0, -ETIMEDOUT, -errno. */
static int reap_worker(Region *r) {
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
                        spawn_kill(&r->spawned);
                        kill_groups(r);
                        again = now + TEARDOWN_AGAIN_USEC;
                }
                if (poll(&p, 1, (int)(TEARDOWN_AGAIN_USEC / 1000)) > 0 && p.revents & POLLNVAL)
                        return -EBADF;
        }
}

static void kill_all(Region *r) {
        teardown_kill(r);
        if (!guard_is_needed(r) || r->stands_first)
                return;
        /* In a PID namespace, a guard that knows that all of many are on their way takes them together. */
        if (r->tier == TIER_NAMESPACES && guard_living(&r->guard) > 1)
                guard_freeze_at_once(&r->guard);
        else if (r->tier == TIER_LANDLOCK)
                guard_scrub(&r->guard);
}

/* Held: nothing of it runs from here on, and nothing of it is overwritten before teardown_clear(). It keeps its limit until then: the guard's kill ends the
 * sleep of who sleeps at it, and what callbacks have beside it must fit into the budget (I-35). */
static void freeze(Region *r) {
        sum_scratch(r);
        r->hold = guard_freeze(&r->guard) == 0;
        r->freezing = r->hold;
}

void teardown_begin_stop(Region *r) {
        if (!r->has_worker || r->freezing)
                return;
        if (r->hold)
                freeze(r);
        if (!r->hold)
                kill_all(r);
}

void teardown_begin_clear(Region *r) {
        if (!r->has_worker)
                return;
        region_cgroup_unlimit(&r->cgroup);
        if (!r->guard.scrub)
                guard_scrub(&r->guard);
        kill_all(r);
}

static bool worker_is_dead(const Region *r) {
        siginfo_t info = {};

        return waitid(P_PID, (id_t)r->spawned.pid, &info, WEXITED | WNOHANG | WNOWAIT) < 0 ? errno == ECHILD : info.si_pid != 0;
}

bool teardown_is_ready(Region *r) {
        if (!r->has_worker)
                return true;
        if (r->freezing && !r->guard.scrub)
                return r->guard.frozen || r->guard.control < 0;
        return (!r->guard.sent || r->guard.empty || r->guard.control < 0) && worker_is_dead(r);
}

/* A task in a request to a file system that somebody serves (FUSE) cannot be killed before it has its answer, and its PID namespace stays with it. The budget
 * has ended the region all the same: nothing of it runs. */
static bool is_to_be_left(Region *r) {
        ProcBlocked b;

        if (!(r->killed || r->freezing) || proc_blocked(r->spawned.pid, &b) < 0) {
                r->wait = (ProcWait){};
                return false;
        }
        b.blocked += proc_is_blocked(r->spawned.pid); /* while it mounts what was granted */
        if (b.blocked == 0 && proc_is_blocked(r->guard.pid))
                b.blocked = 1;
        if (!proc_wait_look(&r->wait, &b, guard_progress(&r->guard), clock_mono_usec(), PROC_BLOCKED_USEC))
                return false;
        r->left = b.blocked;
        return true;
}

bool teardown_again(Region *r, uint64_t since) {
        bool waits_for_guard = r->guard.sent && !r->guard.empty && r->guard.control >= 0;

        if (is_to_be_left(r))
                return false;
        if (waits_for_guard)
                return !guard_stalled(&r->guard, STOP_WAIT_USEC);
        if (clock_mono_usec() - since > STOP_WAIT_USEC)
                return false;
        if (r->killed) { /* not before: a second kill ends the worker of tier landlock, and its orphans would be ours */
                spawn_kill(&r->spawned);
                kill_groups(r);
        }
        return true;
}

/* Kills, waits until all of it is overwritten, reaps and proves. Returns 0, TEARDOWN_E_ALIVE, -errno. */
static int end_all(Region *r, Diag *reterr) {
        int e;

        if (r->left > 0)
                return diag(reterr, TEARDOWN_E_ALIVE, "of its tasks %u wait%s in the kernel, for a file system that does not answer, and cannot be killed", r->left,
                            r->left == 1 ? "s" : "");
        kill_all(r);
        if (r->stands_first && !r->guard.scrub && guard_wait_frozen(&r->guard, STOP_WAIT_USEC) == 0)
                teardown_go_on(r);
        if (r->guard.sent && !r->guard.empty)
                guard_wait_empty(&r->guard, STOP_WAIT_USEC);
        e = reap_worker(r);
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

static BudgetEnd how_it_ended(const Region *r) {
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
                e = end_all(r, reterr);
        if (e != 0)
                return e;
        /* Only now is no writer left: what the pipes hold is all there will be. */
        if (region_io_drain(&r->io))
                region_end_late(r, &(Breach){.outcome = OUTCOME_OUTPUT_EXCEEDED, .resource = "output", .limit = r->io.output_max, .used = r->io.output_used});
        late = region_budget_final(&r->budget, r->program_cpu_usec, r->program_max_rss);
        if (late.outcome == OUTCOME_NONE)
                late = region_budget_refused(&r->budget, how_it_ended(r));
        region_end_late(r, &late);
        region_explain_outside(r);
        region_explain_denials(r); /* nothing of it is left that could measure how long that takes */
        region_move(r, REGION_STOPPED);
        return 0;
}

int teardown_drop(Region *r, Diag *reterr) {
        int e = end_all(r, reterr);

        spawn_wipe_spec(&r->spawned); /* it may have been told its arguments */
        region_cgroup_remove(&r->cgroup);
        if (r->spawned.scratch)
                spawn_scratch_remove(r->spawned.scratch);
        r->has_worker = false;
        return e;
}

void teardown_leave(Region *r, Evidence *ret) {
        ScratchWiped scratch = {.failed = true}; /* a file of it may be in use where the kernel waits: the guard overwrites it afterwards */
        VaultWiped vault;

        region_sections_wipe(r, &vault);
        spawn_wipe_spec(&r->spawned);
        evidence_collect(r, &scratch, &vault, ret);
        ret->usec = clock_mono_usec() - r->ended_usec;
        guard_leave(&r->guard);
        spawned_leave(&r->spawned);
}

/* Deleted files that only the supervisor still holds, because it made locks on them. What the guard knows as lent is among them. */
static void overwrite_locked(Region *r, ScratchSum *sum, ScratchWiped *ret) {
        uint64_t bytes = 0;
        int fd;

        while (r->notify.locks && (fd = region_locks_take(r->notify.locks)) >= 0) {
                bytes += scratch_wipe_deleted(r->budget.scratch, fd, r->grant->passes, ret);
                close(fd);
        }
        sum->known += bytes - MIN(bytes, sum->lent);
        sum->lent -= MIN(bytes, sum->lent);
}

/* The scratch's files, and what the program was started with. */
static void overwrite_rest(Region *r, ScratchWiped *ret) {
        ScratchWiped locked = {};
        GuardEvidence said;
        ScratchSum sum;

        *ret = (ScratchWiped){0};
        if (r->grant->discipline == DISCIPLINE_NONE || r->go_usec == 0)
                return;
        guard_evidence(&r->guard, &said);
        sum = (ScratchSum){.most = MAX(said.calls_cut > 0 ? r->scratch_sum : 0, said.scratch_sum), .known = said.scratch_known, .lent = said.file_bytes_lent};
        overwrite_locked(r, &sum, &locked);
        if (r->budget.scratch < 0 || scratch_wipe(r->budget.scratch, r->grant->passes, &sum, ret) < 0)
                ret->failed = true;
        ret->files += locked.files;
        ret->bytes_held += locked.bytes_held;
        ret->bytes_overwritten += locked.bytes_overwritten;
        ret->bytes_missed += locked.bytes_missed;
        spawn_wipe_spec(&r->spawned);
}

int teardown_clear(Region *r, Evidence *ret, Diag *reterr) {
        ScratchWiped scratch;
        VaultWiped vault;
        int e = 0, k;

        assert(r->state == REGION_STOPPED);
        if (r->has_worker) {
                teardown_begin_clear(r);
                e = end_all(r, reterr);
                if (e != 0)
                        return e > 0 ? e : TEARDOWN_E_ALIVE;
        }
        overwrite_rest(r, &scratch);
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
