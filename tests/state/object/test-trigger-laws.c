/* Runs: tests. The laws of triggers over random triggers and sights: the complete form is a fixed point, the answer is a
 * function of its arguments, any and all, time, outcomes, and what has to be looked up (O-11, O-30..O-34). */
#include "tests/state/object/random-trigger.h"

#define ROUNDS 6000

static int truth(const json_t *trigger, const Sight *s, json_t **ret) {
        const TriggerView view = sight_view(s);
        int r = trigger_holds(trigger, &view, ret);

        cr_assert(r == 0 || r == 1, "%d: %s", r, printed(trigger));
        return r;
}

static bool holds(const json_t *trigger, const Sight *s) {
        _cleanup_json_ json_t *ret = NULL;

        return truth(trigger, s, &ret);
}

// O-31
Test(object_trigger_laws, the_complete_form_is_a_fixed_point) {
        uint64_t seed = 31;

        for (int i = 0; i < ROUNDS; i++) {
                _cleanup_json_ json_t *trigger = random_trigger(&seed, 3), *out = NULL;
                Diag d = {0};

                cr_assert_eq(trigger_complete(trigger, SELF, &out, &d), 0, "%s: %s", printed(trigger), d.text);
                cr_assert(json_equal(trigger, out), "%s", printed(trigger));
        }
}

// O-11: the answer is a function of the arguments, which stay as they are
Test(object_trigger_laws, holds_is_pure) {
        uint64_t seed = 11;

        for (int i = 0; i < ROUNDS; i++) {
                _cleanup_json_ json_t *trigger = random_trigger(&seed, 3), *one = NULL, *two = NULL, *was = json_deep_copy(trigger);
                _cleanup_(sight_deinit) Sight s = random_sight(&seed), copy = s;
                int a, b;

                copy.facts = json_deep_copy(s.facts);
                copy.counts = json_deep_copy(s.counts);
                copy.policy = json_deep_copy(s.policy);
                a = truth(trigger, &s, &one);
                cr_assert(json_equal(trigger, was) && json_equal(s.facts, copy.facts) && json_equal(s.counts, copy.counts) &&
                          json_equal(s.policy, copy.policy));
                b = truth(was, &copy, &two);
                cr_assert(a == b && json_equal(one, two), "%s", printed(trigger));
        }
}

// O-31, O-33, O-34: any holds where a part does, all where all do; what is named holds, what is unmet does not
Test(object_trigger_laws, any_all_and_the_answer) {
        uint64_t seed = 34;

        for (int i = 0; i < ROUNDS; i++) {
                _cleanup_json_ json_t *list = json_array(), *any = NULL, *all = NULL, *ret = NULL;
                _cleanup_(sight_deinit) Sight s = random_sight(&seed);
                unsigned n = 1 + pick(&seed, 4), true_ones = 0;
                json_t *unmet;
                size_t k;

                for (unsigned j = 0; j < n; j++) {
                        json_array_append_new(list, random_trigger(&seed, 2));
                        true_ones += holds(json_array_get(list, j), &s);
                }
                any = json_pack("{s:O}", "any", list);
                all = json_pack("{s:O}", "all", list);
                cr_assert_eq(holds(any, &s), true_ones > 0, "%s", printed(any));
                cr_assert_eq(holds(all, &s), true_ones == n, "%s", printed(all));
                if (truth(pick(&seed, 2) ? any : all, &s, &ret)) {
                        cr_assert(holds(json_object_get(ret, "trigger"), &s), "%s", printed(ret));
                        cr_assert(json_is_object(json_object_get(ret, "evidence")), "%s", printed(ret));
                        continue;
                }
                cr_assert(json_array_size(json_object_get(ret, "unmet")) > 0, "%s", printed(ret));
                json_array_foreach(json_object_get(ret, "unmet"), k, unmet) {
                        json_object_del(unmet, "until");
                        cr_assert_not(holds(unmet, &s), "%s", printed(unmet));
                }
        }
}

