/* Runs: CLI. Intents and triggers of objects in words. */
#include "cli/cmd-object.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/size.h"

#include <inttypes.h>
#include <string.h>

static int object_say_json(Buf *b, const json_t *v) {
        _cleanup_free_ char *text = json_dumps(v, JSON_ENCODE_ANY | JSON_COMPACT | JSON_SORT_KEYS);
        const bool cut = text && strlen(text) > 80;

        if (!text)
                return buf_add_str(b, "?");
        return cut ? buf_printf(b, "%.*s…", 76, text) : buf_add_str(b, text);
}

static int object_say_duration(Buf *b, const json_t *o, const char *member) {
        char text[SIZE_TEXT_MAX];

        return buf_add_str(b, duration_format(json_number(o, member), text));
}

static int object_say_slot(Buf *b, const json_t *c) {
        static const char *const members[] = {"equals", "above", "below"};
        static const char *const words[] = {"is", "is above", "is below"};
        int r = buf_printf(b, "slot %s", json_str(c, "slot"));

        for (size_t i = 0; r == 0 && i < ARRAY_SIZE(members); i++)
                if (json_object_get(c, members[i]))
                        return buf_printf(b, " %s ", words[i]) ?: object_say_json(b, json_object_get(c, members[i]));
        if (r == 0 && json_object_get(c, "version"))
                return buf_printf(b, " has version %" PRIu64 " or later", json_number(c, "version"));
        return r ?: buf_printf(b, " is %s", *json_str(c, "is") ? json_str(c, "is") : "set");
}

static int object_say_condition(Buf *b, const json_t *c) {
        if (json_object_get(c, "slot"))
                return object_say_slot(b, c);
        return buf_printf(b, "object %s is %s", json_str(c, "object"),
                          *json_str(c, "state") ? json_str(c, "state") : "terminated")
                       ?: (*json_str(c, "status") ? buf_printf(b, " with %s", json_str(c, "status")) : 0);
}

static int object_say_elapsed(Buf *b, const json_t *o) {
        char text[CLOCK_TEXT_MAX];

        if (json_object_get(o, "at"))
                return buf_printf(b, "the clock is at %s", clock_format(json_number(o, "at"), text));
        return object_say_duration(b, o, "for_usec") ?: buf_add_str(b, " have passed in sleep");
}

static int object_say_outcomes(Buf *b, const json_t *o) {
        int r = buf_printf(b, "%" PRIu64 " × %s", json_number(o, "n"), json_str(o, "kind"));

        if (r == 0 && json_object_get(o, "within_usec"))
                r = buf_add_str(b, " within ") ?: object_say_duration(b, o, "within_usec");
        return r ?: buf_add_str(b, " in sleep");
}

static int object_say_list(Buf *b, const json_t *list, const char *word) {
        int r = 0;

        for (size_t i = 0; r == 0 && i < json_array_size(list); i++)
                r = (i > 0 ? buf_printf(b, " %s ", word) : 0) ?: cmd_object_say_trigger(b, json_array_get(list, i));
        return r;
}

int cmd_object_say_trigger(Buf *b, const json_t *trigger) {
        const json_t *o;

        if ((o = json_object_get(trigger, "any")))
                return object_say_list(b, o, "or");
        if ((o = json_object_get(trigger, "all")))
                return object_say_list(b, o, "and");
        if ((o = json_object_get(trigger, "elapsed")))
                return object_say_elapsed(b, o);
        if ((o = json_object_get(trigger, "outcomes")))
                return object_say_outcomes(b, o);
        if ((o = json_object_get(trigger, "prerequisite")))
                return object_say_condition(b, o);
        if ((o = json_object_get(trigger, "event"))) {
                int r = buf_printf(b, "an event %s", json_str(o, "type"));

                if (r == 0 && json_object_get(o, "match"))
                        r = buf_add_str(b, " with ") ?: object_say_json(b, json_object_get(o, "match"));
                return r;
        }
        if ((o = json_object_get(trigger, "policy"))) {
                if (json_object_get(o, "not"))
                        return buf_add_str(b, "the policy has changed");
                return buf_printf(b, "the policy allows %s", json_str(o, "allows"));
        }
        return object_say_json(b, trigger);
}

int cmd_object_say_todo(Buf *b, const json_t *todo) {
        const json_t *args = json_object_get(todo, "args"), *steps = json_object_get(todo, "steps");
        int r = 0;

        if (steps)
                return buf_printf(b, "%zu steps", json_array_size(steps));
        if (json_object_get(todo, "delegate"))
                return buf_printf(b, "delegates to %zu", json_array_size(json_object_get(todo, "delegate")));
        if (json_object_get(todo, "wait"))
                return buf_add_str(b, "waits until ") ?: cmd_object_say_trigger(b, json_object_get(todo, "wait"));
        r = buf_printf(b, "skill %s", json_str(todo, "skill"));
        if (r == 0 && json_array_size(args) > 0)
                r = buf_add_str(b, " ") ?: object_say_json(b, args);
        return r;
}
