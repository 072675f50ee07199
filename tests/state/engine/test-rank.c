/* Runs: tests. Ranking and overlaps against the plain way over all documents of the model. */
#include "index/lists.h"
#include "tests/state/engine/index-model.h"

#include <errno.h>

#define SCOPE 5

typedef struct Case {
        unsigned words[8], n, fields, most;
        uint8_t kinds[MODEL_KINDS];
        unsigned n_kinds;
        uint8_t must; /* bit: of words[] */
        unsigned take; /* accept(): numbers that it does not divide; 0: all */
} Case;

static void fill(Model *m, Txn *t, uint64_t seed) {
        model_init(m, seed);
        for (unsigned kind = 1; kind <= MODEL_KINDS; kind++)
                for (unsigned number = 1; number <= MODEL_NUMBERS; number++)
                        if (model_random(m, 4) > 0) {
                                model_make(m, &m->doc[kind - 1][number - 1], number);
                                model_put(m, t, SCOPE, kind, number);
                        }
}

static int take(void *user, uint8_t kind, uint64_t number, const char *id) {
        const Case *c = user;

        cr_assert(id && *id);
        return c->take == 0 || number % c->take != 0;
}

/* Tokenizer of a bag of the case's words: the tokenizer's, so that the test does not know stems. */
static size_t words_of(const Case *c, RankTerm ret[static 8]) {
        for (unsigned i = 0; i < c->n; i++)
                ret[i] = (RankTerm){.p = model_words[c->words[i]], .n = (uint8_t)strlen(model_words[c->words[i]]), .must = c->must >> i & 1};
        return c->n;
}

/* What the scores of a case share. */
typedef struct Whole {
        double docs, length[MODEL_FIELDS], with_field[MODEL_FIELDS], df[MODEL_FIELDS][8];
} Whole;

static Whole whole_of(const Model *m, const Case *c) {
        Whole w = {0};

        for (unsigned k = 0; k < c->n_kinds; k++)
                for (unsigned i = 0; i < MODEL_NUMBERS; i++) {
                        const ModelDoc *d = &m->doc[c->kinds[k] - 1][i];

                        w.docs += d->there;
                        for (unsigned f = 0; f < MODEL_FIELDS; f++) {
                                w.length[f] += model_length(d, f);
                                w.with_field[f] += model_length(d, f) > 0;
                                for (unsigned j = 0; j < c->n; j++)
                                        w.df[f][j] += d->times[f][c->words[j]] > 0;
                        }
                }
        return w;
}

static double plain_score(const Case *c, const Whole *w, const ModelDoc *d, bool *ret_any) {
        double score = 0;

        for (unsigned f = 0; f < MODEL_FIELDS; f++)
                for (unsigned i = 0; i < c->n && (c->fields >> f & 1); i++) {
                        double df = w->df[f][i], tf = d->times[f][c->words[i]], average = w->length[f] / w->with_field[f];

                        if (tf == 0)
                                continue;
                        *ret_any = true;
                        score += log(1 + (w->docs - df + 0.5) / (df + 0.5)) * tf * (1.2 + 1) / (tf + 1.2 * (1 - 0.75 + 0.75 * model_length(d, f) / average));
                }
        return score;
}

static bool has_all(const Case *c, const ModelDoc *d) {
        for (unsigned i = 0; i < c->n; i++) {
                bool has = false;

                for (unsigned f = 0; f < MODEL_FIELDS; f++)
                        has |= (c->fields >> f & 1) && d->times[f][c->words[i]] > 0;
                if ((c->must >> i & 1) && !has)
                        return false;
        }
        return true;
}

static int compare(const void *a, const void *b) {
        const RankHit *x = a, *y = b;
        int r;

        if (fabs(x->score - y->score) > 1e-9)
                return x->score > y->score ? -1 : 1;
        r = strcmp(x->id, y->id);
        return r ? r : (int)x->kind - (int)y->kind;
}

static size_t plain(const Model *m, const Case *c, RankHit *ret) {
        Whole w = whole_of(m, c);
        size_t n = 0;

        for (unsigned k = 0; k < c->n_kinds; k++)
                for (unsigned i = 0; i < MODEL_NUMBERS; i++) {
                        const ModelDoc *d = &m->doc[c->kinds[k] - 1][i];
                        bool any = false;
                        double score = plain_score(c, &w, d, &any);

                        if (!any || !has_all(c, d) || !take((void *)c, c->kinds[k], i + 1, d->id))
                                continue;
                        ret[n] = (RankHit){.score = score, .number = i + 1, .kind = c->kinds[k]};
                        strcpy(ret[n++].id, d->id);
                }
        qsort(ret, n, sizeof(*ret), compare);
        return MIN(n, c->most);
}

