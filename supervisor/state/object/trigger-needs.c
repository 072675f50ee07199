#include "object/trigger.h"

#include <errno.h>

uint64_t trigger_elapsed_due(const json_t *elapsed, uint64_t since_usec) {
        uint64_t t;

        if (json_object_get(elapsed, "at"))
                return json_number(elapsed, "at");
        return __builtin_add_overflow(since_usec, json_number(elapsed, "for_usec"), &t) ? UINT64_MAX : t;
}

static int trigger_need_add(json_t *needs, const char *list, const json_t *v) {
        json_t *to = json_object_get(needs, list), *item;
        size_t i;

        json_array_foreach(to, i, item)
                if (json_equal(item, v))
                        return 0;
        return json_array_append(to, (json_t *)v) < 0 ? -ENOMEM : 0;
}

static int trigger_need_condition(const json_t *c, json_t *needs) {
        const json_t *slot = json_object_get(c, "slot"), *object = json_object_get(c, "object");

        if (json_text(slot))
                return trigger_need_add(needs, "slots", slot);
        return json_text(object) ? trigger_need_add(needs, "objects", object) : -EUCLEAN;
}

static int trigger_need_all(const json_t *trigger, unsigned depth, json_t *needs) {
        const json_t *any = json_object_get(trigger, "any") ?: json_object_get(trigger, "all"),
                     *prerequisite = json_object_get(trigger, "prerequisite"),
                     *event = json_object_get(trigger, "event");
        json_t *item;
        size_t i;
        int r = depth > TRIGGER_DEPTH_MAX ? -EUCLEAN : 0;

        json_array_foreach((json_t *)any, i, item)
                r = r ?: trigger_need_all(item, depth + 1, needs);
        if (r == 0 && prerequisite)
                r = trigger_need_condition(prerequisite, needs);
        if (r == 0 && event)
                r = trigger_need_add(needs, "events", event);
        if (r == 0 && json_object_get(trigger, "policy") && json_object_set_new(needs, "policy", json_true()) < 0)
                r = -ENOMEM;
        return r;
}

static json_t *trigger_need_none(void) {
        return json_pack("{s:[], s:[], s:[], s:b}", "slots", "objects", "events", "policy", 0);
}

int condition_needs(const json_t *condition, json_t **ret_needs) {
        _cleanup_json_ json_t *needs = trigger_need_none();
        int r = needs ? trigger_need_condition(condition, needs) : -ENOMEM;

        if (r == 0)
                *ret_needs = TAKE_PTR(needs);
        return r;
}

/* Calls see() with the time of each elapsed trigger. */
static void trigger_each_time(const json_t *trigger, uint64_t since, unsigned depth, void (*see)(void *to, uint64_t t),
                              void *to) {
        const json_t *parts = json_object_get(trigger, "any") ?: json_object_get(trigger, "all"),
                     *elapsed = json_object_get(trigger, "elapsed");
        json_t *item;
        size_t i;

        if (depth > TRIGGER_DEPTH_MAX)
                return;
        if (elapsed)
                see(to, trigger_elapsed_due(elapsed, since));
        json_array_foreach((json_t *)parts, i, item)
                trigger_each_time(item, since, depth + 1, see, to);
}

/* May it hold at this time, if all that is no time holds? */
static bool trigger_may_hold(const json_t *trigger, uint64_t since, uint64_t t, unsigned depth) {
        const json_t *any = json_object_get(trigger, "any"), *all = json_object_get(trigger, "all"),
                     *elapsed = json_object_get(trigger, "elapsed");
        json_t *item;
        size_t i;

        if (depth > TRIGGER_DEPTH_MAX)
                return false;
        if (elapsed)
                return t >= trigger_elapsed_due(elapsed, since);
        json_array_foreach((json_t *)any, i, item)
                if (trigger_may_hold(item, since, t, depth + 1))
                        return true;
        json_array_foreach((json_t *)all, i, item)
                if (!trigger_may_hold(item, since, t, depth + 1))
                        return false;
        return !any;
}

typedef struct TriggerTime {
        const json_t *trigger;
        uint64_t since, after, best;
        bool any; /* also times before `after` */
} TriggerTime;

static void trigger_see_time(void *userdata, uint64_t t) {
        TriggerTime *n = userdata;

        if ((n->any || t > n->after) && t < n->best && trigger_may_hold(n->trigger, n->since, t, 1))
                n->best = t;
}

uint64_t trigger_next(const json_t *trigger, uint64_t since_usec, uint64_t after_usec) {
        TriggerTime n = {.trigger = trigger, .since = since_usec, .after = after_usec, .best = UINT64_MAX};

        trigger_each_time(trigger, since_usec, 1, trigger_see_time, &n);
        return n.best;
}

int trigger_needs(const json_t *trigger, uint64_t since_usec, json_t **ret_needs, uint64_t *ret_due_usec) {
        TriggerTime n = {.trigger = trigger, .since = since_usec, .best = UINT64_MAX, .any = true};
        _cleanup_json_ json_t *needs = trigger_need_none();
        int r = needs ? trigger_need_all(trigger, 1, needs) : -ENOMEM;

        if (r < 0)
                return r;
        trigger_each_time(trigger, since_usec, 1, trigger_see_time, &n);
        *ret_needs = TAKE_PTR(needs);
        *ret_due_usec = n.best;
        return 0;
}
