#include "object/intent-form.h"
#include "object/intent.h"

#include <inttypes.h>
#include <string.h>

/* The steps as a plain list; a single action is a list of one step. */
static json_t *refine_step(const json_t *action, size_t i) {
        const json_t *steps = json_object_get(action, "steps");

        return steps ? json_array_get(steps, i) : i == 0 ? (json_t *)action : NULL;
}

static size_t refine_steps(const json_t *action) {
        const json_t *steps = json_object_get(action, "steps");

        return steps ? json_array_size(steps) : 1;
}

static bool refine_same(const json_t *a, const json_t *b, const char *member) {
        const json_t *x = json_object_get(a, member), *y = json_object_get(b, member);

        return x == y || json_equal(x, y); /* NULL: in neither */
}

static bool refine_same_but(const json_t *a, const json_t *b, const char *const *but) {
        const char *key;
        json_t *item;

        json_object_foreach((json_t *)a, key, item) {
                size_t i = 0;

                while (but[i] && strcmp(but[i], key) != 0)
                        i++;
                if (!but[i] && !refine_same(a, b, key))
                        return false;
        }
        return true;
}

/* All members of both, except for the members in `but`, are equal. */
static bool refine_equal_but(const json_t *a, const json_t *b, const char *const *but) {
        return refine_same_but(a, b, but) && refine_same_but(b, a, but);
}

/* Every constraint before stands after, as often; further constraints must be of a kind that `how` may add. */
static int refine_constraints(const IntentForm *f, const FormPlace *at, const json_t *before, const json_t *after, bool any,
                              bool of_scope) {
        _cleanup_json_ json_t *rest = json_array();
        json_t *item, *other;
        size_t i, k;

        if (!rest || json_array_extend(rest, (json_t *)after) < 0)
                return -ENOMEM;
        json_array_foreach((json_t *)before, i, item) {
                json_array_foreach(rest, k, other)
                        if (json_equal(item, other))
                                break;
                if (k == json_array_size(rest))
                        return form_bad(f, FORM_ITEM(at, i), item,
                                        "this constraint was dropped; a mutation keeps all constraints");
                json_array_remove(rest, k);
        }
        json_array_foreach(rest, i, item)
                if (!any && !(of_scope && (json_object_get(item, "slots_write") || json_object_get(item, "skills"))))
                        return form_bad(f, at, item, "a further constraint; only \"narrow\" adds such a constraint");
        return 0;
}

static int refine_narrow_intent(const IntentForm *f, const FormPlace *at, const json_t *before, const json_t *after);

/* Children of `after` are children of `before`, in the same order, each as before or narrower. */
static int refine_narrow_delegate(const IntentForm *f, const FormPlace *at, const json_t *before, const json_t *after) {
        const json_t *had = json_object_get(before, "delegate"), *has = json_object_get(after, "delegate"),
                     *gather = json_object_get(before, "gather"), *now = json_object_get(after, "gather");
        const uint64_t n = json_number(gather, "n"), most = json_number(gather, "within_usec");
        const IntentForm quiet = {0};
        size_t k = 0;
        int e;

        for (size_t i = 0; i < json_array_size(has); i++, k++) {
                for (; k < json_array_size(had); k++) {
                        e = json_equal(json_array_get(had, k), json_array_get(has, i))
                                    ? 0
                                    : refine_narrow_intent(&quiet, at, json_array_get(had, k), json_array_get(has, i));
                        if (e <= 0)
                                break;
                }
                if (k == json_array_size(had))
                        return form_bad(f, FORM_ITEM(FORM_AT(at, "delegate"), i), NULL,
                                        "no child before was as wide as this child");
                if (e < 0)
                        return e;
        }
        at = FORM_AT(at, "gather");
        if (!refine_equal_but(gather, now, FORM_WORDS("n", "within_usec")))
                return form_bad(f, at, now, "\"narrow\" does not change how children are gathered");
        if (json_number(now, "n") != MIN(n, (uint64_t)json_array_size(has)))
                return form_bad(f, FORM_AT(at, "n"), json_object_get(now, "n"),
                                "must be as before, %" PRIu64 ", or the number of the remaining children", n);
        if (most > 0 && (json_number(now, "within_usec") == 0 || json_number(now, "within_usec") > most))
                return form_bad(f, FORM_AT(at, "within"), json_object_get(now, "within_usec"),
                                "more time than before, %" PRIu64 " microseconds", most);
        return 0;
}