static void expect_as_plain(const Model *m, Txn *t, Case *c, unsigned row) {
        static RankHit wanted[MODEL_KINDS * MODEL_NUMBERS], got[MODEL_KINDS * MODEL_NUMBERS];
        RankTerm terms[8];
        RankQuery q = {.scope = SCOPE, .kinds = c->kinds, .n_kinds = c->n_kinds, .fields = c->fields, .terms = terms, .n_terms = words_of(c, terms),
                       .most = c->most, .accept = take, .user = c};
        size_t n_wanted = plain(m, c, wanted), n = 0;

        cr_assert_eq(rank_bm25(t, &q, got, &n), 0);
        cr_assert_eq(n, n_wanted, "row %u: %zu hits, not %zu", row, n, n_wanted);
        for (size_t i = 0; i < n; i++)
                cr_assert(fabs(got[i].score - wanted[i].score) < 1e-9 && strcmp(got[i].id, wanted[i].id) == 0 && got[i].kind == wanted[i].kind &&
                                  got[i].number == wanted[i].number,
                          "row %u, hit %zu: %s of kind %u (%.12f), not %s of %u (%.12f)", row, i, got[i].id, got[i].kind, got[i].score, wanted[i].id, wanted[i].kind, wanted[i].score);
}

// M-14: BM25, then the id; whatever is passed over on the way, the hits are those of a look at every document.
Test(rank, as_every_document_looked_at) {
        _cleanup_store_fixture_ StoreFixture f;
        static Model m;
        Txn *t;

        store_fixture_init(&f, STORE_WRITE);
        t = store_fixture_begin(&f, true);
        fill(&m, t, 41);
        for (unsigned row = 0; row < 150; row++) {
                Case c = {.n = 1 + model_random(&m, 5), .fields = 1 + model_random(&m, 7), .most = (unsigned[]){1, 2, 10, 100, 1000}[row % 5],
                          .n_kinds = 1 + row % 2, .kinds = {1, 2}};

                for (unsigned i = 0; i < c.n; i++) /* each once */
                        c.words[i] = (model_random(&m, MODEL_WORDS / 8) + (i ? c.words[i - 1] + 1 : 0)) % MODEL_WORDS;
                c.must = row % 3 ? 0 : (uint8_t)model_random(&m, 1U << c.n);
                c.take = row % 4 ? 0 : 2 + model_random(&m, 2);
                if (row % 7 == 0)
                        memcpy(c.kinds, (uint8_t[]){2, 1}, 2);
                expect_as_plain(&m, t, &c, row);
        }
        tokenizer_free(m.bag);
        store_abort(t);
}

typedef struct Asked {
        size_t n, yes; /* how often, and from which time on the answer is yes */
        char last[INDEX_ID_MAX + 1];
} Asked;

static int late(void *user, uint8_t kind, uint64_t number, const char *id) {
        Asked *a = user;

        cr_assert_str_gt(id, a->last, "the best first, each once");
        strcpy(a->last, id);
        return a->n++ >= a->yes;
}

