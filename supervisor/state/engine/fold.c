#include "engine/fold.h"

#include "base/clock.h"
#include "record/event.h"
#include "engine/fold-slot.h"
#include "engine/project.h"
#include "record/record.h"
#include "engine/dead-letter.h"
#include "ledger/ledger.h"
#include "store/hooks.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* One event: what the live path did with it. */
static int fold_event(Txn *from, Txn *to, uint64_t seq, Bytes entry) {
        _cleanup_json_ json_t *o = NULL, *body = NULL;
        const char *type;
        int r = json_parse_own(entry.p, entry.n, LEDGER_ENTRY_MAX, JSON_DEPTH_DEFAULT, &o);

        if (r != 0)
                return r > 0 ? -EUCLEAN : r;
        type = json_text(json_object_get(o, "type"));
        if (!type)
                return -EUCLEAN;
        if (!project_concerns(type))
                return fold_slot_event(to, seq, o);
        r = record_body(from, seq, &body);
        if (r < 0 && r != -ENOENT)
                return r;
        r = dead_letter_project(to, seq, o, body, NULL);
        return r > 0 ? 0 : r;
}

#define EVENTS_AT_ONCE 4096
#define ROWS_AT_ONCE 4096

/* What is not committed yet is in memory: commits and begins anew. */
static int breathe(Txn **t, Diag *reterr) {
        Store *s = txn_store(*t);
        int r = store_commit(TAKE_PTR(*t), reterr);

        return r == 0 ? store_begin(s, true, t, reterr) : r;
}

static int fold_all(Txn *from, Txn **to, uint64_t *ret_events, Diag *reterr) {
        _cleanup_cursor_ Cursor *c = NULL;
        uint64_t n = 0;
        Bytes k, v;
        int r = cursor_open(from, TABLE_EVENT, BYTES(NULL, 0), &c);

        for (; r == 0 && (r = cursor_next(c, &k, &v)) == 0; n++) {
                r = k.n == 8 ? fold_event(from, *to, be64_get(k.p), v) : -EUCLEAN;
                if (r == 0 && n % EVENTS_AT_ONCE == EVENTS_AT_ONCE - 1)
                        r = breathe(to, reterr);
        }
        *ret_events = n;
        return r == -ENOENT ? 0 : r;
}

/* A key as people can read it: printable bytes as they are, others as \xNN. */
static void show(Bytes k, char *out, size_t n_out) {
        const uint8_t *p = k.p;
        size_t n = 0;

        for (size_t i = 0; i < k.n && n + 5 < n_out; i++)
                if (p[i] > ' ' && p[i] < 0x7f && p[i] != '\\')
                        out[n++] = (char)p[i];
                else
                        n += (size_t)snprintf(out + n, n_out - n, "\\x%02x", p[i]);
        out[n] = '\0';
}

static void differs(FoldResult *ret, Table table, Bytes key, const char *how) {
        if (ret->differ++ > 0)
                return;
        ret->table = table;
        ret->how = how;
        show(key, ret->key, sizeof(ret->key));
}

typedef struct Side {
        Cursor *cursor;
        Bytes k, v;
        bool over;
} Side;

static int step(Side *s) {
        int r = cursor_next(s->cursor, &s->k, &s->v);

        s->over = r == -ENOENT;
        return s->over ? 0 : r;
}

static int open_side(Txn *t, Table table, Bytes from, Side *ret) {
        cursor_free(TAKE_PTR(ret->cursor));
        *ret = (Side){0};
        return cursor_open(t, table, from, &ret->cursor);
}

static int order(const Side *a, const Side *b) {
        size_t n = a->over || b->over ? 0 : MIN(a->k.n, b->k.n);
        int c = n ? memcmp(a->k.p, b->k.p, n) : 0;

        if (a->over || b->over)
                return a->over - b->over;
        return c ? c : (a->k.n > b->k.n) - (a->k.n < b->k.n);
}

/* What the store's tables are held against, or put in order by. */
typedef struct Comparing {
        Txn *t, *fold;
        bool repair;
        bool at_ease;  /* t is ours, and may be committed in between */
        uint64_t events; /* of the fold; at ease: as many as there are then, or it is over */
        uint64_t mended;
} Comparing;

static int go_on(Comparing *m, Diag *reterr) {
        uint64_t n, last;
        int r = breathe(&m->t, reterr);

        if (r == 0)
                r = ledger_state(m->t, &n, &last);
        return r == 0 && n != m->events ? -EAGAIN : r;
}

/* Makes the row of t that of the fold; the cursor of t is opened anew behind it, because LMDB's page may have moved. */
static int mend(Comparing *m, Table table, Side *ours, const Side *fold, int c, Diag *reterr) {
        uint8_t key[512];
        Bytes at = c < 0 ? ours->k : fold->k;
        int r;

        assert(at.n < sizeof(key));
        memcpy(key, at.p, at.n);
        key[at.n] = 0; /* the least key that comes after it */
        r = c < 0 ? table_del(m->t, table, BYTES(key, at.n)) : table_put(m->t, table, BYTES(key, at.n), fold->v);
        if (r == 0 && m->at_ease && ++m->mended % ROWS_AT_ONCE == 0) {
                cursor_free(TAKE_PTR(ours->cursor));
                r = go_on(m, reterr);
        }
        if (r == 0)
                r = open_side(m->t, table, BYTES(key, at.n + 1), ours);
        return r != 0 ? r : step(ours);
}

