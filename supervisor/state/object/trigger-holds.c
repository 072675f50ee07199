#include "object/trigger.h"

#include <errno.h>

/* Triggers come from entries of other nodes, too: a trigger that trigger_complete() would refuse is -EUCLEAN, and never
 * holds. */

/* The only member of a node. */
static const char *trigger_kind(const json_t *trigger, const json_t **ret_value) {
        void *i = json_object_size(trigger) == 1 ? json_object_iter((json_t *)trigger) : NULL;

        *ret_value = i ? json_object_iter_value(i) : NULL;
        return i ? json_object_iter_key(i) : "";
}

static bool condition_holds_slot(const json_t *c, const json_t *fact) {
        const json_t *value = json_object_get(fact, "value"), *equals = json_object_get(c, "equals"),
                     *above = json_object_get(c, "above"), *below = json_object_get(c, "below");

        if (json_text_is(json_object_get(c, "is"), "unset"))
                return !value;
        return value && (!equals || json_equal(value, equals)) &&
               (!above || (json_is_number(value) && json_number_value(value) > json_number_value(above))) &&
               (!below || (json_is_number(value) && json_number_value(value) < json_number_value(below))) &&
               json_number(fact, "version") >= json_number(c, "version");
}

int condition_holds(const json_t *condition, const json_t *facts, json_t **ret_evidence) {
        const json_t *slot = json_object_get(condition, "slot"), *object = json_object_get(condition, "object"),
                     *status = json_object_get(condition, "status"), *fact;

        if (json_text(slot)) {
                fact = json_object_get(json_object_get(facts, "slots"), json_text(slot));
                if (!condition_holds_slot(condition, fact))
                        return 0;
                *ret_evidence =
                        json_pack("{s:O, s:o}", "slot", slot, "version", json_u64(json_number(fact, "version")));
        } else if (json_text(object)) {
                fact = json_object_get(json_object_get(facts, "objects"), json_text(object));
                if (!json_text_is(json_object_get(fact, "state"), object_state_name(OBJECT_TERMINATED)) ||
                    (status && !json_equal(status, json_object_get(fact, "status"))))
                        return 0;
                *ret_evidence = json_pack("{s:O, s:O, s:O*}", "object", object, "state", json_object_get(fact, "state"),
                                          "status", json_object_get(fact, "status"));
        } else
                return -EUCLEAN;
        return *ret_evidence ? 1 : -ENOMEM;
}

/* The clock before the beginning of the sleep was set back: nobody knows how much of a length is over, and a wait
 * becomes no longer. A time ("at") stays a time. */
static int trigger_holds_elapsed(const json_t *v, const TriggerView *view, json_t **ret_evidence) {
        const uint64_t due = trigger_elapsed_due(v, view->since_usec);
        const bool length = view->backoff || !json_object_get(v, "at"),
                   set_back = length && view->now_usec < view->since_usec;

        if (view->now_usec < due && !set_back)
                return 0;
        *ret_evidence = json_pack("{s:o, s:o}", "at", json_u64(due), "now", json_u64(view->now_usec));
        return *ret_evidence ? 1 : -ENOMEM;
}

/* The times stand in the order of the entries; a clock that was set back between two entries makes no distance. */
static int trigger_holds_outcomes(const json_t *v, const TriggerView *view, json_t **ret_evidence) {
        const json_t *times = json_object_get(view->counts, json_str(v, "kind")), *first, *last;
        const uint64_t n = json_number(v, "n"), within = json_number(v, "within_usec");
        uint64_t from, to;

        if (n == 0)
                return -EUCLEAN;
        for (size_t i = 0; i < json_array_size(times) && json_array_size(times) - i >= n; i++) {
                first = json_array_get(times, i);
                last = json_array_get(times, i + (size_t)n - 1);
                if (json_get_u64(first, &from) < 0 || json_get_u64(last, &to) < 0)
                        return -EUCLEAN;
                if (json_object_get(v, "within_usec") && to > from && to - from > within)
                        continue;
                *ret_evidence = json_pack("{s:O, s:O, s:O, s:O}", "kind", json_object_get(v, "kind"), "n",
                                          json_object_get(v, "n"), "first", first, "last", last);
                return *ret_evidence ? 1 : -ENOMEM;
        }
        return 0;
}

static int trigger_holds_event(const json_t *v, const TriggerView *view, json_t **ret_evidence) {
        const json_t *match = json_object_get(v, "match"), *seen, *event;
        size_t i;

        json_array_foreach(json_object_get(view->facts, "events"), i, event) {
                seen = json_object_get(event, "match");
                if (json_is_null(seen)) /* as rows have it */
                        seen = NULL;
                if (!json_equal(json_object_get(event, "type"), json_object_get(v, "type")) || !match != !seen ||
                    (match && !json_equal(match, seen)))
                        continue;
                *ret_evidence = json_pack("{s:O, s:O*}", "type", json_object_get(v, "type"), "seq",
                                          json_object_get(event, "seq"));
                return *ret_evidence ? 1 : -ENOMEM;
        }
        return 0;
}

