/* Runs: supervisor. */
#include "region/region.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/size.h"
#include "region/region-cgroup-home.h"
#include "spawn/find.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define REGION_BREACH_TEXT_MAX 224
#define MEMORY_LEAST_BYTES (1 << 20) /* the smallest memory budget */

int region_init(Region *r, const Grant *g) {
        *r = (Region){
                .state = REGION_DECLARED, .grant = g, .start = "cold", .spawned = SPAWNED_NULL, .guard = GUARD_NULL,
                .pipe = {.fd_in = -1, .fd_out = -1}, .region_pipe_in = -1, .region_pipe_out = -1,
                .cgroup = REGION_CGROUP_NULL, .notify = REGION_NOTIFY_NULL, .proxy = REGION_PROXY_NULL, .declared_usec = clock_mono_usec(),
        };
        r->io.rest_deadline = UINT64_MAX;
        r->io.in = r->io.out = r->io.err = (Relay){.from = -1, .to = -1, .own_copy = -1, .poll_fd = -1};
        r->io.region_in = r->io.region_out = r->io.region_err = -1;
        region_budget_init(&r->budget, g, &r->cgroup, &r->guard);
        r->notify.grant = g;
        r->notify.budget = &r->budget;
        r->notify.denials = &r->denials;
        return region_id_new(clock_real_usec(), r->id);
}

/* Groups of a pool have no bound of processors. */
static int region_plan_groups(Region *r) {
        const uint64_t cpus = r->grant->budget.cpus_milli;
        int e;

        if (cpus == 0 || cpus == BUDGET_NONE)
                return r->groups ? cgroup_pool_take(r->groups, &r->cgroup) : region_cgroup_plan_here(r->id, &r->cgroup);
        e = region_cgroup_plan_here(r->id, &r->cgroup);
        return e < 0 ? e : region_cgroup_plan_quota_here(r->id, &r->cgroup);
}

int region_open(Region *r, const RegionFeed *feed, const int *streams) {
        _cleanup_close_ int in = -1, out = -1;
        int p[2], e;

        if ((e = region_io_open(&r->io, r->grant->budget.output_bytes, r->grant->terminal, feed, streams)) < 0 ||
            (e = region_plan_groups(r)) < 0)
                return e;
        if (pipe2(p, O_CLOEXEC) < 0)
                return -errno;
        r->region_pipe_in = p[0];
        out = p[1];
        if (pipe2(p, O_CLOEXEC) < 0)
                return -errno;
        in = p[0];
        r->region_pipe_out = p[1];
        if ((e = conn_init(&r->pipe, in, out)) < 0)
                return e;
        TAKE_FD(in);
        TAKE_FD(out);
        return 0;
}

/* Checks (I-5): the sections leave memory of the budget for the program. */
static int region_reserve_sections(Region *r, Diag *reterr) {
        uint64_t most = r->grant->budget.memory_bytes;

        r->budget.reserved = vault_bytes(r->vault);
        if (r->budget.reserved > 0 && r->budget.reserved + r->budget.lent.memory_bytes + MEMORY_LEAST_BYTES > most)
                return diag(reterr, SECTION_E_BAD, "sections take %llu bytes, callbacks %llu, of the %llu of the "
                            "region's memory, and a program needs %d",
                            (unsigned long long)r->budget.reserved, (unsigned long long)r->budget.lent.memory_bytes,
                            (unsigned long long)most, MEMORY_LEAST_BYTES);
        return 0;
}

int region_vault_open(Region *r, Diag *reterr) {
        int e = vault_new(r->id, r->grant->key_scope, r->vault_parent, r->grant->sections, &r->vault, reterr);

        return e == 0 ? region_reserve_sections(r, reterr) : e;
}

int region_add_evidence(Region *r, const json_t *evidence, Diag *reterr) {
        const char *slot;
        json_t *held;
        int e = 0;

        json_object_foreach((json_t *)evidence, slot, held) {
                uint64_t until;

                if (json_get_u64(json_object_get(held, "until_usec"), &until) < 0)
                        until = EVIDENCE_LASTS;
                e = e ?: vault_add_evidence(r->vault, slot, json_object_get(held, "value"), until, reterr);
        }
        return e == 0 ? region_reserve_sections(r, reterr) : e;
}

