/* Runs: tests. Events about objects without the entries behind them: the rows are a fold of the events alone. */
#pragma once

#include "base/hash.h"
#include "engine/fold-slot.h"
#include "engine/fold.h"
#include "object/kept.h"
#include "object/object.h"
#include "record/object-row.h"
#include "record/wake.h"
#include "tests/support/store-fixture.h"

#include <inttypes.h>
#include <stdarg.h>

/* A measure for people: Criterion shows it without --tap. */
_printf_(1, 2) static inline void wake_say(const char *fmt, ...) {
        va_list ap;

        va_start(ap, fmt);
        fputs("# ", stdout);
        vprintf(fmt, ap);
        putchar('\n');
        va_end(ap);
        fflush(stdout);
}

/* The id of object number i. */
static inline const char *wake_id(unsigned i, char ret[static REGION_ID_MAX]) {
        snprintf(ret, REGION_ID_MAX, "01%024u", i);
        cr_assert(region_id_valid(ret), "%s", ret);
        return ret;
}

static inline int wake_event(Txn *t, const char *type, json_t *fields) {
        return fold_slot_append(t, &(Event){.type = type, .who = "uid:0", .fields = fields, .payload = "x", .n_payload = 1},
                                NULL);
}

/* due UINT64_MAX: none; wake: [[key, match|null]...] as text, or NULL. more: further members, taken over, or NULL. */
static inline int wake_entry_with(Txn *t, const char *id, uint64_t n, const char *kind, const char *state, uint64_t due,
                                  const char *wake, json_t *more) {
        char head[HASH_HEX_MAX], text[64];
        json_t *keys = wake ? json_loads(wake, 0, NULL) : NULL, *o;

        cr_assert(!wake || keys, "%s", wake ?: "");
        snprintf(text, sizeof(text), "%s %" PRIu64, id, n);
        o = json_pack("{s:s, s:o, s:s, s:s, s:s, s:o, s:s, s:s, s:o*, s:o*}", "object", id, "n", json_u64(n), "kind", kind,
                      "state", state, "head", hash_hex(text, strlen(text), head), "time_usec", json_u64(1000 + n), "keyid",
                      "00c0ffee", "trace", id, "due", due < UINT64_MAX ? json_u64(due) : NULL, "wake", keys);
        cr_assert(o && (!more || json_object_update(o, more) == 0));
        json_decref(more);
        return wake_event(t, "object.entry", o);
}

static inline void wake_entry(Txn *t, const char *id, uint64_t n, const char *kind, const char *state, uint64_t due,
                              const char *wake) {
        cr_assert_eq(wake_entry_with(t, id, n, kind, state, due, wake, NULL), 0, "%s %" PRIu64 " %s", id, n, kind);
}

/* The folds that this process keeps give way: the next look reads entries. */
static inline void wake_forget(void) {
        for (unsigned i = 0; i < 16 * KEPT_SETS * KEPT_WAYS; i++) {
                ObjectMemory m = {.n = 1};

                wake_id(1000000 + i, m.object);
                kept_put(&m);
        }
}

/* An object that sleeps. */
static inline void wake_sleeper(Txn *t, const char *id, uint64_t due, const char *wake) {
        wake_entry(t, id, 0, "instantiated", "instantiated", 0, NULL);
        wake_entry(t, id, 1, "evaluation", "evaluation", 0, NULL);
        wake_entry(t, id, 2, "dormant", "dormant", due, wake);
}

/* The due time of table `due`; UINT64_MAX: no row. */
static inline uint64_t wake_due_of(Txn *t, const char *id) {
        _cleanup_cursor_ Cursor *c = NULL;
        Bytes k, v;

        cr_assert_eq(cursor_open(t, TABLE_DUE, (Bytes){0}, &c), 0);
        while (cursor_next(c, &k, &v) == 0)
                if (k.n == 8 + REGION_ID_LEN && memcmp((const char *)k.p + 8, id, REGION_ID_LEN) == 0)
                        return be64_get(k.p);
        return UINT64_MAX;
}

/* The keys of the object in table `wake`, without members of matches, joined by blanks. */
static inline const char *wake_keys_of(Txn *t, const char *id, char *out, size_t n_out) {
        _cleanup_cursor_ Cursor *c = NULL;
        Bytes k, v;

        *out = '\0';
        cr_assert_eq(cursor_open(t, TABLE_WAKE, (Bytes){0}, &c), 0);
        while (cursor_next(c, &k, &v) == 0)
                if (k.n > REGION_ID_LEN && memcmp((const char *)k.p + k.n - REGION_ID_LEN, id, REGION_ID_LEN) == 0) {
                        size_t n = strlen(out);

                        snprintf(out + n, n_out - n, "%s%.*s", n ? " " : "", (int)strcspn(k.p, "?"), (const char *)k.p);
                }
        return out;
}

static inline void wake_slot(Txn *t, const char *name, int value) {
        _cleanup_json_ json_t *schema = json_object(), *v = json_integer(value);
        uint64_t seq, version;
        Diag d = {0};

        cr_assert_eq(engine_slot_define(t, "uid:0", NULL, name, schema, &seq, &d), 0, "%s", d.text);
        cr_assert_eq(engine_slot_put(t, "uid:0", name, v, -1, &seq, &version, &d), 0, "%s", d.text);
}

static inline int wake_listed(void *list, const json_t *one) {
        return json_array_append(list, (json_t *)one);
}

/* An array of what object_each() tells. */
static inline json_t *wake_list(Txn *t, ObjectState state) {
        json_t *list = json_array();

        cr_assert_eq(object_each(t, state, wake_listed, list), 0);
        return list;
}

/* The tables are the fold of the ledger, byte for byte. */
static inline void wake_same(Txn *t, const char *when) {
        FoldResult f;
        Diag d = {0};

        cr_assert_eq(engine_fold_compare(t, &f, &d), 0, "%s: %s", when, d.text);
        cr_assert_null(f.how, "%s: table %s, key %s: %s (%" PRIu64 " rows)", when, table_name(f.table), f.key, f.how,
                       f.differ);
}
