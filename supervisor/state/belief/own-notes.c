#include "belief/own-notes.h"

#include "base/clock.h"
#include "record/rows.h"

#include <errno.h>

int own_note_show(Note *n, json_t **ret) {
        char time[CLOCK_TEXT_MAX];

        json_object_del(n->row, "usec");
        if (json_object_set_new(n->row, "note", json_u64(n->number)) < 0 ||
            json_object_set_new(n->row, "time", json_string(clock_format(n->usec, time))) < 0 ||
            (n->outcome == NOTE_UNPROCESSED &&
             json_object_set_new(n->row, "outcome", json_string(note_outcome_name(n->outcome))) < 0))
                return -ENOMEM;
        *ret = json_incref(n->row);
        return 0;
}

int own_pending_show(Txn *t, Bucket *b, const Wait *w, const Trying *by, json_t **ret) {
        _cleanup_json_ json_t *o = NULL;
        json_t *now = NULL;
        int r = wait_show(t, w, &o);

        if (r == 0 && (w->state == WAIT_OPEN || w->state == WAIT_STUCK)) {
                r = belief_look(t, b, w, by, &now);
                r = r == -EUCLEAN ? 0 : r ?: json_put(o, "now", now);
        }
        if (r == 0)
                *ret = TAKE_PTR(o);
        return r;
}

/* Of a row, what the caller may see. */
static int own_keep(const OwnAsk *ask, json_t *whole, const char *const *members, size_t n, json_t **ret) {
        _cleanup_json_ json_t *o = ask->belief ? json_incref(whole) : json_object();

        if (!o || (!ask->belief && json_row_keep(o, whole, members, n) < 0))
                return -ENOMEM;
        *ret = TAKE_PTR(o);
        return 0;
}

/* The id of the item that the note became; 0: none. */
static uint64_t own_pending_id(const Note *n) {
        uint64_t id;

        return n->outcome == NOTE_PENDING && json_get_u64(json_object_get(n->row, "pending"), &id) == 0 ? id : 0;
}

/* The parts of a list by notes: each function adds the row of a note, or leaves *ret NULL. */
typedef struct OwnList {
        Txn *t;
        const OwnAsk *ask;
        const Trying *by;
        Bucket bucket;
        int (*row)(struct OwnList *l, Note *n, json_t **ret);
} OwnList;

static int own_note_row(OwnList *l, Note *n, json_t **ret) {
        static const char *const kept[] = {"note", "time", "role", "text", "outcome", "code", "region", "pending",
                                           "pending_state"};
        static const char *const hidden[] = {"raw", "interpreted", "source_ref"};
        _cleanup_json_ json_t *whole = NULL;
        const uint64_t id = own_pending_id(n);
        Wait w;
        int r = own_note_show(n, &whole);

        for (size_t i = 0; r == 0 && i < ARRAY_SIZE(hidden); i++)
                json_object_del(whole, hidden[i]);
        if (r == 0 && id > 0 && (r = wait_get(l->t, id, &w)) == 0)
                r = json_put(whole, "pending_state", json_string(wait_state_name(w.state))) ? -ENOMEM : 0;
        r = r == -ENOENT || r == -EUCLEAN ? 0 : r;
        return r ?: own_keep(l->ask, whole, kept, ARRAY_SIZE(kept), ret);
}

static int own_pending_row(OwnList *l, Note *n, json_t **ret) {
        static const char *const kept[] = {"pending", "number", "kind", "operation", "state", "attempts", "created",
                                           "reason", "note", "region"};
        _cleanup_json_ json_t *whole = NULL;
        const uint64_t id = own_pending_id(n);
        Wait w;
        int r = id > 0 ? wait_get(l->t, id, &w) : -ENOENT;

        if (r == -ENOENT || r == -EUCLEAN || (r == 0 && w.state != WAIT_OPEN && w.state != WAIT_STUCK))
                return 0;
        if (r == 0)
                r = l->ask->belief ? own_pending_show(l->t, &l->bucket, &w, l->by, &whole) : wait_show(l->t, &w, &whole);
        if (r == 0 && (json_object_set_new(whole, "number", json_u64(n->number)) < 0 ||
                       (json_object_get(n->row, "region") &&
                        json_object_set(whole, "region", json_object_get(n->row, "region")) < 0)))
                r = -ENOMEM;
        return r ?: own_keep(l->ask, whole, kept, ARRAY_SIZE(kept), ret);
}

static int own_list(OwnList *l, json_t **ret, uint64_t *ret_next) {
        _cleanup_json_ json_t *list = json_array();
        _cleanup_note_ Note n = NOTE_NULL;
        size_t bytes = 0, looked = 0;
        uint64_t last = l->ask->after;
        int r = list ? 0 : -ENOMEM;

        *ret_next = 0;
        while (r == 0 && last < UINT64_MAX && (r = engine_note_next(l->t, l->ask->run, last + 1, false, &n)) == 0) {
                _cleanup_json_ json_t *row = NULL;
                size_t size;

                if (looked++ == l->ask->look || json_array_size(list) == l->ask->limit) {
                        *ret_next = last;
                        break;
                }
                r = l->row(l, &n, &row);
                size = row ? json_dumpb(row, NULL, 0, JSON_COMPACT) : 0;
                if (r == 0 && row && json_array_size(list) > 0 && bytes + size > l->ask->bytes) {
                        *ret_next = last;
                        break;
                }
                bytes += size;
                last = n.number;
                if (r == 0 && row && json_array_append(list, row) < 0)
                        r = -ENOMEM;
        }
        if (r < 0 && r != -ENOENT)
                return r;
        *ret = TAKE_PTR(list);
        return 0;
}

int own_notes(Txn *t, const OwnAsk *ask, json_t **ret, uint64_t *ret_next) {
        OwnList l = {.t = t, .ask = ask, .row = own_note_row};

        return own_list(&l, ret, ret_next);
}

int own_pending(Txn *t, const OwnAsk *ask, const Trying *by, json_t **ret, uint64_t *ret_next) {
        OwnList l = {.t = t, .ask = ask, .by = by, .row = own_pending_row};
        int r = own_list(&l, ret, ret_next);

        bucket_deinit(&l.bucket);
        return r;
}
