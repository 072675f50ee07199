/* Runs: supervisor. Ends, clears and records the regions of dead supervisors. */
#include "recover/recover.h"

#include "base/clock.h"
#include "base/log.h"
#include "prefork/groups.h"
#include "layer/layer.h"
#include "scrub/kept.h"
#include "invoke/receipt.h"
#include "invoke/callbacks.h"
#include "engine/engine.h"
#include "engine/session.h"
#include "engine/dead-letter.h"
#include "region/region-cgroup.h"
#include "region/region-proc.h"
#include "scrub/evidence.h"
#include "spawn/guard.h"
#include "spawn/spawn.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

#define DIE_WAIT_MS 10000
#define GUARD_WAIT_USEC 30000000 /* a guard overwrites some gigabytes a second */
#define TURN_WAIT_USEC 30000000  /* for another recovering process, which may have callbacks to run */

static bool recover_is_landlock(const RegionRow *row) {
        const char *tier = json_text(json_object_get(row->detail, "tier"));

        return tier && strcmp(tier, tier_name(TIER_LANDLOCK)) == 0;
}

/* region.left was recorded: no start waits for the tasks again. */
static bool recover_was_left(const RegionRow *row) {
        return json_object_get(row->detail, "left");
}

/* Looks once at a killed region. True: its tasks are blocked in the kernel, and the caller does not wait. */
static bool recover_waits(const RegionRow *row, const ProcBlocked *b, ProcWait *w, unsigned *ret_tasks) {
        if (!proc_wait_look(w, b, 0, clock_mono_usec(), recover_was_left(row) ? 0 : PROC_BLOCKED_USEC))
                return false;
        *ret_tasks = b->blocked;
        return true;
}

static bool recover_first_waits(const RegionRow *row, ProcWait *w, unsigned *ret_tasks) {
        ProcBlocked b;

        if (proc_blocked((pid_t)row->pid, &b) < 0)
                return false;
        if (b.blocked == 0 && proc_is_blocked((pid_t)row->pid))
                b.blocked = 1;
        return recover_waits(row, &b, w, ret_tasks);
}

static bool recover_strays_wait(const RegionRow *row, ProcWait *w, unsigned *ret_tasks) {
        ProcBlocked b;

        proc_region_blocked(row->region, &b);
        return recover_waits(row, &b, w, ret_tasks);
}

/* Kills the row's process, when pid and start time still match: the kernel may have reused the pid. Without a PID
 * namespace this process is the region's subreaper and ends all other processes after its supervisor's death. An early
 * kill of the subreaper would leave the other processes running. */
static int recover_kill_first(const RegionRow *row, unsigned *ret_tasks, Diag *reterr) {
        const unsigned below_ms = DIE_WAIT_MS / 2;
        _cleanup_close_ int pidfd = -1;
        ProcWait wait = {};
        struct pollfd p;

        if (row->pid <= 1)
                return 0;
        pidfd = (int)syscall(SYS_pidfd_open, (pid_t)row->pid, 0);
        if (pidfd < 0)
                return errno == ESRCH || errno == EINVAL ? 0 : -errno;
        if (proc_start_ticks((pid_t)row->pid) != row->start_ticks)
                return 0;
        if (recover_was_left(row) && recover_first_waits(row, &wait, ret_tasks))
                return RECOVER_E_LEFT;
        p = (struct pollfd){.fd = pidfd, .events = POLLIN};
        for (unsigned ms = recover_is_landlock(row) ? 0 : below_ms; ms < below_ms + DIE_WAIT_MS; ms += 5) {
                if (ms < below_ms)
                        proc_kill_below((pid_t)row->pid);
                else if (ms == below_ms && syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0) < 0)
                        return errno == ESRCH ? 0 : -errno;
                if (poll(&p, 1, 5) > 0)
                        return 0;
                if (recover_first_waits(row, &wait, ret_tasks))
                        return RECOVER_E_LEFT;
        }
        return diag(reterr, RECOVER_E_ALIVE, "region %s: process %" PRIu64 " of a dead supervisor does not die",
                    row->region, row->pid);
}

/* Kills processes left behind by a first process that was killed from outside. */
static int recover_kill_strays(const RegionRow *row, unsigned *ret_tasks, Diag *reterr) {
        ProcWait wait = {};

        for (unsigned ms = 0; recover_is_landlock(row) && proc_kill_by_region(row->region) > 0; ms += 5) {
                if (recover_strays_wait(row, &wait, ret_tasks))
                        return RECOVER_E_LEFT;
                if (ms > DIE_WAIT_MS)
                        return diag(reterr, RECOVER_E_ALIVE, "region %s: a process of a dead supervisor does not die",
                                    row->region);
                poll(NULL, 0, 5);
        }
        return 0;
}

