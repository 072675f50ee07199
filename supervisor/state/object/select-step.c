/* The last rules of selection: the present step, or its halves (O-50). */
#include "object/select-inside.h"

#include "object/intent.h"

/* A remainder takes the place of args or input, as far as an intent may have the same there. The remainder is a word of
 * the skill: the rest of the step stays. *ret: the step, new. */
static int select_with_remainder(const json_t *step, const json_t *remainder, json_t **ret) {
        _cleanup_json_ json_t *with = json_copied(step), *intent = NULL, *complete = NULL;
        bool list = json_is_array(remainder);
        int r;

        if (!with)
                return -ENOMEM;
        if (!list && !json_is_string(remainder)) {
                *ret = TAKE_PTR(with);
                return 0;
        }
        if (json_object_set(with, list ? "args" : "input", (json_t *)remainder) < 0)
                return -ENOMEM;
        intent = json_pack("{s:O}", "do", with);
        r = intent ? intent_complete(intent, NULL, &complete, NULL) : -ENOMEM;
        if (r < 0)
                return r;
        *ret = r == 0 ? TAKE_PTR(with) : json_copied(step);
        return *ret ? 0 : -ENOMEM;
}

static int select_execution(Selection *s, const json_t *step) {
        _cleanup_json_ json_t *with = NULL;
        uint64_t timeout = json_number(s->with, "timeout_usec"), end;
        int r;

        r = select_with_remainder(step, json_object_get(s->m->fold, "remainder"), &with);
        if (r < 0)
                return r;
        if (json_number(s->m->fold, "timeouts") > 0) /* raised once */
                timeout = memory_add(timeout, timeout);
        end = MIN(memory_add(s->now, timeout), select_deadline_usec(s));
        end = MIN(end, JSON_TIME_MAX);
        return select_take(
                s, ACTION_EXECUTION, "step",
                json_pack("{s:O, s:O*, s:O*, s:O*, s:o, s:o, s:O, s:o}", "skill", json_object_get(with, "skill"),
                          "entry", json_object_get(with, "entry"), "args", json_object_get(with, "args"), "input",
                          json_object_get(with, "input"), "timeout_usec", json_u64(end > s->now ? end - s->now : 0),
                          "deadline_usec", json_u64(end), "step", json_object_get(s->m->fold, "step"), "attempt",
                          json_u64(memory_add(json_number(s->m->fold, "attempts"), 1))));
}

int select_delegation(Selection *s, const char *reason, const json_t *action, bool proposed) {
        json_t *data = json_pack("{s:O, s:O, s:o}", "delegate", json_object_get(action, "delegate"), "gather",
                                 json_object_get(action, "gather"), "serial",
                                 json_u64(json_number(s->m->fold, "serial") + 1));

        if (data && proposed && json_put(data, "proposed", json_true()) < 0) {
                json_decref(data);
                return -ENOMEM;
        }
        return select_take(s, ACTION_DELEGATION, reason, data);
}

int select_step(Selection *s) {
        const json_t *again = json_object_get(s->m->fold, "again");
        const json_t *step = again ?: memory_step(s->m->intent, json_number(s->m->fold, "step"));
        _cleanup_json_ json_t *scope = NULL, *intent = NULL;
        int r;

        if (json_object_get(step, "skill"))
                return select_execution(s, step);
        if (json_object_get(step, "wait"))
                return select_dormancy(s, "wait", json_incref(json_object_get(step, "wait")));
        if (!json_object_get(step, "delegate"))
                return 0;
        intent = json_pack("{s:O}", "do", step);
        r = intent ? select_scope(s, &scope) ?: intent_within(intent, scope, NULL) : -ENOMEM;
        if (r != 0)
                return r == OBJECT_E_SCOPE ? select_denied(s) : r;
        return select_delegation(s, again ? "again" : "step", step, json_is_true(json_object_get(again, "proposed")));
}

/* The elements from `from` to before `to`. */
static json_t *select_part(const json_t *list, size_t from, size_t to) {
        json_t *part = json_array();

        for (size_t i = from; part && i < to; i++)
                if (json_array_append(part, json_array_get(list, i)) < 0) {
                        json_decref(part);
                        part = NULL;
                }
        return part;
}

/* The intent with the args of step number `at` in two halves. NULL: out of memory. */
static json_t *select_halves(const json_t *intent, size_t at) {
        _cleanup_json_ json_t *after = json_copied((json_t *)intent), *steps = json_array();
        size_t n = memory_steps(intent);

        for (size_t i = 0; after && steps && i < n; i++) {
                const json_t *step = memory_step(intent, i), *args = json_object_get(step, "args");
                size_t all = json_array_size(args), parts = i == at ? 2 : 1;

                for (size_t k = 0; k < parts; k++) {
                        json_t *part = json_copied(step);

                        if (parts == 2 && part &&
                            json_object_set_new(part, "args",
                                                select_part(args, k == 0 ? 0 : all / 2, k == 0 ? all / 2 : all)) < 0) {
                                json_decref(part);
                                return NULL;
                        }
                        if (json_array_append_new(steps, part) < 0)
                                return NULL;
                }
        }
        if (!after || !steps || json_object_set_new(after, "do", json_pack("{s:O}", "steps", steps)) < 0)
                return NULL;
        return TAKE_PTR(after);
}

/* Args that are options belong together. */
static bool select_can_split(const json_t *args) {
        const json_t *arg;
        size_t i;

        json_array_foreach(args, i, arg)
                if ((json_text(arg) ?: "-")[0] == '-')
                        return false;
        return json_array_size(args) > 1;
}

/* O-50: the second timeout of a step whose deadline was raised. */
int select_split(Selection *s) {
        const json_t *fold = s->m->fold, *intent = s->m->intent;
        size_t at = json_number(fold, "step");
        const json_t *args = json_object_get(memory_step(intent, at), "args");
        const json_t *scope = json_object_get(s->m->context, "scope");
        _cleanup_json_ json_t *after = NULL, *complete = NULL;
        int r;

        if (json_number(fold, "timeouts") < 2 || json_object_get(fold, "again") || json_object_get(fold, "remainder") ||
            !select_allows(s, ACTION_MUTATION) || !select_can_split(args))
                return 0;
        after = select_halves(intent, at);
        r = after ? intent_complete(after, s->m->object, &complete, NULL)
                            ?: intent_refine_check(intent, after, "narrow", scope, NULL)
                  : -ENOMEM;
        if (r != 0)
                return r < 0 ? r : 0; /* no further step is possible */
        return select_take(s, ACTION_MUTATION, "timeout",
                           json_pack("{s:s, s:O, s:O, s:s}", "how", "narrow", "before", intent, "after", after, "why",
                                     "the step was over its raised deadline"));
}
