/* Runs: supervisor. Sub-skills: regions that a region starts with skill.run. A sub-skill has a grant of its own, cut
 * out of the remaining budget of its parent, and is a region in every respect: id, events, sandbox, scratch, an end
 * with evidence. A sub-skill ends before its parent. */
#include "invoke/types.h"

#include "base/clock.h"
#include "base/log.h"
#include "request/rate.h"
#include "invoke/receipt.h"
#include "request/resolve-request.h"
#include "request/registry.h"
#include "request/secrets.h"

#include <errno.h>
#include <string.h>

static unsigned sub_skill_depth_of(const Run *run) {
        unsigned n = 0;

        for (; run; run = run->parent)
                n++;
        return n;
}

/* Names and paths of the host are for the operator, and are not told to the region. */
static int sub_skill_told(const Run *parent, const DispatchStart *s, int code, const char *reason, Diag *reterr) {
        if (!parent->options->quiet)
                log_warning("sub-skill %s: %s", s->skill, reason);
        return diag(reterr, code, "skill %s cannot be run: the operator was told why", s->skill);
}

static int sub_skill_load_skill(Run *parent, const DispatchStart *s, Skill **ret, Diag *reterr) {
        const RegistryUse use = {.store_dir = store_dir(parent->store.db)};
        _cleanup_skill_row_ SkillRow row = {0};
        _cleanup_txn_ Txn *t = NULL;
        Diag d = {};
        int e = store_begin(parent->store.db, false, &t, &d);

        if (e == 0) {
                e = engine_skill_get(t, s->skill, &row);
                store_abort(TAKE_PTR(t));
                if (e == -ENOENT)
                        return diag(reterr, DISPATCH_START_E_SKILL, "skill %s is not registered", s->skill);
                if (e == 0)
                        e = registry_load_row(&row, &use, ret, &d);
                return e > 0 ? sub_skill_told(parent, s, DISPATCH_START_E_SKILL, d.text, reterr) : e;
        }
        return diag(reterr, e > 0 ? DISPATCH_START_E_STORE : e, "%s", d.text);
}

static void sub_skill_note_refusal(const Run *parent, const Grant *g, const Diag *why) {
        Diag d = {};

        if (refusal_record(parent->store.db, NULL, g, why->text, &d) != 0)
                log_warning("the refusal of sub-skill %s is not recorded: %s", g->skill_name, d.text);
}

/* Every region above, together with its sub-skills, still fits its cancel bound. */
static int fits_above(const Run *parent, const Grant *g, const WipeRate *rate, Diag *reterr) {
        const Tree *tree = parent->tree;
        int e = 0;

        for (const Run *above = parent; e == 0 && above; above = above->parent) {
                uint64_t beyond = admit_beyond(rate, g, parent->region.grant);

                for (size_t i = 0; i < tree->n_runs; i++) {
                        const Run *run = tree->runs[i];

                        if (run != above && run->end.step != RUN_OVER && run_is_below(run, above))
                                beyond += admit_beyond(rate, run->region.grant, run->parent->region.grant);
                }
                e = admit_together(above->region.grant, beyond, reterr);
        }
        return e;
}

/* Below an object's execution nothing is written: a region below is recorded before its parent, and an interrupted
 * execution runs again (O-38). */
static int sub_skill_narrow(const RunObject *object, Grant *g, Diag *reterr) {
        _cleanup_json_ json_t *scope = json_copied(object->scope);

        if (!scope || json_object_set_new(scope, "writes", json_array()) < 0)
                return -ENOMEM;
        return grant_narrow(g, scope, "a region below an object's execution writes nothing, and has no more than the object's "
                            "trust scope", reterr);
}

