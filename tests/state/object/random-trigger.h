/* Runs: tests. Random triggers in complete form, and random sights of a node, the same for the same seed. Few names, so
 * that triggers and sights meet. */
#pragma once

#include "tests/state/object/intent-fixture.h"

static const char *const random_slots[] = {"a", "b", "c/d"}, *const random_ids[] = {OTHER, THIRD},
                                *const random_kinds[] = {"success", "failure", "timeout", "child", "input"},
                                *const random_types[] = {"slot.written", "invocation.ended", "region.left"},
                                *const random_actions[] = {"execution", "mutation", "dormancy"};
#define RANDOM_OF(seed, words) ((words)[pick((seed), ARRAY_SIZE(words))])

static inline json_t *random_match(uint64_t *seed) {
        return pick(seed, 2) ? NULL : json_pack("{s:i}", "m", (int)pick(seed, 2));
}

static inline json_t *random_leaf(uint64_t *seed) {
        json_t *v;

        switch (pick(seed, 8)) {
        case 0:
                return json_pack("{s:{s:i}}", "elapsed", "for_usec", 1 + (int)pick(seed, 100));
        case 1:
                return json_pack("{s:{s:i}}", "elapsed", "at", (int)pick(seed, 200));
        case 2:
                v = json_pack("{s:s, s:i}", "kind", RANDOM_OF(seed, random_kinds), "n", 1 + (int)pick(seed, 4));
                if (pick(seed, 2))
                        json_put(v, "within_usec", json_integer(1 + pick(seed, 60)));
                return json_pack("{s:o}", "outcomes", v);
        case 3:
                v = json_pack("{s:s, s:s}", "slot", RANDOM_OF(seed, random_slots), "is", "set");
                switch (pick(seed, 4)) {
                case 0:
                        json_put(v, "equals", json_integer(pick(seed, 4)));
                        break;
                case 1:
                        json_put(v, "above", json_integer(pick(seed, 4)));
                        break;
                case 2:
                        json_put(v, "version", json_integer(1 + pick(seed, 3)));
                        break;
                default:
                        json_put(v, "is", json_string(pick(seed, 2) ? "set" : "unset"));
                }
                return json_pack("{s:o}", "prerequisite", v);
        case 4:
                return json_pack("{s:{s:s, s:s}}", "prerequisite", "object", RANDOM_OF(seed, random_ids), "state", "terminated");
        case 5:
                return json_pack("{s:{s:s, s:o*}}", "event", "type", RANDOM_OF(seed, random_types), "match", random_match(seed));
        case 6:
                return json_pack("{s:{s:s}}", "policy", "allows", RANDOM_OF(seed, random_actions));
        default:
                return json_pack("{s:{s:s}}", "policy", "not", pick(seed, 2) ? "p1" : "p2");
        }
}

static inline json_t *random_trigger(uint64_t *seed, unsigned depth) {
        json_t *list;

        if (depth == 0 || pick(seed, 3) == 0)
                return random_leaf(seed);
        list = json_array();
        for (unsigned i = 1 + pick(seed, 3); i > 0; i--)
                json_array_append_new(list, random_trigger(seed, depth - 1));
        return json_pack("{s:o}", pick(seed, 2) ? "any" : "all", list);
}

typedef struct Sight {
        json_t *facts, *counts, *policy;
        uint64_t now, since;
} Sight;

static inline void sight_deinit(Sight *s) {
        json_decref(s->facts);
        json_decref(s->counts);
        json_decref(s->policy);
}

static inline TriggerView sight_view(const Sight *s) {
        return (TriggerView){s->now, s->since, s->counts, s->facts, s->policy};
}

static inline Sight random_sight(uint64_t *seed) {
        Sight s = {.now = pick(seed, 250), .since = pick(seed, 100), .counts = json_object(),
                   .policy = json_pack("{s:s, s:s, s:{}}", "ref", pick(seed, 2) ? "p1" : "p2", "verdict",
                                       pick(seed, 4) ? "allowed" : "denied", "allows"),
                   .facts = json_pack("{s:{}, s:{}, s:[]}", "slots", "objects", "events")};

        for (size_t i = 0; i < ARRAY_SIZE(random_slots); i++) {
                json_t *fact = pick(seed, 3) ? json_pack("{s:i}", "version", 1 + (int)pick(seed, 3)) : json_null();

                if (pick(seed, 3))
                        json_object_set_new(fact, "value", json_integer(pick(seed, 4)));
                json_object_set_new(json_object_get(s.facts, "slots"), random_slots[i], fact);
        }
        for (size_t i = 0; i < ARRAY_SIZE(random_ids); i++)
                json_object_set_new(json_object_get(s.facts, "objects"), random_ids[i],
                                    pick(seed, 2) ? json_pack("{s:s}", "state", pick(seed, 2) ? "terminated" : "dormant") : json_null());
        for (size_t i = 0; i < ARRAY_SIZE(random_kinds); i++) {
                json_t *times = json_array();
                uint64_t t = 0;

                for (unsigned n = pick(seed, 5); n > 0; n--)
                        json_array_append_new(times, json_u64(t += pick(seed, 50)));
                json_object_set_new(s.counts, random_kinds[i], times);
        }
        for (unsigned n = pick(seed, 4); n > 0; n--)
                json_array_append_new(json_object_get(s.facts, "events"),
                                      json_pack("{s:s, s:i, s:o*}", "type", RANDOM_OF(seed, random_types), "seq", (int)n, "match", random_match(seed)));
        for (size_t i = 0; i < ARRAY_SIZE(random_actions); i++)
                json_object_set_new(json_object_get(s.policy, "allows"), random_actions[i], json_boolean(pick(seed, 2)));
        return s;
}
