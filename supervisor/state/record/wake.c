#include "record/wake.h"

#include "record/event.h"
#include "record/object-row.h"
#include "record/rows.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define WAKE_ROW_KEY_MAX (WAKE_KEY_MAX + 1 + REGION_ID_LEN)
#define WAKE_EVENT_BYTES 56000 /* of ids and matches in one object.woken: with other members below LEDGER_ENTRY_MAX */
#define WAKE_ID_BYTES (REGION_ID_LEN + 4)

#define WAKE_ROW_MAX (WAKE_KEYS_MAX * (WAKE_MATCH_MAX + 8)) /* bytes */
#define DUE_KEY_BYTES (8 + REGION_ID_LEN)

static Bytes wake_due_key(uint64_t usec, const char *id, uint8_t key[static DUE_KEY_BYTES]) {
        be64_put(key, usec);
        memcpy(key + 8, id, REGION_ID_LEN);
        return BYTES(key, DUE_KEY_BYTES);
}

/* key, NUL, id; without an id: the beginning of all rows of the key. */
static Bytes wake_key(const char *key, size_t n, const char *id, uint8_t ret[static WAKE_ROW_KEY_MAX]) {
        memcpy(ret, key, n);
        ret[n++] = 0;
        if (id)
                memcpy(ret + n, id, REGION_ID_LEN);
        return BYTES(ret, id ? n + REGION_ID_LEN : n);
}

/* The key of a pair [key, match|null], or NULL. */
static const char *wake_pair_key(const json_t *pair, size_t *ret_n) {
        const char *key = json_text(json_array_get(pair, 0));

        *ret_n = key ? strlen(key) : 0;
        return *ret_n > 0 && *ret_n <= WAKE_KEY_MAX ? key : NULL;
}

/* Does an earlier pair have the key of pair `at`? Pairs of one key are one row. */
static bool wake_pair_is_again(const json_t *keys, size_t at) {
        const json_t *key = json_array_get(json_array_get(keys, at), 0);

        for (size_t i = 0; i < at; i++)
                if (json_equal(json_array_get(json_array_get(keys, i), 0), key))
                        return true;
        return false;
}

/* "", a match, or an array of several matches, of which null is that of any event. */
static int wake_row_value(const json_t *keys, size_t at, char **ret, size_t *ret_n) {
        const json_t *key = json_array_get(json_array_get(keys, at), 0);
        _cleanup_json_ json_t *list = json_array();
        int r = list ? 0 : -ENOMEM;

        for (size_t i = at; r == 0 && i < json_array_size(keys); i++) {
                json_t *pair = json_array_get(keys, i), *match = json_array_get(pair, 1);
                _cleanup_free_ char *text = NULL;
                size_t n = 0;

                if (!json_equal(json_array_get(pair, 0), key))
                        continue;
                if (json_is_object(match))
                        r = json_canonical(match, &text, &n);
                else if (!json_is_null(match))
                        r = -EUCLEAN;
                if (r == -ERANGE || n > WAKE_MATCH_MAX)
                        r = -EUCLEAN;
                if (r == 0 && json_array_append(list, match) < 0)
                        r = -ENOMEM;
        }
        if (r < 0 || (json_array_size(list) == 1 && json_is_null(json_array_get(list, 0))))
                return r;
        return json_canonical(json_array_size(list) == 1 ? json_array_get(list, 0) : list, ret, ret_n);
}

static int wake_put_pair(Txn *t, const char *id, const json_t *keys, size_t at) {
        _cleanup_free_ char *text = NULL;
        uint8_t key[WAKE_ROW_KEY_MAX];
        size_t n_key, n = 0;
        const char *name = wake_pair_key(json_array_get(keys, at), &n_key);
        int r = name ? wake_row_value(keys, at, &text, &n) : -EUCLEAN;

        return r ?: table_put(t, TABLE_WAKE, wake_key(name, n_key, id, key), BYTES(text ?: "", n));
}

int wake_put(Txn *t, const char *id, uint64_t due_usec, const json_t *keys) {
        uint8_t key[DUE_KEY_BYTES];
        int r = due_usec < UINT64_MAX ? table_put(t, TABLE_DUE, wake_due_key(due_usec, id, key), BYTES("", 0)) : 0;

        if (r == 0 && json_array_size(keys) > WAKE_KEYS_MAX)
                r = -EUCLEAN;
        for (size_t i = 0; r == 0 && i < json_array_size(keys); i++)
                r = wake_pair_is_again(keys, i) ? 0 : wake_put_pair(t, id, keys, i);
        return r;
}

