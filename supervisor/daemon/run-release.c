/* Runs: supervisor. Release callbacks (I-35): the skill author's code that gives back what a region held outside of itself. Each is an entry of
 * the same skill and runs in a region of its own, with a budget, when nothing of the region runs any more and before its handles are
 * unbound and its storage is overwritten (I-13). All of them share three quarters of the cancel bound; the rest is for overwriting. That one
 * begins is recorded in the row of the region that it is for, in the transaction that allocates its own, so that none ever begins twice. */
#include "daemon/run-internal.h"

#include "base/clock.h"
#include "base/log.h"
#include "manifest/skill.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

/* What a callback is for. */
typedef struct Owner {
        const RunOptions *options;
        Store *store;
        const char *region, *outcome;
        const Grant *grant;
        const Vault *vault; /* NULL: it went with its supervisor */
        uint64_t until;     /* CLOCK_MONOTONIC usec: the bound of all callbacks */
} Owner;

static int note(json_t *list, const char *entry, const char *region, const char *outcome, int exit_code, uint64_t usec) {
        json_t *o = json_pack("{s:s, s:s?, s:s, s:o, s:o}", "entry", entry, "region", region, "outcome", outcome, "exit_code",
                              exit_code < 0 ? json_null() : json_integer(exit_code), "usec", json_u64(usec));

        return json_array_append_new(list, o) < 0 ? -ENOMEM : 0;
}

/* The environment of the skill, and what the callback is for. */
static char **make_env(const Owner *o) {
        _cleanup_strv_ char **env = NULL;
        char of[64], how[64];
        int e = 0;

        snprintf(of, sizeof(of), "LETHE_RELEASE=%s", o->region);
        snprintf(how, sizeof(how), "LETHE_OUTCOME=%s", o->outcome);
        for (size_t i = 0; e == 0 && o->grant->env && o->grant->env[i]; i++)
                e = strv_add(&env, o->grant->env[i]);
        if (e == 0)
                e = strv_add(&env, of);
        if (e == 0)
                e = strv_add(&env, how);
        return e == 0 ? TAKE_PTR(env) : NULL;
}

