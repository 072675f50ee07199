#include "engine/retention.h"

#include "base/clock.h"
#include "engine/erase-row.h"
#include "engine/scope.h"
#include "engine/slot-erase.h"
#include "record/event.h"
#include "record/rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

typedef struct Beyond {
        char **names; /* ids or slots, owned */
        size_t n;
        bool more;
} Beyond;

static void retention_deinit(Beyond *b) {
        for (size_t i = 0; i < b->n; i++)
                free(b->names[i]);
        free(b->names);
}

static int retention_add(Beyond *b, const char *name, size_t n) {
        if (b->n == RETENTION_TURN) {
                b->more = true;
                return 0;
        }
        if (!GROW(b->names, b->n) || !(b->names[b->n] = strndup(name, n)))
                return -ENOMEM;
        b->n++;
        return 0;
}

static int retention_find_rows(Txn *t, const RetentionRule *rule, Beyond *b) {
        _cleanup_record_walk_ RecordWalk w = {0};
        _cleanup_record_ Record rec = RECORD_NULL;
        uint64_t scope, time;
        int r = scope_get(t, rule->scope, &scope) ?: record_walk(t, scope, rule->kind, &w);

        while (r == 0 && !b->more && (r = record_walk_next(&w, &rec)) == 0) {
                _cleanup_json_ json_t *entry = NULL;

                r = event_get(t, rec.last, &entry);
                if (r == 0 && clock_parse(json_str(entry, "time"), &time) < 0)
                        r = -EUCLEAN;
                if (r == 0 && time < rule->before)
                        r = retention_add(b, rec.key.id, strlen(rec.key.id));
        }
        return r == -ENOENT ? 0 : r;
}

static int retention_find_slots(Txn *t, const RetentionRule *rule, Beyond *b) {
        _cleanup_cursor_ Cursor *c = NULL;
        size_t n = strlen(rule->slots);
        Bytes k, v;
        int r = cursor_open_within(t, TABLE_SLOT, BYTES(rule->slots, n), n, &c);

        while (r == 0 && !b->more && (r = cursor_next(c, &k, &v)) == 0) {
                char name[SLOT_NAME_MAX + 1] = "";
                uint64_t from, to;

                if (k.n > SLOT_NAME_MAX)
                        return -EUCLEAN;
                memcpy(name, k.p, k.n);
                r = slot_versions_before(t, name, rule->before, 1, &from, &to);
                r = r == 0 ? retention_add(b, name, k.n) : r == -ENOENT ? 0 : r;
        }
        return r == -ENOENT ? 0 : r;
}

static int retention_find(Txn *t, const RetentionRule *rule, Beyond *b) {
        return rule->kind ? retention_find_rows(t, rule, b) : retention_find_slots(t, rule, b);
}

int retention_any(Txn *t, const RetentionRule *rule) {
        _cleanup_(retention_deinit) Beyond b = {0};
        int r = retention_find(t, rule, &b);

        return r < 0 ? r : b.n > 0;
}

static int retention_erase_row(Txn *t, const RetentionRule *rule, const char *id, const char *who, uint64_t *n,
                               Diag *reterr) {
        _cleanup_json_ json_t *done = NULL;
        int r = engine_row_erase(t,
                                 &(RowErasure){.scope = rule->scope, .kind = rule->kind, .id = id, .cascade = true,
                                               .retention = rule->stay, .who = who}, &done, reterr);

        *n += r == 0;
        return r;
}

static int retention_erase_values(Txn *t, const RetentionRule *rule, const char *name, const char *who, uint64_t *n,
                                  bool *more, Diag *reterr) {
        SlotErasure e = {.name = name, .retention = rule->stay, .who = who};
        uint64_t seq, erased;
        int r = slot_versions_before(t, name, rule->before, RETENTION_VALUES, &e.from, &e.to)
                ?: engine_slot_erase(t, &e, &seq, &erased, reterr);

        if (r == 0) {
                *n += erased;
                *more |= e.to - e.from + 1 >= RETENTION_VALUES;
        }
        return r == -ENOENT ? -EUCLEAN : r;
}

int engine_retention(Txn *t, const RetentionRule *rule, const char *who, uint64_t *ret_n, bool *ret_more,
                     Diag *reterr) {
        _cleanup_(retention_deinit) Beyond b = {0};
        int r = retention_find(t, rule, &b);

        *ret_n = 0;
        *ret_more = b.more;
        for (size_t i = 0; r == 0 && i < b.n; i++)
                r = rule->kind ? retention_erase_row(t, rule, b.names[i], who, ret_n, reterr)
                               : retention_erase_values(t, rule, b.names[i], who, ret_n, ret_more, reterr);
        return r;
}