int wake_del(Txn *t, const char *id, uint64_t due_usec, const json_t *keys) {
        uint8_t due[DUE_KEY_BYTES], key[WAKE_ROW_KEY_MAX];
        int r = due_usec < UINT64_MAX ? table_del(t, TABLE_DUE, wake_due_key(due_usec, id, due)) : 0;

        for (size_t i = 0; (r == 0 || r == -ENOENT) && i < json_array_size(keys); i++) {
                size_t n;
                const char *name = wake_pair_key(json_array_get(keys, i), &n);

                r = name ? table_del(t, TABLE_WAKE, wake_key(name, n, id, key)) : 0;
        }
        return r == -ENOENT ? 0 : r;
}

/* The objects that an event wakes: {id: [match|null of each condition on events that came true...]}. */
typedef struct Waking {
        Txn *t;
        const json_t *entry; /* or NULL: no event */
        json_t *found;
} Waking;

static bool wake_matches(const json_t *match, const json_t *entry) {
        const char *member;
        json_t *value;

        json_object_foreach((json_t *)match, member, value)
                if (!json_equal(json_object_get(entry, member), value))
                        return false;
        return true;
}

static int wake_take_match(Waking *w, const char *id, json_t *match, bool of_event) {
        json_t *list = json_object_get(w->found, id);

        if (!json_is_null(match) && !wake_matches(match, w->entry))
                return 0;
        if (!list && json_object_set_new(w->found, id, list = json_array()) < 0)
                return -ENOMEM;
        return of_event && json_array_append(list, match) < 0 ? -ENOMEM : 0;
}

/* An unreadable row of one object stops no writer of a slot: `lethe verify` reports the row. */
static int wake_take(Waking *w, Bytes k, Bytes v, bool of_event) {
        _cleanup_json_ json_t *match = NULL;
        char id[REGION_ID_MAX] = "";
        int r = 0;

        memcpy(id, (const char *)k.p + k.n - REGION_ID_LEN, REGION_ID_LEN);
        if (v.n == 0)
                match = json_null();
        else
                r = json_row_parse(v, WAKE_ROW_MAX, &match);
        if (r == -EUCLEAN || !region_id_valid(id))
                return 0;
        if (r == 0 && !json_is_array(match))
                r = wake_take_match(w, id, match, of_event);
        for (size_t i = 0; r == 0 && i < json_array_size(match); i++)
                r = wake_take_match(w, id, json_array_get(match, i), of_event);
        return r;
}

/* prefix: "slot/", "event/" … */
static int wake_look(Waking *w, const char *prefix, const char *name) {
        _cleanup_cursor_ Cursor *c = NULL;
        uint8_t from[WAKE_ROW_KEY_MAX];
        char key[WAKE_KEY_MAX + 1];
        int n = name ? snprintf(key, sizeof(key), "%s%s", prefix, name) : 0, r;
        bool of_event = *prefix == 'e';
        Bytes begin, k, v;

        if (n <= 0 || n > WAKE_KEY_MAX)
                return 0;
        begin = wake_key(key, (size_t)n, NULL, from);
        r = cursor_open_within(w->t, TABLE_WAKE, begin, begin.n, &c);
        while (r == 0 && (r = cursor_next(c, &k, &v)) == 0)
                r = k.n == begin.n + REGION_ID_LEN ? wake_take(w, k, v, of_event) : 0;
        return r == -ENOENT ? 0 : r;
}

static int wake_record_piece(Txn *t, const uint64_t *by, const char *of, json_t *ids, json_t *seen) {
        _cleanup_json_ json_t *entry = NULL;
        json_t *fields = json_pack("{s:o*, s:s*, s:O, s:O*}", "by", by ? json_u64(*by) : NULL, "of", of, "objects", ids,
                                   "seen", json_object_size(seen) > 0 ? seen : NULL);
        uint64_t seq;

        return event_record(t, &(Event){.type = "object.woken", .fields = fields}, &seq, &entry)
                ?: object_row_project(t, seq, "object.woken", entry);
}

