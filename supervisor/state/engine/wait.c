#include "engine/wait-age.h"

#include "base/clock.h"
#include "index/rank.h"
#include "record/event.h"
#include "record/rows.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define ROW_MAX 4096
#define INDEX_CANDIDATE (INDEX_PHRASE + 1) /* field: ids of the candidates */

/* Open items are in the index, under an extra kind for each bucket. */
#define INDEX_KIND_FIRST 0xa0
#define INDEX_KIND_LAST 0xaf
static uint8_t wait_index_kind(Kind k) {
        return (uint8_t)(INDEX_KIND_FIRST | (k & 0x0f));
}

static const char *const names[] = {
        [WAIT_OPEN] = "open", [WAIT_RESOLVED] = "resolved", [WAIT_STUCK] = "stuck", [WAIT_DROPPED] = "dropped",
        [WAIT_EXPIRED] = "expired"};

const char *wait_state_name(WaitState s) {
        return names[s];
}

static int wait_decode(uint64_t id, Bytes v, Wait *ret) {
        _cleanup_json_ json_t *row = NULL;
        const char *kind, *op, *state;
        Wait w = {.id = id};
        int r = json_row_parse(v, ROW_MAX, &row);

        if (r < 0)
                return r;
        kind = json_text(json_object_get(row, "kind"));
        op = json_text(json_object_get(row, "op"));
        state = json_text(json_object_get(row, "state"));
        if (!kind || !op || !state || !(w.kind = kind_from_name(kind)) || !(w.op = op_from_name(op)) ||
            json_get_u64(json_object_get(row, "scope"), &w.scope) < 0 ||
            json_get_u64(json_object_get(row, "attempts"), &w.attempts) < 0 ||
            json_get_u64(json_object_get(row, "last"), &w.last) < 0 ||
            json_row_number(row, "erased", &w.erased) < 0 || json_row_number(row, "since", &w.since_usec) < 0 ||
            json_row_number(row, "commits", &w.commits) < 0)
                return -EUCLEAN;
        w.state = name_index(names, ARRAY_SIZE(names), state) % ARRAY_SIZE(names); /* 0: unknown */
        if (!w.state)
                return -EUCLEAN;
        *ret = w;
        return 0;
}

static int wait_put(Txn *t, const Wait *w) {
        bool aged = w->since_usec > 0; /* rows of an older Lethe stay as they are */
        _cleanup_json_ json_t *row =
                json_pack("{s:o, s:s, s:s, s:s, s:o, s:o, s:o*, s:o*, s:o*}", "scope", json_u64(w->scope), "kind",
                          kind_name(w->kind), "op", op_name(w->op), "state", names[w->state], "attempts",
                          json_u64(w->attempts), "last", json_u64(w->last), "since",
                          aged ? json_u64(w->since_usec) : NULL, "commits", aged ? json_u64(w->commits) : NULL,
                          "erased", w->erased ? json_u64(w->erased) : NULL);
        uint8_t key[8];

        return row ? json_row_put(t, TABLE_WAIT, seq_key(w->id, key), row) : -ENOMEM;
}

int wait_get(Txn *t, uint64_t id, Wait *ret) {
        uint8_t key[8];
        Bytes v;

        return table_get(t, TABLE_WAIT, seq_key(id, key), &v) ?: wait_decode(id, v, ret);
}

int wait_next(Txn *t, uint64_t from, uint64_t scope, WaitState state, Wait *ret) {
        _cleanup_cursor_ Cursor *c = NULL;
        uint8_t key[8];
        Bytes k, v;
        Wait w;
        int r = cursor_open(t, TABLE_WAIT, seq_key(from, key), &c);

        while (r == 0 && (r = cursor_next(c, &k, &v)) == 0) {
                if (k.n != 8)
                        return -EUCLEAN;
                r = wait_decode(be64_get(k.p), v, &w);
                if (r == -EUCLEAN)
                        ret->id = be64_get(k.p);
                if (r == 0 && (!scope || w.scope == scope) && (!state || w.state == state)) {
                        *ret = w;
                        return 0;
                }
        }
        return r;
}