// M-14: a filter is asked about the best first, and about no more than it takes; also when it takes nearly none, or none at all.
Test(rank, asks_no_more_than_it_takes) {
        static const size_t yes[] = {0, 1, 9, 10, 70, 71, 72, 73, 499, 500, 600};
        _cleanup_store_fixture_ StoreFixture f;
        _cleanup_tokenizer_ Tokenizer *bag = NULL;
        RankTerm term = {.p = "alfa", .n = 4};
        uint8_t kind = 1;
        RankHit hits[9];
        Txn *t;

        store_fixture_init(&f, STORE_WRITE);
        t = store_fixture_begin(&f, true);
        cr_assert_eq(tokenizer_new(&bag), 0);
        cr_assert_eq(tokenizer_add(bag, INDEX_TEXT, "alfa", 4), 0);
        for (unsigned i = 0; i < 500; i++) {
                char id[8];

                snprintf(id, sizeof(id), "m%03u", (i * 7) % 500);
                cr_assert_eq(index_put(t, SCOPE, kind, 1 + i, id, bag), 0);
        }
        for (size_t i = 0; i < ARRAY_SIZE(yes); i++) {
                Asked a = {.yes = yes[i]};
                RankQuery q = {.scope = SCOPE, .kinds = &kind, .n_kinds = 1, .fields = 1, .terms = &term, .n_terms = 1, .most = 9, .accept = late, .user = &a};
                size_t n, wanted = yes[i] >= 500 ? 0 : MIN((size_t)9, 500 - yes[i]);

                cr_assert_eq(rank_bm25(t, &q, hits, &n), 0);
                cr_expect_eq(n, wanted, "from %zu: %zu", yes[i], n);
                cr_expect_eq(a.n, MIN((size_t)500, yes[i] + 9), "from %zu: %zu", yes[i], a.n);
                for (size_t k = 0; k < n; k++)
                        cr_expect_eq(strtoul(hits[k].id + 1, NULL, 10), yes[i] + k);
        }
        store_abort(t);
}

static int fail(void *user, uint8_t kind, uint64_t number, const char *id) {
        return -EIO;
}

// M-14: what has no hit is no error; a filter that fails is one.
Test(rank, none_and_failing) {
        _cleanup_store_fixture_ StoreFixture f;
        static Model m;
        Txn *t;
        RankTerm terms[] = {{.p = "nowhere", .n = 7}, {.p = "alfa", .n = 4}};
        uint8_t kind = 1, other = 9;
        RankQuery q = {.scope = SCOPE, .kinds = &kind, .n_kinds = 1, .fields = 1, .terms = terms, .n_terms = 1, .most = 3};
        RankHit hits[3];
        size_t n = 9;

        store_fixture_init(&f, STORE_WRITE);
        t = store_fixture_begin(&f, true);
        cr_expect_eq(rank_bm25(t, &q, hits, &n), 0);
        cr_expect_eq(n, 0, "an empty index");
        fill(&m, t, 3);
        cr_expect_eq(rank_bm25(t, &q, hits, &n), 0);
        cr_expect_eq(n, 0, "a word that is nowhere");
        q.n_terms = 2;
        cr_expect_eq(rank_bm25(t, &q, hits, &n), 0);
        cr_expect_eq(n, 3);
        terms[0].must = true;
        cr_expect_eq(rank_bm25(t, &q, hits, &n), 0);
        cr_expect_eq(n, 0, "a word that must be there");
        terms[0].must = false;
        q.kinds = &other;
        cr_expect_eq(rank_bm25(t, &q, hits, &n), 0);
        cr_expect_eq(n, 0, "another kind");
        q.kinds = &kind;
        q.scope = SCOPE + 1;
        cr_expect_eq(rank_bm25(t, &q, hits, &n), 0);
        cr_expect_eq(n, 0, "another scope"); // M-21
        q.scope = SCOPE;
        q.accept = fail;
        cr_expect_eq(rank_bm25(t, &q, hits, &n), -EIO);
        tokenizer_free(m.bag);
        store_abort(t);
}

// M-14, M-26: equal scores go by id, and an id that two kinds have by kind; in whatever order the kinds are asked for.
Test(rank, ties) {
        static const char *const ids[] = {"c", "a", "b"};
        _cleanup_store_fixture_ StoreFixture f;
        _cleanup_tokenizer_ Tokenizer *bag = NULL;
        RankTerm term = {.p = "alfa", .n = 4};
        RankHit hits[6];
        size_t n;
        Txn *t;

        store_fixture_init(&f, STORE_WRITE);
        t = store_fixture_begin(&f, true);
        cr_assert_eq(tokenizer_new(&bag), 0);
        cr_assert_eq(tokenizer_add(bag, INDEX_TEXT, "alfa", 4), 0);
        for (unsigned i = 0; i < 6; i++)
                cr_assert_eq(index_put(t, SCOPE, (uint8_t)(1 + i % 2), 1 + i * 100, ids[i / 2], bag), 0);
        for (unsigned most = 1; most <= 6; most++)
                for (unsigned swap = 0; swap < 2; swap++) {
                        uint8_t kinds[2] = {swap ? 2 : 1, swap ? 1 : 2};
                        RankQuery q = {.scope = SCOPE, .kinds = kinds, .n_kinds = 2, .fields = 1, .terms = &term, .n_terms = 1, .most = most};

                        cr_assert_eq(rank_bm25(t, &q, hits, &n), 0);
                        cr_assert_eq(n, most);
                        for (unsigned i = 0; i < n; i++)
                                cr_expect(*hits[i].id == 'a' + (char)(i / 2) && hits[i].kind == 1 + i % 2, "%u of %u: %s of %u", i, most, hits[i].id, hits[i].kind);
                }
        store_abort(t);
}