/* spawn derives the scratch folder of tier landlock from the region's id; the row may be older than the folder. */
static int recover_remove_scratch(Store *s, const RegionRow *row, Diag *reterr) {
        const char *const folders[] = {store_dir(s), "/scratch/", "/tmp", "/lethe-"};

        for (size_t i = 0; i < ARRAY_SIZE(folders); i += 2) {
                char path[PATH_MAX];
                int e;

                if (snprintf(path, sizeof(path), "%s%s%s", folders[i], folders[i + 1], row->region) >=
                    (int)sizeof(path))
                        continue;
                e = spawn_scratch_remove(path);
                if (e < 0)
                        return diag(reterr, e, "region %s: scratch folder %s cannot be removed: %s", row->region, path,
                                    strerror(-e));
        }
        return 0;
}

static Discipline recover_discipline(const RegionRow *row) {
        const char *name = json_text(json_object_get(row->detail, "discipline"));

        for (Discipline d = DISCIPLINE_ZERO; name && d <= DISCIPLINE_NONE; d++)
                if (strcmp(discipline_name(d), name) == 0)
                        return d;
        return DISCIPLINE_NONE;
}

/* The region's guard outlives its supervisor and overwrites the region's memory; this waits for the guard. */
static int recover_take_evidence(Store *s, const RegionRow *row, TeardownEvidence *ret, Diag *reterr) {
        GuardEvidence guard;
        int e = guard_left(store_dir(s), row->region, GUARD_WAIT_USEC, &guard);

        if (e == -ETIMEDOUT)
                return diag(reterr, RECOVER_E_ALIVE, "region %s: the guard still overwrites memory", row->region);
        evidence_left(e == 0 ? &guard : NULL, recover_discipline(row), ret);
        return 0;
}

static int recover_clear(Store *s, const RegionRow *row, TeardownEvidence *ret, unsigned *ret_tasks, Diag *reterr) {
        int e = recover_kill_first(row, ret_tasks, reterr)
                        ?: recover_kill_strays(row, ret_tasks, reterr)
                        ?: recover_take_evidence(s, row, ret, reterr);

        if (e == 0 && row->cgroup) {
                e = region_cgroup_clear_text(row->cgroup, row->region, groups_name(s));
                if (e < 0)
                        return diag(reterr, e, "region %s: control group cannot be removed: %s", row->region,
                                    strerror(-e));
        }
        if (e == 0) {
                e = kept_drop_new(store_dir(s), LAYER_SHELF, row->region);
                e = e == KEPT_E_NONE || e == -EBUSY ? 0 : e; /* kept_sweep() drops the rest of a maker that still dies */
        }
        return e == 0 ? recover_remove_scratch(s, row, reterr) : e;
}

static int recover_record(Txn *t, const RegionRow *row, const json_t *callbacks, const TeardownEvidence *found, Diag *reterr) {
        _cleanup_json_ json_t *fields = NULL;
        int e;

        fields = json_pack("{s:o?}", "teardown", receipt_teardown(found, callbacks));
        if (!fields)
                return -ENOMEM;
        e = engine_region_recover(t, row->region, fields, reterr);
        return e == ENGINE_E_NO_REGION ? 0 : e; /* another start was faster */
}

/* Records region.left, once: the regions above end without this region. */
static int recover_record_left(Store *s, const RegionRow *seen, unsigned tasks, Diag *reterr) {
        _cleanup_(region_row_deinit) RegionRow row = {};
        _cleanup_json_ json_t *fields = NULL;
        _cleanup_txn_ Txn *t = NULL;
        TeardownEvidence evidence;
        int e;

        if (recover_was_left(seen))
                return 0;
        evidence_left(NULL, recover_discipline(seen), &evidence);
        fields = json_pack("{s:s, s:i, s:s, s:o?}", "outcome", "cancelled", "tasks", (int)tasks, "reason",
                           "the supervisor died; the region's tasks wait in the kernel for a file system without an "
                           "answer, and cannot be killed", "teardown", receipt_teardown(&evidence, NULL));
        if (!fields)
                return -ENOMEM;
        e = store_begin(s, true, &t, reterr);
        if (e == 0 && (e = engine_region_get(t, seen->region, &row)) == 0 && !recover_was_left(&row)) {
                e = engine_event(t, seen->region, "region.left", fields, NULL);
                if (e == 0)
                        return (e = store_commit(TAKE_PTR(t), reterr)) > 0 ? RECOVER_E_STORE : e;
        }
        return e == ENGINE_E_NO_REGION ? 0 : e > 0 ? RECOVER_E_STORE : e; /* another start was faster */
}

