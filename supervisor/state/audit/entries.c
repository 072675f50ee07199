#include "audit/fold-state.h"
#include "ledger/signed-note.h"
#include "object/entry.h"
#include "record/object-row.h"
#include "record/rows.h"
#include "store/hooks.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

/* Persistent objects, from the lines of entries (O-5..O-8): each line agrees with the event, follows the previous line
 * by number and hash, makes a move of O-18, and verifies if signed by this store. The rows agree with the last
 * lines. */

typedef struct FoldedObject {
        uint64_t n; /* entries; 0: none yet */
        char head[HASH_HEX_MAX];
        ObjectState state;
} FoldedObject;

static int entries_differ(Audit *a, const char *what, const Entry *e, const char *found) {
        return audit_differs(a, what, found, "entry %" PRIu64 " of object %s as by the event and the previous entry",
                             e->n, json_str(e->json, "object"));
}

static int entries_check_event(Audit *a, const json_t *o, const Entry *e, const char *hash) {
        uint64_t n;

        if (json_get_u64(json_object_get(o, "n"), &n) < 0 || n != e->n)
                return entries_differ(a, "an object's entry has another number than the event",
                                      e, audit_text("entry %" PRIu64, e->n).s);
        if (!json_equal(json_object_get(o, "object"), json_object_get(e->json, "object")))
                return entries_differ(a, "an entry is of another object than the event", e, json_str(o, "object"));
        if (strcmp(json_str(o, "head"), hash) != 0)
                return entries_differ(a, "an object's entry has another hash than the event (O-7)", e, hash);
        if (strcmp(json_str(o, "kind"), entry_kind_name(e->kind)) != 0 ||
            strcmp(json_str(o, "state"), object_state_name(e->state)) != 0 ||
            strcmp(json_str(o, "keyid"), e->keyid) != 0)
                return entries_differ(a, "an object's entry has another kind, state or key than the event", e,
                                      entry_kind_name(e->kind));
        return 0;
}

static int entries_check_chain(Audit *a, const FoldedObject *f, const Entry *e) {
        ObjectState to = entry_kind_state(e->kind);
        char prev[HASH_HEX_MAX];

        hex_encode(e->prev, sizeof(e->prev), prev);
        if (e->n != f->n || (f->n > 0 && strcmp(prev, f->head) != 0))
                return entries_differ(a, "an object's entry does not follow the previous entry (O-7)", e, prev);
        if (e->state != (to == OBJECT_NONE ? f->state : to) ||
            (to != OBJECT_NONE && !object_state_can_move(f->state, to)))
                return entries_differ(a, "an object made a forbidden move (O-18)", e,
                                      audit_text("%s > %s", object_state_name(f->state),
                                                 object_state_name(e->state)).s);
        return 0;
}

static int entries_check_signature(Audit *a, const Entry *e) {
        const Store *s = txn_store(a->txn);
        char own[NOTE_KEYID_MAX];
        Diag d = {0};
        int r;

        note_keyid(store_origin(s), store_public_key(s), own);
        r = strcmp(own, e->keyid) == 0 ? entry_verify(e, store_public_key(s), &d) : 0;
        return r > 0 ? entries_differ(a, "the signature of an object's entry does not verify (O-7)", e, d.text) : r;
}

static int entries_fold_one(Audit *a, const json_t *o, FoldedObject *f) {
        _cleanup_entry_ Entry e = ENTRY_NULL;
        char hash[HASH_HEX_MAX];
        Bytes line;
        Diag d = {0};
        int r = body_get(a->txn, a->seq, NULL, &line);

        if (r == -ENOENT)
                return audit_lacks(a, "object.entry", "body");
        r = r ?: entry_parse(line.p, line.n, &e, &d);
        if (r > 0)
                return audit_differs(a, "an object's entry cannot be read", d.text, "a line as of schema/object.md");
        if (r < 0)
                return r;
        hex_encode(e.hash, sizeof(e.hash), hash);
        r = entries_check_event(a, o, &e, hash) ?: entries_check_chain(a, f, &e) ?: entries_check_signature(a, &e);
        if (r != 0)
                return r;
        a->report->objects += f->n == 0;
        f->n++;
        f->state = e.state;
        strcpy(f->head, hash);
        return 0;
}

