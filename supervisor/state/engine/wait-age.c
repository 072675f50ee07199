#include "engine/wait-age.h"

#include "base/clock.h"
#include "ledger/ledger.h"
#include "record/event.h"
#include "record/rows.h"

#include <errno.h>
#include <string.h>

static const char *const limit_names[] = {[WAIT_LIMIT_AGE] = "age", [WAIT_LIMIT_COMMITS] = "commits"};

const char *wait_limit_name(WaitLimit l) {
        return limit_names[l];
}

int wait_commits(Txn *t, uint64_t scope, uint64_t *ret) {
        uint8_t key[8];
        Bytes v;
        int r = table_get(t, TABLE_COMMITS, seq_key(scope, key), &v);

        *ret = 0;
        if (r < 0)
                return r == -ENOENT ? 0 : r;
        if (v.n != 8)
                return -EUCLEAN;
        *ret = be64_get(v.p);
        return 0;
}

int wait_begin_commits(Txn *t, uint64_t scope) {
        uint8_t key[8], none[8] = {0};
        int r = table_add(t, TABLE_COMMITS, seq_key(scope, key), BYTES(none, sizeof(none)));

        return r == -EEXIST ? 0 : r;
}

int wait_count_commit(Txn *t, uint64_t scope) {
        uint8_t key[8], next[8];
        Bytes v;
        int r = table_get(t, TABLE_COMMITS, seq_key(scope, key), &v);

        if (r < 0)
                return r == -ENOENT ? 0 : r;
        if (v.n != 8)
                return -EUCLEAN;
        be64_put(next, be64_get(v.p) + 1);
        return table_put(t, TABLE_COMMITS, BYTES(key, sizeof(key)), BYTES(next, sizeof(next)));
}

/* The time of note.pending. */
static int wait_since(Txn *t, const Wait *w, uint64_t *ret_usec) {
        _cleanup_json_ json_t *entry = NULL;
        int r;

        *ret_usec = w->since_usec;
        if (w->since_usec > 0)
                return 0;
        r = event_get(t, w->id, &entry);
        if (r == 0 && clock_parse(json_text(json_object_get(entry, "time")) ?: "", ret_usec) < 0)
                r = -EUCLEAN;
        return r == -ENOENT ? -EUCLEAN : r;
}

/* The present, for the age of a scope's items. */
typedef struct WaitNow {
        uint64_t usec; /* the ledger's time, which never goes back */
        uint64_t commits;
        WaitLimits limits;
} WaitNow;

static int wait_now(Txn *t, uint64_t scope, const WaitLimits *limits, WaitNow *ret) {
        uint64_t size, last;
        int r = ledger_state(t, &size, &last) ?: wait_commits(t, scope, &ret->commits);

        if (r < 0)
                return r;
        ret->usec = MAX(clock_real_usec(), last);
        ret->limits = limits ? *limits : WAIT_LIMITS_DEFAULT;
        return 0;
}

static int wait_passed(Txn *t, const Wait *w, const WaitNow *now) {
        uint64_t since;
        int r;

        if (now->commits > w->commits && now->commits - w->commits > now->limits.commits)
                return WAIT_LIMIT_COMMITS;
        r = wait_since(t, w, &since);
        if (r < 0)
                return r;
        return now->usec > since && now->usec - since > now->limits.age_usec ? WAIT_LIMIT_AGE : WAIT_LIMIT_NONE;
}

int wait_overdue(Txn *t, const Wait *w, const WaitLimits *limits) {
        WaitNow now;
        int r = wait_now(t, w->scope, limits, &now);

        return r < 0 ? r : wait_passed(t, w, &now);
}

/* Overdue items of a scope, by limit, for the next events. */
typedef struct Expiring {
        uint64_t scope, ids[ARRAY_SIZE(limit_names)][WAIT_EXPIRES_MOST];
        size_t n[ARRAY_SIZE(limit_names)];
        WaitNow now;
        const char *who, *region;
} Expiring;

/* Items read by a commit: all closed items, and the first younger item of each bucket. */
#define EXPIRE_STEPS (WAIT_EXPIRES_MOST + 7)

