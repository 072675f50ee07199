#include "object/append.h"

#include "engine/fold-slot.h"
#include "ledger/signed-note.h"
#include "object/kept.h"
#include "object/trigger.h"
#include "record/wake.h"
#include "store/hooks.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

void appending_deinit(Appending *a) {
        if (!a->later)
                kept_put(&a->memory); /* of an aborted transaction: no row has such a head */
        object_row_deinit(&a->row);
        memory_deinit(&a->memory);
        *a = APPENDING_NULL;
}

void append_keyid(const Store *s, char ret[static ENTRY_KEYID_LEN + 1]) {
        note_keyid(store_origin(s), store_public_key(s), ret);
}

static int append_sign(void *userdata, const void *msg, size_t n, uint8_t ret[static ENTRY_SIG_BYTES]) {
        return store_sign(userdata, msg, n, ret);
}

/* Does the trigger look at entries of the time of sleep? */
static bool append_counts_outcomes(const json_t *trigger) {
        const char *const lists[] = {"any", "all"};

        if (json_object_get(trigger, "outcomes"))
                return true;
        for (size_t l = 0; l < ARRAY_SIZE(lists); l++) {
                const json_t *list = json_object_get(trigger, lists[l]);

                for (size_t i = 0; i < json_array_size(list); i++)
                        if (append_counts_outcomes(json_array_get(list, i)))
                                return true;
        }
        return false;
}

static int append_key(json_t *keys, const char *prefix, const char *name, const json_t *match) {
        char key[WAKE_KEY_MAX + 1];

        if (!name || snprintf(key, sizeof(key), "%s%s", prefix, name) >= (int)sizeof(key))
                return OBJECT_E_INTENT;
        return json_array_append_new(keys, json_pack("[s, O?]", key, match)) < 0 ? -ENOMEM : 0;
}

/* A fulfilled event condition (the row's "woken") needs no row. */
static bool append_was_seen(const json_t *woken, const json_t *condition) {
        const json_t *match = json_object_get(condition, "match");

        for (size_t i = 0; i < json_array_size(woken); i++) {
                const json_t *one = json_array_get(woken, i), *with = json_object_get(one, "match");

                if (json_equal(json_object_get(one, "type"), json_object_get(condition, "type")) &&
                    (match ? json_equal(with, match) : json_is_null(with)))
                        return true;
        }
        return false;
}

typedef struct Waits {
        uint64_t due_usec; /* UINT64_MAX: none */
        json_t *keys;      /* owned */
} Waits;
static void waits_deinit(Waits *w) {
        json_decref(w->keys);
}

/* The keys of table `wake`. at_once: a look follows soon in any case; only events of the ledger pass meanwhile. */
static int append_keys(const ObjectMemory *m, const json_t *needs, const json_t *trigger, const json_t *woken,
                       bool at_once, json_t *keys) {
        static const struct {
                const char *member, *prefix;
        } lists[] = {{"slots", "slot/"}, {"objects", "object/"}};
        const json_t *events = json_object_get(needs, "events");
        int r = 0;

        for (size_t l = 0; l < ARRAY_SIZE(lists) && !at_once; l++) {
                const json_t *list = json_object_get(needs, lists[l].member);

                for (size_t i = 0; r == 0 && i < json_array_size(list); i++)
                        r = append_key(keys, lists[l].prefix, json_text(json_array_get(list, i)), NULL);
        }
        if (r == 0 && !at_once && json_is_true(json_object_get(needs, "policy")))
                r = append_key(keys, "policy", "", NULL);
        if (r == 0 && !at_once && append_counts_outcomes(trigger) &&
            (json_object_get(m->fold, "delegation") || json_object_size(json_object_get(m->fold, "children_ever")) > 0))
                r = append_key(keys, "child/", m->object, NULL);
        for (size_t i = 0; r == 0 && i < json_array_size(events); i++) {
                const json_t *one = json_array_get(events, i);

                if (!append_was_seen(woken, one))
                        r = append_key(keys, "event/", json_text(json_object_get(one, "type")),
                                       json_object_get(one, "match"));
        }
        return r;
}