int wait_show(Txn *t, const Wait *w, json_t **ret) {
        static const char *const of_entry[] = {"reason", "agent", "run"}, *const of_body[] = {"note", "request",
                                                                                              "candidates"};
        _cleanup_json_ json_t *entry = NULL, *body = NULL, *o = NULL;
        int r = event_get(t, w->id, &entry) ?: record_body(t, w->id, &body);

        if (r < 0 && r != -ENOENT)
                return r;
        o = json_pack("{s:o, s:o, s:s, s:s, s:s, s:o, s:O*, s:o, s:o*}", "pending", json_u64(w->id), "scope",
                      json_u64(w->scope), "kind", kind_name(w->kind), "operation", op_name(w->op), "state",
                      names[w->state], "attempts", json_u64(w->attempts), "created", json_object_get(entry, "time"),
                      "last", json_u64(w->last), "erased", w->erased ? json_u64(w->erased) : NULL);
        if (!o || JSON_ROW_KEEP(o, entry, of_entry) < 0 || JSON_ROW_KEEP(o, body, of_body) < 0)
                return -ENOMEM;
        r = w->state == WAIT_EXPIRED ? wait_show_expired(t, w, o) : 0;
        if (r < 0)
                return r;
        *ret = TAKE_PTR(o);
        return 0;
}

int engine_wait(Txn *t, const char *who, const char *region, uint64_t scope, Kind kind, Op op, const json_t *fields,
                const json_t *body, uint64_t *ret_id) {
        _cleanup_json_ json_t *all = fields ? json_copied(fields) : json_object();
        uint64_t commits;
        int r = wait_commits(t, scope, &commits);

        if (r < 0)
                return r;
        if (!all || json_object_update_new(all, json_pack("{s:o, s:s, s:s, s:o}", "scope", json_u64(scope), "kind",
                                                          kind_name(kind), "op", op_name(op), "commits",
                                                          json_u64(commits))) < 0)
                return -ENOMEM;
        return project_append(
                t,
                &(Event){.type = "note.pending", .who = who, .region = region, .fields = TAKE_PTR(all), .json = body},
                ret_id);
}

int engine_wait_failed(Txn *t, const char *who, const char *region, const uint64_t *ids, size_t n, uint64_t root) {
        _cleanup_json_ json_t *list = json_array();
        json_t *fields;

        for (size_t i = 0; i < n; i++)
                if (json_array_append_new(list, json_u64(ids[i])) < 0)
                        return -ENOMEM;
        fields = json_pack("{s:O, s:o*}", "failed", list, "root", root ? json_u64(root) : NULL);
        return project_append(t, &(Event){.type = "pending.retried", .who = who, .region = region, .fields = fields},
                              NULL);
}

int engine_wait_drop(Txn *t, const char *who, uint64_t id, const char *reason, uint64_t *ret_seq, Diag *reterr) {
        _cleanup_json_ json_t *body = json_pack("{s:s}", "reason", reason);
        json_t *fields;
        Wait w;
        int r = wait_get(t, id, &w);

        if (r == -ENOENT)
                return diag(reterr, ENGINE_E_NO_RECORD, "there is no pending item %" PRIu64, id);
        if (r < 0)
                return r;
        if (!wait_state_waits(w.state))
                return diag(reterr, ENGINE_E_BAD_STATE, "pending item %" PRIu64 " is %s", id, names[w.state]);
        if (!body)
                return -ENOMEM;
        fields = json_pack("{s:o, s:o}", "pending", json_u64(id), "scope", json_u64(w.scope));
        return project_append(
                t, &(Event){.type = "pending.dropped", .who = who, .fields = fields, .json = body}, ret_seq);
}

int engine_wait_erase(Txn *t, const char *who, uint64_t id, const char *retention, uint64_t *ret_seq) {
        json_t *fields;
        Wait w;
        int r = wait_get(t, id, &w);

        if (r == 0 && (w.state == WAIT_OPEN || w.state == WAIT_STUCK))
                r = -EUCLEAN;
        if (r == 0)
                r = body_del(t, id);
        if (r == 0 && w.state == WAIT_DROPPED)
                r = body_del(t, w.last);
        if (r < 0)
                return r;
        fields = json_pack("{s:o, s:o, s:s*}", "pending", json_u64(id), "scope", json_u64(w.scope), "retention",
                           retention);
        return project_append(t, &(Event){.type = "pending.erased", .who = who, .fields = fields}, ret_seq);
}

int wait_erase(Txn *t, uint64_t scope) {
        uint64_t from = 0;
        Wait w;
        int r;

        for (; (r = wait_next(t, from, scope, 0, &w)) == 0; from = w.id + 1) {
                r = body_del(t, w.id);
                if (r == 0 && w.state == WAIT_DROPPED)
                        r = body_del(t, w.last);
                if (r < 0)
                        return r;
        }
        return r == -ENOENT ? 0 : r;
}

static int wait_index_text(Tokenizer *bag, unsigned field, const json_t *text) {
        return json_is_string(text) ? tokenizer_add(bag, field, json_bytes(text), json_string_length(text)) : 0;
}