void region_sections_wipe(Region *r, VaultWiped *ret) {
        vault_wipe(r->vault, r->grant->passes, ret);
        vault_free(TAKE_PTR(r->vault));
}

void region_bind(Region *r, const Grant *g, const int *streams) {
        assert((r->state == REGION_DECLARED || r->state == REGION_ALLOCATED) && grant_same(r->grant, g));
        r->grant = g;
        r->budget.grant = g;
        r->notify.grant = g;
        r->start = r->spawned.warm ? "warm" : "pool"; /* the start as far as shared memory pages are concerned */
        r->declared_usec = clock_mono_usec();
        region_io_aim(&r->io, streams);
}

void region_started(Region *r, Spawned *s) {
        r->spawned = *s;
        if (s->warm)
                r->start = "warm";
        *s = SPAWNED_NULL;
        r->has_worker = true;
        r->tier = r->spawned.tier;
        r->host_uid = r->spawned.host_uid;
        r->host_user = r->spawned.host_user;
        closep(&r->region_pipe_in);
        closep(&r->region_pipe_out);
        region_io_started(&r->io);
        r->notify.tier = r->spawned.tier;
        r->notify.filter = r->spawned.filter;
        r->notify.host_uid = r->spawned.host_uid;
        r->notify.scratch = r->spawned.scratch;
        if (r->tier == TIER_LANDLOCK)
                /* NULL: paths of the shims are recorded as denied, with no other effect */
                r->notify.shims = find_shims();
}

static void region_check(const Region *r) {
        bool gone = r->state >= REGION_STOPPED;

        assert((r->outcome == OUTCOME_NONE) ==
               (r->state == REGION_DECLARED || r->state == REGION_ALLOCATED || r->state == REGION_RUNNING));
        /* REFUSED stands below ALLOCATED in the enumeration */
        assert(r->recorded_start == (r->state >= REGION_ALLOCATED));
        /* a held region stands at its exit stop and no longer runs */
        if (gone && !(r->state == REGION_STOPPED && r->hold))
                assert(!r->has_worker);
        if (r->state == REGION_CLEARED || r->state == REGION_RELEASED || r->state == REGION_RECORDED) {
                assert(!r->cgroup.made && r->budget.scratch < 0 && r->notify.fd < 0 && r->pipe.fd_in < 0 &&
                       r->pipe.fd_out < 0);
                assert(r->io.in.to < 0 && r->io.out.from < 0 && r->io.err.from < 0);
        }
        if (r->state == REGION_RECORDED)
                assert(r->seq_allocated < r->seq_released && r->seq_released < r->seq_ended);
}

void region_move(Region *r, RegionState to) {
        assert(region_state_can_move(r->state, to));
        log_debug("region %s: %s -> %s", r->id, region_state_name(r->state), region_state_name(to));
        r->state = to;
        if (to == REGION_ENDED)
                r->ended_usec = clock_mono_usec();
        if (to == REGION_STOPPED)
                r->stopped_usec = clock_mono_usec();
        region_check(r);
}

static bool region_set_end(Region *r, Outcome o, int status) {
        if (r->outcome != OUTCOME_NONE)
                return false;
        assert(o != OUTCOME_NONE);
        if (r->state == REGION_RUNNING)
                region_budget_over(&r->budget, o != OUTCOME_EXITED && o != OUTCOME_SIGNALED);
        r->outcome = o;
        r->status = status;
        if (r->asked.outcome != OUTCOME_NONE)
                r->asked.usec = clock_mono_usec() - r->asked.since_usec;
        region_move(r, r->state == REGION_DECLARED ? REGION_REFUSED : REGION_ENDED);
        return true;
}

bool region_end_asked(Region *r) {
        if (!region_set_end(r, r->asked.outcome, r->asked.status))
                return false;
        r->breach = r->asked.breach;
        strcpy(r->reason, r->asked.reason);
        return true;
}

