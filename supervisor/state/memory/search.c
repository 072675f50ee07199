#include "memory/records.h"

#include "record/creation-index.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const MemoryBound unbounded = {.classes = UINT_MAX, .records = SIZE_MAX, .text = SIZE_MAX};

/* A running search; rows: the found rows, in the order of the hits. */
typedef struct Search {
        Txn *t;
        RecordFilter filter;
        const MemoryQuery *q;
        uint64_t scope;
        MemoryBound left;
        json_t *rows;
        bool cut;
} Search;

/* Archived records are found only on request, removed records never (M-14). */
static RecordFilter search_filter(const MemoryQuery *q) {
        RecordFilter f = q->filter;

        f.states = (f.states ? f.states : 1U << RECORD_ACTIVE) & ~(1U << RECORD_REMOVED);
        if (f.states == 0)
                f.states = 1U << RECORD_NONE; /* matches no record: the query asked only for removed records */
        return f;
}

static int search_accept(void *user, uint8_t kind, uint64_t number, const char *id) {
        _cleanup_record_ Record rec = RECORD_NULL;
        _cleanup_json_ json_t *row = NULL;
        Search *s = user;
        RecordKey k = record_key_of(s->scope, (Kind)kind, id);
        size_t looked;
        int r;

        (void)number;
        if (s->left.records == 0 || s->left.text == 0) {
                s->cut = true;
                return RANK_ENOUGH;
        }
        r = record_get(s->t, &k, &rec) ?: memory_row(s->t, &s->filter, s->q, &rec, &row, &looked);
        if (r < 0)
                return r == -ENOENT ? -EUCLEAN : r;
        s->left.records--;
        s->left.text -= MIN(looked, s->left.text);
        return r > 0 && json_array_append(s->rows, row) < 0 ? -ENOMEM : r;
}

static int search_ranked(Search *s) {
        uint8_t looked[ARRAY_SIZE(memory_families)];
        RankHit hits[QUERY_LIMIT_MAX];
        size_t n = 0, n_kinds = 0;
        int r;

        for (size_t i = 0; i < ARRAY_SIZE(memory_families); i++)
                if (s->left.classes & 1U << kind_class(memory_families[i]))
                        looked[n_kinds++] = (uint8_t)memory_families[i];
        r = rank_bm25(s->t,
                      &(RankQuery){.scope = s->scope, .kinds = looked, .n_kinds = n_kinds, .fields = 1U << INDEX_TEXT,
                                   .terms = s->q->terms, .n_terms = s->q->n_terms, .most = s->q->limit,
                                   .accept = search_accept, .user = s},
                      hits, &n);
        for (size_t i = 0; r == 0 && i < n; i++)
                if (json_object_set_new(json_array_get(s->rows, i), "score", json_real(hits[i].score)) < 0)
                        r = -ENOMEM;
        return r;
}

static int search_begin(Txn *t, const char *scope, const MemoryQuery *q, const MemoryBound *bound, Search *ret,
                        Diag *reterr) {
        *ret = (Search){.t = t, .q = q, .filter = search_filter(q), .left = *bound};
        return scope_find(t, scope, &ret->scope, reterr);
}

/* The order of rank_bm25() for equal scores: by id, then by the numbers of the families. */
static int search_compare_rows(const void *a, const void *b) {
        const json_t *x = *(json_t *const *)a, *y = *(json_t *const *)b;

        return strcmp(json_str(x, "id"), json_str(y, "id"))
                ?: (int)kind_from_name(json_str(x, "kind")) - (int)kind_from_name(json_str(y, "kind"));
}

/* The first matches of a family, in order of their ids. */
static int search_first(Search *s, Kind kind, json_t *rows) {
        _cleanup_record_walk_ RecordWalk w = {0};
        _cleanup_record_ Record rec = RECORD_NULL;
        const size_t most = json_array_size(rows) + s->q->limit;
        int r = record_walk(s->t, s->scope, kind, &w);

        while (r == 0 && json_array_size(rows) < most && (r = record_walk_next(&w, &rec)) == 0) {
                _cleanup_json_ json_t *row = NULL;
                size_t looked;

                r = memory_row(s->t, &s->filter, s->q, &rec, &row, &looked);
                if (r > 0)
                        r = json_object_set_new(row, "score", json_real(0)) < 0 || json_array_append(rows, row) < 0
                                    ? -ENOMEM
                                    : 0;
        }
        return r == -ENOENT ? 0 : r;
}