/* The rows in `due` and `wake` of an object with this memory. woken: of its row, or NULL. */
static int append_waits(const ObjectMemory *m, const json_t *woken, bool at_once, Waits *ret) {
        const json_t *dormant = json_object_get(m->fold, "dormant"), *trigger = json_object_get(dormant, "trigger");
        _cleanup_json_ json_t *needs = NULL;
        uint64_t not_before = json_number(dormant, "not_before");
        int r;

        *ret = (Waits){.due_usec = m->state == OBJECT_TERMINATED || m->state == OBJECT_EXECUTION ? UINT64_MAX : 0};
        if (m->state != OBJECT_DORMANT)
                return 0;
        ret->keys = json_array();
        if (!ret->keys)
                return -ENOMEM;
        r = trigger_needs(trigger, json_number(dormant, "since"), &needs, &ret->due_usec)
                ?: append_keys(m, needs, trigger, woken, at_once, ret->keys);
        if (at_once)
                ret->due_usec = 0;
        else if (not_before > 0) /* the trigger holds already, and the pace has its time */
                ret->due_usec = not_before;
        return r;
}

static int append_put_waits(json_t *fields, const Waits *w) {
        return (w->due_usec < UINT64_MAX && json_put(fields, "due", json_u64(w->due_usec)) < 0) ||
                               (json_array_size(w->keys) > 0 && json_put(fields, "wake", json_incref(w->keys)) < 0)
                       ? -ENOMEM
                       : 0;
}

/* A short form of the intent's "do" for lists. */
static json_t *append_do(const json_t *intent) {
        const json_t *d = json_object_get(intent, "do");
        const char *const lists[] = {"delegate", "steps"};

        if (json_object_get(d, "skill"))
                return json_pack("{s:O}", "skill", json_object_get(d, "skill"));
        for (size_t i = 0; i < ARRAY_SIZE(lists); i++)
                if (json_object_get(d, lists[i]))
                        return json_pack("{s:i}", lists[i], (int)json_array_size(json_object_get(d, lists[i])));
        return json_pack("{s:b}", "wait", 1);
}

static int append_put_status(json_t *fields, const ObjectMemory *m) {
        _cleanup_json_ json_t *status = NULL;
        int r = memory_status(m, &status);

        if (r == 0 && json_object_get(status, "kind") &&
            json_put(fields, "status", json_incref(json_object_get(status, "kind"))) < 0)
                r = -ENOMEM;
        return r;
}

/* Members of the event for some kinds of entries. */
static int append_put_more(json_t *fields, const Entry *e, const ObjectMemory *after, uint64_t lock) {
        json_t *reason = json_object_get(json_object_get(e->json, "data"), "reason"),
               *parent = json_object_get(json_object_get(after->context, "parent"), "object");
        bool dormant = e->kind == ENTRY_DORMANT, ended = e->kind == ENTRY_TERMINATED;
        int r = 0;

        if (entry_kind_state(e->kind) == OBJECT_NONE)
                r |= json_put(fields, "note", json_true());
        if (e->kind == ENTRY_CHECKPOINT)
                r |= json_put(fields, "checkpoint", json_true());
        if (e->kind == ENTRY_STARTED && lock > 0)
                r |= json_put(fields, "lock", json_u64(lock));
        if (parent && (e->n == 0 || ended))
                r |= json_put(fields, "parent", json_incref(parent));
        if (e->n == 0 || e->kind == ENTRY_MUTATION)
                r |= json_put(fields, "do", append_do(after->intent));
        if ((dormant || ended) && json_text(reason) && json_string_length(reason) <= MEMORY_FOLD_REASON_MAX)
                r |= json_put(fields, "reason", json_incref(reason));
        return r ? -ENOMEM : ended ? append_put_status(fields, after) : 0;
}