static int trigger_holds_policy(const json_t *v, const TriggerView *view, json_t **ret_evidence) {
        const json_t *ref = json_object_get(view->policy, "ref"), *not = json_object_get(v, "not");

        if (not ? !ref || json_equal(not, ref)
                : json_text_is(json_object_get(view->policy, "verdict"), "denied") ||
                            !json_is_true(
                                    json_object_get(json_object_get(view->policy, "allows"), json_str(v, "allows"))))
                return 0;
        *ret_evidence = json_pack("{s:O*, s:O*}", "ref", ref, "allows", json_object_get(v, "allows"));
        return *ret_evidence ? 1 : -ENOMEM;
}

static int trigger_holds_prerequisite(const json_t *v, const TriggerView *view, json_t **ret_evidence) {
        return condition_holds(v, view->facts, ret_evidence);
}

static const struct TriggerLeaf {
        const char *kind;
        int (*holds)(const json_t *v, const TriggerView *view, json_t **ret_evidence);
} trigger_leaves[] = {
        {"elapsed", trigger_holds_elapsed},
        {"outcomes", trigger_holds_outcomes},
        {"prerequisite", trigger_holds_prerequisite},
        {"event", trigger_holds_event},
        {"policy", trigger_holds_policy},
};

static int trigger_add_unmet(json_t *unmet, const json_t *trigger, const TriggerView *view) {
        const json_t *elapsed = json_object_get(trigger, "elapsed");
        json_t *copy = json_copied(trigger);

        if (!copy || json_array_append_new(unmet, copy) < 0)
                return -ENOMEM;
        return elapsed && json_put(copy, "until", json_u64(trigger_elapsed_due(elapsed, view->since_usec))) < 0
                       ? -ENOMEM
                       : 0;
}

static int trigger_holds_parts(const json_t *parts, bool all, const TriggerView *view, unsigned depth, json_t *unmet,
                               json_t **ret_part, json_t **ret_evidence);

/* *ret_part, *ret_evidence: new, when the trigger holds; else the unmet leaves are added to `unmet`. */
static int trigger_holds_node(const json_t *trigger, const TriggerView *view, unsigned depth, json_t *unmet,
                              json_t **ret_part, json_t **ret_evidence) {
        const json_t *v;
        const char *kind = trigger_kind(trigger, &v);
        int r;

        if (depth > TRIGGER_DEPTH_MAX)
                return -EUCLEAN;
        if (strcmp(kind, "any") == 0 || strcmp(kind, "all") == 0)
                return trigger_holds_parts(v, kind[1] == 'l', view, depth, unmet, ret_part, ret_evidence);
        for (size_t i = 0; i < ARRAY_SIZE(trigger_leaves); i++) {
                if (strcmp(trigger_leaves[i].kind, kind) != 0)
                        continue;
                r = trigger_leaves[i].holds(v, view, ret_evidence);
                if (r == 1)
                        *ret_part = json_incref((json_t *)trigger);
                return r == 0 ? trigger_add_unmet(unmet, trigger, view) : r;
        }
        return -EUCLEAN;
}

static int trigger_holds_parts(const json_t *parts, bool all, const TriggerView *view, unsigned depth, json_t *unmet,
                               json_t **ret_part, json_t **ret_evidence) {
        _cleanup_json_ json_t *held = json_array(), *seen = json_array(), *lacks = json_array();
        json_t *item, *part, *evidence;
        size_t i;
        int r = 0;

        if (!held || !seen || !lacks)
                return -ENOMEM;
        if (json_array_size(parts) == 0)
                return -EUCLEAN;
        json_array_foreach((json_t *)parts, i, item) {
                part = evidence = NULL;
                r = trigger_holds_node(item, view, depth + 1, lacks, &part, &evidence);
                if (r == 1 && !all) {
                        *ret_part = part;
                        *ret_evidence = evidence;
                        return 1;
                }
                if (r == 1)
                        r = json_array_append_new(held, part) | json_array_append_new(seen, evidence) ? -ENOMEM : 0;
                if (r < 0)
                        return r;
        }
        if (!all || json_array_size(held) < json_array_size(parts))
                return json_array_extend(unmet, lacks) < 0 ? -ENOMEM : 0;
        *ret_part = json_pack("{s:O}", "all", held);
        *ret_evidence = json_pack("{s:O}", "all", seen);
        if (*ret_part && *ret_evidence)
                return 1;
        json_decref(*ret_part);
        json_decref(*ret_evidence);
        return -ENOMEM;
}

int trigger_holds(const json_t *trigger, const TriggerView *v, json_t **ret) {
        _cleanup_json_ json_t *unmet = json_array(), *answer = NULL;
        json_t *part = NULL, *evidence = NULL;
        int r = unmet ? trigger_holds_node(trigger, v, 1, unmet, &part, &evidence) : -ENOMEM;

        if (r < 0)
                return r;
        answer = r == 1 ? json_pack("{s:o, s:o}", "trigger", part, "evidence", evidence)
                        : json_pack("{s:O}", "unmet", unmet);
        if (!answer)
                return -ENOMEM;
        *ret = TAKE_PTR(answer);
        return r;
}