/* Nothing that a callback does may begin another region, or be refused for how many there are. */
static Grant grant_of(const Owner *o, const ReleaseGrant *rel, char **env, uint64_t left) {
        Grant g = *o->grant; /* a borrowed copy */

        g.argv = rel->argv;
        g.env = env;
        g.budget = rel->budget;
        for (size_t i = 0; i < BUDGET_FIELDS; i++) {
                uint64_t *v = budget_at(&g.budget, &budget_fields[i]);

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

/* Returns 0 or -errno; *ret_failed: the store can record no more. */
static int call_back(const Owner *o, const ReleaseGrant *rel, json_t *list, bool *ret_failed) {
        const RegionFeed feed = {.keep_max = 1}; /* nobody reads what it says but on standard error */
        uint64_t began = clock_mono_usec();
        _cleanup_strv_ char **env = make_env(o);
        Tree tree = {.signals = -1};
        Run run = run_new(&tree, o->options, o->store, store_dir(o->store));
        Region *r = &run.region;
        Grant g;
        int e;

        if (!env)
                return -ENOMEM;
        if (began >= o->until)
                return note(list, rel->entry, NULL, "not_run", -1, 0);
        g = grant_of(o, rel, env, o->until - began);
        e = region_init(r, &g);
        if (e < 0)
                return e;
        memcpy(r->parent, o->region, REGION_ID_MAX);
        r->callback = rel->entry;
        r->vault_parent = o->vault;
        run.feed = &feed;
        run_begin(&run);
        run.feed = NULL;
        if (r->state == REGION_ALLOCATED) {
                run_watch(&run);
                run_until_ended(&tree);
        }
        run_finish(&run);
        run_tell(&run);
        region_io_flush(&r->io, -1);
        *ret_failed = run.store_failed;
        e = note(list, rel->entry, r->recorded_start ? r->id : NULL, outcome_name(r->outcome), r->outcome == OUTCOME_EXITED ? r->status : -1,
                 clock_mono_usec() - began);
        run_deinit(&run);
        return e;
}

static uint64_t bound_of(const Region *r) {
        return r->ended_usec + r->grant->cancel_bound_usec / 4 * 3;
}

void run_release(Run *run) {
        Region *r = &run->region;
        Owner o = {.options = run->options, .store = run->store, .region = r->id, .outcome = outcome_name(r->outcome), .grant = r->grant,
                   .vault = r->vault, .until = bound_of(r)};
        bool failed = false;
        int e = 0;

        /* Nothing of the skill ran: it can hold nothing. */
        if (r->grant->n_releases == 0 || r->go_usec == 0 || r->outcome == OUTCOME_SETUP_FAILED)
                return;
        for (const Run *above = run->parent; above; above = above->parent)
                if (above->region.outcome != OUTCOME_NONE)
                        o.until = MIN(o.until, bound_of(&above->region));
        r->callbacks = json_array();
        for (size_t i = r->grant->n_releases; r->callbacks && e == 0 && i-- > 0;) {
                if (run->store_failed || failed)
                        e = note(r->callbacks, r->grant->releases[i].entry, NULL, "not_run", -1, 0);
                else
                        e = call_back(&o, &r->grant->releases[i], r->callbacks, &failed);
        }
        run->store_failed |= failed;
        if (!r->callbacks || e < 0)
                log_error("release callbacks of region %s: %s", r->id, strerror(e < 0 ? -e : ENOMEM));
}

static const char *begun_in(const RegionRow *row, const char *entry) {
        const json_t *list = json_object_get(row->detail, "callbacks");

        for (size_t i = 0; i < json_array_size(list); i++)
                if (strcmp(json_string_value(json_object_get(json_array_get(list, i), "entry")) ?: "", entry) == 0)
                        return json_string_value(json_object_get(json_array_get(list, i), "region"));
        return NULL;
}

/* The grant of the skill as it is now, when it still is what ran. */
static int grant_again(const Policy *policy, const RegionRow *row, Grant *ret) {
        const char *folder = json_string_value(json_object_get(row->detail, "folder"));
        const char *digest = json_string_value(json_object_get(json_object_get(row->detail, "skill"), "digest"));
        const RunRequest request = {.entry = (char *)json_string_value(json_array_get(json_object_get(row->detail, "release"), 0))};
        _cleanup_policy_ Policy *own = NULL;
        _cleanup_skill_ Skill *skill = NULL;
        Diag d = {};
        int e = folder && digest ? skill_load(folder, &skill, &d) : -ENOENT;

        if (e == 0 && strcmp(skill->bundle.digest, digest) != 0)
                e = diag(&d, -ESTALE, "skill %s was changed", skill->md.name);
        if (e == 0 && !policy) {
                e = policy_load(NULL, &own, &d);
                policy = own;
        }
        if (e == 0)
                e = policy_grant(skill, &request, policy, ret, &d);
        if (e != 0)
                log_warning("region %s: its release callbacks cannot be run: %s", row->region, *d.text ? d.text : strerror(e < 0 ? -e : EINVAL));
        return e == -ENOMEM ? e : e != 0;
}

int run_release_left(Store *store, const Policy *policy, const RegionRow *row, json_t **ret) {
        const json_t *names = json_object_get(row->detail, "release");
        const RunOptions options = {.quiet = true};
        _cleanup_json_ json_t *list = NULL;
        _cleanup_grant_ Grant grant = {};
        Owner o = {.options = &options, .store = store, .region = row->region, .outcome = outcome_name(OUTCOME_CANCELLED), .grant = &grant};
        bool failed = false;
        int e;

        if (json_array_size(names) == 0)
                return 0;
        list = json_array();
        if (!list)
                return -ENOMEM;
        signal(SIGPIPE, SIG_IGN);
        e = grant_again(policy, row, &grant);
        o.until = clock_mono_usec() + grant.cancel_bound_usec / 4 * 3;
        for (size_t i = json_array_size(names); e >= 0 && i-- > 0;) {
                const char *name = json_string_value(json_array_get(names, i)), *begun = name ? begun_in(row, name) : NULL;
                const ReleaseGrant *rel = NULL;

                for (size_t k = 0; k < grant.n_releases; k++)
                        if (name && strcmp(grant.releases[k].entry, name) == 0)
                                rel = &grant.releases[k];
                if (begun)
                        e = note(list, name, begun, "interrupted", -1, 0);
                else if (rel && !failed)
                        e = call_back(&o, rel, list, &failed);
                else
                        e = note(list, name ?: "", NULL, "not_run", -1, 0);
        }
        if (e < 0)
                return e;
        *ret = TAKE_PTR(list);
        return failed ? -EIO : 0;
}