/* An event object.woken names as many objects as fit into an entry. */
static int wake_record(Txn *t, const uint64_t *by, const char *of, const json_t *found) {
        _cleanup_json_ json_t *ids = json_array(), *seen = json_object();
        size_t bytes = 0;
        const char *id;
        json_t *list;
        int r = ids && seen ? 0 : -ENOMEM;

        json_object_foreach((json_t *)found, id, list) {
                size_t more = WAKE_ID_BYTES;

                if (r == 0 && json_array_size(list) > 0) {
                        _cleanup_free_ char *text = NULL;
                        size_t n;

                        r = json_canonical(list, &text, &n);
                        more += r == 0 ? WAKE_ID_BYTES + n : 0;
                }
                if (r == 0 && bytes + more > WAKE_EVENT_BYTES && bytes > 0) {
                        r = wake_record_piece(t, by, of, ids, seen);
                        json_array_clear(ids);
                        json_object_clear(seen);
                        bytes = 0;
                }
                bytes += more;
                if (r == 0 && (json_array_append_new(ids, json_string(id)) < 0 ||
                               (json_array_size(list) > 0 && json_object_set(seen, id, list) < 0)))
                        r = -ENOMEM;
                if (r < 0)
                        return r;
        }
        return r == 0 && json_array_size(ids) > 0 ? wake_record_piece(t, by, of, ids, seen) : r;
}

int wake_on_event(Txn *t, uint64_t seq, const char *type, const json_t *entry) {
        _cleanup_json_ json_t *found = NULL;
        Waking w = {.t = t, .entry = entry};
        uint64_t rows = 0;
        int r = table_rows(t, TABLE_WAKE, &rows);

        if (r < 0 || rows == 0)
                return r;
        w.found = found = json_object();
        if (!found)
                return -ENOMEM;
        if (strncmp(type, "object.", 7) != 0) {
                r = wake_look(&w, "event/", type);
                if (r == 0 && strcmp(type, "slot.written") == 0)
                        r = wake_look(&w, "slot/", json_text(json_object_get(entry, "slot")));
        } else if (strcmp(type, "object.entry") == 0 && json_text_is(json_object_get(entry, "state"), "terminated") &&
                   !json_is_true(json_object_get(entry, "note")))
                r = wake_look(&w, "object/", json_text(json_object_get(entry, "object")))
                        ?: wake_look(&w, "child/", json_text(json_object_get(entry, "parent")));
        return r < 0 || json_object_size(found) == 0 ? r : wake_record(t, &seq, type, found);
}

int wake_on_key(Txn *t, const char *key, size_t *ret) {
        _cleanup_json_ json_t *found = json_object();
        Waking w = {.t = t, .found = found};
        int r = found ? wake_look(&w, "", key) : -ENOMEM;

        if (r == 0 && json_object_size(found) > 0)
                r = wake_record(t, NULL, NULL, found);
        if (r == 0)
                *ret = json_object_size(found);
        return r;
}

int wake_next(Txn *t, uint64_t *ret_usec) {
        _cleanup_cursor_ Cursor *c = NULL;
        Bytes k, v;
        int r = cursor_open(t, TABLE_DUE, BYTES(NULL, 0), &c) ?: cursor_next(c, &k, &v);

        if (r == 0 && k.n != DUE_KEY_BYTES)
                r = -EUCLEAN;
        if (r == 0 || r == -ENOENT)
                *ret_usec = r == 0 ? be64_get(k.p) : UINT64_MAX;
        return r == -ENOENT ? 0 : r;
}

int wake_due(Txn *t, uint64_t now_usec, const WakeDue *after, size_t most, WakeDue *ret, size_t *ret_n) {
        uint8_t from[DUE_KEY_BYTES + 1];
        _cleanup_cursor_ Cursor *c = NULL;
        size_t n = 0;
        Bytes k, v;
        int r;

        if (after)
                from[wake_due_key(after->usec, after->object, from).n] = 0; /* the next possible key */
        r = cursor_open(t, TABLE_DUE, BYTES(from, after ? sizeof(from) : 0), &c);
        while (r == 0 && n < most && (r = cursor_next(c, &k, &v)) == 0) {
                if (k.n != DUE_KEY_BYTES)
                        return -EUCLEAN;
                ret[n] = (WakeDue){.usec = be64_get(k.p)};
                if (ret[n].usec > now_usec)
                        break;
                memcpy(ret[n++].object, (const uint8_t *)k.p + 8, REGION_ID_LEN);
        }
        if (r == 0 || r == -ENOENT)
                *ret_n = n;
        return r == -ENOENT ? 0 : r;
}
