#include "engine/fold.h"

#include "base/clock.h"
#include "engine/fold-slot.h"
#include "engine/project.h"
#include "record/record.h"
#include "record/rows.h"
#include "engine/dead-letter.h"
#include "ledger/ledger.h"
#include "store/hooks.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Repeats the projection of an event. */
static int fold_replay(Txn *from, Txn *to, uint64_t seq, Bytes entry) {
        _cleanup_json_ json_t *o = NULL, *body = NULL;
        const char *type;
        int r = json_row_parse(entry, LEDGER_ENTRY_MAX, &o);

        if (r < 0)
                return r;
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

/* Uncommitted rows are in memory: commits and begins anew. */
static int fold_commit_and_begin(Txn **t, Diag *reterr) {
        Store *s = txn_store(*t);

        return store_commit(TAKE_PTR(*t), reterr) ?: store_begin(s, true, t, reterr);
}

static int fold_ledger(Txn *from, Txn **to, uint64_t *ret_events, Diag *reterr) {
        _cleanup_cursor_ Cursor *c = NULL;
        uint64_t n = 0;
        Bytes k, v;
        int r = cursor_open(from, TABLE_EVENT, BYTES(NULL, 0), &c);

        for (; r == 0 && (r = cursor_next(c, &k, &v)) == 0; n++) {
                r = k.n == 8 ? fold_replay(from, *to, be64_get(k.p), v) : -EUCLEAN;
                if (r == 0 && n % EVENTS_AT_ONCE == EVENTS_AT_ONCE - 1)
                        r = fold_commit_and_begin(to, reterr);
        }
        *ret_events = n;
        return r == -ENOENT ? 0 : r;
}

/* A printable key: other bytes become \xNN. */
static void fold_show_key(Bytes k, char *out, size_t n_out) {
        const uint8_t *p = k.p;
        size_t n = 0;

        for (size_t i = 0; i < k.n && n + 5 < n_out; i++)
                if (p[i] > ' ' && p[i] < 0x7f && p[i] != '\\')
                        out[n++] = (char)p[i];
                else
                        n += (size_t)snprintf(out + n, n_out - n, "\\x%02x", p[i]);
        out[n] = '\0';
}

static void fold_note_difference(FoldResult *ret, Table table, Bytes key, const char *how) {
        if (ret->differ++ > 0)
                return;
        ret->table = table;
        ret->how = how;
        fold_show_key(key, ret->key, sizeof(ret->key));
}

typedef struct Side {
        Cursor *cursor;
        Bytes k, v;
        bool over;
} Side;

static int side_step(Side *s) {
        int r = cursor_next(s->cursor, &s->k, &s->v);

        s->over = r == -ENOENT;
        return s->over ? 0 : r;
}

static int side_open(Txn *t, Table table, Bytes from, Side *ret) {
        cursor_free(TAKE_PTR(ret->cursor));
        *ret = (Side){0};
        return cursor_open(t, table, from, &ret->cursor);
}

static int side_order(const Side *a, const Side *b) {
        size_t n = a->over || b->over ? 0 : MIN(a->k.n, b->k.n);
        int c = n ? memcmp(a->k.p, b->k.p, n) : 0;

        if (a->over || b->over)
                return a->over - b->over;
        return c ? c : (a->k.n > b->k.n) - (a->k.n < b->k.n);
}

/* The comparison of the store's tables with the fold, or the repair. */
typedef struct Comparing {
        Txn *t, *fold;
        bool repair;
        bool at_ease;  /* t belongs to this module and may be committed in between */
        uint64_t events; /* number of events of the fold; at ease: the ledger must not grow */
        uint64_t mended;
} Comparing;

static int fold_continue(Comparing *m, Diag *reterr) {
        uint64_t n, last;
        int r = fold_commit_and_begin(&m->t, reterr) ?: ledger_state(m->t, &n, &last);

        return r == 0 && n != m->events ? -EAGAIN : r;
}

/* Makes the row of t equal to the fold's row. LMDB's page may have moved: reopens the cursor of t after the row. */
static int fold_mend(Comparing *m, Table table, Side *ours, const Side *fold, int c, Diag *reterr) {
        uint8_t key[512];
        Bytes at = c < 0 ? ours->k : fold->k;
        int r;

        assert(at.n < sizeof(key));
        memcpy(key, at.p, at.n);
        key[at.n] = 0; /* the next possible key */
        r = c < 0 ? table_del(m->t, table, BYTES(key, at.n)) : table_put(m->t, table, BYTES(key, at.n), fold->v);
        if (r == 0 && m->at_ease && ++m->mended % ROWS_AT_ONCE == 0) {
                cursor_free(TAKE_PTR(ours->cursor));
                r = fold_continue(m, reterr);
        }
        if (r == 0)
                r = side_open(m->t, table, BYTES(key, at.n + 1), ours);
        return r != 0 ? r : side_step(ours);
}

static int fold_compare_table(Comparing *m, Table table, FoldResult *ret, Diag *reterr) {
        Side a = {0}, b = {0};
        int r = side_open(m->t, table, BYTES(NULL, 0), &a)
                ?: side_open(m->fold, table, BYTES(NULL, 0), &b)
                ?: side_step(&a)
                ?: side_step(&b);

        while (r == 0 && !(a.over && b.over)) {
                int c = side_order(&a, &b);
                bool same = c == 0 && a.v.n == b.v.n && memcmp(a.v.p, b.v.p, a.v.n) == 0;

                ret->rows += c >= 0;
                if (!same)
                        fold_note_difference(ret, table, c < 0 ? a.k : b.k,
                                             c < 0   ? "extra"
                                             : c > 0 ? "missing"
                                                     : "differs");
                if (!same && m->repair)
                        r = fold_mend(m, table, &a, &b, c, reterr);
                else if (c <= 0)
                        r = side_step(&a);
                if (r == 0 && c >= 0)
                        r = side_step(&b);
        }
        cursor_free(a.cursor);
        cursor_free(b.cursor);
        return r;
}

/* Folds the ledger of t into tables beside the store, in a transaction of their own. */
static int fold_beside(Txn *t, Store **ret_beside, Txn **ret_fold, uint64_t *ret_events, Diag *reterr) {
        return store_scratch(txn_store(t), ret_beside, reterr)
                ?: store_begin(*ret_beside, true, ret_fold, reterr)
                ?: fold_ledger(t, ret_fold, ret_events, reterr);
}

static int fold_run(Txn *t, const Table *tables, bool repair, FoldResult *ret, Diag *reterr) {
        Comparing m = {.t = t, .repair = repair};
        _cleanup_store_ Store *beside = NULL;
        _cleanup_txn_ Txn *fold = NULL;
        FoldResult f = {0};
        uint64_t began = clock_mono_usec();
        int r = fold_beside(t, &beside, &fold, &f.events, reterr);

        m.fold = fold;
        for (const Table *table = tables; r == 0 && *table != TABLE_COUNT_; table++)
                r = fold_compare_table(&m, *table, &f, reterr);
        f.usec = clock_mono_usec() - began;
        if (r == 0)
                *ret = f;
        return r;
}

int engine_fold_compare(Txn *t, FoldResult *ret, Diag *reterr) {
        return fold_run(t, projected_tables, false, ret, reterr);
}

int engine_fold_rebuild(Txn *t, FoldResult *ret, Diag *reterr) {
        bool newest;
        int r = fold_run(t, projected_tables, true, ret, reterr) ?: store_is_newest(t, &newest);

        return r == 0 && !newest ? store_made_newest(t) : r;
}

int engine_index_need(Txn *t, Diag *reterr) {
        bool newest;
        int r = store_is_newest(t, &newest);

        return r < 0 || newest
                       ? r
                       : diag(reterr, ENGINE_E_OLD_INDEX,
                              "store %s: the index has the form of an older Lethe. The next writing command, while no "
                              "other process has the store open, rebuilds the index; so does `lethe rebuild`",
                              store_dir(txn_store(t)));
}

/* Rebuilds the rows of the index. A reader before the last commit sees a store of the older version. */
static int fold_renew(Comparing *m, Diag *reterr) {
        static const Table index[] = {TABLE_TERM, TABLE_DOC, TABLE_CLAIM};
        FoldResult f = {0};
        uint64_t n, last;
        int r = ledger_state(m->t, &n, &last);

        if (r == 0 && n != m->events)
                r = -EAGAIN;
        for (size_t i = 0; r == 0 && i < ARRAY_SIZE(index); i++)
                r = fold_compare_table(m, index[i], &f, reterr);
        if (r == 0)
                r = store_made_newest(m->t);
        return r == 0 ? store_commit(TAKE_PTR(m->t), reterr) : r;
}

static int fold_renew_alone(Store *s, Diag *reterr) {
        Comparing m = {.repair = true, .at_ease = true};
        _cleanup_store_ Store *beside = NULL;
        _cleanup_txn_ Txn *fold = NULL, *t = NULL;
        uint64_t n = 0, last;
        bool newest = false;
        int r = store_begin(s, false, &t, reterr);

        if (r == 0)
                r = store_is_newest(t, &newest); /* another process was faster */
        if (r != 0 || newest)
                return r;
        r = fold_beside(t, &beside, &fold, &m.events, reterr) ?: ledger_state(t, &n, &last);
        if (r == 0 && n != m.events) /* missing events: a retry would not help */
                r = -EUCLEAN;
        store_abort(TAKE_PTR(t));
        m.fold = fold;
        if (r == 0)
                r = store_begin(s, true, &m.t, reterr) ?: fold_renew(&m, reterr);
        if (m.t)
                store_abort(m.t);
        return r;
}

int engine_index_renew(Store *s, Diag *reterr) {
        _cleanup_txn_ Txn *t = NULL;
        bool newest;
        int r = store_begin_at_once(s, &t, reterr) ?: store_is_newest(t, &newest);

        store_abort(TAKE_PTR(t));
        if (r != 0 || newest)
                return r;
        r = store_alone(s, "the index has the form of an older Lethe and is rebuilt", reterr);
        if (r != 0)
                return r;
        do
                r = fold_renew_alone(s, reterr);
        while (r == -EAGAIN); /* another thread of this process wrote meanwhile */
        store_not_alone(s);
        return r;
}
