#include "record/object-row.h"

#include "record/rows.h"
#include "record/wake.h"

#include <errno.h>
#include <string.h>

#define SIGNERS_MAX 1024 /* of an object */
#define STATE_NAME_MAX 24

static Bytes object_row_key(const char *id, const char *name, uint8_t key[static 64]) {
        size_t n_id = strlen(id) + 1, n = strlen(name);

        assert(n_id + n <= 64);
        memcpy(key, id, n_id);
        memcpy(key + n_id, name, n);
        return BYTES(key, n_id + n);
}

size_t object_entry_key(const char *id, uint64_t n, uint8_t ret[static OBJECT_ROW_KEY_MAX]) {
        memcpy(ret, id, REGION_ID_MAX);
        be64_put(ret + REGION_ID_MAX, n);
        return REGION_ID_MAX + 8;
}

static int object_row_read(Txn *t, Bytes key, json_t **ret) {
        _cleanup_json_ json_t *row = NULL;
        Bytes v;
        int r = table_get(t, TABLE_OBJECT, key, &v) ?: json_row_parse(v, OBJECT_ROW_MAX, &row);

        if (r == 0 && !json_is_object(row))
                r = -EUCLEAN;
        if (r == 0)
                *ret = TAKE_PTR(row);
        return r;
}

int object_row_get(Txn *t, const char *id, json_t **ret) {
        uint8_t key[64];

        return region_id_valid(id) ? object_row_read(t, object_row_key(id, "row", key), ret) : -ENOENT;
}

int object_trust_get(Txn *t, const char *keyid, json_t **ret) {
        uint8_t key[64];

        return strlen(keyid) == 8 ? object_row_read(t, object_row_key(OBJECT_TRUST, keyid, key), ret) : -ENOENT;
}

int object_entry_seq(Txn *t, const char *id, uint64_t n, uint64_t *ret) {
        uint8_t key[OBJECT_ROW_KEY_MAX];
        Bytes v;
        int r = table_get(t, TABLE_OBJECT, BYTES(key, object_entry_key(id, n, key)), &v);

        if (r == 0 && v.n != 8)
                r = -EUCLEAN;
        if (r == 0)
                *ret = be64_get(v.p);
        return r;
}

int object_row_next(Txn *t, const char *after, char ret[static REGION_ID_MAX]) {
        _cleanup_cursor_ Cursor *c = NULL;
        char from[REGION_ID_MAX] = "", id[REGION_ID_MAX] = "";
        size_t n = after ? strlen(after) : 0;
        Bytes k, v;
        int r;

        assert(n < sizeof(from));
        if (n > 0)
                memcpy(from, after, n);
        if (n > 0)
                from[n] = 1; /* behind all keys of the object: a NUL stands there */
        r = cursor_open(t, TABLE_OBJECT, BYTES(from, n > 0 ? n + 1 : 0), &c) ?: cursor_next(c, &k, &v);
        if (r < 0)
                return r;
        if (k.n <= REGION_ID_LEN || ((const char *)k.p)[REGION_ID_LEN] != '\0')
                return -ENOENT; /* the rows of keys stand behind all objects */
        memcpy(id, k.p, REGION_ID_LEN);
        if (!region_id_valid(id))
                return -ENOENT;
        strcpy(ret, id);
        return 0;
}

int object_row_in_state(Txn *t, const char *state, uint64_t *ret) {
        uint8_t key[64];
        Bytes v;
        int r = table_get(t, TABLE_OBJECT, object_row_key("state", state, key), &v);

        if (r == 0 && v.n != 8)
                r = -EUCLEAN;
        if (r == 0 || r == -ENOENT)
                *ret = r == 0 ? be64_get(v.p) : 0;
        return r == -ENOENT ? 0 : r;
}

int object_row_alive(Txn *t, uint64_t *ret) {
        static const char prefix[] = "state"; /* with its NUL */
        static const char ended[] = "terminated";
        _cleanup_cursor_ Cursor *c = NULL;
        Bytes k, v;
        int r = cursor_open_within(t, TABLE_OBJECT, BYTES(prefix, sizeof(prefix)), sizeof(prefix), &c);

        *ret = 0;
        while (r == 0 && (r = cursor_next(c, &k, &v)) == 0)
                if (k.n - sizeof(prefix) != strlen(ended) ||
                    memcmp((const char *)k.p + sizeof(prefix), ended, strlen(ended)) != 0)
                        *ret += v.n == 8 ? be64_get(v.p) : 0;
        return r == -ENOENT ? 0 : r;
}