/* A session that goes on with its next host (I-85): no process and no memory of it is left, and its row stays. */
static bool recover_is_waiting_session(const RegionRow *row) {
        return session_waits(session_of_row(row), clock_real_usec());
}

/* The youngest first: a region below was allocated after the region above. */
static int recover_by_age(const void *a, const void *b) {
        uint64_t x = 0, y = 0;

        json_get_u64(json_object_get(((const RegionRow *)a)->detail, "allocated"), &x);
        json_get_u64(json_object_get(((const RegionRow *)b)->detail, "allocated"), &y);
        return x < y ? 1 : x > y ? -1 : 0;
}

/* Reads the region's current row. Returns 0, RECOVER_E_NONE, RECOVER_E_STORE, -errno. */
static int recover_read_row(Store *s, const char *region, RegionRow *ret, Diag *reterr) {
        _cleanup_txn_ Txn *t = NULL;
        int e = store_begin(s, false, &t, reterr) ?: engine_region_get(t, region, ret);

        return e == ENGINE_E_NO_REGION ? RECOVER_E_NONE : e > 0 ? RECOVER_E_STORE : e;
}

/* Clears a region and records its end, before the regions above. The row is read again after the supervisor's death is
 * certain: the supervisor may have recorded the end, with callbacks, after the first read. */
static int recover_row(Store *s, const Policy *policy, Spawner *spawner, const RegionRow *seen, Diag *reterr) {
        _cleanup_(region_row_deinit) RegionRow row = {};
        _cleanup_json_ json_t *callbacks = NULL;
        _cleanup_txn_ Txn *t = NULL;
        TeardownEvidence evidence;
        unsigned tasks = 0;
        int e;

        if (!store_lock_is_free(s, seen->supervisor_lock))
                return RECOVER_E_OWNED;
        e = recover_read_row(s, seen->region, &row, reterr);
        if (e == 0 && recover_is_waiting_session(&row))
                return RECOVER_E_NONE;
        e = e ?: recover_clear(s, &row, &evidence, &tasks, reterr);
        if (e == RECOVER_E_LEFT && (e = recover_record_left(s, &row, tasks, reterr)) == 0)
                return RECOVER_E_LEFT;
        if (e == 0)
                e = run_release_left(s, policy, spawner, &row, &callbacks);
        if (e != 0)
                return e;
        e = store_begin(s, true, &t, reterr)
                        ?: recover_record(t, &row, callbacks, &evidence, reterr)
                        ?: store_commit(TAKE_PTR(t), reterr);
        return e > 0 ? RECOVER_E_STORE : e;
}

/* Called after the file was seen: a region without a row has been recorded to its end. */
static bool recover_not_over(const char *region, void *userdata) {
        _cleanup_(region_row_deinit) RegionRow row = {};
        _cleanup_txn_ Txn *t = NULL;

        return store_begin(userdata, false, &t, NULL) != 0 || engine_region_get(t, region, &row) != ENGINE_E_NO_REGION;
}

/* All rows, the youngest first. Returns 0, RECOVER_E_STORE, -errno. */
static int recover_list_rows(Store *s, RegionRow **ret, size_t *ret_n, Diag *reterr) {
        _cleanup_txn_ Txn *t = NULL;
        int e = store_begin(s, false, &t, reterr) ?: engine_region_list(t, ret, ret_n);

        if (e == 0 && *ret_n > 1)
                qsort(*ret, *ret_n, sizeof(**ret), recover_by_age);
        return e > 0 ? RECOVER_E_STORE : e;
}

/* Has a row a dead supervisor? A living supervisor may have a thousand regions: its lock is tested once. */
static bool recover_any_is_dead(Store *s, const RegionRow *rows, size_t n) {
        uint64_t alive = 0;

        for (size_t i = 0; i < n; i++) {
                if ((alive != 0 && rows[i].supervisor_lock == alive) || recover_is_waiting_session(&rows[i]))
                        continue;
                if (store_lock_is_free(s, rows[i].supervisor_lock))
                        return true;
                alive = rows[i].supervisor_lock;
        }
        return false;
}