/* Finds the args of `after` in `before`, one after another, from *from on: *from is the place behind the last. */
static bool refine_take_args(const json_t *before, const json_t *after, size_t *from) {
        const size_t n = json_array_size(before), m = json_array_size(after);
        size_t k;

        for (size_t i = *from; m > 0 && i + m <= n; i++) {
                for (k = 0; k < m && json_equal(json_array_get(before, i + k), json_array_get(after, k)); k++)
                        ;
                if (k == m) {
                        *from = i + m;
                        return true;
                }
        }
        return false;
}

/* Steps of `after` are steps of `before`, in the same order; a step of a skill may stand there in parts of its args. */
static int refine_narrow_do(const IntentForm *f, const FormPlace *at, const json_t *before, const json_t *after) {
        const size_t n = refine_steps(before);
        size_t k = 0, arg = 0;
        Diag why;
        const IntentForm quiet = {.reterr = &why};

        if (refine_steps(after) > INTENT_STEPS_MAX)
                return form_bad(f, FORM_AT(at, "steps"), NULL, "%zu steps: at most %d are allowed", refine_steps(after),
                                INTENT_STEPS_MAX);
        for (size_t i = 0; i < refine_steps(after); i++) {
                const json_t *has = refine_step(after, i);
                const FormPlace *here = json_object_get(after, "steps") ? FORM_ITEM(FORM_AT(at, "steps"), i) : at;
                bool found = false;

                *why.text = 0;
                for (; k < n && !found; k++, arg = 0) {
                        const json_t *had = refine_step(before, k);

                        if (json_object_get(had, "skill") && json_array_size(json_object_get(had, "args")) > 0) {
                                found = refine_equal_but(had, has, FORM_WORDS("args")) &&
                                        refine_take_args(json_object_get(had, "args"), json_object_get(has, "args"),
                                                         &arg);
                                if (found)
                                        break; /* further parts of the same step may follow */
                        } else if (json_object_get(had, "delegate") && json_object_get(has, "delegate")) {
                                int e = refine_narrow_delegate(&quiet, here, had, has);

                                if (e < 0)
                                        return e;
                                found = e == 0;
                        } else
                                found = json_equal(had, has);
                }
                if (!found && *why.text)
                        return diag(f->reterr, OBJECT_E_INTENT, "%s", why.text);
                if (!found)
                        return form_bad(
                                f, here, NULL,
                                "no step before was as wide as this step; \"narrow\" leaves steps out and keeps the "
                                "order of the rest");
        }
        return 0;
}

static int refine_narrow_until(const IntentForm *f, const FormPlace *at, const json_t *before, const json_t *after) {
        const json_t *had = json_object_get(before, "until"), *has = json_object_get(after, "until");
        const bool rounds = json_object_get(has, "success");

        if (json_equal(had, has) || (rounds && json_text_is(had, "never")) ||
            (rounds && json_object_get(had, "success") && json_number(has, "success") <= json_number(had, "success")))
                return 0;
        return form_bad(f, FORM_AT(at, "until"), has, "\"narrow\" only lowers the number of rounds");
}

static int refine_narrow_with(const IntentForm *f, const FormPlace *at, const json_t *before, const json_t *after) {
        const json_t *had = json_object_get(before, "with"), *has = json_object_get(after, "with"), *may;
        const uint64_t attempts = json_number(had, "attempts"), now = json_number(has, "attempts");
        json_t *item, *other;
        size_t i, k;

        at = FORM_AT(at, "with");
        if (!refine_equal_but(had, has, FORM_WORDS("timeout_usec", "attempts", "may")))
                return form_bad(f, at, NULL, "\"narrow\" changes \"timeout\", \"attempts\" and \"may\" alone");
        if (json_number(has, "timeout_usec") > json_number(had, "timeout_usec"))
                return form_bad(f, FORM_AT(at, "timeout"), json_object_get(has, "timeout_usec"),
                                "more time than before, %" PRIu64 " microseconds", json_number(had, "timeout_usec"));
        if (attempts > 0 && (now == 0 || now > attempts))
                return form_bad(f, FORM_AT(at, "attempts"), json_object_get(has, "attempts"),
                                "more attempts than before, %" PRIu64, attempts);
        may = json_object_get(had, "may");
        json_array_foreach(json_object_get(has, "may"), i, item) {
                json_array_foreach((json_t *)may, k, other)
                        if (json_equal(item, other))
                                break;
                if (k == json_array_size(may))
                        return form_bad(f, FORM_ITEM(FORM_AT(at, "may"), i), item,
                                        "a skill could not propose this before");
        }
        return 0;
}

