#include "record/object-row.h"

#include "record/rows.h"
#include "record/wake.h"

#include <errno.h>
#include <string.h>

#define SIGNERS_MAX 1024 /* of an object */
#define STATE_NAME_MAX 24

/* state NULL: none, no row yet. */
static int object_project_count(Txn *t, const char *id, const char *state, bool more) {
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

/* An event about an object. */
typedef struct ObjectChange {
        Txn *t;
        uint64_t seq;
        const json_t *entry;
        const char *id;
        json_t *row; /* as it was, then as it becomes; owned */
        bool is_new;
} ObjectChange;

/* The members of the row before the event that other rows depend on. */
typedef struct ObjectBefore {
        bool waits;        /* has rows in `due` and `wake` */
        uint64_t due_usec; /* UINT64_MAX: none */
        json_t *wake;      /* owned */
        char state[STATE_NAME_MAX + 1]; /* "": no row */
} ObjectBefore;

static void object_before_deinit(ObjectBefore *b) {
        json_decref(b->wake);
}

/* Only objects for evaluation here have rows in `due` and `wake`. */
static bool object_project_is_eligible(const json_t *row) {
        return !json_object_get(row, "away") && !json_object_get(row, "behind") && !json_object_get(row, "unknown") &&
               !json_object_get(row, "branches");
}

static int object_project_due(const json_t *row, uint64_t *ret) {
        const json_t *due = json_object_get(row, "due");

        *ret = UINT64_MAX;
        return due && json_get_u64(due, ret) < 0 ? -EUCLEAN : 0;
}

static int object_project_set(json_t *row, const char *member, const json_t *value) {
        if (value)
                return json_object_set(row, member, (json_t *)value) < 0 ? -ENOMEM : 0;
        json_object_del(row, member);
        return 0;
}

/* Takes the members from the event; members missing in the event leave the row. */
static int object_project_take(ObjectChange *c, const char *const *members, size_t n) {
        int r = 0;

        for (size_t i = 0; r == 0 && i < n; i++)
                r = object_project_set(c->row, members[i], json_object_get(c->entry, members[i]));
        return r;
}
#define OBJECT_PROJECT_TAKE(c, ...)                                                                                        \
        object_project_take((c), (const char *const[]){__VA_ARGS__}, ARRAY_SIZE(((const char *const[]){__VA_ARGS__})))

/* The counts by state, and the list of executions. */
static int object_project_recount(const ObjectChange *c, const ObjectBefore *before) {
        const char *was = *before->state ? before->state : NULL, *now = json_text(json_object_get(c->row, "state"));

        if (was && now && strcmp(was, now) == 0)
                return 0;
        return object_project_count(c->t, c->id, was, false) ?: object_project_count(c->t, c->id, now, true);
}

static int object_project_before(const json_t *row, ObjectBefore *ret) {
        const char *state = json_str(row, "state");

        *ret = (ObjectBefore){.waits = row && object_project_is_eligible(row),
                              .wake = json_incref(json_object_get(row, "wake"))};
        if (strlen(state) > STATE_NAME_MAX)
                return -EUCLEAN;
        strcpy(ret->state, state);
        return object_project_due(row, &ret->due_usec);
}

static int object_project_write(ObjectChange *c, const ObjectBefore *before) {
        uint64_t due;
        uint8_t key[64];
        int r = object_project_due(c->row, &due)
                        ?: (json_object_set_new(c->row, "last", json_u64(c->seq)) < 0 ? -ENOMEM : 0);

        if (r == 0 && before->waits)
                r = wake_del(c->t, c->id, before->due_usec, before->wake);
        if (r == 0 && object_project_is_eligible(c->row))
                r = wake_put(c->t, c->id, due, json_object_get(c->row, "wake"));
        return r ?: object_project_recount(c, before)
                 ?: json_row_put(c->t, TABLE_OBJECT, object_row_key(c->id, "row", key), c->row);
}

static int object_project_sign(ObjectChange *c) {
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

static int object_project_entry(ObjectChange *c) {
        const json_t *e = c->entry;
        bool note = json_is_true(json_object_get(e, "note"));
        uint64_t n = 0, had = json_number(c->row, "n");
        uint8_t key[OBJECT_ROW_KEY_MAX], seq[8];
        int r;

        if (json_get_u64(json_object_get(e, "n"), &n) < 0 || n != (c->is_new ? 0 : had) ||
            !*json_str(e, "state") || strlen(json_str(e, "head")) != 64)
                return -EUCLEAN;
        r = OBJECT_PROJECT_TAKE(c, "state", "head", "due", "wake") ?: object_project_sign(c);
        if (r == 0 && !note)
                r = OBJECT_PROJECT_TAKE(c, "reason", "status", "woken", "lock");
        if (r == 0 && json_object_get(e, "do"))
                r = OBJECT_PROJECT_TAKE(c, "do");
        if (r == 0 && n == 0)
                r = OBJECT_PROJECT_TAKE(c, "parent")
                            ?: (json_object_set_new(c->row, "created", json_u64(c->seq)) < 0 ? -ENOMEM : 0);
        if (r == 0 && json_object_get(e, "checkpoint") &&
            json_object_set_new(c->row, "checkpoint", json_u64(n + 1)) < 0)
                r = -ENOMEM;
        if (r == 0)
                r = object_project_set(c->row, "time", json_object_get(e, "time_usec"));
        if (r == 0 && json_object_set_new(c->row, "n", json_u64(n + 1)) < 0)
                r = -ENOMEM;
        if (r == 0)
                r = table_add(c->t, TABLE_OBJECT, BYTES(key, object_entry_key(c->id, n, key)), seq_key(c->seq, seq));
        return r == -EEXIST ? -EUCLEAN : r;
}

/* The event is about the object as it is. */
static int object_project_is_at(const ObjectChange *c) {
        return json_equal(json_object_get(c->entry, "n"), json_object_get(c->row, "n")) ? 0 : -EUCLEAN;
}

static int object_project_armed(ObjectChange *c) {
        return object_project_is_at(c) ?: OBJECT_PROJECT_TAKE(c, "due", "wake", "unknown");
}

static int object_project_moved(ObjectChange *c) {
        int r = object_project_is_at(c);

        return r == 0 && json_object_set_new(c->row, "away", json_true()) < 0 ? -ENOMEM : r;
}

/* Keys of imported entries without trust here: for the check of signatures, and for an export (O-9, O-40). */
static int object_project_keys(ObjectChange *c) {
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

static int object_project_imported(ObjectChange *c) {
        static const char *const hows[] = {"new", "ahead", "equal", "behind"};
        const char *how = json_str(c->entry, "how");

        if (name_index(hows, ARRAY_SIZE(hows), how) == ARRAY_SIZE(hows))
                return -EUCLEAN;
        if (strcmp(how, "behind") == 0)
                return json_object_set_new(c->row, "behind", json_true()) < 0 ? -ENOMEM : 0;
        json_object_del(c->row, "away");
        json_object_del(c->row, "behind");
        return object_project_keys(c) ?: OBJECT_PROJECT_TAKE(c, "unknown");
}

static int object_project_branch(ObjectChange *c) {
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
        return json_array_append_new(list, branch) < 0 ? -ENOMEM : object_project_keys(c);
}

static int object_project_adopted(ObjectChange *c) {
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
        return OBJECT_PROJECT_TAKE(c, "n", "head", "state", "checkpoint", "due", "wake", "unknown");
}

/* O-9. An object that was never eligible here gives way; events object.entry with the new entries follow. The ledger
 * keeps the old ones. */
static int object_project_replaced(ObjectChange *c) {
        int r = !json_object_get(c->row, "unknown") ? -EUCLEAN : object_project_is_at(c);

        for (uint64_t had = json_number(c->row, "n"); r == 0 && had > 0;) {
                uint8_t key[OBJECT_ROW_KEY_MAX];

                r = table_del(c->t, TABLE_OBJECT, BYTES(key, object_entry_key(c->id, --had, key)));
        }
        if (r < 0)
                return r == -ENOENT ? -EUCLEAN : r;
        json_object_clear(c->row);
        return json_object_set_new(c->row, "n", json_u64(0)) < 0 ? -ENOMEM : 0;
}

static const struct ObjectEvent {
        const char *type;
        int (*project)(ObjectChange *c);
} object_events[] = {
        {"object.entry", object_project_entry},       {"object.armed", object_project_armed},
        {"object.moved", object_project_moved},       {"object.imported", object_project_imported},
        {"object.branch", object_project_branch},     {"object.adopted", object_project_adopted},
        {"object.replaced", object_project_replaced},
};

/* Changes c->row, NULL: the object is new. */
static int object_project_row(ObjectChange *c, int (*project)(ObjectChange *c)) {
        _cleanup_(object_before_deinit) ObjectBefore before = {0};
        int r = object_project_before(c->row, &before);

        c->is_new = !c->row;
        if (c->is_new && project != object_project_entry)
                return -EUCLEAN;
        if (c->is_new)
                c->row = json_object();
        return r ?: c->row ? project(c) ?: object_project_write(c, &before) : -ENOMEM;
}

static int object_project_change(ObjectChange *c, int (*project)(ObjectChange *c)) {
        int r = object_row_get(c->t, c->id, &c->row);

        if (r < 0 && r != -ENOENT)
                return r;
        r = object_project_row(c, project);
        json_decref(c->row);
        return r;
}

static bool object_project_is_event_key(const json_t *pair) {
        return strncmp(json_text(json_array_get(pair, 0)) ?: "", "event/", 6) == 0;
}

/* Is the pair a fulfilled event condition: of the cause's type, with a seen match? */
static bool object_project_has_fired(const ObjectChange *c, const json_t *pair, const json_t *seen) {
        const char *of = json_str(c->entry, "of"), *key = json_text(json_array_get(pair, 0));

        if (!object_project_is_event_key(pair) || strcmp(key + 6, of) != 0)
                return false;
        for (size_t i = 0; i < json_array_size(seen); i++)
                if (json_equal(json_array_get(seen, i), json_array_get(pair, 1)))
                        return true;
        return false;
}

/* Due at once. The cycle looks slots and objects up; conditions on other events stay. */
static int object_project_woken(ObjectChange *c) {
        const json_t *seen = json_object_get(json_object_get(c->entry, "seen"), c->id),
                     *wake = json_object_get(c->row, "wake");
        json_t *keys = json_array(), *list = json_object_get(c->row, "woken");
        int r = keys ? 0 : -ENOMEM;

        for (size_t i = 0; r == 0 && i < json_array_size(wake); i++) {
                json_t *pair = json_array_get(wake, i);

                if (object_project_is_event_key(pair) && !object_project_has_fired(c, pair, seen) &&
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
                r = object_project_set(c->row, "wake", json_array_size(keys) > 0 ? keys : NULL);
        json_decref(keys);
        return r;
}

/* The broken row of one object stops neither the other objects nor the record of the cause. */
static int object_project_wake_all(ObjectChange *c) {
        const json_t *ids = json_object_get(c->entry, "objects");
        int r = json_is_array(ids) ? 0 : -EUCLEAN;

        for (size_t i = 0; r == 0 && i < json_array_size(ids); i++) {
                ObjectChange one = *c;

                one.id = json_text(json_array_get(ids, i));
                r = one.id ? object_project_change(&one, object_project_woken) : -EUCLEAN;
                if (r == -EUCLEAN)
                        r = 0;
        }
        return r;
}

static int object_project_trust(ObjectChange *c, const char *state) {
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

static const struct ObjectEvent *object_event_find(const char *type) {
        for (size_t i = 0; i < ARRAY_SIZE(object_events); i++)
                if (strcmp(object_events[i].type, type) == 0)
                        return &object_events[i];
        return NULL;
}

int object_row_project_on(Txn *t, uint64_t seq, const char *type, const json_t *entry, json_t **row) {
        ObjectChange c = {.t = t, .seq = seq, .entry = entry, .id = json_str(entry, "object"), .row = TAKE_PTR(*row)};
        const struct ObjectEvent *event = object_event_find(type);
        int r = event && region_id_valid(c.id) ? object_project_row(&c, event->project) : -EUCLEAN;

        *row = c.row;
        return r;
}

int object_row_project(Txn *t, uint64_t seq, const char *type, const json_t *entry) {
        const struct ObjectEvent *event;
        ObjectChange c = {.t = t, .seq = seq, .entry = entry, .id = json_text(json_object_get(entry, "object"))};

        if (strcmp(type, "object.woken") == 0)
                return object_project_wake_all(&c);
        if (strcmp(type, "object.trusted") == 0 || strcmp(type, "object.revoked") == 0)
                return object_project_trust(&c, type + 7);
        event = object_event_find(type);
        if (!event)
                return 0;
        return c.id && region_id_valid(c.id) ? object_project_change(&c, event->project) : -EUCLEAN;
}
