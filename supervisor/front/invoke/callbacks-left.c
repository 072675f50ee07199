/* Runs: supervisor. Release callbacks of regions of dead supervisors: the next start runs callbacks not begun yet. */
#include "invoke/callbacks.h"

#include "base/clock.h"
#include "base/log.h"
#include "manifest/skill.h"
#include "policy/admit.h"
#include "request/secrets.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

static const char *begun_in(const RegionRow *row, const char *entry) {
        const json_t *list = json_object_get(row->detail, "callbacks");

        for (size_t i = 0; i < json_array_size(list); i++)
                if (json_text_is(json_object_get(json_array_get(list, i), "entry"), entry))
                        return json_text(json_object_get(json_array_get(list, i), "region"));
        return NULL;
}

/* The grant of the skill that ran, from its copy in the store: the skill's folder may have changed. */
static int grant_again(Store *store, const Policy *policy, const RegionRow *row, Grant *ret) {
        const char *folder = json_text(json_object_get(row->detail, "folder"));
        const char *digest = json_text(json_object_get(json_object_get(row->detail, "skill"), "digest"));
        const RunRequest request = {
                .entry = (char *)json_text(json_array_get(json_object_get(row->detail, "release"), 0))};
        _cleanup_policy_ Policy *own = NULL;
        _cleanup_skill_ Skill *skill = NULL;
        _cleanup_grant_ Grant had = {};
        Diag d = {};
        const SkillSource from = {.dir = folder, .store_dir = store_dir(store), .digest = digest, .gone = true};
        int e = folder && digest ? skill_load_from(&from, &skill, &d) : -ENOENT;

        if (e == 0 && !policy) {
                e = policy_load(NULL, &own, &d);
                policy = own;
        }
        if (e == 0)
                e = policy_grant(skill, &request, policy, ret, &d);
        /* Never more than the recorded grant, perhaps reduced by the command line or by a region above. */
        if (e == 0)
                e = grant_recorded(json_object_get(row->detail, "grant"), &had)
                                ?: grant_attenuate(ret, &had, &had.budget, NULL, &d);
        if (e == 0 && !ret->cancel_declared)
                ret->cancel_bound_usec = had.cancel_bound_usec; /* the computed bound */
        if (e == 0)
                e = secrets_settle(ret, &(SecretsOf){.store = store, .policy = policy}, &d);
        if (e != 0) {
                grant_deinit(ret); /* half cut, perhaps: unfit for a callback */
                *ret = (Grant){};
                log_warning("region %s: its release callbacks cannot be run: %s", row->region,
                            *d.text ? d.text : strerror(e < 0 ? -e : EINVAL));
        }
        return e == -ENOMEM ? e : e != 0;
}

/* In a loop of its own, without other regions. Output that is left when the time is up is lost. */
static int call_alone(const Owner *o, const ReleaseGrant *rel, json_t *list, bool *ret_failed) {
        Tree tree = {.signals = -1};
        Run run;
        int e;

        if (*ret_failed || clock_mono_usec() >= o->until)
                return callbacks_note(list, rel->entry, NULL, "not_run", -1, 0);
        e = callbacks_make(o, rel, &tree, &run);
        if (e == 0) {
                run_begin(&run);
                if (run.region.recorded_start) {
                        run_watch(&run);
                        run_until_over(&tree);
                } else
                        run_drop(&run);
                *ret_failed = run.store.failed;
                e = callbacks_note_of(&run, list);
                region_io_flush(&run.region.io, -1, o->until);
                run_tell(&run);
        }
        run_deinit(&run);
        return e;
}

static const ReleaseGrant *find_release(const Grant *g, const char *name) {
        for (size_t i = 0; name && i < g->n_releases; i++)
                if (strcmp(g->releases[i].entry, name) == 0)
                        return &g->releases[i];
        return NULL;
}

int run_release_left(Store *store, const Policy *policy, Spawner *spawner, const RegionRow *row, json_t **ret) {
        const json_t *names = json_object_get(row->detail, "release");
        const RunOptions options = {.quiet = true, .spawner = spawner};
        _cleanup_json_ json_t *list = NULL;
        _cleanup_grant_ Grant grant = {};
        Owner o = {.options = &options,
                   .store = store,
                   .region = row->region,
                   .outcome = outcome_name(OUTCOME_CANCELLED),
                   .grant = &grant};
        bool failed = false;
        uint64_t until;
        int e;

        if (json_array_size(names) == 0)
                return 0;
        list = json_array();
        if (!list)
                return -ENOMEM;
        signal(SIGPIPE, SIG_IGN);
        e = grant_again(store, policy, row, &grant);
        until = clock_mono_usec() + admit_callbacks_usec(&grant);
        o.failed = json_text_is(json_object_get(row->detail, "commit"), "success");
        for (size_t i = json_array_size(names); e >= 0 && i > 0; i--) {
                const char *name = json_text(json_array_get(names, i - 1)), *begun = name ? begun_in(row, name) : NULL;
                const ReleaseGrant *rel = find_release(&grant, name);

                o.until = callbacks_part_of(until, i);
                if (begun)
                        e = callbacks_note(list, name, begun, "interrupted", -1, 0);
                else if (rel)
                        e = call_alone(&o, rel, list, &failed);
                else
                        e = callbacks_note(list, name ?: "", NULL, "not_run", -1, 0);
        }
        until = clock_mono_usec() + admit_callbacks_usec(&grant);
        o.again = true;
        for (size_t i = grant.n_releases; e >= 0 && i > 0; i--) {
                o.until = callbacks_part_of(until, i);
                if (callbacks_did_not_run(list, grant.releases[i - 1].entry))
                        e = call_alone(&o, &grant.releases[i - 1], list, &failed);
        }
        if (e < 0)
                return e;
        *ret = TAKE_PTR(list);
        return failed ? -EIO : 0;
}