int object_row_next_execution(Txn *t, const char *after, char ret[static REGION_ID_MAX]) {
        static const char prefix[] = "run"; /* with its NUL */
        char from[sizeof(prefix) + REGION_ID_LEN + 1] = "run";
        size_t n = sizeof(prefix) + strlen(after ?: "");
        _cleanup_cursor_ Cursor *c = NULL;
        Bytes k, v;
        int r;

        assert(n < sizeof(from));
        memcpy(from + sizeof(prefix), after ?: "", strlen(after ?: ""));
        if (after && *after)
                from[n++] = 0; /* the next possible key */
        r = cursor_open_within(t, TABLE_OBJECT, BYTES(from, n), sizeof(prefix), &c) ?: cursor_next(c, &k, &v);
        if (r < 0)
                return r;
        if (k.n != sizeof(prefix) + REGION_ID_LEN)
                return -EUCLEAN;
        memcpy(ret, (const char *)k.p + sizeof(prefix), REGION_ID_LEN);
        ret[REGION_ID_LEN] = '\0';
        return region_id_valid(ret) ? 0 : -EUCLEAN;
}

/* state NULL: none, no row yet. */
static int object_row_count(Txn *t, const char *id, const char *state, bool more) {
        uint8_t key[64], value[8];
        uint64_t n;
        int r = !state ? 0 : strlen(state) > STATE_NAME_MAX ? -EUCLEAN : object_row_in_state(t, state, &n);

        if (r < 0 || !state)
                return r;
        if (!more && n == 0)
                return -EUCLEAN;
        be64_put(value, more ? n + 1 : n - 1);
        r = table_put(t, TABLE_OBJECT, object_row_key("state", state, key), BYTES(value, sizeof(value)));
        if (r < 0 || strcmp(state, "execution") != 0)
                return r;
        return more ? table_put(t, TABLE_OBJECT, object_row_key("run", id, key), BYTES("", 0))
                    : table_del(t, TABLE_OBJECT, object_row_key("run", id, key));
}

/* An event about an object, and the object's row as it becomes. */
typedef struct ObjectChange {
        Txn *t;
        uint64_t seq;
        const json_t *entry;
        const char *id;
        json_t *row; /* owned */
        bool is_new;
} ObjectChange;

/* Only objects for evaluation here have rows in `due` and `wake`. */
static bool object_row_is_eligible(const json_t *row) {
        return !json_object_get(row, "away") && !json_object_get(row, "behind") && !json_object_get(row, "unknown") &&
               !json_object_get(row, "branches");
}

static int object_row_due(const json_t *row, uint64_t *ret) {
        const json_t *due = json_object_get(row, "due");

        *ret = UINT64_MAX;
        return due && json_get_u64(due, ret) < 0 ? -EUCLEAN : 0;
}

static int object_row_set(json_t *row, const char *member, const json_t *value) {
        if (value)
                return json_object_set(row, member, (json_t *)value) < 0 ? -ENOMEM : 0;
        json_object_del(row, member);
        return 0;
}

/* Takes the members from the event; members missing in the event leave the row. */
static int object_row_take(ObjectChange *c, const char *const *members, size_t n) {
        int r = 0;

        for (size_t i = 0; r == 0 && i < n; i++)
                r = object_row_set(c->row, members[i], json_object_get(c->entry, members[i]));
        return r;
}
#define OBJECT_ROW_TAKE(c, ...)                                                                                        \
        object_row_take((c), (const char *const[]){__VA_ARGS__}, ARRAY_SIZE(((const char *const[]){__VA_ARGS__})))

/* The counts by state, and the list of executions. */
static int object_row_recount(const ObjectChange *c, const json_t *before) {
        const char *was = json_text(json_object_get(before, "state")),
                   *now = json_text(json_object_get(c->row, "state"));

        if (was && now && strcmp(was, now) == 0)
                return 0;
        return object_row_count(c->t, c->id, was, false) ?: object_row_count(c->t, c->id, now, true);
}