/* The event object.entry. *ret is the caller's also after a failure. */
static int append_make(const Entry *e, const ObjectMemory *after, uint64_t lock, const Waits *w, Made *ret) {
        _cleanup_json_ json_t *fields = NULL;
        char head[HASH_HEX_MAX];
        int r;

        *ret = (Made){.line = {.max = ENTRY_LINE_MAX}};
        r = entry_print(e, &ret->line);
        if (r < 0)
                return r;
        hex_encode(e->hash, sizeof(e->hash), head);
        fields = json_pack("{s:O, s:o, s:s, s:s, s:s, s:o, s:s, s:O}", "object", json_object_get(e->json, "object"),
                           "n", json_u64(e->n), "kind", entry_kind_name(e->kind), "state",
                           object_state_name(e->state), "head", head, "time_usec", json_u64(e->time_usec), "keyid",
                           e->keyid, "trace", json_object_get(e->json, "trace"));
        if (!fields)
                return -ENOMEM;
        r = append_put_more(fields, e, after, lock) ?: append_put_waits(fields, w);
        if (r == 0)
                ret->fields = TAKE_PTR(fields);
        return r;
}

static void made_deinit(Made *m) {
        json_decref(m->fields);
        buf_deinit(&m->line);
}

static Event append_event(Made *m, const char *who) {
        return (Event){.type = "object.entry", .who = who, .fields = TAKE_PTR(m->fields), .payload = m->line.data,
                       .n_payload = m->line.n};
}

void append_later_deinit(AppendLater *l) {
        for (size_t i = 0; i < l->n; i++)
                made_deinit(&l->made[i]);
        *l = (AppendLater){0};
}

int append_made(Txn *t, const char *who, AppendLater *l, json_t **row) {
        int r = 0;

        for (size_t i = 0; r == 0 && i < l->n; i++) {
                Event e = append_event(&l->made[i], who);

                r = fold_object_append(t, &e, row);
        }
        return r;
}

/* The entry comes into the ledger later: until then the row follows in the members that the next entry looks at. */
static int append_defer(Appending *a, Made *m, const Waits *w, bool note) {
        AppendLater *l = a->later;

        if (l->n == ARRAY_SIZE(l->made))
                return -ENOSPC;
        l->made[l->n++] = *m;
        *m = (Made){0};
        a->row.due_usec = w->due_usec;
        if (!note)
                json_decref(TAKE_PTR(a->row.row)); /* "woken" is over */
        return 0;
}

static int append_now(Appending *a, const Event *e, const char *id) {
        json_t *row = TAKE_PTR(a->row.row);
        int r = fold_object_append(a->t, e, &row);

        object_row_deinit(&a->row);
        r = r ?: object_row_of(id, row, &a->row);
        json_decref(row);
        return r;
}

int append_open(Txn *t, const char *id, Appending *ret, Diag *reterr) {
        int r = object_get(t, id, &ret->row, reterr) ?: object_memory_kept(t, &ret->row, &ret->memory, reterr);

        ret->t = t;
        return r;
}

/* A note leaves a dormant object asleep. A look follows for a woken object, and for a trigger that counts notes. */
static bool append_is_at_once(const Appending *a, EntryKind kind) {
        const json_t *dormant = json_object_get(a->memory.fold, "dormant");

        return entry_kind_state(kind) == OBJECT_NONE && a->memory.state == OBJECT_DORMANT &&
               (a->row.due_usec == 0 ||
                (kind != ENTRY_CHECKPOINT && append_counts_outcomes(json_object_get(dormant, "trigger"))));
}

static int append_one(Appending *a, const char *id, EntryKind kind, const json_t *outcome, const json_t *data,
                      Diag *reterr) {
        ObjectState to = entry_kind_state(kind) ?: a->memory.state;
        Store *s = txn_store(a->t);
        char keyid[ENTRY_KEYID_LEN + 1];
        _cleanup_entry_ Entry e = ENTRY_NULL;
        _cleanup_(waits_deinit) Waits w = {0};
        _cleanup_(made_deinit) Made made = {0};
        bool note = entry_kind_state(kind) == OBJECT_NONE;
        EntryNew new = {.object = id,
                        .n = a->memory.n,
                        .time_usec = a->now_usec,
                        .prev = a->memory.n > 0 ? a->memory.head : NULL,
                        .node = store_origin(s),
                        .trace = a->trace,
                        .kind = kind,
                        .state = to,
                        .policy = a->policy,
                        .outcome = outcome,
                        .data = data};
        Event event;
        int r;

        append_keyid(s, keyid);
        r = entry_make(&new, keyid, append_sign, s, &e, reterr)
                ?: memory_apply(&a->memory, &e, reterr)
                ?: append_waits(&a->memory, note ? json_object_get(a->row.row, "woken") : NULL,
                                append_is_at_once(a, kind), &w)
                ?: append_make(&e, &a->memory, a->lock, &w, &made);
        if (r != 0)
                return r;
        if (a->later)
                return append_defer(a, &made, &w, note);
        event = append_event(&made, a->who);
        return append_now(a, &event, id);
}