/* A query of fields alone: no order of relevance exists, so all rows have the same score (M-14). */
static int search_unranked(Search *s) {
        _cleanup_json_ json_t *found = json_array(), *sorted = NULL;
        int r = found ? 0 : -ENOMEM;

        for (size_t i = 0; r == 0 && i < ARRAY_SIZE(memory_families); i++)
                r = search_first(s, memory_families[i], found);
        if (r == 0 && !(sorted = json_sorted(found, search_compare_rows)))
                r = -ENOMEM;
        for (size_t i = 0; r == 0 && i < MIN(json_array_size(sorted), (size_t)s->q->limit); i++)
                if (json_array_append(s->rows, json_array_get(sorted, i)) < 0)
                        r = -ENOMEM;
        return r;
}

static int search_run(Search *s, json_t **ret) {
        int r = !(s->rows = json_array()) ? -ENOMEM : s->q->n_terms == 0 ? search_unranked(s) : search_ranked(s);

        if (r == 0)
                *ret = s->rows;
        else
                json_decref(s->rows);
        return r;
}

int memory_search(Txn *t, const char *scope, const MemoryQuery *q, json_t **ret, Diag *reterr) {
        Search s;
        int r = search_begin(t, scope, q, &unbounded, &s, reterr);

        return r != 0 ? r : search_run(&s, ret);
}

int memory_search_within(Txn *t, const char *scope, const MemoryQuery *q, const MemoryBound *bound, json_t **ret,
                         bool *ret_cut, Diag *reterr) {
        Search s;
        int r = search_begin(t, scope, q, bound, &s, reterr);

        if (r == 0 && q->n_terms == 0)
                r = diag(reterr, ENGINE_E_BAD_PAYLOAD,
                         "a search needs a word or a phrase: use a list for fields alone");
        if (r == 0)
                r = search_run(&s, ret);
        if (r == 0)
                *ret_cut = s.cut;
        return r;
}

/* The event that created the last record of the previous part. */
static int search_parse_place(const char *place, uint64_t *ret, Diag *reterr) {
        char again[MEMORY_PLACE_MAX], *end;

        errno = 0;
        *ret = strtoull(place, &end, 10);
        snprintf(again, sizeof(again), "%" PRIu64, *ret);
        if (errno || *end || strcmp(again, place) != 0)
                return diag(reterr, ENGINE_E_BAD_NAME, "not a place in a list");
        return 0;
}

/* A running list. */
typedef struct SearchPage {
        const RecordFilter *filter;
        MemoryBound left;
        size_t limit;
        json_t *list;
        uint64_t last; /* the creation of the last record that was read */
        bool full;
} SearchPage;

static int search_page_add(Txn *t, SearchPage *p, const Record *rec) {
        _cleanup_json_ json_t *row = NULL;
        size_t looked;
        int r;

        if (p->left.records == 0 || p->left.text == 0 || json_array_size(p->list) == p->limit) {
                p->full = true;
                return 0;
        }
        r = memory_row(t, p->filter, NULL, rec, &row, &looked);
        if (r < 0)
                return r;
        p->left.records--;
        p->left.text -= MIN(looked, p->left.text);
        p->last = rec->created;
        return r > 0 && json_array_append(p->list, row) < 0 ? -ENOMEM : 0;
}

int memory_page(Txn *t, const char *scope, const RecordFilter *f, const MemoryBound *bound, const char *after,
                size_t limit, json_t **ret, char next[static MEMORY_PLACE_MAX], Diag *reterr) {
        _cleanup_json_ json_t *list = json_array();
        SearchPage p = {.filter = f, .left = *bound, .limit = limit, .list = list};
        _cleanup_creation_walk_ CreationWalk w = {0};
        _cleanup_record_ Record rec = RECORD_NULL;
        Kind readable[ARRAY_SIZE(memory_families)];
        uint64_t number, from = 0;
        size_t n = 0;
        int r = list ? scope_find(t, scope, &number, reterr) : -ENOMEM;

        *next = 0;
        if (r == 0 && after)
                r = search_parse_place(after, &from, reterr);
        for (size_t i = 0; i < ARRAY_SIZE(memory_families); i++)
                if (bound->classes & 1U << kind_class(memory_families[i]))
                        readable[n++] = memory_families[i];
        if (r == 0)
                r = creation_walk(t, number, readable, n, f->states & 1U << RECORD_REMOVED, from, &w);
        while (r == 0 && !p.full && (r = creation_walk_next(&w, &rec)) == 0)
                r = search_page_add(t, &p, &rec);
        if (r != 0 && r != -ENOENT)
                return r;
        if (p.full)
                snprintf(next, MEMORY_PLACE_MAX, "%" PRIu64, p.last);
        *ret = TAKE_PTR(list);
        return 0;
}

int memory_list(Txn *t, const char *scope, const RecordFilter *f, json_t **ret, Diag *reterr) {
        char next[MEMORY_PLACE_MAX];

        return memory_page(t, scope, f, &unbounded, NULL, SIZE_MAX, ret, next, reterr);
}
