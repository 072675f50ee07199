#include "object/intent-form.h"
#include "object/intent.h"

#include <inttypes.h>
#include <string.h>

bool intent_scope_has(const json_t *allowed, const json_t *name) {
        json_t *item;
        size_t i;

        if (json_text_is(allowed, "*"))
                return true;
        json_array_foreach((json_t *)allowed, i, item)
                if (json_equal(item, name))
                        return true;
        return false;
}

/* A refusal of intent-form.h, as a refusal by the scope. */
static int scope_code(int e) {
        return e == OBJECT_E_INTENT ? OBJECT_E_SCOPE : e;
}

/* Calls see() for an action, each of its steps, and the actions of all delegated intents. depth: delegations above. */
typedef struct ScopeWalk {
        const IntentForm *f;
        int (*see)(const struct ScopeWalk *w, const FormPlace *at, const json_t *action, unsigned depth);
        const json_t *allowed, *scope;
        const char *by;
        json_t *skills;      /* collected, or NULL */
        unsigned *most_deep;
} ScopeWalk;

static int scope_walk(const ScopeWalk *w, const FormPlace *at, const json_t *action, unsigned depth) {
        json_t *item;
        size_t i;
        int e = w->see(w, at, action, depth);

        json_array_foreach(json_object_get(action, "steps"), i, item)
                e = e ?: scope_walk(w, FORM_ITEM(FORM_AT(at, "steps"), i), item, depth);
        json_array_foreach(json_object_get(action, "delegate"), i, item)
                if (e == 0)
                        e = scope_walk(w, FORM_AT(FORM_ITEM(FORM_AT(at, "delegate"), i), "do"),
                                       json_object_get(item, "do"), depth + 1);
        return e;
}

static int scope_see_skill(const ScopeWalk *w, const FormPlace *at, const json_t *action, unsigned depth) {
        const json_t *skill = json_object_get(action, "skill");

        return !skill || intent_scope_has(w->allowed, skill)
                       ? 0
                       : form_bad(w->f, FORM_AT(at, "skill"), skill, "%s does not have this skill", w->by);
}

int intent_allow_skills(const IntentForm *f, const FormPlace *at, const json_t *action, const json_t *allowed,
                        const char *by) {
        return scope_walk(&(ScopeWalk){.f = f, .see = scope_see_skill, .allowed = allowed, .by = by}, at, action, 0);
}

static int scope_see_bounds(const ScopeWalk *w, const FormPlace *at, const json_t *action, unsigned depth) {
        const json_t *children = json_object_get(action, "delegate");
        const uint64_t deep = json_number(w->scope, "depth"), fanout = json_number(w->scope, "fanout");

        if (!children)
                return 0;
        at = FORM_AT(at, "delegate");
        if (depth + 1 > deep)
                return form_bad(w->f, at, NULL,
                                "%u delegations inside each other: the trust scope allows a depth of %" PRIu64,
                                depth + 1, deep);
        return json_array_size(children) > fanout
                       ? form_bad(w->f, at, NULL, "%zu children: the trust scope allows a fanout of %" PRIu64,
                                  json_array_size(children), fanout)
                       : 0;
}

int intent_within(const json_t *intent, const json_t *scope, Diag *reterr) {
        const IntentForm f = {.reterr = reterr};
        const FormPlace *at = FORM_AT(FORM_ROOT("intent"), "do");
        const json_t *action = json_object_get(intent, "do");
        int e = intent_allow_skills(&f, at, action, json_object_get(scope, "skills"), "the trust scope");

        return scope_code(
                e ?: scope_walk(&(ScopeWalk){.f = &f, .see = scope_see_bounds, .scope = scope}, at, action, 0));
}