/* Recovers the regions of dead supervisors. Reads rows in its turn: the turn's last holder may have died. */
static int recover_rows(Store *s, const Policy *policy, Spawner *spawner, unsigned *ret_n, Diag *reterr) {
        _cleanup_(store_turn_leave) int turn = store_turn_take(s, TURN_WAIT_USEC);
        RegionRow *rows = NULL;
        uint64_t alive = 0; /* the last supervisor known to live */
        size_t n = 0;
        int e = turn == -EAGAIN ? 0 : turn < 0 ? turn : recover_list_rows(s, &rows, &n, reterr);

        for (size_t i = 0; i < n && e == 0; i++) {
                if (alive != 0 && rows[i].supervisor_lock == alive)
                        continue;
                e = recover_row(s, policy, spawner, &rows[i], reterr);
                if (e == 0) {
                        ++*ret_n;
                        log_debug("region %s: its supervisor had died; recovered", rows[i].region);
                } else if (e == RECOVER_E_LEFT) {
                        log_debug("region %s was left behind and still waits in the kernel", rows[i].region);
                        e = 0;
                } else if (e == RECOVER_E_OWNED || e == RECOVER_E_NONE) {
                        alive = e == RECOVER_E_OWNED ? rows[i].supervisor_lock : alive;
                        e = 0;
                }
        }
        region_rows_free(rows, n);
        return e;
}

int recover_all(Store *s, const Policy *policy, Spawner *spawner, bool quiet, Diag *reterr) {
        RegionRow *rows = NULL;
        unsigned n_recovered = 0;
        size_t n = 0;
        bool left;
        int e;

        guard_sweep(store_dir(s), recover_not_over, s);
        e = recover_list_rows(s, &rows, &n, reterr);
        left = e == 0 && recover_any_is_dead(s, rows, n);
        region_rows_free(rows, n);
        if (e == 0 && (e = engine_retry_dead_letters_at_start(s, reterr)) > 0)
                e = RECOVER_E_STORE;
        if (e == 0 && left)
                e = recover_rows(s, policy, spawner, &n_recovered, reterr);
        if (n_recovered > 0 && !quiet)
                log_note("%u region%s of a supervisor that died %s recovered", n_recovered, n_recovered == 1 ? "" : "s",
                         n_recovered == 1 ? "was" : "were");
        if (e != 0)
                return e;
        e = groups_clear_left(s);
        if (e == -EBUSY) /* of a region that was left behind */
                e = 0;
        if (e == 0)
                e = pool_notes_recover(s);
        if (e < 0)
                diag(reterr, e, "control groups of a dead supervisor cannot be removed: %s", strerror(-e));
        return e;
}

static bool recover_is_below(const RegionRow *rows, size_t n, const RegionRow *row, const char *above) {
        for (const RegionRow *at = row; at;) {
                const char *parent = json_text(json_object_get(at->detail, "parent"));

                if (!parent || strcmp(parent, above) == 0)
                        return parent;
                at = NULL;
                for (size_t i = 0; i < n && !at; i++)
                        at = strcmp(rows[i].region, parent) == 0 ? &rows[i] : NULL;
        }
        return false;
}

static int recover_below(Store *s, const char *region, Diag *reterr) {
        RegionRow *rows = NULL;
        size_t n = 0;
        int e = recover_list_rows(s, &rows, &n, reterr);

        for (size_t i = 0; i < n && e == 0; i++) {
                if (recover_is_below(rows, n, &rows[i], region))
                        e = recover_row(s, NULL, NULL, &rows[i], reterr);
                if (e == RECOVER_E_LEFT || e == RECOVER_E_NONE)
                        e = 0;
        }
        region_rows_free(rows, n);
        return e;
}

int recover_one(Store *s, const char *region, Diag *reterr) {
        _cleanup_(region_row_deinit) RegionRow row = {};
        _cleanup_(store_turn_leave) int turn = store_turn_take(s, TURN_WAIT_USEC);
        int e;

        if (turn == -EAGAIN)
                return diag(reterr, RECOVER_E_ALIVE, "region %s: another process recovers regions of dead supervisors, "
                            "and is not done within 30 s; try again", region);
        e = turn < 0 ? turn : recover_read_row(s, region, &row, reterr);
        if (e == 0)
                e = recover_below(s, region, reterr);
        return e != 0 ? e : recover_row(s, NULL, NULL, &row, reterr);
}