bool region_end(Region *r, Outcome o, int status, const char *fmt, ...) {
        va_list ap;

        if ((o == OUTCOME_EXITED || o == OUTCOME_SIGNALED) && r->asked.outcome != OUTCOME_NONE &&
            r->outcome == OUTCOME_NONE) {
                r->asked.itself = true;
                return region_end_asked(r);
        }
        if (!region_set_end(r, o, status))
                return false;
        va_start(ap, fmt);
        vsnprintf(r->reason, sizeof(r->reason), fmt, ap);
        va_end(ap);
        return true;
}

static const BudgetField *region_breach_field(const char *resource) {
        for (size_t i = 0; i < BUDGET_FIELDS; i++)
                if (strcmp(budget_fields[i].name, resource) == 0)
                        return &budget_fields[i];
        return NULL;
}

/* exact: without rounding, because a single byte above the limit would read like the limit. */
static const char *region_breach_number(const BudgetField *f, uint64_t v, bool exact,
                                        char out[static BUDGET_TEXT_MAX]) {
        if (f && !exact)
                return budget_format(f, v, out);
        snprintf(out, BUDGET_TEXT_MAX, f && f->unit == UNIT_BYTES ? "%llu bytes" : "%llu", (unsigned long long)v);
        return out;
}

/* "memory: limit 128 MiB, used 131 MiB", with further measurements. */
static const char *region_breach_text(const Breach *b, char out[static REGION_BREACH_TEXT_MAX]) {
        const BudgetField *f = region_breach_field(b->resource);
        const bool near = f && f->unit == UNIT_BYTES && b->used > b->limit && b->used - b->limit <= b->limit / 64;
        char number[BUDGET_TEXT_MAX];
        int n = snprintf(out, REGION_BREACH_TEXT_MAX, "%s: limit %s", b->resource,
                         region_breach_number(f, b->limit, false, number));

        if (b->used != BREACH_UNMEASURED)
                n += snprintf(out + n, REGION_BREACH_TEXT_MAX - (size_t)n, ", used %s",
                              region_breach_number(f, b->used, near, number));
        if (b->lent > 0)
                n += snprintf(out + n, REGION_BREACH_TEXT_MAX - (size_t)n, ", lent %s",
                              region_breach_number(f, b->lent, false, number));
        if (b->asked > 0)
                snprintf(out + n, REGION_BREACH_TEXT_MAX - (size_t)n, ", asked for %s",
                         region_breach_number(f, b->asked, false, number));
        else if (b->used == BREACH_UNMEASURED || b->used + b->lent <= b->limit)
                snprintf(out + n, REGION_BREACH_TEXT_MAX - (size_t)n, ", and more was refused");
        return out;
}

static void region_set_breach(Region *r, const Breach *b) {
        char text[REGION_BREACH_TEXT_MAX];

        r->breach = *b;
        snprintf(r->reason, sizeof(r->reason), "%s", region_breach_text(b, text));
}

bool region_ask_end(Region *r, Outcome o, int status, const Breach *b, const char *reason) {
        char text[REGION_BREACH_TEXT_MAX];

        if (r->state != REGION_RUNNING || r->grant->grace_usec == 0 || r->asked.outcome != OUTCOME_NONE ||
            spawn_terminate(&r->spawned) == 0)
                return false;
        r->asked = (struct RegionAsked){.outcome = o, .status = status, .since_usec = clock_mono_usec()};
        if (b)
                r->asked.breach = *b;
        snprintf(r->asked.reason, sizeof(r->asked.reason), "%s", b ? region_breach_text(b, text) : reason);
        return true;
}

bool region_end_breach(Region *r, const Breach *b) {
        if (b->outcome == OUTCOME_NONE || !region_set_end(r, b->outcome, 0))
                return false;
        region_set_breach(r, b);
        return true;
}