/* The object goes on from an earlier entry, or from the last. */
static int entries_fold_adopted(Audit *a, const json_t *o, FoldedObject *f) {
        ObjectState state = object_state_of(json_text(json_object_get(o, "state")));
        const char *head = json_str(o, "head");
        uint64_t n;

        if (json_get_u64(json_object_get(o, "n"), &n) < 0 || n == 0 || n > f->n || state == OBJECT_NONE ||
            strlen(head) != HASH_HEX_MAX - 1 || (n == f->n && (strcmp(head, f->head) != 0 || state != f->state)))
                return audit_differs(a, "an object goes on from an unknown entry (O-42)", head,
                                     "%" PRIu64 " entries, head %s", f->n, f->head);
        f->n = n;
        f->state = state;
        strcpy(f->head, head);
        return 0;
}

/* Another object with the id follows, from its entry 0 on (O-9). */
static int entries_fold_replaced(Audit *a, const json_t *o, FoldedObject *f) {
        uint64_t n;

        if (json_get_u64(json_object_get(o, "n"), &n) < 0 || n == 0 || n != f->n ||
            strcmp(json_str(o, "head"), f->head) != 0)
                return audit_differs(a, "an object gives way at an unknown entry (O-9)", json_str(o, "head"),
                                     "%" PRIu64 " entries, head %s", f->n, f->head);
        a->report->objects--;
        *f = (FoldedObject){0};
        return 0;
}

int entries_fold(Audit *a, const json_t *o, const char *type) {
        bool replaced = strcmp(type, "object.replaced") == 0;
        bool entry = strcmp(type, "object.entry") == 0;
        const char *id = json_str(o, "object");
        FoldedObject *f;

        if (!entry && !replaced && strcmp(type, "object.adopted") != 0)
                return 0;
        if (!region_id_valid(id))
                return audit_lacks(a, type, "object");
        f = map_have(&a->objects, id, sizeof(*f));
        return !f         ? -ENOMEM
               : entry    ? entries_fold_one(a, o, f)
               : replaced ? entries_fold_replaced(a, o, f)
                          : entries_fold_adopted(a, o, f);
}

int entries_check(Audit *a) {
        uint64_t rows = 0;
        char id[REGION_ID_MAX] = "";
        int r = object_row_next(a->txn, NULL, id);

        for (; r == 0; r = object_row_next(a->txn, id, id), rows++) {
                const FoldedObject *f = map_get(&a->objects, id);
                _cleanup_json_ json_t *row = NULL;
                uint64_t n;

                r = object_row_get(a->txn, id, &row);
                if (r < 0)
                        return r == -ENOENT ? -EUCLEAN : r;
                if (!f || json_get_u64(json_object_get(row, "n"), &n) < 0 || n != f->n ||
                    strcmp(json_str(row, "head"), f->head) != 0 ||
                    strcmp(json_str(row, "state"), object_state_name(f->state)) != 0)
                        return audit_store_differs(a, "table object differs from the entries of an object (O-8)",
                                                   audit_text("%s, head %s", json_str(row, "state"),
                                                              json_str(row, "head")).s,
                                                   "%s: %" PRIu64 " entries, %s, head %s", id, f ? f->n : 0,
                                                   object_state_name(f ? f->state : OBJECT_NONE), f ? f->head : "");
        }
        if (r == -ENOENT && rows != a->objects.n)
                return audit_store_differs(a, "table object lacks objects of the ledger",
                                           audit_text("%" PRIu64, rows).s, "%zu objects", a->objects.n);
        return r == -ENOENT ? 0 : r;
}
