#include "engine/erase-row.h"

#include "engine/delete.h"
#include "engine/mutate.h"
#include "engine/note.h"
#include "engine/scope.h"
#include "engine/wait.h"
#include "record/event.h"
#include "record/rows.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

typedef struct RowCopies {
        uint64_t *items; /* owned: pending items with the row's text, closed or open */
        size_t n_items, n_open;
        uint64_t notes;
} RowCopies;

static void erase_copies_deinit(RowCopies *c) {
        free(c->items);
}

static bool erase_has(const RowCopies *c, uint64_t id) {
        for (size_t i = 0; i < c->n_items; i++)
                if (c->items[i] == id)
                        return true;
        return false;
}

static int erase_add_item(RowCopies *c, uint64_t id) {
        if (erase_has(c, id))
                return 0;
        if (!GROW(c->items, c->n_items))
                return -ENOMEM;
        c->items[c->n_items++] = id;
        return 0;
}

/* May the item be about the row? Its text is then like the row's text, or the same. */
static bool erase_is_about(const json_t *body, const char *id) {
        const json_t *candidates = json_object_get(body, "candidates");

        if (json_text_is(json_object_get(json_object_get(body, "request"), "target_id"), id))
                return true;
        for (size_t i = 0; i < json_array_size(candidates); i++)
                if (json_text_is(json_object_get(json_array_get(candidates, i), "id"), id))
                        return true;
        return false;
}

/* Calls fn for each item of the row's bucket, open, stuck or dropped, that may be about the row. */
static int erase_each_item(Txn *t, const RecordKey *k, int (*fn)(Txn *t, const Wait *w, void *arg), void *arg) {
        uint64_t from = 0;
        Wait w;
        int r;

        for (; (r = wait_next(t, from, k->scope, 0, &w)) == 0; from = w.id + 1) {
                _cleanup_json_ json_t *body = NULL;

                if (w.kind != k->kind || w.state == WAIT_RESOLVED || w.erased)
                        continue;
                r = record_body(t, w.id, &body);
                if (r == 0 && erase_is_about(body, k->id))
                        r = fn(t, &w, arg);
                if (r < 0 && r != -ENOENT)
                        return r;
        }
        return r == -ENOENT ? 0 : r;
}

static int erase_take_item(Txn *t, const Wait *w, void *arg) {
        RowCopies *c = arg;

        c->n_open += wait_state_waits(w->state);
        return erase_add_item(c, w->id);
}

static int erase_show_item(Txn *t, const Wait *w, void *arg) {
        static const char *const kept[] = {"reason"};
        _cleanup_json_ json_t *entry = NULL, *o = NULL;
        int r = !wait_state_waits(w->state) ? -ENOENT : event_get(t, w->id, &entry);

        if (r < 0)
                return r;
        o = json_pack("{s:o, s:s, s:s}", "pending", json_u64(w->id), "state", wait_state_name(w->state), "operation",
                      op_name(w->op));
        return o && JSON_ROW_KEEP(o, entry, kept) == 0 && json_array_append(arg, o) == 0 ? 0 : -ENOMEM;
}

int engine_row_items(Txn *t, const RecordKey *k, json_t **ret) {
        _cleanup_json_ json_t *list = json_array();
        int r = list ? erase_each_item(t, k, erase_show_item, list) : -ENOMEM;

        if (r == 0)
                *ret = TAKE_PTR(list);
        return r;
}

/* The note behind an event, while its run is open. */
static int erase_note_of(Txn *t, const json_t *entry, RowCopies *c) {
        const char *run = json_text(json_object_get(entry, "run"));
        uint64_t number;
        int r;

        if (!run || json_get_u64(json_object_get(entry, "note"), &number) < 0)
                return 0;
        r = engine_note_erase(t, run, number);
        c->notes += r == 0;
        return r == -ENOENT ? 0 : r;
}

/* The items that became the row, and the notes behind its events. */
static int erase_take_changes(Txn *t, const RecordKey *k, RowCopies *c) {
        _cleanup_change_walk_ ChangeWalk w = {0};
        uint64_t seq, item;
        Op op;
        int r = change_walk(t, k, &w);

        while (r == 0 && (r = change_walk_next(&w, &seq, &op)) == 0) {
                _cleanup_json_ json_t *entry = NULL;
                Wait wait;

                r = event_get(t, seq, &entry);
                if (r == 0 && json_get_u64(json_object_get(entry, "pending"), &item) == 0) {
                        r = wait_get(t, item, &wait);
                        r = r == 0 && !wait.erased ? erase_add_item(c, item) : r == -ENOENT ? 0 : r;
                }
        }
        return r == -ENOENT ? 0 : r;
}

