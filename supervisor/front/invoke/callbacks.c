/* Runs: supervisor. Release callbacks (I-35): code of the skill's author that gives back external resources of a
 * region. A callback is an entry of the same skill and runs in a region of its own, with a budget, after the last
 * process of the owner's region has stopped and before the owner's handles are unbound and its storage is overwritten
 * (I-13). All callbacks share three quarters of the cancel bound; the rest is for overwriting. The start of a callback
 * is recorded in the owner's row, in the transaction that allocates the callback's region, so that no callback begins
 * twice.
 *
 * Callbacks of a region that broke its budget run as well, because its resources are to be given back, too. Their
 * proposals are not kept (I-98): the engine discards them, and the answers, region.allocated and `callbacks` say so. */
#include "invoke/callbacks.h"

#include "base/clock.h"
#include "base/log.h"
#include "policy/admit.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static json_t *find_note(const json_t *list, const char *entry) {
        for (size_t i = 0; i < json_array_size(list); i++)
                if (json_text_is(json_object_get(json_array_get(list, i), "entry"), entry))
                        return json_array_get(list, i);
        return NULL;
}

int callbacks_note(json_t *list, const char *entry, const char *region, const char *outcome, int exit_code,
                uint64_t usec) {
        json_t *o =
                json_pack("{s:s, s:s?, s:s, s:o, s:o}", "entry", entry, "region", region, "outcome", outcome,
                          "exit_code", exit_code < 0 ? json_null() : json_integer(exit_code), "usec", json_u64(usec));
        json_t *first = find_note(list, entry);

        if (o && first)
                json_object_del(o, "entry");
        return (first ? json_object_set_new(first, "retry", o) : json_array_append_new(list, o)) < 0 ? -ENOMEM : 0;
}

bool callbacks_did_not_run(const json_t *list, const char *entry) {
        const json_t *o = find_note(list, entry), *outcome = json_object_get(o, "outcome");

        return o && !json_object_get(o, "retry") && !json_text_is(outcome, "interrupted") &&
               (json_is_null(json_object_get(o, "region")) ||
                json_text_is(outcome, outcome_name(OUTCOME_SETUP_FAILED)));
}

/* The remaining time, in equal parts for the remaining callbacks: a callback that hangs takes its own part alone
 * (I-74). */
uint64_t callbacks_part_of(uint64_t until, size_t n) {
        uint64_t now = clock_mono_usec();

        return until > now ? now + (until - now) / n : until;
}

/* The environment of the skill, with the owner's region and outcome. */
static char **make_env(const Owner *o) {
        _cleanup_strv_ char **env = NULL;
        char of[64], how[64];
        int e = 0;

        snprintf(of, sizeof(of), "LETHE_RELEASE=%s", o->region);
        snprintf(how, sizeof(how), "LETHE_OUTCOME=%s", o->outcome);
        for (size_t i = 0; e == 0 && o->grant->env && o->grant->env[i]; i++)
                e = strv_add(&env, o->grant->env[i]);
        if (e == 0)
                e = strv_add(&env, of) ?: strv_add(&env, how);
        return e == 0 ? TAKE_PTR(env) : NULL;
}

/* A callback may not begin another region, and is not refused for the number of living regions. */
static Grant grant_of(const Owner *o, const ReleaseGrant *rel, char **env, uint64_t left) {
        Grant g = *o->grant; /* a borrowed copy */

        g.argv = rel->argv;
        g.env = env;
        g.budget = rel->budget;
        for (size_t i = 0; i < BUDGET_FIELDS; i++) {
                uint64_t *v = budget_at(&g.budget, &budget_fields[i]);

                g.limit_by[i] = LIMIT_BY_ABOVE; /* a part of the owner's budget */
                *v = MIN(*v, budget_get(&o->grant->budget, &budget_fields[i]));
        }
        g.budget.wall_usec = MIN(g.budget.wall_usec, left);
        g.releases = NULL;
        g.n_releases = 0;
        g.resources = g.sub_skills = NULL;
        g.sections = g.gates = g.slots = NULL;
        g.max_regions = g.max_of_skill = 0;
        return g;
}

static const RegionFeed feed = {.keep_max = 1}; /* standard output of a callback is not read */

int callbacks_make(const Owner *o, const ReleaseGrant *rel, Tree *tree, Run *run) {
        uint64_t now = clock_mono_usec();
        int e;

        *run = run_new(tree, o->options, o->store, store_dir(o->store));
        run->for_owner.began_usec = now;
        e = region_init(&run->region, &run->for_owner.grant);
        if (e < 0)
                return e;
        run->for_owner.env = make_env(o);
        if (!run->for_owner.env)
                return -ENOMEM;
        run->for_owner.grant = grant_of(o, rel, run->for_owner.env, o->until > now ? o->until - now : 1);
        e = trace_below(&o->grant->trace, &run->for_owner.grant.trace);
        if (e < 0)
                return e;
        memcpy(run->region.parent, o->region, REGION_ID_MAX);
        run->region.callback = rel->entry;
        run->region.owner_failed = o->failed;
        run->region.callback_again = o->again;
        run->region.vault_parent = o->vault;
        run->feed = &feed;
        return 0;
}