/* The needs of an intent: skills, and the depth of delegations. */
static int scope_see_need(const ScopeWalk *w, const FormPlace *at, const json_t *action, unsigned depth) {
        const json_t *skill = json_object_get(action, "skill"), *children = json_object_get(action, "delegate");

        if (children)
                *w->most_deep = MAX(*w->most_deep, depth + 1);
        if (skill && !intent_scope_has(w->skills, skill) && json_array_append(w->skills, (json_t *)skill) < 0)
                return -ENOMEM;
        return 0;
}

static int scope_compare(const void *a, const void *b) {
        return strcmp(json_text(*(json_t *const *)a) ?: "", json_text(*(json_t *const *)b) ?: "");
}

static int scope_needs(const json_t *intent, json_t **ret_skills, unsigned *ret_depth) {
        _cleanup_json_ json_t *skills = json_array();
        unsigned depth = 0;
        int e = !skills ? -ENOMEM
                        : scope_walk(&(ScopeWalk){.see = scope_see_need, .skills = skills, .most_deep = &depth},
                                     FORM_ROOT("intent"), json_object_get(intent, "do"), 0);

        if (e != 0)
                return e;
        *ret_depth = depth;
        *ret_skills = json_sorted(skills, scope_compare);
        return *ret_skills ? 0 : -ENOMEM;
}

/* "*" or names; missing: the standard. */
static int scope_read_names(const IntentForm *f, const FormPlace *at, const json_t *v, const FormNames *kind,
                            json_t *standard, json_t **ret) {
        if (!v || json_text_is(v, "*"))
                *ret = json_incref(v ? (json_t *)v : standard);
        else if (json_is_array(v))
                return form_names(f, at, v, true, kind, ret);
        else
                return form_bad(f, at, v, "must be a list of names, or \"*\" for all");
        return 0;
}

/* Does the intent let the skill propose delegations? */
static bool scope_may_delegate(const json_t *intent) {
        json_t *item;
        size_t i;

        json_array_foreach(json_object_get(json_object_get(intent, "with"), "may"), i, item)
                if (json_text_is(item, "delegate"))
                        return true;
        return false;
}

static int scope_read(const IntentForm *f, const FormPlace *at, const json_t *v, const json_t *intent, json_t **ret) {
        _cleanup_json_ json_t *to = json_object(), *own = NULL, *none = json_array(), *skills = NULL, *reads = NULL,
                              *writes = NULL;
        const json_t *depth = json_object_get(v, "depth"), *fanout = json_object_get(v, "fanout");
        uint64_t deep, wide = INTENT_FANOUT_STANDARD;
        unsigned needs = 0;
        int e = !to || !none ? -ENOMEM
                : v          ? form_members(f, at, v, FORM_WORDS("skills", "reads", "writes", "depth", "fanout"))
                             : 0;

        e = e ?: scope_needs(intent, &own, &needs);
        deep = MAX(needs, scope_may_delegate(intent) ? 1U : 0U);
        e = e ?: scope_read_names(f, FORM_AT(at, "skills"), json_object_get(v, "skills"), &form_skills, own, &skills);
        e = e ?: scope_read_names(f, FORM_AT(at, "reads"), json_object_get(v, "reads"), &form_slots, none, &reads);
        e = e ?: scope_read_names(f, FORM_AT(at, "writes"), json_object_get(v, "writes"), &form_slots, none, &writes);
        if (e == 0 && depth)
                e = form_count(f, FORM_AT(at, "depth"), depth, 0, INTENT_DEPTH_MOST, &deep);
        if (e == 0 && fanout)
                e = form_count(f, FORM_AT(at, "fanout"), fanout, 0, INTENT_CHILDREN_MAX, &wide);
        e = e ?: form_put(to, "skills", TAKE_PTR(skills)) ?: form_put(to, "reads", TAKE_PTR(reads));
        e = e ?: form_put(to, "writes", TAKE_PTR(writes)) ?: form_put(to, "depth", json_u64(deep));
        e = e ?: form_put(to, "fanout", json_u64(wide));
        if (e == 0)
                *ret = TAKE_PTR(to);
        return e;
}