static int wait_index_put(Txn *t, const Wait *w, const json_t *body) {
        const json_t *note = json_object_get(body, "note"), *request = json_object_get(body, "request"),
                     *aliases = json_object_get(request, "candidate_aliases"),
                     *reference = json_object_get(request, "reference_text"),
                     *candidates = json_object_get(body, "candidates"), *target = json_object_get(request, "target_id");
        char name[24];
        Tokenizer *bag;
        int r;

        if (!body)
                return 0; /* erased by a later deletion of the scope */
        r = index_bag(t, &bag);
        if (json_is_string(target)) { /* only the target row decides: commits of other rows must not use up attempts */
                note = reference = aliases = candidates = NULL;
                if (r == 0)
                        r = wait_index_text(bag, INDEX_CANDIDATE, target);
        }
        if (r == 0)
                r = wait_index_text(bag, INDEX_TEXT, note) ?: wait_index_text(bag, INDEX_TEXT, reference);
        for (size_t i = 0; r == 0 && i < json_array_size(aliases); i++)
                r = wait_index_text(bag, INDEX_TEXT, json_array_get(aliases, i));
        for (size_t i = 0; r == 0 && i < json_array_size(candidates); i++) {
                const json_t *id = json_object_get(json_array_get(candidates, i), "id");

                r = json_is_string(id) ? wait_index_text(bag, INDEX_CANDIDATE, id) : -EUCLEAN;
        }
        snprintf(name, sizeof(name), "%" PRIu64, w->id);
        return r < 0 ? r : index_put(t, w->scope, wait_index_kind(w->kind), w->id, name, bag);
}

static int wait_index_del(Txn *t, const Wait *w) {
        int r = index_del(t, w->scope, wait_index_kind(w->kind), w->id);

        return r == -ENOENT ? 0 : r; /* stuck, or erased */
}

/* The limit of index rows read for each term, oldest first, for any number of similar items; a row has at most 256
 * items. */
#define TOUCH_ROWS 8

/* The whole name is the longest term. */
static RankTerm wait_whole_term(Tokenizer *bag) {
        size_t n, at = 0;
        const Term *all = tokenizer_sorted(bag, &n);

        for (size_t i = 1; all && i < n; i++)
                if (all[i].n > all[at].n)
                        at = i;
        return all && n > 0 ? (RankTerm){.p = all[at].p, .n = all[at].n} : (RankTerm){0};
}

int wait_next_open(Txn *t, uint64_t scope, Kind kind, uint64_t from, Wait *ret) {
        uint8_t key[DOC_KEY_BYTES];
        _cleanup_cursor_ Cursor *c = NULL;
        uint64_t id;
        Bytes k, v;
        int r;

        doc_key(scope, wait_index_kind(kind), MAX(from, 1), key); /* row 0 has the sums */
        r = cursor_open_within(t, TABLE_DOC, BYTES(key, sizeof(key)), 8, &c) ?: cursor_next(c, &k, &v);
        while (r == 0 && k.n == DOC_KEY_BYTES && be64_get((const uint8_t *)k.p + 9) == 0)
                r = cursor_next(c, &k, &v);
        if (r < 0)
                return r;
        if (k.n != DOC_KEY_BYTES)
                return -EUCLEAN;
        if (((const uint8_t *)k.p)[8] > INDEX_KIND_LAST)
                return -ENOENT;
        id = be64_get((const uint8_t *)k.p + 9);
        *ret = (Wait){.id = id, .kind = (Kind)(KIND_PLAN & 0xf0) | (((const uint8_t *)k.p)[8] & 0x0f)};
        r = wait_get(t, id, ret);
        return r == -ENOENT ? -EUCLEAN : r;
}

int wait_any(Txn *t, uint64_t scope, Kind kind) {
        IndexStats stats;
        int r = index_stats(t, scope, wait_index_kind(kind), &stats);

        return r < 0 ? r : stats.docs > 0;
}

typedef struct Having {
        uint64_t *ids;
        size_t n;
} Having;

static int wait_take_oldest(void *user, const RankOverlap *o) {
        Having *h = user;

        h->ids[h->n++] = o->number;
        return h->n == WAIT_HAVING_MOST;
}

int wait_having(Txn *t, uint64_t scope, Kind kind, const char *id, uint64_t ret[static WAIT_HAVING_MOST],
                size_t *ret_n) {
        _cleanup_tokenizer_ Tokenizer *bag = NULL;
        Having h = {.ids = ret};
        double weight = 1;
        RankTerm name;
        int r = tokenizer_new(&bag) ?: tokenizer_add(bag, INDEX_CANDIDATE, id, strlen(id));

        if (r < 0)
                return r;
        name = wait_whole_term(bag);
        if (name.n == 0)
                return -ENOMEM;
        r = rank_overlap(t, scope, wait_index_kind(kind), 1U << INDEX_CANDIDATE, &name, &weight, 1, TOUCH_ROWS, false,
                         wait_take_oldest, &h);
        *ret_n = h.n;
        return MIN(r, 0);
}

