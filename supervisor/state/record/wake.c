#include "record/wake.h"

#include "base/hash.h"
#include "record/event.h"
#include "record/object-row.h"
#include "record/rows.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define WAKE_EVENT_BYTES 56000 /* of ids and matches in one object.woken: with other members below LEDGER_ENTRY_MAX */
#define WAKE_ID_BYTES (REGION_ID_LEN + 4)
#define WAKE_ROW_MAX (WAKE_KEYS_MAX * (WAKE_MATCH_MAX + 8)) /* bytes */
#define WAKE_MEMBER_MAX 64                                  /* bytes of a name */
#define WAKE_VALUE_HEX 16
#define WAKE_NAME_MAX (WAKE_KEY_MAX + 2 + WAKE_MEMBER_MAX + WAKE_VALUE_HEX)
#define WAKE_ROW_KEY_MAX (WAKE_NAME_MAX + 1 + REGION_ID_LEN)
#define DUE_KEY_BYTES (8 + REGION_ID_LEN)

/* The first part of a row's key. An event condition with a match has one member of the match in the key, too, with the
 * hash of the value: an event looks at the rows of its own members, however many objects wait for other values. */
typedef struct WakeName {
        char s[WAKE_NAME_MAX + 1];
} WakeName;

static Bytes wake_due_key(uint64_t usec, const char *id, uint8_t key[static DUE_KEY_BYTES]) {
        be64_put(key, usec);
        memcpy(key + 8, id, REGION_ID_LEN);
        return BYTES(key, DUE_KEY_BYTES);
}

/* name, NUL, id; without an id: the beginning of all rows of the name. */
static Bytes wake_key(const WakeName *name, const char *id, uint8_t ret[static WAKE_ROW_KEY_MAX]) {
        size_t n = strlen(name->s) + 1;

        memcpy(ret, name->s, n);
        if (id)
                memcpy(ret + n, id, REGION_ID_LEN);
        return BYTES(ret, id ? n + REGION_ID_LEN : n);
}

/* Adds a member of a match, or of an event. Returns 1; 0: not a value of a match; -ENOMEM. */
static int wake_name_member(const char *key, const char *member, const json_t *value, WakeName *ret) {
        _cleanup_free_ char *text = NULL;
        char hex[HASH_HEX_MAX];
        size_t n;
        int r;

        if (json_is_object(value) || json_is_array(value) || strlen(member) > WAKE_MEMBER_MAX)
                return 0;
        r = json_canonical(value, &text, &n);
        if (r < 0 || n > WAKE_MATCH_MAX)
                return r == -ENOMEM ? r : 0;
        hash_hex(text, n, hex);
        snprintf(ret->s, sizeof(ret->s), "%s?%s=%.*s", key, member, WAKE_VALUE_HEX, hex);
        return 1;
}

/* Of a pair [key, match|null]. Returns 0, -EUCLEAN for a key out of bounds, -ENOMEM. */
static int wake_name(const json_t *pair, WakeName *ret) {
        const char *key = json_text(json_array_get(pair, 0)), *member, *first = NULL;
        json_t *match = json_array_get(pair, 1), *value;
        int r;

        if (!key || !*key || strlen(key) > WAKE_KEY_MAX)
                return -EUCLEAN;
        json_object_foreach(match, member, value)
                if (!first || strcmp(member, first) < 0)
                        first = member;
        r = first ? wake_name_member(key, first, json_object_get(match, first), ret) : 0;
        if (r == 0)
                snprintf(ret->s, sizeof(ret->s), "%s", key);
        return MIN(r, 0);
}

/* The names of all pairs; *ret is owned. */
static int wake_names(const json_t *keys, WakeName **ret) {
        _cleanup_free_ WakeName *names = calloc(json_array_size(keys) + 1, sizeof(*names));
        int r = !names ? -ENOMEM : json_array_size(keys) > WAKE_KEYS_MAX ? -EUCLEAN : 0;

        for (size_t i = 0; r == 0 && i < json_array_size(keys); i++)
                r = wake_name(json_array_get(keys, i), &names[i]);
        if (r == 0)
                *ret = TAKE_PTR(names);
        return r;
}