int intent_scope_complete(const json_t *scope, const json_t *intent, json_t **ret, Diag *reterr) {
        const IntentForm f = {.reterr = reterr};
        const FormPlace *root = FORM_AT(FORM_ROOT("object"), "scope");
        _cleanup_json_ json_t *v = NULL, *to = NULL;
        int e = scope ? form_begin(&f, root, scope, &v) : 0;

        e = e ?: scope_read(&f, root, v, intent, &to) ?: form_end(&f, root, to);
        if (e == 0)
                *ret = TAKE_PTR(to);
        return e;
}

static int scope_names_within(const IntentForm *f, const FormPlace *at, const json_t *v, const json_t *outer) {
        json_t *item;
        size_t i;

        if (!json_is_array(v) && !json_text_is(v, "*")) /* an entry of another node may hold anything */
                return form_bad(f, at, v, "must be a list of names, or \"*\"");
        if (json_text_is(outer, "*"))
                return 0;
        if (json_text_is(v, "*"))
                return form_bad(f, at, v, "all, but the outer scope is a list");
        json_array_foreach((json_t *)v, i, item)
                if (!intent_scope_has(outer, item))
                        return form_bad(f, FORM_ITEM(at, i), item, "the outer scope does not have this name");
        return 0;
}

int intent_scope_within(const json_t *scope, const json_t *outer, Diag *reterr) {
        static const char *const lists[] = {"skills", "reads", "writes"}, *const numbers[] = {"depth", "fanout"};
        const IntentForm f = {.reterr = reterr};
        const FormPlace *root = FORM_AT(FORM_ROOT("object"), "scope");
        uint64_t n;
        int e = 0;

        for (size_t i = 0; e == 0 && i < ARRAY_SIZE(lists); i++)
                e = scope_names_within(&f, FORM_AT(root, lists[i]), json_object_get(scope, lists[i]),
                                       json_object_get(outer, lists[i]));
        for (size_t i = 0; e == 0 && i < ARRAY_SIZE(numbers); i++)
                if (json_get_u64(json_object_get(scope, numbers[i]), &n) < 0 || n > json_number(outer, numbers[i]))
                        e = form_bad(&f, FORM_AT(root, numbers[i]), json_object_get(scope, numbers[i]),
                                     "the outer scope allows %" PRIu64, json_number(outer, numbers[i]));
        return scope_code(e);
}

int intent_scope_of_child(const json_t *scope, const json_t *child, json_t **ret) {
        const uint64_t depth = json_number(scope, "depth");
        _cleanup_json_ json_t *to = NULL, *skills = NULL;
        unsigned needs;
        int e = scope_needs(child, &skills, &needs);

        if (e == 0 && depth == 0)
                return OBJECT_E_SCOPE;
        if (e == 0 && !(to = json_copied(scope)))
                e = -ENOMEM;
        e = e ?: form_put(to, "depth", json_u64(depth - 1)) ?: form_put(to, "skills", TAKE_PTR(skills));
        e = e ?: intent_scope_within(to, scope, NULL) ?: intent_within(child, to, NULL);
        if (e == 0)
                *ret = TAKE_PTR(to);
        return e;
}

int intent_scope_clip(const json_t *scope, const json_t *policy, json_t **ret) {
        static const char *const numbers[] = {"depth", "fanout"};
        _cleanup_json_ json_t *to = json_copied(scope);
        uint64_t most;
        int e = to ? 0 : -ENOMEM;

        for (size_t i = 0; e == 0 && i < ARRAY_SIZE(numbers); i++)
                if (json_get_u64(json_object_get(policy, numbers[i]), &most) == 0 &&
                    most < json_number(scope, numbers[i]))
                        e = form_put(to, numbers[i], json_u64(most));
        if (e == 0)
                *ret = TAKE_PTR(to);
        return e;
}
