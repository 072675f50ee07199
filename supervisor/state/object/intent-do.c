#include "object/intent-form.h"
#include "object/intent.h"

#include <string.h>

#define INTENT_ENTRY_MAX 64
#define INTENT_MSEC UINT64_C(1000)

static const char *const intent_modes[] = {"all", "any", "quorum", "collect"};

static int intent_read_args(const IntentForm *f, const FormPlace *at, const json_t *v, json_t **ret) {
        json_t *item;
        const char *s;
        size_t i;
        int e = v ? form_array(f, at, v, true, INTENT_ARGS_MAX) : 0;

        json_array_foreach((json_t *)v, i, item)
                e = e ?: form_text(f, FORM_ITEM(at, i), item, 0, INTENT_TEXT_MAX, &s);
        if (e == 0 && !(*ret = v ? json_incref((json_t *)v) : json_array()))
                e = -ENOMEM;
        return e;
}

static int intent_read_skill(const IntentForm *f, const FormPlace *at, const json_t *v, json_t *to) {
        const json_t *skill = json_object_get(v, "skill"), *entry = json_object_get(v, "entry"),
                     *input = json_object_get(v, "input");
        json_t *args = NULL;
        const char *s;
        int e = form_members(f, at, v, FORM_WORDS("skill", "entry", "args", "input"));

        if (e == 0 && (!json_text(skill) || !form_skills.valid(json_text(skill))))
                e = form_bad(f, FORM_AT(at, "skill"), skill, "%s", form_skills.rule);
        if (e == 0 && entry)
                e = form_text(f, FORM_AT(at, "entry"), entry, 1, INTENT_ENTRY_MAX, &s)
                            ?: form_put(to, "entry", json_incref((json_t *)entry));
        if (e == 0 && input)
                e = form_text(f, FORM_AT(at, "input"), input, 0, INTENT_INPUT_MAX, &s)
                            ?: form_put(to, "input", json_incref((json_t *)input));
        e = e ?: intent_read_args(f, FORM_AT(at, "args"), json_object_get(v, "args"), &args);
        return e ?: form_put(to, "args", args) ?: form_put(to, "skill", json_incref((json_t *)skill));
}

static int intent_read_gather(const IntentForm *f, const FormPlace *at, const json_t *v, size_t children, json_t **ret) {
        const json_t *n = json_object_get(v, "n"), *mode = json_object_get(v, "mode");
        _cleanup_json_ json_t *to = json_object();
        uint64_t count = 0, within = 0;
        size_t word = 0;
        bool said = false, quorum;
        int e = !to ? -ENOMEM : v ? form_members(f, at, v, FORM_WORDS("mode", "n", "within", "within_usec")) : 0;

        if (e == 0 && mode)
                e = form_word(f, FORM_AT(at, "mode"), mode, intent_modes, ARRAY_SIZE(intent_modes), &word);
        quorum = strcmp(intent_modes[word], "quorum") == 0;
        if (e == 0 && n && !quorum)
                e = form_bad(f, FORM_AT(at, "n"), n, "only the mode \"quorum\" has a number");
        if (e == 0 && quorum)
                e = form_count(f, FORM_AT(at, "n"), n, 1, children, &count) ?: form_put(to, "n", json_u64(count));
        e = e ?: form_duration(f, at, v, "within", INTENT_MSEC, FORM_DURATION_MOST, &within, &said);
        if (e == 0 && said)
                e = form_put(to, "within_usec", json_u64(within));
        e = e ?: form_put(to, "mode", json_string(intent_modes[word]));
        if (e == 0)
                *ret = TAKE_PTR(to);
        return e;
}

static int intent_read_delegate(IntentForm *f, const FormPlace *at, const json_t *v, json_t *to) {
        const json_t *children = json_object_get(v, "delegate");
        const FormPlace *here = FORM_AT(at, "delegate");
        _cleanup_json_ json_t *list = json_array(), *gather = NULL;
        json_t *item;
        size_t i;
        int e = list ? form_members(f, at, v, FORM_WORDS("delegate", "gather")) : -ENOMEM;

        e = e ?: form_array(f, here, children, false, INTENT_CHILDREN_MAX);
        if (e == 0 && f->depth >= INTENT_DEPTH_MOST)
                return form_bad(f, here, NULL, "delegations nest at most %d deep", INTENT_DEPTH_MOST);
        f->depth++;
        json_array_foreach((json_t *)children, i, item) {
                json_t *child = NULL;

                e = e ?: intent_read(f, FORM_ITEM(here, i), item, &child);
                e = e ?: form_add(list, child);
        }
        f->depth--;
        e = e ?: intent_read_gather(f, FORM_AT(at, "gather"), json_object_get(v, "gather"), json_array_size(children),
                                    &gather);
        return e ?: form_put(to, "delegate", TAKE_PTR(list)) ?: form_put(to, "gather", TAKE_PTR(gather));
}

static int intent_read_wait(IntentForm *f, const FormPlace *at, const json_t *v, json_t *to) {
        json_t *trigger = NULL;
        int e = form_members(f, at, v, FORM_WORDS("wait"))
                        ?: trigger_read(f, FORM_AT(at, "wait"), json_object_get(v, "wait"), &trigger);

        return e ?: form_put(to, "wait", trigger);
}

static int intent_read_action(IntentForm *f, const FormPlace *at, const json_t *v, bool inside, json_t **ret);

static int intent_read_steps(IntentForm *f, const FormPlace *at, const json_t *v, json_t *to) {
        const json_t *steps = json_object_get(v, "steps");
        const FormPlace *here = FORM_AT(at, "steps");
        _cleanup_json_ json_t *list = json_array();
        json_t *item;
        size_t i;
        int e = list ? form_members(f, at, v, FORM_WORDS("steps")) : -ENOMEM;

        e = e ?: form_array(f, here, steps, false, INTENT_STEPS_MAX);
        json_array_foreach((json_t *)steps, i, item) {
                json_t *step = NULL;

                e = e ?: intent_read_action(f, FORM_ITEM(here, i), item, true, &step);
                e = e ?: form_add(list, step);
        }
        return e ?: form_put(to, "steps", TAKE_PTR(list));
}

static int intent_read_action(IntentForm *f, const FormPlace *at, const json_t *v, bool inside, json_t **ret) {
        _cleanup_json_ json_t *to = json_object();
        int e;

        if (!to)
                return -ENOMEM;
        if (!json_is_object(v))
                return form_bad(f, at, v, v ? "must be an object" : "required");
        if (json_object_get(v, "skill"))
                e = intent_read_skill(f, at, v, to);
        else if (json_object_get(v, "delegate"))
                e = intent_read_delegate(f, at, v, to);
        else if (json_object_get(v, "wait"))
                e = intent_read_wait(f, at, v, to);
        else if (!json_object_get(v, "steps"))
                e = form_bad(f, at, v, "an action has exactly one of \"skill\", \"delegate\", \"wait\" and \"steps\"");
        else if (inside)
                e = form_bad(f, FORM_AT(at, "steps"), NULL, "a step has no steps inside");
        else
                e = intent_read_steps(f, at, v, to);
        if (e == 0)
                *ret = TAKE_PTR(to);
        return e;
}

int intent_read_do(IntentForm *f, const FormPlace *at, const json_t *v, json_t **ret) {
        return intent_read_action(f, at, v, false, ret);
}
