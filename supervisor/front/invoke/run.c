/* Runs: supervisor. */
#include "invoke/run.h"
#include "invoke/pool-region.h"

#include "base/hash.h"
#include "base/log.h"
#include "base/watchdog.h"
#include "belief/promote.h"
#include "invoke/receipt.h"
#include "invoke/record.h"
#include "region/region-key.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

int run_take_signals(void) {
        sigset_t set;
        int fd;

        sigemptyset(&set);
        sigaddset(&set, SIGTERM);
        sigaddset(&set, SIGINT);
        sigaddset(&set, SIGHUP);
        signal(SIGPIPE, SIG_IGN);
        /* In the background, reading the terminal gives an end of file, and writing to it works despite tostop: no
         * region waits. */
        signal(SIGTTIN, SIG_IGN);
        signal(SIGTTOU, SIG_IGN);
        if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
                return -errno;
        fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
        if (fd >= 0) {
                store_stop_at(fd);
                hash_heed_signals();
        }
        return fd < 0 ? -errno : fd;
}

static bool wants_receipt(const RunOptions *o) {
        return o->receipt || o->ret_receipt;
}

/* False: the receipt could not be written, and an error was logged. */
static bool give_receipt(const RunOptions *o, json_t *receipt) {
        _cleanup_json_ json_t *owned = receipt;
        Diag d = {};

        if (o->ret_receipt) {
                *o->ret_receipt = TAKE_PTR(owned);
                return *o->ret_receipt;
        }
        if (receipt_write(o->receipt, owned, &d) == 0)
                return true;
        log_error("%s", d.text);
        return false;
}

int run_refused(const RunOptions *o, const char *name, const char *digest, bool by_policy, int code,
                const char *reason) {
        if (wants_receipt(o))
                give_receipt(
                        o, receipt_of_refusal(name, digest, by_policy ? OUTCOME_DENIED : OUTCOME_SETUP_FAILED, reason));
        return code;
}

static int run_refuse(const RunOptions *o, const Grant *g, const char *reason) {
        log_error("%s", reason);
        return run_refused(o, g->skill_name, g->skill_digest, false, EXIT_OURS, reason);
}

/* Work that was put off for a waiting client: it is done before anything else is waited for. The guard is told after
 * the answer, because it would get the processor first. */
static void run_catch_up(Run *run) {
        store_commit_rest(TAKE_PTR(run->store.rest));
        guard_done(&run->region.guard);
}

/* A signal ends the promotion, so that the receipt follows. */
static int run_notes_go_on(void *user, uint64_t note, const json_t *outcome) {
        struct pollfd p = {.fd = *(const int *)user, .events = POLLIN};

        (void)note;
        (void)outcome;
        return poll(&p, 1, 0) > 0 ? -ECANCELED : 0;
}

WaitLimits run_wait_limits(const Policy *policy) {
        return policy ? (WaitLimits){policy->pending.age_usec, policy->pending.commits} : WAIT_LIMITS_DEFAULT;
}

ResolvePolicy run_resolve_policy(const Policy *policy) {
        ResolvePolicy p = RESOLVE_POLICY_DEFAULT;

        for (size_t i = 0; policy && i < POLICY_BUCKETS; i++)
                p.least_of[kind_from_name(policy_bucket_words[i]) - KIND_PLAN] = (unsigned)policy->pending.least[i];
        return p;
}

int run_promote_notes(Store *s, const char *region, uid_t uid, const Policy *own, int signals,
                      json_t *into, Diag *reterr) {
        const ResolvePolicy policy = run_resolve_policy(own);
        const WaitLimits limits = run_wait_limits(own);
        Promoted sum = {0};
        bool of_store = false;
        char who[32];
        const Promoting p = {.run = region,
                             .batch = PROMOTE_BATCH_MAX,
                             .policy = &policy,
                             .limits = &limits,
                             .who = who,
                             .keys = &region_keys,
                             .told = run_notes_go_on,
                             .user = &signals};
        int r;

        snprintf(who, sizeof(who), "uid:%u", (unsigned)uid);
        *reterr = (Diag){0};
        r = belief_promote(s, &p, &sum, &of_store, reterr);
        if (r != 0 && !*reterr->text)
                diag(reterr, r, "%s", r == -ECANCELED ? "ended by a signal" : r < 0 ? store_strerror(r) : "refused");
        if (json_object_update_new(into, json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "committed",
                                                   json_u64(sum.committed), "pending", json_u64(sum.pending), "rejected", json_u64(sum.rejected),
                                                   "invalid", json_u64(sum.invalid), "resolved",
                                                   json_u64(sum.resolved), "expired", json_u64(sum.expired))) < 0 ||
            (r != 0 && json_object_set_new(into, "error", json_string(reterr->text)) < 0))
                return r ? r : -ENOMEM;
        return r;
}