/* "", a match, or an array of the matches of all pairs with this name; null in the array is any event. */
static int wake_row_value(const json_t *keys, const WakeName *names, size_t at, char **ret, size_t *ret_n) {
        _cleanup_json_ json_t *list = json_array();
        int r = list ? 0 : -ENOMEM;

        for (size_t i = at; r == 0 && i < json_array_size(keys); i++) {
                json_t *match = json_array_get(json_array_get(keys, i), 1);
                _cleanup_free_ char *text = NULL;
                size_t n = 0;

                if (strcmp(names[i].s, names[at].s) != 0)
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

/* Pairs of one name are one row. */
static bool wake_is_again(const WakeName *names, size_t at) {
        for (size_t i = 0; i < at; i++)
                if (strcmp(names[i].s, names[at].s) == 0)
                        return true;
        return false;
}

int wake_put(Txn *t, const char *id, uint64_t due_usec, const json_t *keys) {
        _cleanup_free_ WakeName *names = NULL;
        uint8_t due[DUE_KEY_BYTES], key[WAKE_ROW_KEY_MAX];
        int r = due_usec < UINT64_MAX ? table_put(t, TABLE_DUE, wake_due_key(due_usec, id, due), BYTES("", 0)) : 0;

        if (r == 0 && json_array_size(keys) > 0)
                r = wake_names(keys, &names);
        for (size_t i = 0; r == 0 && i < json_array_size(keys); i++) {
                _cleanup_free_ char *text = NULL;
                size_t n = 0;

                if (wake_is_again(names, i))
                        continue;
                r = wake_row_value(keys, names, i, &text, &n)
                        ?: table_put(t, TABLE_WAKE, wake_key(&names[i], id, key), BYTES(text ?: "", n));
        }
        return r;
}

int wake_del(Txn *t, const char *id, uint64_t due_usec, const json_t *keys) {
        uint8_t due[DUE_KEY_BYTES], key[WAKE_ROW_KEY_MAX];
        int r = due_usec < UINT64_MAX ? table_del(t, TABLE_DUE, wake_due_key(due_usec, id, due)) : 0;

        for (size_t i = 0; (r == 0 || r == -ENOENT) && i < json_array_size(keys); i++) {
                WakeName name;

                r = wake_name(json_array_get(keys, i), &name);
                if (r == 0)
                        r = table_del(t, TABLE_WAKE, wake_key(&name, id, key));
                else if (r == -EUCLEAN)
                        r = 0;
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

static int wake_look_name(Waking *w, const WakeName *name) {
        _cleanup_cursor_ Cursor *c = NULL;
        uint8_t from[WAKE_ROW_KEY_MAX];
        bool of_event = strncmp(name->s, "event/", 6) == 0;
        Bytes begin = wake_key(name, NULL, from), k, v;
        int r = cursor_open_within(w->t, TABLE_WAKE, begin, begin.n, &c);

        while (r == 0 && (r = cursor_next(c, &k, &v)) == 0)
                r = k.n == begin.n + REGION_ID_LEN ? wake_take(w, k, v, of_event) : 0;
        return r == -ENOENT ? 0 : r;
}

/* prefix: "slot/", "event/" … */
static int wake_look(Waking *w, const char *prefix, const char *of) {
        WakeName name;
        int n = of ? snprintf(name.s, sizeof(name.s), "%s%s", prefix, of) : 0;

        return n > 0 && n <= WAKE_KEY_MAX ? wake_look_name(w, &name) : 0;
}

/* Conditions on members of this event. */
static int wake_look_members(Waking *w, const char *type) {
        _cleanup_cursor_ Cursor *c = NULL;
        char key[WAKE_KEY_MAX + 2];
        const char *member;
        json_t *value;
        Bytes k, v;
        int n = snprintf(key, sizeof(key), "event/%s?", type), r;

        if (n >= (int)sizeof(key))
                return 0;
        r = cursor_open_within(w->t, TABLE_WAKE, BYTES(key, (size_t)n), (size_t)n, &c) ?: cursor_next(c, &k, &v);
        if (r < 0)
                return r == -ENOENT ? 0 : r;
        key[n - 1] = '\0';
        json_object_foreach((json_t *)w->entry, member, value) {
                WakeName name;

                r = wake_name_member(key, member, value, &name);
                if (r == 1)
                        r = wake_look_name(w, &name);
                if (r < 0)
                        return r;
        }
        return 0;
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
                r = wake_look(&w, "event/", type) ?: wake_look_members(&w, type);
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