/* before: the row as it was, or NULL. */
static int object_row_write(ObjectChange *c, const json_t *before) {
        uint64_t was, due;
        uint8_t key[64];
        int r = object_row_due(before, &was)
                        ?: object_row_due(c->row, &due)
                        ?: (json_object_set_new(c->row, "last", json_u64(c->seq)) < 0 ? -ENOMEM : 0);

        if (r == 0 && before && object_row_is_eligible(before))
                r = wake_del(c->t, c->id, was, json_object_get(before, "wake"));
        if (r == 0 && object_row_is_eligible(c->row))
                r = wake_put(c->t, c->id, due, json_object_get(c->row, "wake"));
        return r ?: object_row_recount(c, before)
                 ?: json_row_put(c->t, TABLE_OBJECT, object_row_key(c->id, "row", key), c->row);
}

static int object_row_sign(ObjectChange *c) {
        const char *keyid = json_str(c->entry, "keyid");
        json_t *list = json_object_get(c->row, "signers");

        for (size_t i = 0; i < json_array_size(list); i++)
                if (json_text_is(json_array_get(list, i), keyid))
                        return 0;
        if (strlen(keyid) != 8 || json_array_size(list) >= SIGNERS_MAX)
                return -EUCLEAN;
        if (!list && json_object_set_new(c->row, "signers", list = json_array()) < 0)
                return -ENOMEM;
        return json_array_append_new(list, json_string(keyid)) < 0 ? -ENOMEM : 0;
}

static int object_row_entry(ObjectChange *c) {
        const json_t *e = c->entry;
        bool note = json_is_true(json_object_get(e, "note"));
        uint64_t n = 0, had = json_number(c->row, "n");
        uint8_t key[OBJECT_ROW_KEY_MAX], seq[8];
        int r;

        if (json_get_u64(json_object_get(e, "n"), &n) < 0 || n != (c->is_new ? 0 : had) ||
            !*json_str(e, "state") || strlen(json_str(e, "head")) != 64)
                return -EUCLEAN;
        r = OBJECT_ROW_TAKE(c, "state", "head", "due", "wake") ?: object_row_sign(c);
        if (r == 0 && !note)
                r = OBJECT_ROW_TAKE(c, "reason", "status", "woken", "lock");
        if (r == 0 && json_object_get(e, "do"))
                r = OBJECT_ROW_TAKE(c, "do");
        if (r == 0 && c->is_new)
                r = OBJECT_ROW_TAKE(c, "parent")
                            ?: (json_object_set_new(c->row, "created", json_u64(c->seq)) < 0 ? -ENOMEM : 0);
        if (r == 0 && json_object_get(e, "checkpoint") &&
            json_object_set_new(c->row, "checkpoint", json_u64(n + 1)) < 0)
                r = -ENOMEM;
        if (r == 0)
                r = object_row_set(c->row, "time", json_object_get(e, "time_usec"));
        if (r == 0 && json_object_set_new(c->row, "n", json_u64(n + 1)) < 0)
                r = -ENOMEM;
        if (r == 0)
                r = table_add(c->t, TABLE_OBJECT, BYTES(key, object_entry_key(c->id, n, key)), seq_key(c->seq, seq));
        return r == -EEXIST ? -EUCLEAN : r;
}

/* The event is about the object as it is. */
static int object_row_is_at(const ObjectChange *c) {
        return json_equal(json_object_get(c->entry, "n"), json_object_get(c->row, "n")) ? 0 : -EUCLEAN;
}

static int object_row_armed(ObjectChange *c) {
        return object_row_is_at(c) ?: OBJECT_ROW_TAKE(c, "due", "wake", "unknown");
}

static int object_row_moved(ObjectChange *c) {
        int r = object_row_is_at(c);

        return r == 0 && json_object_set_new(c->row, "away", json_true()) < 0 ? -ENOMEM : r;
}