static int expire_append(Txn *t, Expiring *e, WaitLimit limit) {
        _cleanup_json_ json_t *list = json_array();
        uint64_t most = limit == WAIT_LIMIT_AGE ? e->now.limits.age_usec : e->now.limits.commits;
        json_t *fields;

        if (e->n[limit] == 0)
                return 0;
        for (size_t i = 0; i < e->n[limit]; i++)
                if (json_array_append_new(list, json_u64(e->ids[limit][i])) < 0)
                        return -ENOMEM;
        fields = json_pack("{s:o, s:O, s:s, s:o}", "scope", json_u64(e->scope), "expired", list, "limit",
                           limit_names[limit], limit == WAIT_LIMIT_AGE ? "age_usec" : "commits", json_u64(most));
        e->n[limit] = 0;
        return fields ? project_append(t,
                                       &(Event){.type = "pending.expired", .who = e->who, .region = e->region,
                                                .fields = fields},
                                       NULL)
                      : -ENOMEM;
}

static int expire_flush(Txn *t, Expiring *e) {
        return expire_append(t, e, WAIT_LIMIT_AGE) ?: expire_append(t, e, WAIT_LIMIT_COMMITS);
}

/* Adds the item if it is overdue. Returns 1 then, 0, -EUCLEAN, -errno. */
static int expire_take(Txn *t, Expiring *e, const Wait *w) {
        int limit = wait_passed(t, w, &e->now);

        if (limit <= 0 || e->n[limit] == WAIT_EXPIRES_MOST)
                return MIN(limit, 0);
        e->ids[limit][e->n[limit]++] = w->id;
        return 1;
}

int engine_wait_expire(Txn *t, const char *who, const char *region, uint64_t scope, const WaitLimits *limits,
                       size_t *ret_n) {
        Expiring e = {.scope = scope, .who = who, .region = region};
        uint64_t from = 1;
        Kind kind = KIND_PLAN;
        Wait w = {0};
        int r = wait_now(t, scope, limits, &e.now);

        *ret_n = 0;
        for (unsigned i = 0; r == 0 && i < EXPIRE_STEPS; i++) {
                r = wait_next_open(t, scope, kind, from, &w) ?: expire_take(t, &e, &w);
                *ret_n += r > 0;
                /* Within a bucket the age falls with the id: the first younger item ends the search. */
                kind = r == 0 ? w.kind + 1 : w.kind;
                from = r == 0 ? 1 : w.id + 1;
                if (r > 0 || (r == -EUCLEAN && w.id > 0))
                        r = 0;
                w.id = 0;
        }
        return r < 0 && r != -ENOENT ? r : expire_flush(t, &e);
}

/* Turns to the scope of the next item. Other scopes' items are written first: an event has the items of one scope. */
static int expire_turn_to(Txn *t, Expiring *e, uint64_t scope, const WaitLimits *limits) {
        int r;

        if (e->scope == scope && e->n[WAIT_LIMIT_AGE] < WAIT_EXPIRES_MOST &&
            e->n[WAIT_LIMIT_COMMITS] < WAIT_EXPIRES_MOST)
                return 0;
        r = expire_flush(t, e);
        if (r == 0 && e->scope != scope)
                r = wait_now(t, scope, limits, &e->now);
        e->scope = scope;
        return r;
}

int engine_wait_expire_all(Txn *t, const char *who, uint64_t scope, const WaitLimits *limits, uint64_t *ret_n) {
        Expiring e = {.who = who};
        uint64_t from = 0;
        Wait w = {0};
        int r;

        *ret_n = 0;
        while ((r = wait_next(t, from, scope, 0, &w)) == 0 || (r == -EUCLEAN && w.id >= from && w.id > 0)) {
                from = w.id + 1;
                if (r < 0 || !wait_state_waits(w.state))
                        continue;
                r = expire_turn_to(t, &e, w.scope, limits) ?: expire_take(t, &e, &w);
                *ret_n += r > 0;
                if (r < 0 && r != -EUCLEAN)
                        return r;
        }
        return r < 0 && r != -ENOENT ? r : expire_flush(t, &e);
}

int wait_show_expired(Txn *t, const Wait *w, json_t *o) {
        static const char *const members[] = {"time", "limit", "age_usec", "commits"};
        _cleanup_json_ json_t *entry = NULL;
        json_t *expired = json_object();
        int r = json_put(o, "expired", expired) ?: event_get(t, w->last, &entry);

        return r < 0 ? r == -ENOENT ? -EUCLEAN : r : JSON_ROW_KEEP(expired, entry, members);
}

int wait_project_expired(Txn *t, const Projection *p) {
        const json_t *ids = json_object_get(p->entry, "expired");
        uint64_t id;

        for (size_t i = 0; i < json_array_size(ids); i++) {
                int r = json_get_u64(json_array_get(ids, i), &id) < 0 ? -EUCLEAN
                                                                      : wait_close(t, id, p->seq, WAIT_EXPIRED);

                if (r < 0)
                        return r;
        }
        return 0;
}