typedef struct Seen {
        const Model *m;
        const unsigned *words;
        size_t n_words, n;
        uint64_t last;
        uint64_t stop; /* number at which it stops */
} Seen;

static const double weights[] = {0.5, 1, 2, 4};

static int see(void *user, const RankOverlap *o) {
        Seen *s = user;
        const ModelDoc *d = &s->m->doc[0][o->number - 1];

        cr_assert(o->number > s->last && o->number <= MODEL_NUMBERS && d->there);
        s->last = o->number;
        s->n++;
        for (unsigned f = 0; f < INDEX_FIELDS; f++) {
                double sum = 0;
                uint64_t bits = 0;

                for (unsigned i = 0; i < s->n_words && f < 2; i++)
                        if (d->times[f][s->words[i]] > 0) {
                                sum += weights[i];
                                bits |= UINT64_C(1) << i;
                        }
                cr_assert(o->field[f] == sum && o->terms[f] == bits, "document %llu, field %u: %f", (unsigned long long)o->number, f, o->field[f]);
        }
        return o->number == s->stop ? 77 : 0;
}

/* The same with what was read when the terms were counted, under names of its own and in another order. */
static void overlaps_counted(Txn *t, const Model *m, const RankTerm *terms, const unsigned *words, size_t wanted) {
        static const unsigned order[] = {2, 0, 3, 1};
        unsigned as[4];
        _cleanup_lists_ Lists counted = {0};
        Seen s = {.m = m, .words = words, .n_words = 4};

        for (unsigned i = 0; i < 4; i++) {
                uint64_t text, alias, most;

                as[order[i]] = 70 - 7 * i;
                cr_expect_not(lists_have(&counted, as[order[i]]));
                cr_assert_eq(lists_count(&counted, t, SCOPE, 1, 3, &terms[order[i]], as[order[i]], &most), 0);
                cr_assert_eq(index_df(t, SCOPE, 1, INDEX_TEXT, terms[order[i]].p, terms[order[i]].n, &text), 0);
                cr_assert_eq(index_df(t, SCOPE, 1, INDEX_ALIAS, terms[order[i]].p, terms[order[i]].n, &alias), 0);
                cr_expect_eq(most, MAX(text, alias));
                cr_expect_eq(lists_have(&counted, as[order[i]]), most > 0);
        }
        cr_expect_eq(rank_overlap_counted(t, SCOPE, 1, &counted, as, weights, 4, false, see, &s), 0);
        cr_expect_eq(s.n, wanted);
}

// G-15, G-17: the documents that have any of the terms, in order, with the weights of those that they have, by field.
Test(rank, overlaps) {
        static const unsigned words[] = {20, 3, 0, 11};
        _cleanup_store_fixture_ StoreFixture f;
        static Model m;
        RankTerm terms[4];
        size_t wanted = 0;
        Seen s = {.m = &m, .words = words, .n_words = 4};
        Txn *t;

        store_fixture_init(&f, STORE_WRITE);
        t = store_fixture_begin(&f, true);
        fill(&m, t, 8);
        for (unsigned i = 0; i < 4; i++)
                terms[i] = (RankTerm){.p = model_words[words[i]], .n = (uint8_t)strlen(model_words[words[i]])};
        for (unsigned i = 0; i < MODEL_NUMBERS; i++) {
                bool any = false;

                for (unsigned w = 0; w < 4; w++)
                        any |= m.doc[0][i].times[0][words[w]] > 0 || m.doc[0][i].times[1][words[w]] > 0;
                wanted += any;
        }
        cr_expect_eq(rank_overlap(t, SCOPE, 1, 1U << INDEX_TEXT | 1U << INDEX_ALIAS, terms, weights, 4, 0, false, see, &s), 0);
        cr_expect_eq(s.n, wanted);
        s = (Seen){.m = &m, .words = words, .n_words = 4, .stop = s.last / 2};
        while (!m.doc[0][s.stop - 1].times[0][0])
                s.stop++;
        cr_expect_eq(rank_overlap(t, SCOPE, 1, 3, terms, weights, 4, 0, false, see, &s), 77);
        cr_expect_eq(s.last, s.stop);
        overlaps_counted(t, &m, terms, words, wanted);
        tokenizer_free(m.bag);
        store_abort(t);
}