/* Keys of imported entries without trust here: for the check of signatures, and for an export (O-9, O-40). */
static int object_row_keys(ObjectChange *c) {
        json_t *more = json_object_get(c->entry, "keys"), *keys = json_object_get(c->row, "keys"), *both;

        if (!more)
                return 0;
        both = keys ? json_copied(keys) : json_object();
        if (!both || json_object_update(both, more) < 0) {
                json_decref(both);
                return -ENOMEM;
        }
        return json_object_set_new(c->row, "keys", both) < 0 ? -ENOMEM : 0;
}

static int object_row_imported(ObjectChange *c) {
        static const char *const hows[] = {"new", "ahead", "equal", "behind"};
        const char *how = json_str(c->entry, "how");

        if (name_index(hows, ARRAY_SIZE(hows), how) == ARRAY_SIZE(hows))
                return -EUCLEAN;
        if (strcmp(how, "behind") == 0)
                return json_object_set_new(c->row, "behind", json_true()) < 0 ? -ENOMEM : 0;
        json_object_del(c->row, "away");
        json_object_del(c->row, "behind");
        return object_row_keys(c) ?: OBJECT_ROW_TAKE(c, "unknown");
}

static int object_row_branch(ObjectChange *c) {
        json_t *list = json_object_get(c->row, "branches"), *branch;
        uint64_t from, n;

        if (json_get_u64(json_object_get(c->entry, "from"), &from) < 0 ||
            json_get_u64(json_object_get(c->entry, "n"), &n) < 0 || strlen(json_str(c->entry, "head")) != 64)
                return -EUCLEAN;
        branch = json_pack("{s:o, s:o, s:O, s:o}", "from", json_u64(from), "n", json_u64(n), "head",
                           json_object_get(c->entry, "head"), "seq", json_u64(c->seq));
        if (!list && json_object_set_new(c->row, "branches", list = json_array()) < 0) {
                json_decref(branch);
                return -ENOMEM;
        }
        return json_array_append_new(list, branch) < 0 ? -ENOMEM : object_row_keys(c);
}

static int object_row_adopted(ObjectChange *c) {
        uint64_t n, had = json_number(c->row, "n");
        int r = json_get_u64(json_object_get(c->entry, "n"), &n) < 0 || n == 0 || n > had ? -EUCLEAN : 0;

        while (r == 0 && had > n) {
                uint8_t key[OBJECT_ROW_KEY_MAX];

                r = table_del(c->t, TABLE_OBJECT, BYTES(key, object_entry_key(c->id, --had, key)));
        }
        if (r < 0 || strlen(json_str(c->entry, "head")) != 64 || !*json_str(c->entry, "state"))
                return r == -ENOENT || r == 0 ? -EUCLEAN : r;
        json_object_del(c->row, "branches");
        json_object_del(c->row, "behind");
        return OBJECT_ROW_TAKE(c, "n", "head", "state", "checkpoint", "due", "wake", "unknown");
}

static const struct ObjectEvent {
        const char *type;
        int (*project)(ObjectChange *c);
} object_events[] = {
        {"object.entry", object_row_entry},       {"object.armed", object_row_armed},
        {"object.moved", object_row_moved},       {"object.imported", object_row_imported},
        {"object.branch", object_row_branch},     {"object.adopted", object_row_adopted},
};

/* before: the row as it was, or NULL. */
static int object_row_change(ObjectChange *c, int (*project)(ObjectChange *c)) {
        _cleanup_json_ json_t *before = NULL;
        int r = object_row_get(c->t, c->id, &before);

        c->is_new = r == -ENOENT;
        if (c->is_new && project != object_row_entry)
                return -EUCLEAN;
        if (r < 0 && !c->is_new)
                return r;
        c->row = c->is_new ? json_object() : json_copied(before);
        r = c->row ? project(c) ?: object_row_write(c, before) : -ENOMEM;
        json_decref(c->row);
        return r;
}

static bool object_row_is_event_key(const json_t *pair) {
        return strncmp(json_text(json_array_get(pair, 0)) ?: "", "event/", 6) == 0;
}