int append_instantiated(Appending *a, const char *id, const json_t *intent, const json_t *context, Diag *reterr) {
        _cleanup_json_ json_t *data =
                json_pack("{s:O, s:O}", "intent", (json_t *)intent, "context", (json_t *)context);

        return data ? append_one(a, id, ENTRY_INSTANTIATED, NULL, data, reterr) : -ENOMEM;
}

/* A fold beyond the size of an entry gets no checkpoint: readers begin at an older checkpoint. */
static int append_checkpoint(Appending *a) {
        _cleanup_json_ json_t *fold = NULL, *data = NULL;
        Diag d;
        int r;

        if (a->memory.state == OBJECT_TERMINATED || a->memory.n - a->memory.checkpoint < APPEND_CHECKPOINT_EVERY)
                return 0;
        r = memory_to_json(&a->memory, &fold);
        if (r == 0)
                data = json_pack("{s:O}", "fold", fold);
        if (r == 0 && !data)
                r = -ENOMEM;
        if (r == 0)
                r = append_one(a, a->memory.object, ENTRY_CHECKPOINT, NULL, data, &d);
        return r == OBJECT_E_SIZE ? 0 : r > 0 ? -EUCLEAN : r;
}

int append_entry(Appending *a, EntryKind kind, const json_t *outcome, const json_t *data, uint64_t *ret_n,
                 Diag *reterr) {
        char id[REGION_ID_MAX];
        uint64_t n = a->memory.n;
        int r;

        strcpy(id, a->memory.object);
        r = append_one(a, id, kind, outcome, data, reterr) ?: append_checkpoint(a);
        if (r == 0 && ret_n)
                *ret_n = n;
        return r;
}

int append_foreign(Txn *t, const Entry *e, const ObjectMemory *after, bool last, const char *who) {
        _cleanup_(waits_deinit) Waits w = {.due_usec = UINT64_MAX};
        _cleanup_(made_deinit) Made made = {0};
        int r = last ? append_waits(after, NULL, true, &w) : 0;
        Event event;

        if (r > 0)
                r = -EUCLEAN;
        r = r ?: append_make(e, after, 0, &w, &made);
        if (r < 0)
                return r;
        event = append_event(&made, who);
        return fold_slot_append(t, &event, NULL);
}

int append_armed(Appending *a) {
        const json_t *dormant = json_object_get(a->memory.fold, "dormant");
        uint64_t not_before = json_number(dormant, "not_before"), due;
        _cleanup_(waits_deinit) Waits w = {0};
        json_t *fields;
        int r;

        if (a->memory.state != OBJECT_DORMANT || a->row.due_usec > a->now_usec)
                return 0;
        r = append_waits(&a->memory, json_object_get(a->row.row, "woken"), false, &w);
        if (r != 0)
                return r;
        due = trigger_next(json_object_get(dormant, "trigger"), json_number(dormant, "since"), a->now_usec);
        w.due_usec = not_before > a->now_usec ? not_before : due;
        fields = json_pack("{s:s, s:o}", "object", a->memory.object, "n", json_u64(a->memory.n));
        if (!fields || append_put_waits(fields, &w) < 0) {
                json_decref(fields);
                return -ENOMEM;
        }
        return append_now(a, &(Event){.type = "object.armed", .who = a->who, .fields = fields}, a->memory.object);
}
