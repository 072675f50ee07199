#include "object/report.h"

#include "base/clock.h"

#include <errno.h>

/* A positive code of an append: memory and entry contradict each other. */
static int report_whole(int r) {
        return r > 0 ? -EUCLEAN : r;
}

/* A value too large for an entry is left out: the answer counts. */
static int report_append(Appending *up, json_t *note, Diag *reterr) {
        int r = append_entry(up, ENTRY_CHILD, NULL, note, NULL, reterr);

        if (r != OBJECT_E_SIZE || !json_object_get(note, "value"))
                return report_whole(r);
        json_object_del(note, "value");
        return report_whole(append_entry(up, ENTRY_CHILD, NULL, note, NULL, reterr));
}

static int report_child(Appending *up, const ObjectMemory *child, Diag *reterr) {
        _cleanup_json_ json_t *status = NULL, *note = NULL, *own = NULL;
        Diag why;
        int r = memory_status(child, &status);

        if (r != 0 || !status)
                return report_whole(r);
        r = memory_child_note(&up->memory, child->object, status, &note, &why);
        if (r > 0) /* no child of the parent, or the answer is there */
                return 0;
        return r < 0 ? r : (own = json_copied(note)) ? report_append(up, own, reterr) : -ENOMEM;
}

int report_to_parent(const Appending *child, Diag *reterr) {
        const char *id = json_text(json_object_get(json_object_get(child->memory.context, "parent"), "object"));
        _cleanup_appending_ Appending up = APPENDING_NULL;
        Diag why;
        int r = id ? append_open(child->t, id, &up, &why) : ENGINE_E_NO_OBJECT;

        if (r == ENGINE_E_NO_OBJECT || (r == 0 && object_eligible(&up.row, &why) != 0))
                return 0;
        if (r != 0)
                return report_whole(r);
        up.who = child->who;
        up.trace = child->trace;
        up.policy = child->policy;
        up.now_usec = child->now_usec;
        return report_child(&up, &child->memory, reterr);
}

static int report_look(Appending *parent, const char *id, Diag *reterr) {
        _cleanup_object_row_ ObjectRow row = {0};
        _cleanup_memory_ ObjectMemory child = OBJECT_MEMORY_NULL;
        Diag why;
        int r = object_get(parent->t, id, &row, &why);

        if (r == ENGINE_E_NO_OBJECT || (r == 0 && (row.state != OBJECT_TERMINATED || row.forked || row.unknown)))
                return 0;
        if (r == 0)
                r = object_memory(parent->t, &row, false, &child, &why);
        if (r != 0)
                return report_whole(r);
        /* an object with the id of a child, and with a different parent, is no child */
        if (!json_text_is(json_object_get(json_object_get(child.context, "parent"), "object"), parent->memory.object))
                return 0;
        return report_child(parent, &child, reterr);
}

/* The ids of children without answer; a new array, because each answer changes the fold. */
static json_t *report_open(const ObjectMemory *m, bool all) {
        const json_t *open = json_object_get(json_object_get(m->fold, "delegation"), "children"),
                     *ever = json_object_get(m->fold, "children_ever");
        json_t *ids = json_array(), *child;
        const char *id;

        json_object_foreach((json_t *)open, id, child)
                if (!json_text(json_object_get(child, "status")))
                        json_array_append_new(ids, json_string(id));
        json_object_foreach((json_t *)(all ? ever : NULL), id, child)
                if (!json_object_get(open, id))
                        json_array_append_new(ids, json_string(id));
        return ids;
}

int report_gather(Appending *parent, bool all, Diag *reterr) {
        _cleanup_json_ json_t *ids = report_open(&parent->memory, all);
        const json_t *id;
        size_t i;
        int r = ids ? 0 : -ENOMEM;

        json_array_foreach(ids, i, id)
                if (r == 0)
                        r = report_look(parent, json_text(id), reterr);
        return r;
}

int report_arrived(Txn *t, const char *id, const char *who, Diag *reterr) {
        _cleanup_appending_ Appending a = APPENDING_NULL;
        char trace[REGION_ID_MAX];
        Diag none;
        int r = append_open(t, id, &a, reterr);

        if (r != 0 || object_eligible(&a.row, &none) != 0)
                return report_whole(r);
        a.who = who;
        a.now_usec = clock_real_usec();
        a.trace = trace;
        r = region_id_new(a.now_usec, trace);
        return r ?: report_gather(&a, true, reterr) ?: report_to_parent(&a, reterr);
}

int report_non_responses(Appending *parent, Diag *reterr) {
        _cleanup_json_ json_t *notes = NULL;
        const json_t *note;
        size_t i;
        int r = memory_non_responses(&parent->memory, parent->now_usec, &notes);

        json_array_foreach(notes, i, note)
                if (r == 0)
                        r = append_entry(parent, ENTRY_CHILD, NULL, note, NULL, reterr);
        return report_whole(r);
}