static int compare_table(Comparing *m, Table table, FoldResult *ret, Diag *reterr) {
        Side a = {0}, b = {0};
        int r = open_side(m->t, table, BYTES(NULL, 0), &a);

        if (r == 0)
                r = open_side(m->fold, table, BYTES(NULL, 0), &b);
        if (r == 0)
                r = step(&a);
        if (r == 0)
                r = step(&b);
        while (r == 0 && !(a.over && b.over)) {
                int c = order(&a, &b);
                bool same = c == 0 && a.v.n == b.v.n && memcmp(a.v.p, b.v.p, a.v.n) == 0;

                ret->rows += c >= 0;
                if (!same)
                        differs(ret, table, c < 0 ? a.k : b.k, c < 0 ? "extra" : c > 0 ? "missing" : "differs");
                if (!same && m->repair)
                        r = mend(m, table, &a, &b, c, reterr);
                else if (c <= 0)
                        r = step(&a);
                if (r == 0 && c >= 0)
                        r = step(&b);
        }
        cursor_free(a.cursor);
        cursor_free(b.cursor);
        return r;
}

/* The fold of what t has, in tables beside the store's: a transaction of theirs. */
static int fold_beside(Txn *t, Store **ret_beside, Txn **ret_fold, uint64_t *ret_events, Diag *reterr) {
        int r = store_scratch(txn_store(t), ret_beside, reterr);

        if (r == 0)
                r = store_begin(*ret_beside, true, ret_fold, reterr);
        return r == 0 ? fold_all(t, ret_fold, ret_events, reterr) : r;
}

static int run(Txn *t, const Table *tables, bool repair, FoldResult *ret, Diag *reterr) {
        Comparing m = {.t = t, .repair = repair};
        _cleanup_store_ Store *beside = NULL;
        _cleanup_txn_ Txn *fold = NULL;
        FoldResult f = {0};
        uint64_t began = clock_mono_usec();
        int r = fold_beside(t, &beside, &fold, &f.events, reterr);

        m.fold = fold;
        for (const Table *table = tables; r == 0 && *table != TABLE_COUNT_; table++)
                r = compare_table(&m, *table, &f, reterr);
        f.usec = clock_mono_usec() - began;
        if (r == 0)
                *ret = f;
        return r;
}

int engine_fold_compare(Txn *t, FoldResult *ret, Diag *reterr) {
        return run(t, projected_tables, false, ret, reterr);
}

int engine_fold_rebuild(Txn *t, FoldResult *ret, Diag *reterr) {
        bool newest;
        int r = run(t, projected_tables, true, ret, reterr);

        if (r == 0)
                r = store_is_newest(t, &newest);
        return r == 0 && !newest ? store_made_newest(t) : r;
}

int engine_index_need(Txn *t, Diag *reterr) {
        bool newest;
        int r = store_is_newest(t, &newest);

        return r < 0 || newest ? r
                               : diag(reterr, ENGINE_E_OLD_INDEX, "store %s: its index is of an older Lethe's form: it is made anew by the next command that writes to "
                                      "the store while nobody else has it open, or by `lethe rebuild`", store_dir(txn_store(t)));
}

/* The rows of the index alone. Whoever looks at them before all of them are there sees a store of the older version. */
static int renew(Comparing *m, Diag *reterr) {
        static const Table index[] = {TABLE_TERM, TABLE_DOC};
        FoldResult f = {0};
        uint64_t n, last;
        int r = ledger_state(m->t, &n, &last);

        if (r == 0 && n != m->events)
                r = -EAGAIN;
        for (size_t i = 0; r == 0 && i < ARRAY_SIZE(index); i++)
                r = compare_table(m, index[i], &f, reterr);
        if (r == 0)
                r = store_made_newest(m->t);
        return r == 0 ? store_commit(TAKE_PTR(m->t), reterr) : r;
}

static int renew_alone(Store *s, Diag *reterr) {
        Comparing m = {.repair = true, .at_ease = true};
        _cleanup_store_ Store *beside = NULL;
        _cleanup_txn_ Txn *fold = NULL, *t = NULL;
        uint64_t n = 0, last;
        bool newest = false;
        int r = store_begin(s, false, &t, reterr);

        if (r == 0)
                r = store_is_newest(t, &newest); /* somebody was faster */
        if (r != 0 || newest)
                return r;
        r = fold_beside(t, &beside, &fold, &m.events, reterr);
        if (r == 0)
                r = ledger_state(t, &n, &last);
        if (r == 0 && n != m.events) /* events are missing: that does not change */
                r = -EUCLEAN;
        store_abort(TAKE_PTR(t));
        m.fold = fold;
        if (r == 0)
                r = store_begin(s, true, &m.t, reterr);
        if (r == 0)
                r = renew(&m, reterr);
        if (m.t)
                store_abort(m.t);
        return r;
}

int engine_index_renew(Store *s, Diag *reterr) {
        _cleanup_txn_ Txn *t = NULL;
        bool newest;
        int r = store_begin_at_once(s, &t, reterr);

        if (r == 0)
                r = store_is_newest(t, &newest);
        store_abort(TAKE_PTR(t));
        if (r != 0 || newest)
                return r;
        r = store_alone(s, "its index is of an older Lethe's form, and is made anew", reterr);
        if (r != 0)
                return r;
        do
                r = renew_alone(s, reterr);
        while (r == -EAGAIN); /* a thread of ours wrote meanwhile */
        store_not_alone(s);
        return r;
}