static int within_parent(Run *parent, const DispatchStart *s, Grant *g, Diag *reterr) {
        Region *p = &parent->region;
        WipeRate rate;
        Diag d = {};
        Budget left = region_budget_left(&p->budget, clock_mono_usec());
        int e;

        left.output_bytes = p->io.output_max == BUDGET_NONE              ? BUDGET_NONE
                            : p->io.output_max > p->io.output_used ? p->io.output_max - p->io.output_used
                                                                   : 0;
        e = grant_attenuate(g, p->grant, &left, parent->options->policy, &d);
        if (e == 0 && parent->options->object)
                e = sub_skill_narrow(parent->options->object, g, &d);
        if (e == 0) {
                rate_get(store_dir(parent->store.db), false, &rate);
                e = admit(g, &rate, p->grant->cancel_bound_usec, &d);
                e = e ?: fits_above(parent, g, &rate, &d);
        }
        if (e == GRANT_E_BOUNDS) {
                const Grant named = {.skill_name = g->skill_name, .skill_digest = g->skill_digest};

                sub_skill_note_refusal(parent, &named, &d);
                return sub_skill_told(parent, s, DISPATCH_START_E_REFUSED, d.text, reterr);
        }
        if (e == 0) {
                e = secrets_settle(g, &(SecretsOf){parent->store.db, parent->store.path, parent->options->policy}, &d);
                if (e > 0)
                        return sub_skill_told(parent, s, DISPATCH_START_E_REFUSED, d.text, reterr);
        }
        if (e == GRANT_E_GATE)
                return sub_skill_told(parent, s, DISPATCH_START_E_REFUSED, d.text, reterr);
        return e > 0 ? diag(reterr, DISPATCH_START_E_BUDGET, "%s", d.text) : e;
}

static int sub_grant(Run *parent, const DispatchStart *s, Grant *ret, Diag *reterr) {
        RunRequest request = {.args = (char **)s->args, .entry = (char *)s->entry, .tier = parent->region.grant->tier,
                              .client = parent->region.grant->client};
        _cleanup_skill_ Skill *skill = NULL;
        Diag d = {};
        int e = sub_skill_load_skill(parent, s, &skill, reterr);

        if (e != 0)
                return e;
        e = trace_below(&parent->region.grant->trace, &request.trace);
        if (e < 0)
                return e;
        e = policy_grant(skill, &request, parent->options->policy, ret, &d);
        if (e == GRANT_E_BOUNDS)
                sub_skill_note_refusal(
                        parent, &(Grant){.skill_name = skill->md.name, .skill_digest = skill->bundle.digest}, &d);
        if (e == GRANT_E_USAGE || e == GRANT_E_NOT_FOUND || e == GRANT_E_NOT_EXECUTABLE)
                return sub_skill_told(parent, s, DISPATCH_START_E_SKILL, d.text, reterr);
        if (e != 0)
                return e > 0 ? sub_skill_told(parent, s, DISPATCH_START_E_REFUSED, d.text, reterr) : e;
        return within_parent(parent, s, ret, reterr);
}

static int check_counts(const Run *parent, Diag *reterr) {
        const Tree *tree = parent->tree;
        size_t alive = 0;

        if (sub_skill_depth_of(parent) >= SUBSKILL_DEPTH_MAX)
                return diag(reterr, DISPATCH_START_E_TOO_MANY, "sub-skills stand at most %d deep", SUBSKILL_DEPTH_MAX);
        for (size_t i = 1; i < tree->n_runs; i++)
                alive += !tree->runs[i]->region.callback;
        if (alive >= SUBSKILL_ALIVE_MAX)
                return diag(reterr, DISPATCH_START_E_TOO_MANY, "at most %d sub-skills of one invocation run at once",
                            SUBSKILL_ALIVE_MAX);
        if (tree->n_calls >= SUBSKILL_CALLS_MAX)
                return diag(reterr, DISPATCH_START_E_TOO_MANY, "at most %d sub-skills are asked for by one invocation",
                            SUBSKILL_CALLS_MAX);
        return 0;
}

/* The outcome for the parent. The reason is for the operator alone. */
static json_t *answer_of(const Run *run) {
        const Region *r = &run->region;
        _cleanup_json_ json_t *o = receipt_ending(r);
        _cleanup_buf_ Buf text = {};
        int e = buf_add_plain(&text, r->io.out.kept, r->io.out.n_kept);

        json_object_del(o, "reason");
        if (e == 0)
                e = json_object_update_new(o, json_pack("{s:s, s:s%, s:b, s:s*, s:O*, s:O*}", "region", r->id, "output",
                                                        text.n ? text.data : "", text.n, "output_cut", r->io.out.cut,
                                                        "discarded", *r->discarded ? r->discarded : NULL, "memory",
                                                        run_memory_ended(run), "result",
                                                        dispatch_result(run->pipe.dispatch)));
        if (text.data)
                explicit_bzero(text.data, text.n);
        return e < 0 ? NULL : TAKE_PTR(o);
}

