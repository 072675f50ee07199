#include "engine/dead-letter.h"

#include "record/event.h"
#include "record/rows.h"
#include "engine/project.h"
#include "store/hooks.h"

#include <errno.h>

#define ROW_MAX 4096

static bool dead_letter_same(const json_t *a, const json_t *b, const char *member) {
        return json_equal(json_object_get(a, member), json_object_get(b, member));
}

int dead_letter_of(Txn *t, const RecordKey *key, uint64_t *ret_seq) {
        _cleanup_json_ json_t *of = NULL; /* created for the first row: mostly the table is empty */
        _cleanup_cursor_ Cursor *c = NULL;
        Bytes k, v;
        int r = cursor_open(t, TABLE_UNAPPLIED, BYTES(NULL, 0), &c);

        while (r == 0 && (r = cursor_next(c, &k, &v)) == 0) {
                _cleanup_json_ json_t *row = NULL;

                if (!of)
                        of = json_pack("{s:o, s:s, s:s}", "scope", json_u64(key->scope), "kind", kind_name(key->kind),
                                       "id", key->id);
                if (!of)
                        return -ENOMEM;
                r = json_row_parse(v, ROW_MAX, &row);
                if (r < 0)
                        return r;
                if (dead_letter_same(row, of, "scope") && dead_letter_same(row, of, "kind") &&
                    dead_letter_same(row, of, "id")) {
                        *ret_seq = be64_get(k.p);
                        return 0;
                }
        }
        return r;
}

static int dead_letter_put(Txn *t, uint64_t seq, const json_t *entry, const char *reason) {
        _cleanup_json_ json_t *row =
                json_pack("{s:O, s:O*, s:O*, s:O*, s:s}", "type", json_object_get(entry, "type"), "scope",
                          json_object_get(entry, "scope"), "kind", json_object_get(entry, "kind"), "id",
                          json_object_get(entry, "id"), "reason", reason);
        uint8_t key[8];

        return row ? json_row_put(t, TABLE_UNAPPLIED, seq_key(seq, key), row) : -ENOMEM;
}

int dead_letter_project(Txn *t, uint64_t seq, const json_t *entry, const json_t *body, Record *read) {
        const char *reason;
        Save save;
        int r;

        table_save(t, &save);
        r = project_event(t, seq, entry, body, read);
        if (r == 0) {
                table_keep(t, &save);
                return 0;
        }
        reason = r == -EUCLEAN ? "a row does not fit the event" : store_strerror(r);
        r = table_restore(t, &save) ?: dead_letter_put(t, seq, entry, reason);
        return r < 0 ? r : 1;
}

static int dead_letter_retry(Txn *t, uint64_t seq) {
        _cleanup_json_ json_t *entry = NULL, *body = NULL;
        uint8_t key[8];
        int r = event_get(t, seq, &entry) ?: record_body(t, seq, &body);

        if (r == -ENOENT)
                r = 0;
        if (r == 0)
                r = table_del(t, TABLE_UNAPPLIED, seq_key(seq, key));
        return r < 0 ? r : dead_letter_project(t, seq, entry, body, NULL); /* puts a failing event back */
}

int engine_retry_dead_letters(Txn *t, uint64_t *ret_applied, uint64_t *ret_left) {
        uint64_t next = 0, applied = 0, left = 0;

        for (;;) {
                _cleanup_cursor_ Cursor *c = NULL;
                uint8_t from[8];
                Bytes k, v;
                int r;

                r = cursor_open(t, TABLE_UNAPPLIED, seq_key(next, from), &c) ?: cursor_next(c, &k, &v);
                if (r == -ENOENT)
                        break;
                if (r < 0)
                        return r;
                next = be64_get(k.p);
                r = dead_letter_retry(t, next++);
                if (r < 0)
                        return r;
                applied += r == 0;
                left += r == 1;
        }
        *ret_applied = applied;
        *ret_left = left;
        return 0;
}

/* The number of dead letters. A store with an index of the older form counts as 0 until the index is rebuilt. */
static int dead_letter_count(Store *s, uint64_t *ret, Diag *reterr) {
        _cleanup_txn_ Txn *t = NULL;
        bool newest = false;
        int r = store_begin(s, false, &t, reterr);

        *ret = 0;
        if (r == 0)
                r = store_is_newest(t, &newest);
        return r == 0 && newest ? table_rows(t, TABLE_UNAPPLIED, ret) : r;
}

int engine_retry_dead_letters_at_start(Store *s, Diag *reterr) {
        _cleanup_txn_ Txn *t = NULL;
        uint64_t applied = 0, left;
        int r = dead_letter_count(s, &left, reterr);

        if (r != 0 || left == 0)
                return r;
        r = store_begin(s, true, &t, reterr) ?: engine_retry_dead_letters(t, &applied, &left);
        if (r == 0 && applied > 0)
                return store_commit(TAKE_PTR(t), reterr);
        return r == -EUCLEAN ? 0 : r;
}

int engine_dead_letter_list(Txn *t, json_t **ret) {
        _cleanup_json_ json_t *list = json_array();
        _cleanup_cursor_ Cursor *c = NULL;
        Bytes k, v;
        int r = list ? cursor_open(t, TABLE_UNAPPLIED, BYTES(NULL, 0), &c) : -ENOMEM;

        while (r == 0 && (r = cursor_next(c, &k, &v)) == 0) {
                _cleanup_json_ json_t *row = NULL;

                r = json_row_parse(v, ROW_MAX, &row);
                if (r == 0 &&
                    (json_object_set_new(row, "seq", json_u64(be64_get(k.p))) < 0 || json_array_append(list, row) < 0))
                        r = -ENOMEM;
        }
        if (r != -ENOENT)
                return r;
        *ret = TAKE_PTR(list);
        return 0;
}