static int refine_narrow_intent(const IntentForm *f, const FormPlace *at, const json_t *before, const json_t *after) {
        return refine_narrow_do(f, FORM_AT(at, "do"), json_object_get(before, "do"), json_object_get(after, "do"))
                               ?: refine_narrow_with(f, at, before, after)
                               ?: refine_narrow_until(f, at, before, after)
                       ?: refine_constraints(f, FORM_AT(at, "constraints"), json_object_get(before, "constraints"),
                                             json_object_get(after, "constraints"), true, true);
}

static int refine_rescope_intent(const IntentForm *f, const FormPlace *at, const json_t *before, const json_t *after);

/* The same skills, waits and children one after another; args and input are free. */
static int refine_rescope_do(const IntentForm *f, const FormPlace *at, const json_t *before, const json_t *after) {
        if (refine_steps(before) != refine_steps(after) ||
            !json_object_get(before, "steps") != !json_object_get(after, "steps"))
                return form_bad(f, at, NULL, "%zu steps: \"rescope\" keeps the %zu steps", refine_steps(after),
                                refine_steps(before));
        for (size_t i = 0; i < refine_steps(before); i++) {
                const json_t *had = refine_step(before, i), *has = refine_step(after, i);
                const json_t *children = json_object_get(had, "delegate"), *now = json_object_get(has, "delegate");
                const FormPlace *here = json_object_get(after, "steps") ? FORM_ITEM(FORM_AT(at, "steps"), i) : at;
                const char *const *loose =
                        json_object_get(had, "skill") ? FORM_WORDS("args", "input") : FORM_WORDS("delegate");

                if (!refine_equal_but(had, has, loose) || json_array_size(children) != json_array_size(now))
                        return form_bad(f, here, NULL,
                                        "\"rescope\" changes \"args\" and \"input\" of the same skills alone");
                for (size_t k = 0; k < json_array_size(children); k++) {
                        int e = refine_rescope_intent(f, FORM_ITEM(FORM_AT(here, "delegate"), k),
                                                      json_array_get(children, k), json_array_get(now, k));

                        if (e != 0)
                                return e;
                }
        }
        return 0;
}

static int refine_rescope_intent(const IntentForm *f, const FormPlace *at, const json_t *before, const json_t *after) {
        if (!refine_same(before, after, "with") || !refine_same(before, after, "until"))
                return form_bad(f, at, NULL, "\"rescope\" does not change \"with\" and \"until\"");
        return refine_rescope_do(f, FORM_AT(at, "do"), json_object_get(before, "do"), json_object_get(after, "do"))
                       ?: refine_constraints(f, FORM_AT(at, "constraints"), json_object_get(before, "constraints"),
                                             json_object_get(after, "constraints"), false, true);
}

static int refine_reclassify_intent(const IntentForm *f, const FormPlace *at, const json_t *before, const json_t *after) {
        if (!refine_same(before, after, "do") || !refine_same(before, after, "until"))
                return form_bad(f, at, NULL, "\"reclassify\" does not change \"do\" and \"until\"");
        if (!refine_equal_but(json_object_get(before, "with"), json_object_get(after, "with"),
                              FORM_WORDS("class", "pace", "timeout_usec")))
                return form_bad(f, FORM_AT(at, "with"), NULL,
                                "\"reclassify\" changes \"class\", \"pace\" and \"timeout\" alone");
        return refine_constraints(f, FORM_AT(at, "constraints"), json_object_get(before, "constraints"),
                                  json_object_get(after, "constraints"), false, false);
}

int intent_refine_check(const json_t *before, const json_t *after, const char *how, const json_t *scope, Diag *reterr) {
        static const char *const kinds[] = {"narrow", "rescope", "reclassify"};
        const size_t kind = name_index(kinds, ARRAY_SIZE(kinds), how);
        const FormPlace *root = FORM_ROOT("intent");
        const IntentForm f = {.reterr = reterr};
        int e;

        if (kind == ARRAY_SIZE(kinds))
                return diag(reterr, OBJECT_E_INTENT, "how: \"%s\": must be \"narrow\", \"rescope\" or \"reclassify\"",
                            DIAG_QUOTED(how));
        if (json_equal(before, after))
                return form_bad(&f, root, NULL, "the intent is the present intent; a mutation changes something");
        /* the scope is judged first: a refusal by the scope has a code of its own */
        e = intent_within(after, scope, reterr);
        if (e != 0)
                return e;
        return kind == 0   ? refine_narrow_intent(&f, root, before, after)
               : kind == 1 ? refine_rescope_intent(&f, root, before, after)
                           : refine_reclassify_intent(&f, root, before, after);
}
