/* The facts that selection looks at. */
#include "object/select-inside.h"

#include "object/trigger.h"

/* Adds the names of `more` to the lists of `needs`. */
static int select_merge(json_t *needs, const json_t *more) {
        const char *list;
        json_t *values, *v, *has;
        size_t i, k;

        json_object_foreach((json_t *)more, list, values) {
                if (json_is_true(values) && json_object_set(needs, list, values) < 0)
                        return -ENOMEM;
                json_array_foreach(values, i, v) {
                        json_t *to = json_object_get(needs, list);

                        json_array_foreach(to, k, has)
                                if (json_equal(has, v))
                                        break;
                        if (k == json_array_size(to) && json_array_append(to, v) < 0)
                                return -ENOMEM;
                }
        }
        return 0;
}

static int select_add_trigger(json_t *needs, const json_t *trigger, uint64_t since) {
        _cleanup_json_ json_t *more = NULL;
        uint64_t due;
        int r = trigger ? trigger_needs(trigger, since, &more, &due) : 0;

        return r < 0 || !more ? r : select_merge(needs, more);
}

int select_needs(const ObjectMemory *m, json_t **ret_needs) {
        const json_t *dormant = json_object_get(m->fold, "dormant"), *until = json_object_get(m->intent, "until");
        const json_t *step = memory_step(m->intent, json_number(m->fold, "step"));
        const json_t *sleep_on = json_object_get(json_object_get(m->fold, "next"), "sleep");
        _cleanup_json_ json_t *needs = json_pack("{s:[], s:[], s:[], s:b}", "slots", "objects", "events", "policy", 0);
        _cleanup_json_ json_t *more = NULL, *proposed = NULL;
        int r = needs ? 0 : -ENOMEM;

        if (r == 0 && m->state == OBJECT_DORMANT)
                r = select_add_trigger(needs, json_object_get(dormant, "trigger"), json_number(dormant, "since"));
        if (r == 0 && m->state != OBJECT_DORMANT && json_is_object(until) && !json_object_get(until, "success"))
                r = condition_needs(until, &more);
        if (r == 0 && more)
                r = select_merge(needs, more);
        if (r == 0 && sleep_on && select_may(m, "sleep"))
                r = trigger_complete(sleep_on, m->object, &proposed, NULL);
        r = MIN(r, 0); /* selection refuses a bad proposal */
        if (r == 0 && m->state != OBJECT_DORMANT) {
                const json_t *const may_sleep_on[] = {
                        json_object_get(step, "wait"),
                        json_object_get(json_object_get(m->intent, "with"), "rest"),
                        proposed,
                };

                for (size_t i = 0; r == 0 && i < ARRAY_SIZE(may_sleep_on); i++)
                        r = select_add_trigger(needs, may_sleep_on[i], m->time_usec);
        }
        if (r < 0)
                return r;
        *ret_needs = TAKE_PTR(needs);
        return 0;
}