int callbacks_note_of(const Run *run, json_t *list) {
        const Region *r = &run->region;
        int e = callbacks_note(list, r->callback, r->recorded_start ? r->id : NULL, outcome_name(r->outcome),
                     r->outcome == OUTCOME_EXITED ? r->status : -1, clock_mono_usec() - run->for_owner.began_usec);

        if (e == 0 && r->discards) {
                json_t *o = find_note(list, r->callback), *second = json_object_get(o, "retry");

                e = json_object_set_new(second ?: o, "discarded", json_true()) < 0 ? -ENOMEM : 0;
        }
        return e;
}

static uint64_t callbacks_bound_of(const Region *r) {
        return r->ended_usec + admit_callbacks_usec(r->grant);
}

/* Second tries have the same time once more, from the release of the region's storage. */
static uint64_t bound_again(const Run *run) {
        return run->end.since + admit_callbacks_usec(run->region.grant);
}

/* The bounds of ended regions above hold as well. */
static Owner callbacks_owner_of(const Run *run) {
        const Region *r = &run->region;
        Owner o = {.options = run->options,
                   .store = run->store.db,
                   .region = r->id,
                   .outcome = outcome_name(r->outcome),
                   .grant = r->grant,
                   .failed =
                           !outcome_is_breach(r->outcome) && !outcome_is_kept(r->outcome, r->status, r->grant->commit),
                   .vault = r->vault,
                   .until = callbacks_bound_of(r)};

        if (run->end.step == RUN_RETRY) {
                o.again = true;
                o.vault = NULL; /* the sections are overwritten */
                o.until = bound_again(run);
        }
        for (const Run *above = run->parent; above; above = above->parent)
                if (above->region.outcome != OUTCOME_NONE)
                        o.until = MIN(o.until, callbacks_bound_of(&above->region));
        return o;
}

void run_release_find(Run *run) {
        Region *r = &run->region;

        /* No code of the skill ran: no resource can be held. */
        if (r->grant->n_releases == 0 || r->go_usec == 0 || r->outcome == OUTCOME_SETUP_FAILED)
                return;
        r->callbacks = json_array();
        run->callbacks.left = r->callbacks ? r->grant->n_releases : 0;
        if (!r->callbacks)
                log_error("release callbacks of region %s: %s", r->id, strerror(ENOMEM));
}

static int callbacks_begin(Run *owner, const Owner *o, const ReleaseGrant *rel) {
        Run *run = calloc(1, sizeof(*run));
        int e;

        if (!run)
                return -ENOMEM;
        e = callbacks_make(o, rel, owner->tree, run);
        run->parent = owner;
        if (e == 0) {
                run_begin(run);
                run->feed = NULL;
                if (run->region.recorded_start) {
                        owner->callbacks.running = run;
                        run_watch(run);
                        return 0;
                }
                run_drop(run);
                owner->store.failed |= run->store.failed;
                e = callbacks_note_of(run, owner->region.callbacks);
        }
        run_tell(run);
        run_deinit(run);
        free(run);
        return e;
}

bool run_release_done(Run *run) {
        Region *r = &run->region;

        while (run->callbacks.left > 0 && !run->callbacks.running) {
                const ReleaseGrant *rel = &r->grant->releases[run->callbacks.left - 1];
                Owner o = callbacks_owner_of(run);
                int e;

                o.until = callbacks_part_of(o.until, run->callbacks.left--);
                if (o.again && !callbacks_did_not_run(r->callbacks, rel->entry))
                        continue;
                if (run->store.failed || clock_mono_usec() >= o.until)
                        e = callbacks_note(r->callbacks, rel->entry, NULL, "not_run", -1, 0);
                else
                        e = callbacks_begin(run, &o, rel);
                if (e < 0) {
                        log_error("release callbacks of region %s: %s", r->id, strerror(-e));
                        run->callbacks.left = 0;
                }
        }
        return !run->callbacks.running;
}

bool run_release_again(Run *run) {
        const Region *r = &run->region;

        for (size_t i = 0; i < r->grant->n_releases && !run->store.failed; i++)
                if (callbacks_did_not_run(r->callbacks, r->grant->releases[i].entry)) {
                        run->callbacks.left = r->grant->n_releases;
                        return true;
                }
        return false;
}

void run_release_over(Run *run) {
        Run *owner = run->parent;

        owner->callbacks.running = NULL;
        owner->store.failed |= run->store.failed;
        region_budget_charge(&owner->region.budget, run->region.budget.cpu_usec);
        if (owner->parent)
                owner->parent->region.io.output_used += run->region.io.output_used;
        if (callbacks_note_of(run, owner->region.callbacks) < 0 ||
            region_io_hand_on(&owner->region.io, &run->region.io) < 0)
                log_error("release callbacks of region %s: %s", owner->region.id, strerror(ENOMEM));
        run_leave_tree(run);
}

void run_release_hurry(Run *run, const Run *above) {
        Budget *b = &run->for_owner.grant.budget;
        uint64_t until = callbacks_part_of(callbacks_bound_of(&above->region), run->parent->callbacks.left + 1),
                 now = clock_mono_usec();

        b->wall_usec = MIN(b->wall_usec, until > now ? until - now : 1);
        if (run->region.budget.wall_deadline != LOOP_NEVER)
                run->region.budget.wall_deadline = MIN(run->region.budget.wall_deadline, MAX(until, now));
}