/* A running parent is answered. */
static void sub_skill_answer(Run *run) {
        Run *parent = run->parent;
        _cleanup_json_ json_t *o = NULL;
        _cleanup_buf_ Buf line = {};

        if (!run->sub.call || parent->region.state != REGION_RUNNING)
                return;
        o = answer_of(run);
        if (!o || dispatch_answer_started(run->sub.call, o, &line) < 0 ||
            conn_answer(&parent->region.pipe, line.data, line.n) < 0)
                region_end(&parent->region, OUTCOME_CANCELLED, 0, "the answer to skill.run cannot be given: %s",
                           strerror(ENOMEM));
        if (line.data)
                explicit_bzero(line.data, line.n);
}

void run_sub_over(Run *run) {
        Region *r = &run->region, *above = &run->parent->region;
        Run *first = run->tree->runs[0];

        run_watch_rest(run);
        run_give_place(run);
        region_budget_give_back(&r->budget);
        above->io.output_used += r->io.output_used;
        if (above->io.output_used > above->io.output_max)
                run_output_exceeded(above);
        /* a region left behind has region.left (I-63) */
        if (r->state == REGION_RECORDED || (r->left > 0 && !run->store.failed)) {
                sub_skill_answer(run);
                return;
        }
        /* The end of the whole invocation cannot be recorded any more, either. */
        first->store.failed = true;
        region_end(&first->region, OUTCOME_CANCELLED, 0, "region %s below it could not be recorded", r->id);
}

static int run_sub_judged(void *userdata, const DispatchStart *s, Diag *reterr) {
        const RegionFeed feed = {.input = s->input, .n_input = s->n_input, .keep_max = SUBSKILL_OUTPUT_MAX};
        Run *parent = userdata, *run = NULL;
        int e;

        /* A request that is judged after the parent's end: regions below are taken down already, and no new region may
         * begin. */
        if (parent->region.state != REGION_RUNNING)
                return diag(reterr, DISPATCH_START_E_REFUSED, "the region has ended");
        e = check_counts(parent, reterr);
        if (e != 0)
                return e;
        /* a request costs a look at the skill's files, and a refusal a line for the operator */
        parent->tree->n_calls++;
        run = calloc(1, sizeof(*run));
        if (!run)
                return -ENOMEM;
        *run = run_new(parent->tree, parent->options, parent->store.db, parent->store.path);
        run->parent = parent;
        run->feed = &feed;
        e = sub_grant(parent, s, &run->own_grant, reterr);
        if (e != 0) {
                grant_deinit(&run->own_grant);
                free(run);
                return e;
        }
        run->sub.placed = run->options->place && run->options->place(run->options->userdata, true);
        e = region_init(&run->region, &run->own_grant);
        if (e == 0 && run->options->place && !run->sub.placed)
                e = diag(
                        reterr, DISPATCH_START_E_TOO_MANY,
                        "as many regions of this user run as may: what is left free of the daemon's places is for others");
        memcpy(run->region.parent, parent->region.id, REGION_ID_MAX);
        run->region.vault_parent = parent->region.vault;
        if (e == 0 && (e = region_budget_lend(&parent->region.budget, &run->region.budget)) < 0)
                e = diag(reterr, DISPATCH_START_E_BUDGET, "the budget of this region is in use: %s", strerror(-e));
        if (e != 0) {
                run_free(run);
                return e;
        }
        run_begin(run);
        run->feed = NULL;
        if (!run->region.recorded_start) {
                run_drop(run);
                e = run->store.failed ? diag(reterr, DISPATCH_START_E_STORE, "%s", run->region.reason)
                                      : sub_skill_told(parent, s,
                                             run->start.too_many ? DISPATCH_START_E_TOO_MANY : DISPATCH_START_E_REFUSED,
                                             run->region.reason, reterr);
                run_free(run);
                return e;
        }
        run->sub.call = json_incref((json_t *)s->id);
        run_watch(run);
        return 0;
}

int run_start_sub(void *userdata, const DispatchStart *s, Diag *reterr) {
        const RunOptions *o = ((Run *)userdata)->options;
        int e;

        if (o->judging)
                o->judging(o->userdata, true);
        e = run_sub_judged(userdata, s, reterr);
        if (o->judging)
                o->judging(o->userdata, false);
        return e;
}

void run_hide_keys(Run *run) {
        Relay *out = &run->region.io.out;
        Diag d = {};

        if (out->n_kept == 0 || region_keys_in_text(out->kept, out->n_kept) == 0)
                return;
        if (dispatch_output_refused(run->pipe.dispatch, run->parent ? "skill.run" : "output", out->n_kept, &d) != 0) {
                run->store.failed = true;
                log_error("%s", d.text);
        }
        explicit_bzero(out->kept, out->n_kept);
        out->n_kept = 0;
        out->cut = true;
}