static int erase_notes(Txn *t, const RecordKey *k, RowCopies *c) {
        _cleanup_free_ uint64_t *seqs = NULL;
        size_t n = 0;
        int r = 0;

        { /* the cursor must not outlive a write of another table */
                _cleanup_change_walk_ ChangeWalk w = {0};
                uint64_t seq;
                Op op;

                r = change_walk(t, k, &w);
                while (r == 0 && (r = change_walk_next(&w, &seq, &op)) == 0) {
                        if (!GROW(seqs, n))
                                return -ENOMEM;
                        seqs[n++] = seq;
                }
                if (r != -ENOENT)
                        return r;
                r = 0;
        }
        for (size_t i = 0; r == 0 && i < n + c->n_items; i++) {
                _cleanup_json_ json_t *entry = NULL;

                r = event_get(t, i < n ? seqs[i] : c->items[i - n], &entry) ?: erase_note_of(t, entry, c);
        }
        return r;
}

/* Open items are dropped first: a person decided about their row. */
static int erase_items(Txn *t, const RowErasure *e, const RowCopies *c) {
        int r = 0;

        for (size_t i = 0; r == 0 && i < c->n_items; i++) {
                uint64_t seq;
                Wait w;

                r = wait_get(t, c->items[i], &w);
                if (r == 0 && (w.state == WAIT_OPEN || w.state == WAIT_STUCK))
                        r = engine_wait_drop(t, e->who, w.id, "the row is erased", &seq, NULL);
                if (r == 0)
                        r = engine_wait_erase(t, e->who, w.id, e->retention, &seq);
        }
        return r > 0 || r == -ENOENT ? -EUCLEAN : r;
}

static int erase_refuse(Txn *t, const RowErasure *e, const RowCopies *c, Diag *reterr) {
        int r = engine_mutation_refused(t, &(Mutation){.scope = e->scope, .kind = e->kind, .op = OP_DELETE, .id = e->id,
                                                       .who = e->who}, ENGINE_E_DEPENDENTS);

        return r < 0 ? r
                     : diag(reterr, ENGINE_E_DEPENDENTS,
                            "%zu open pending item%s may be about %s %s, and %s its words: decide %s (`lethe pending "
                            "bind`, `drop`), or erase all of it with --cascade",
                            c->n_open, c->n_open == 1 ? "" : "s", kind_name(e->kind), e->id,
                            c->n_open == 1 ? "has" : "have", c->n_open == 1 ? "the item" : "the items");
}

static int erase_answer(const RowErasure *e, const RowCopies *c, const json_t *went, json_t **ret) {
        const json_t *first = json_array_get(went, 0);
        _cleanup_json_ json_t *items = json_array();

        for (size_t i = 0; items && i < c->n_items; i++)
                if (json_array_append_new(items, json_u64(c->items[i])) < 0)
                        return -ENOMEM;
        *ret = json_pack("{s:s, s:s, s:O, s:O, s:O, s:o}", "kind", kind_name(e->kind), "id", e->id, "seq",
                         json_object_get(first, "seq"), "erased", json_object_get(first, "erased"), "items", items,
                         "notes", json_u64(c->notes));
        return *ret ? 0 : -ENOMEM;
}

int engine_row_erase(Txn *t, const RowErasure *e, json_t **ret, Diag *reterr) {
        _cleanup_(erase_copies_deinit) RowCopies c = {0};
        _cleanup_json_ json_t *went = NULL;
        const Deletion deletion = {.scope = e->scope, .kind = e->kind, .id = e->id, .reason = e->reason,
                                   .retention = e->retention, .who = e->who};
        uint64_t scope;
        RecordKey key;
        int r;

        if (kind_class(e->kind) == CLASS_CANON && record_id_valid(e->kind, e->id) &&
            (r = scope_get(t, e->scope, &scope)) != -ENOENT) {
                if (r < 0)
                        return r;
                key = record_key_of(scope, e->kind, e->id);
                r = erase_take_changes(t, &key, &c) ?: erase_each_item(t, &key, erase_take_item, &c);
                if (r < 0)
                        return r;
                if (c.n_open > 0 && !e->cascade)
                        return erase_refuse(t, e, &c, reterr);
        }
        r = engine_delete(t, &deletion, &went, reterr);
        return r ?: erase_items(t, e, &c) ?: erase_notes(t, &key, &c) ?: erase_answer(e, &c, went, ret);
}
