#include "audit/objects.h"

#include "object/entry.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void objects_free_facts(ObjectFacts *f) {
        free(f->what);
        free(f->reason);
        free(f->marks);
        free(f);
}

void objects_facts_deinit(ObjectsFacts *f) {
        for (size_t i = 0; i < f->n; i++)
                objects_free_facts(f->objects[i]);
        free(f->objects);
        map_deinit(&f->by_id);
        *f = (ObjectsFacts){0};
}

static int objects_add(ObjectsFacts *f, const char *id, uint64_t seq, ObjectFacts **ret) {
        ObjectFacts *o = calloc(1, sizeof(*o)), **place;

        if (o) {
                memcpy(o->id, id, REGION_ID_MAX);
                o->first = seq;
                o->what = strdup("");
                o->reason = strdup("");
        }
        if (!o || !o->what || !o->reason || !GROW(f->objects, f->n)) {
                if (o)
                        objects_free_facts(o);
                return -ENOMEM;
        }
        f->objects[f->n++] = o;
        place = map_add(&f->by_id, id, sizeof(*place));
        if (!place)
                return -ENOMEM;
        *place = *ret = o;
        return 0;
}

static int objects_set(char **text, const char *value) {
        char *copy = strdup(value);

        if (!copy)
                return -ENOMEM;
        free(*text);
        *text = copy;
        return 0;
}

static int objects_take_what(ObjectFacts *o, const json_t *what) {
        const char *skill = json_text(json_object_get(what, "skill"));
        char text[64];

        if (!what || skill)
                return skill ? objects_set(&o->what, skill) : 0;
        if (json_object_get(what, "delegate"))
                snprintf(text, sizeof(text), "delegates %" PRIu64, json_number(what, "delegate"));
        else if (json_object_get(what, "steps"))
                snprintf(text, sizeof(text), "%" PRIu64 " steps", json_number(what, "steps"));
        else
                snprintf(text, sizeof(text), "%s", json_object_get(what, "wait") ? "waits" : "");
        return objects_set(&o->what, text);
}

static int objects_take_move(ObjectFacts *o, const json_t *e, uint64_t usec) {
        const ObjectState state = object_state_of(json_str(e, "state"));
        const char *reason = json_str(e, "reason");

        if (state == OBJECT_NONE)
                return -EUCLEAN;
        o->executions += state == OBJECT_EXECUTION;
        if (o->n >= OBJECT_MARKS_MAX) {
                o->marks[o->n - 1] = (ObjectMark){usec, object_state_name(state)};
                return objects_set(&o->reason, reason);
        }
        if (!GROW(o->marks, o->n))
                return -ENOMEM;
        o->marks[o->n++] = (ObjectMark){usec, object_state_name(state)};
        return objects_set(&o->reason, reason);
}

int objects_facts_take(ObjectsFacts *f, uint64_t seq, uint64_t usec, const json_t *event) {
        const char *id = json_str(event, "object");
        ObjectFacts **known = map_get(&f->by_id, id), *o = known ? *known : NULL;
        int r;

        if (!region_id_valid(id))
                return -EUCLEAN;
        if (!o && (r = objects_add(f, id, seq, &o)) < 0)
                return r;
        if (json_object_get(event, "time_usec")) /* an imported entry is older than its event */
                usec = json_number(event, "time_usec");
        if (region_id_valid(json_str(event, "parent")))
                snprintf(o->parent, sizeof(o->parent), "%s", json_str(event, "parent"));
        o->entries++;
        o->last_usec = usec;
        r = objects_take_what(o, json_object_get(event, "do"));
        return r ?: json_is_true(json_object_get(event, "note")) && o->n > 0 ? 0 : objects_take_move(o, event, usec);
}