int wait_words(Txn *t, uint64_t scope, Kind kind, const char *begin, size_t n, RankTerm *ret, size_t most,
               size_t *ret_n) {
        return prefix_scan(t, scope, wait_index_kind(kind), INDEX_TEXT, begin, n, ret, most, ret_n);
}

int wait_sharing(Txn *t, uint64_t scope, Kind kind, const RankTerm *terms, size_t n,
                 int (*each)(void *user, const RankOverlap *o), void *user) {
        static const double weight[RANK_TERMS_MAX];

        return rank_overlap(t, scope, wait_index_kind(kind), 1U << INDEX_TEXT, terms, weight, n, TOUCH_ROWS, false,
                            each, user);
}

int wait_project_retried(Txn *t, const Projection *p) {
        const json_t *ids = json_object_get(p->entry, "failed");
        uint64_t id;
        Wait w;

        for (size_t i = 0; i < json_array_size(ids); i++) {
                int r = json_get_u64(json_array_get(ids, i), &id) < 0 ? -EUCLEAN : wait_get(t, id, &w);

                if (r < 0)
                        return r == -ENOENT ? -EUCLEAN : r;
                w.last = p->seq;
                if (++w.attempts >= WAIT_ATTEMPTS_MAX && w.state == WAIT_OPEN) {
                        w.state = WAIT_STUCK;
                        r = wait_index_del(t, &w);
                }
                if (r == 0)
                        r = wait_put(t, &w);
                if (r < 0)
                        return r;
        }
        return 0;
}

int wait_close(Txn *t, uint64_t id, uint64_t seq, WaitState state) {
        Wait w;
        int r = wait_get(t, id, &w);

        if (r < 0)
                return r == -ENOENT ? -EUCLEAN : r;
        if (!wait_state_waits(w.state))
                return -EUCLEAN;
        w.state = state;
        w.last = seq;
        return wait_index_del(t, &w) ?: wait_put(t, &w);
}

int wait_project_pending(Txn *t, const Projection *p) {
        const char *kind = json_text(json_object_get(p->entry, "kind")),
                   *op = json_text(json_object_get(p->entry, "op"));
        Wait w = {.id = p->seq, .state = WAIT_OPEN, .last = p->seq};

        if (!kind || !op || !(w.kind = kind_from_name(kind)) || !(w.op = op_from_name(op)) ||
            json_get_u64(json_object_get(p->entry, "scope"), &w.scope) < 0)
                return -EUCLEAN;
        if (json_get_u64(json_object_get(p->entry, "commits"), &w.commits) == 0 &&
            clock_parse(json_text(json_object_get(p->entry, "time")) ?: "", &w.since_usec) < 0)
                return -EUCLEAN;
        return (w.since_usec > 0 ? wait_begin_commits(t, w.scope) : 0) ?: wait_put(t, &w)
               ?: wait_index_put(t, &w, p->body);
}

int wait_project_dropped(Txn *t, const Projection *p) {
        uint64_t id;

        return json_get_u64(json_object_get(p->entry, "pending"), &id) < 0 ? -EUCLEAN
                                                                           : wait_close(t, id, p->seq, WAIT_DROPPED);
}

int wait_project_erased(Txn *t, const Projection *p) {
        uint64_t id;
        Wait w;
        int r = json_get_u64(json_object_get(p->entry, "pending"), &id) < 0 ? -EUCLEAN : wait_get(t, id, &w);

        if (r < 0)
                return r == -ENOENT ? -EUCLEAN : r;
        if (w.state == WAIT_OPEN || w.state == WAIT_STUCK)
                return -EUCLEAN;
        w.erased = p->seq;
        return wait_put(t, &w);
}

int wait_project_resolved(Txn *t, uint64_t id, uint64_t seq) {
        return wait_close(t, id, seq, WAIT_RESOLVED);
}

int wait_project_forget(Txn *t, uint64_t scope) {
        uint64_t from = 0;
        Wait w;
        int r;

        for (; (r = wait_next(t, from, scope, 0, &w)) == 0; from = w.id + 1) {
                uint8_t key[8];

                r = table_del(t, TABLE_WAIT, seq_key(w.id, key));
                if (r < 0)
                        return r;
        }
        return r == -ENOENT ? 0 : r;
}