/* The member "notes" of the receipt; NULL: the region may keep no notes. *ret_failed: the notes were not promoted. */
static json_t *end_of_notes(Run *run, int signals, bool *ret_failed) {
        const Region *r = &run->region;
        uint64_t added = run->pipe.dispatch ? dispatch_notes(run->pipe.dispatch) : 0;
        bool dropped = outcome_is_breach(r->outcome) || *r->discarded;
        json_t *o = r->grant->notes ? json_pack("{s:o, s:o}", "added", json_u64(added), "dropped",
                                                json_u64(dropped ? added : 0))
                                    : NULL;
        Diag d;

        if (!o || !run->options->promote || added == 0 || dropped || r->state != REGION_RECORDED)
                return o;
        run_catch_up(run); /* the region's own record comes first */
        if (run_promote_notes(run->store.db, r->id, r->grant->client ? r->grant->client : getuid(),
                              run->options->policy, signals, o, &d) != 0) {
                log_error("notes of region %s: %s; `lethe promote %s` goes on with them", r->id, d.text, r->id);
                *ret_failed = true;
        }
        return o;
}

const json_t *run_memory_ended(const Run *run) {
        return run->pipe.dispatch && run->region.state == REGION_RECORDED ? dispatch_memory_ended(run->pipe.dispatch)
                                                                          : NULL;
}

/* A prepared Run, or NULL: also when it was recorded ahead and too many regions live; the cold start then reports
 * that. */
static Run *take_prepared(const RunOptions *o, const Grant *g) {
        /* Name and object stand in region.allocated, which may be recorded already. A prepared region has pipes, and reports
         * no start. */
        Run *run = g->name || g->terminal || o->object || o->started || !o->prepared ? NULL : o->prepared->take(o->prepared_data, g, o->turn);
        Diag d;

        if (run && run->region.ahead && record_taken(run->store.db, &run->region, &d) != 0) {
                o->prepared->give_back(o->prepared_data, run);
                return NULL;
        }
        return run;
}

/* A caller that does not read standard error delays the result by this much at most. */
#define LOG_PATIENCE_MSEC 2000

int run_invocation(const RunOptions *o, Store *store, const char *store_path, const Grant *g, int signals) {
        Tree tree = {.signals = signals};
        Run cold = run_new(&tree, o, store, store_path), *prepared = take_prepared(o, g),
            *run = prepared ?: &cold;
        Region *r = &run->region;
        bool failed = false;
        json_t *notes;
        int e, code;

        store_stop_at(signals);
        e = prepared ? 0 : region_init(r, g);
        if (e != 0)
                return run_refuse(o, g, strerror(-e));
        if (o->object)
                snprintf(r->id, sizeof(r->id), "%s", o->object->trace);
        log_hold(); /* a caller that does not read standard error must not delay the region's end */
        if (prepared)
                run_bind(run, &tree, o, g);
        else
                run_begin(run);
        if (r->recorded_start) {
                run_watch(run);
                run_let_go(run);
                store_commit_rest(TAKE_PTR(run->store.rest));
                run_until_over(&tree);
        } else
                run_drop(run);
        notes = end_of_notes(run, signals, &failed);
        code = run->store.failed || failed ? region_trouble_code(r) : region_exit_code(r);
        if (wants_receipt(o) &&
            !give_receipt(o, receipt_of_region(r, run->end.torn_down ? &run->evidence : NULL,
                                               run->pipe.dispatch ? dispatch_result(run->pipe.dispatch) : NULL, notes,
                                               run_memory_ended(run))))
                code = region_trouble_code(r);
        json_decref(notes);
        _cleanup_watchdog_ WatchdogWait w = watchdog_wait_streams();
        if (!region_io_is_flushed(&r->io))
                run_catch_up(run);
        region_io_flush(&r->io, signals, UINT64_MAX);
        if (r->io.out.lost || r->io.err.lost) {
                log_error("output of the skill is lost: %s",
                          strerror(r->io.out.lost ? r->io.out.lost : r->io.err.lost));
                code = region_trouble_code(r);
        }
        run_free_subs(&tree);
        run_tell(run);
        if (log_is_kept())
                run_catch_up(run);
        log_let_go(signals, LOG_PATIENCE_MSEC);
        if (o->over)
                o->over(o->userdata, code);
        run_catch_up(run);
        if (prepared)
                o->prepared->over(o->prepared_data, r->id);
        run_deinit(run);
        free(prepared);
        if (o->prepared)
                o->prepared->leave(o->prepared_data);
        return code;
}