bool region_end_late(Region *r, const Breach *b) {
        assert(r->state == REGION_ENDED || r->state == REGION_STOPPED);
        if (b->outcome == OUTCOME_NONE || (r->outcome != OUTCOME_EXITED && r->outcome != OUTCOME_SIGNALED))
                return false;
        r->outcome = b->outcome;
        r->status = 0;
        region_set_breach(r, b);
        return true;
}

void region_explain_denials(Region *r) {
        assert(r->state == REGION_ENDED);
        region_find_here(r);
        if (region_outside_explain(&r->notify.outside, &r->denials) == 0 || r->grant->on_denial != DENIAL_END ||
            (r->outcome != OUTCOME_EXITED && r->outcome != OUTCOME_SIGNALED))
                return;
        r->outcome = OUTCOME_DENIED;
        r->status = 0;
        snprintf(r->reason, sizeof(r->reason), "%s",
                 "a denial ends this skill (on_denial); the denial was found after the end");
}

void region_watch_outside(Region *r) {
        HomeUnit u;

        if (r->cgroup.made) /* the group has a count of its own */
                return;
        home_unit(&u);
        r->oom_before = u.oom_kills;
}

/* Without a group of the region, the kernel does not tell which process of the unit was killed. */
static void region_explain_unit(Region *r) {
        HomeUnit u;
        size_t n;

        home_unit(&u);
        if (u.oom_kills <= r->oom_before)
                return;
        n = (size_t)snprintf(r->reason, sizeof(r->reason),
                             "SIGKILL; while it ran the kernel's out-of-memory killer ended processes of %s: %" PRIu64,
                             u.name, u.oom_kills - r->oom_before);
        if (u.limit != UINT64_MAX)
                snprintf(r->reason + n, sizeof(r->reason) - n, ", whose memory.max is %" PRIu64, u.limit);
}

void region_explain_outside(Region *r) {
        static const char said[] = "the kernel's out-of-memory killer: memory was short outside of the region, in a "
                                   "control group above or on the whole machine";
        static const char tasks[] = "a task more: the limit of a control group above the region's was reached";

        assert(r->state == REGION_ENDED);
        if (r->budget.tasks_outside > 0)
                denials_add_many(&r->denials, "outside", "clone", tasks, strlen(tasks), NULL, r->budget.tasks_outside);
        if (r->outcome != OUTCOME_SIGNALED || r->status != SIGKILL)
                return;
        if (!r->cgroup.made)
                region_explain_unit(r);
        if (region_cgroup_oom_kills(&r->cgroup) == 0)
                return;
        r->outside = true;
        snprintf(r->reason, sizeof(r->reason), "%s", said);
}

int region_trouble_code(const Region *r) {
        return r->go_usec > 0 && r->outcome != OUTCOME_SETUP_FAILED ? 128 + SIGKILL : 125;
}

int region_exit_code(const Region *r) {
        /* a region left behind keeps its result; the record says "left" (I-63) */
        if (r->state == REGION_UNRECORDED && r->left == 0)
                return region_trouble_code(r);
        if (r->state == REGION_REFUSED && r->outcome != OUTCOME_CANCELLED)
                return r->status ? r->status : 125;
        /* Lethe itself cancelled, and kills a running program */
        if (r->outcome == OUTCOME_CANCELLED && r->status == 0 && r->go_usec > 0)
                return 128 + SIGKILL;
        return outcome_exit_code(r->outcome, r->status);
}

void region_deinit(Region *r) {
        assert(region_state_is_end(r->state) || r->state == REGION_DECLARED);
        assert(!r->has_worker);
        vault_free(TAKE_PTR(r->vault));
        region_notify_deinit(&r->notify);
        region_proxy_deinit(&r->proxy);
        region_budget_deinit(&r->budget);
        if (r->cgroup.made) /* of a pool, never used */
                region_cgroup_remove(&r->cgroup);
        region_cgroup_deinit(&r->cgroup);
        region_io_deinit(&r->io);
        denials_deinit(&r->denials);
        json_decref(r->callbacks);
        spawned_deinit(&r->spawned);
        guard_deinit(&r->guard);
        conn_deinit(&r->pipe);
        closep(&r->region_pipe_in);
        closep(&r->region_pipe_out);
}