// G-15: what is read term by term is the same in room that was lent, while it lasts and when it is used up, and without any.
Test(rank, lists_in_lent_room_and_beyond) {
        _cleanup_store_fixture_ StoreFixture f;
        ListsRoom room;
        _cleanup_lists_ Lists lent = {.lent = &room}, own = {0};
        static Model m;
        bool within = false;
        Txn *t;

        store_fixture_init(&f, STORE_WRITE);
        t = store_fixture_begin(&f, true);
        fill(&m, t, 9);
        for (unsigned w = 0; w < MODEL_WORDS; w++) {
                const RankTerm term = {.p = model_words[w], .n = (uint8_t)strlen(model_words[w])};
                uint64_t a, b;

                cr_assert_eq(lists_count(&lent, t, SCOPE, 1, 7, &term, w, &a), 0);
                cr_assert_eq(lists_count(&own, t, SCOPE, 1, 7, &term, w, &b), 0);
                cr_expect_eq(a, b);
                within |= lent.n > 0 && lent.list == room.list && lent.all == room.all;
        }
        cr_expect(within && lent.n > ARRAY_SIZE(room.list) && lent.n_all > ARRAY_SIZE(room.all));
        cr_assert(lent.n == own.n && lent.n_all == own.n_all);
        lists_complete(&lent);
        lists_complete(&own);
        for (size_t i = 0; i < own.n; i++) {
                const List *x = &lent.list[i], *y = &own.list[i];

                cr_assert(x->n == y->n && x->df == y->df && x->term == y->term && x->field == y->field && x->cut == y->cut);
                for (size_t k = 0; k < y->n; k++)
                        cr_assert(x->chunks[k].number == y->chunks[k].number && x->chunks[k].p == y->chunks[k].p && x->chunks[k].n == y->chunks[k].n);
        }
        tokenizer_free(m.bag);
        lists_deinit(&lent); /* its cursor before the transaction */
        lists_deinit(&own);
        store_abort(t);
}

static int count_live(void *user, const RankOverlap *o) {
        uint64_t *last = user;

        cr_expect(o->number % 5 == 0 && o->number % 2 == 0 && (o->number <= 200 || o->number > 900), "%llu", (unsigned long long)o->number);
        cr_expect_gt(o->number, *last);
        *last = o->number;
        return o->number == 1180 ? 7 : 0;
}

// G-17: of the documents that have a term those that are live, where whole rows of the index have none, and live ones have not the term.
Test(rank, overlaps_of_what_is_live) {
        const RankTerm term = {.p = "alfa", .n = 4};
        _cleanup_store_fixture_ StoreFixture f;
        _cleanup_tokenizer_ Tokenizer *bag = NULL;
        const double weight = 1;
        uint64_t last = 0;
        Txn *t;

        store_fixture_init(&f, STORE_WRITE);
        t = store_fixture_begin(&f, true);
        cr_assert_eq(tokenizer_new(&bag), 0);
        cr_expect_eq(rank_overlap(t, SCOPE, 1, 1U << INDEX_TEXT, &term, &weight, 1, 0, true, count_live, &last), 0);
        for (uint64_t i = 1; i <= 1200; i++) {
                tokenizer_clear(bag);
                cr_assert_eq(tokenizer_add(bag, INDEX_TEXT, i % 2 ? "bravo" : "alfa", i % 2 ? 5 : 4), 0);
                if (i % 5 == 0 && (i <= 200 || i > 900))
                        cr_assert_eq(tokenizer_add(bag, INDEX_LIVE, INDEX_LIVE_TERM, strlen(INDEX_LIVE_TERM)), 0);
                cr_assert_eq(index_put(t, SCOPE, 1, i, "x", bag), 0);
        }
        cr_expect_eq(rank_overlap(t, SCOPE, 1, 1U << INDEX_TEXT, &term, &weight, 1, 0, true, count_live, &last), 7);
        cr_expect_eq(last, 1180);
        store_abort(t);
}