/* Is the pair a fulfilled event condition: of the cause's type, with a seen match? */
static bool object_row_has_fired(const ObjectChange *c, const json_t *pair, const json_t *seen) {
        const char *of = json_str(c->entry, "of"), *key = json_text(json_array_get(pair, 0));

        if (!object_row_is_event_key(pair) || strcmp(key + 6, of) != 0)
                return false;
        for (size_t i = 0; i < json_array_size(seen); i++)
                if (json_equal(json_array_get(seen, i), json_array_get(pair, 1)))
                        return true;
        return false;
}

/* Due at once. The cycle looks slots and objects up; conditions on other events stay. */
static int object_row_woken(ObjectChange *c) {
        const json_t *seen = json_object_get(json_object_get(c->entry, "seen"), c->id),
                     *wake = json_object_get(c->row, "wake");
        json_t *keys = json_array(), *list = json_object_get(c->row, "woken");
        int r = keys ? 0 : -ENOMEM;

        for (size_t i = 0; r == 0 && i < json_array_size(wake); i++) {
                json_t *pair = json_array_get(wake, i);

                if (object_row_is_event_key(pair) && !object_row_has_fired(c, pair, seen) &&
                    json_array_append(keys, pair) < 0)
                        r = -ENOMEM;
        }
        if (r == 0 && json_array_size(seen) > 0 && !list &&
            json_object_set_new(c->row, "woken", list = json_array()) < 0)
                r = -ENOMEM;
        for (size_t i = 0; r == 0 && i < json_array_size(seen) && json_array_size(list) < WAKE_KEYS_MAX; i++)
                if (json_array_append_new(list, json_pack("{s:O, s:O, s:O}", "type", json_object_get(c->entry, "of"),
                                                          "seq", json_object_get(c->entry, "by"), "match",
                                                          json_array_get(seen, i))) < 0)
                        r = -ENOMEM;
        if (r == 0 && json_object_set_new(c->row, "due", json_u64(0)) < 0)
                r = -ENOMEM;
        if (r == 0)
                r = object_row_set(c->row, "wake", json_array_size(keys) > 0 ? keys : NULL);
        json_decref(keys);
        return r;
}

/* The broken row of one object stops neither the other objects nor the record of the cause. */
static int object_row_wake_all(ObjectChange *c) {
        const json_t *ids = json_object_get(c->entry, "objects");
        int r = json_is_array(ids) ? 0 : -EUCLEAN;

        for (size_t i = 0; r == 0 && i < json_array_size(ids); i++) {
                ObjectChange one = *c;

                one.id = json_text(json_array_get(ids, i));
                r = one.id ? object_row_change(&one, object_row_woken) : -EUCLEAN;
                if (r == -EUCLEAN)
                        r = 0;
        }
        return r;
}

static int object_row_trust(ObjectChange *c, const char *state) {
        const char *keyid = json_str(c->entry, "keyid"), *node = json_str(c->entry, "node"),
                   *vkey = json_str(c->entry, "vkey");
        _cleanup_json_ json_t *row =
                json_pack("{s:s, s:s, s:s, s:o}", "node", node, "vkey", vkey, "state", state, "seq", json_u64(c->seq));
        uint8_t key[64];

        if (strlen(keyid) != 8 || !*node || !*vkey)
                return -EUCLEAN;
        return !row ? -ENOMEM : json_row_put(c->t, TABLE_OBJECT, object_row_key(OBJECT_TRUST, keyid, key), row);
}

bool object_row_concerns(const char *type) {
        return strncmp(type, "object.", 7) == 0;
}

int object_row_project(Txn *t, uint64_t seq, const char *type, const json_t *entry) {
        ObjectChange c = {.t = t, .seq = seq, .entry = entry, .id = json_text(json_object_get(entry, "object"))};

        if (strcmp(type, "object.woken") == 0)
                return object_row_wake_all(&c);
        if (strcmp(type, "object.trusted") == 0 || strcmp(type, "object.revoked") == 0)
                return object_row_trust(&c, type + 7);
        for (size_t i = 0; i < ARRAY_SIZE(object_events); i++)
                if (strcmp(object_events[i].type, type) == 0)
                        return c.id && region_id_valid(c.id) ? object_row_change(&c, object_events[i].project)
                                                             : -EUCLEAN;
        return 0;
}
