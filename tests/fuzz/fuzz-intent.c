/* An intent, a trigger, a condition or a trust scope (O-2, O-31). A complete form is its own complete form; what is refused has a message with a place; a
 * trigger in complete form can be looked at, needs what it names, and is within its own default scope but for its width. */
#include "object/intent.h"
#include "object/trigger.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

#define SELF "01jz0000000000000000000000"

int LLVMFuzzerInitialize(int *argc, char ***argv) {
        return 0;
}

static void look(const json_t *trigger) {
        _cleanup_json_ json_t *needs = NULL, *answer = NULL;
        uint64_t due, next;
        int r;

        fuzz_check(trigger_needs(trigger, 1000, &needs, &due) == 0);
        next = trigger_next(trigger, 1000, 1000);
        fuzz_check(due <= next && next > 1000);
        r = trigger_holds(trigger, &(TriggerView){.now_usec = 2000, .since_usec = 1000}, &answer);
        fuzz_check(r == 0 || r == 1);
        fuzz_check(json_object_get(answer, r ? "trigger" : "unmet"));
}

static void refine(const json_t *intent) {
        static const char *const kinds[] = {"narrow", "rescope", "reclassify"};
        _cleanup_json_ json_t *scope = NULL, *again = NULL, *child = NULL;
        Diag d = {0};
        int r;

        fuzz_check(intent_scope_complete(NULL, intent, &scope, &d) == 0, "%s", d.text);
        fuzz_check(intent_scope_complete(scope, intent, &again, &d) == 0 && json_equal(scope, again), "%s", d.text);
        fuzz_check(intent_scope_within(scope, scope, &d) == 0, "%s", d.text);
        r = intent_within(intent, scope, &d);
        fuzz_check(r == 0 || (r == OBJECT_E_SCOPE && strstr(d.text, "fanout")), "%s", d.text);
        if (intent_scope_of_child(scope, intent, &child) == 0)
                fuzz_check(intent_scope_within(child, scope, &d) == 0, "%s", d.text);
        for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
                fuzz_check(intent_refine_check(intent, intent, kinds[i], scope, &d) == OBJECT_E_INTENT);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
        static int (*const complete[])(const json_t *v, const char *self, json_t **ret, Diag *reterr) = {
                intent_complete, trigger_complete, condition_complete};
        _cleanup_json_ json_t *v = NULL;

        if (json_parse((const char *)data, n, 1 << 20, 1000, &v, NULL) != 0)
                return 0;
        for (size_t i = 0; i < ARRAY_SIZE(complete); i++) {
                _cleanup_json_ json_t *out = NULL, *again = NULL;
                Diag d = {0};
                int r = complete[i](v, SELF, &out, &d);

                if (r != 0) {
                        fuzz_check(r == OBJECT_E_INTENT && strstr(d.text, ": "), "%d %s", r, d.text);
                        continue;
                }
                fuzz_check(complete[i](out, SELF, &again, &d) == 0, "%s", d.text);
                fuzz_check(json_equal(out, again));
                if (complete[i] == trigger_complete)
                        look(out);
                else if (complete[i] == intent_complete)
                        refine(out);
        }
        return 0;
}