// O-31: time and outcomes only add, unless a clock is set back
Test(object_trigger_laws, later_and_more_never_put_it_to_sleep) {
        uint64_t seed = 30;

        for (int i = 0; i < ROUNDS; i++) {
                _cleanup_json_ json_t *trigger = random_trigger(&seed, 3);
                _cleanup_(sight_deinit) Sight s = random_sight(&seed);

                s.now = MAX(s.now, s.since);
                if (!holds(trigger, &s))
                        continue;
                s.now += pick(&seed, 1000);
                json_array_append_new(json_object_get(s.counts, RANDOM_OF(&seed, random_kinds)), json_u64(pick(&seed, 400)));
                json_array_append_new(json_object_get(s.facts, "events"), json_pack("{s:s, s:i}", "type", RANDOM_OF(&seed, random_types), "seq", 99));
                cr_assert(holds(trigger, &s), "%s", printed(trigger));
        }
}

static bool has(const json_t *list, const json_t *v) {
        json_t *item;
        size_t i;

        json_array_foreach((json_t *)list, i, item)
                if (json_equal(item, v))
                        return true;
        return false;
}

/* Leaves of the facts what is needed. */
static void forget_the_rest(json_t *facts, const json_t *needs) {
        static const char *const lists[] = {"slots", "objects"};
        json_t *events = json_object_get(facts, "events");
        void *next;
        const char *key;
        json_t *v;

        for (size_t i = 0; i < ARRAY_SIZE(lists); i++)
                json_object_foreach_safe(json_object_get(facts, lists[i]), next, key, v) {
                        _cleanup_json_ json_t *name = json_string(key);

                        if (!has(json_object_get(needs, lists[i]), name))
                                json_object_del(json_object_get(facts, lists[i]), key);
                }
        for (size_t i = json_array_size(events); i-- > 0;) {
                _cleanup_json_ json_t *event = json_copy(json_array_get(events, i));

                json_object_del(event, "seq");
                if (!has(json_object_get(needs, "events"), event))
                        json_array_remove(events, i);
        }
}

// O-32: what trigger_needs() does not name is not read
Test(object_trigger_laws, what_is_not_needed_is_not_read) {
        uint64_t seed = 32;
        unsigned forgotten = 0;

        for (int i = 0; i < ROUNDS; i++) {
                _cleanup_json_ json_t *trigger = random_trigger(&seed, 3), *needs = NULL, *before = NULL, *after = NULL, *was = NULL;
                _cleanup_(sight_deinit) Sight s = random_sight(&seed);
                uint64_t due;
                int a, b;

                a = truth(trigger, &s, &before);
                cr_assert_eq(trigger_needs(trigger, s.since, &needs, &due), 0);
                was = json_deep_copy(s.facts);
                forget_the_rest(s.facts, needs);
                if (!json_is_true(json_object_get(needs, "policy"))) {
                        json_decref(s.policy);
                        s.policy = NULL;
                }
                forgotten += !json_equal(was, s.facts);
                b = truth(trigger, &s, &after);
                cr_assert(a == b && json_equal(before, after), "%s", printed(trigger));
        }
        cr_expect_gt(forgotten, ROUNDS / 2);
}

// O-30: by the looks at the times of trigger_next() alone, an object wakes at the first moment at which its trigger holds
Test(object_trigger_laws, looks_find_the_first_moment) {
        uint64_t seed = 300;
        unsigned woken = 0;

        for (int i = 0; i < ROUNDS; i++) {
                _cleanup_json_ json_t *trigger = random_trigger(&seed, 3), *needs = NULL;
                _cleanup_(sight_deinit) Sight s = random_sight(&seed);
                uint64_t first, due, asleep, looks = 0;

                /* all facts stay as they are; only the clock goes on */
                for (s.now = s.since; s.now < 300 && !holds(trigger, &s); s.now++)
                        ;
                first = s.now;
                if (first == s.since || first == 300) /* held from the beginning, or never */
                        continue;
                woken++;
                cr_assert_eq(trigger_needs(trigger, s.since, &needs, &due), 0);
                cr_assert_leq(due, first, "%s", printed(trigger));
                asleep = s.since + pick(&seed, (unsigned)(first - s.since)); /* the last look that found nothing */
                for (s.now = asleep; !holds(trigger, &s); s.now = trigger_next(trigger, s.since, s.now)) {
                        cr_assert_lt(s.now, first, "%s", printed(trigger));
                        cr_assert_leq(++looks, 64U);
                }
                cr_assert_eq(s.now, first, "%s", printed(trigger));
        }
        cr_expect_gt(woken, ROUNDS / 20);
}
