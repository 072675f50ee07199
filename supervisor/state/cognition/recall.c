#include "cognition/recall.h"

#include "index/index.h"

#include <errno.h>
#include <string.h>

#define RECALL_LENGTH 60 /* words of a usual text, for the share of long texts */

/* Terms (stems) without a subject. */
static const char *const stops[] = {
        "a",    "about", "after", "again", "all",   "also",  "am",    "an",    "and",   "ani",   "anoth", "any",
        "are",  "as",    "ask",   "at",    "be",    "been",  "befor", "but",   "by",    "can",   "could", "did",
        "do",   "doe",   "done",  "each",  "els",   "for",   "from",  "get",   "give",  "go",    "good",  "had",
        "has",  "have",  "he",    "hello", "help",  "her",   "here",  "hi",    "him",   "his",   "how",   "i",
        "if",   "in",    "into",  "is",    "it",    "it's",  "just",  "know",  "let",   "like",  "make",  "may",
        "me",   "mani",  "more",  "most",  "much",  "must",  "my",    "need",  "next",  "no",    "not",   "now",
        "of",   "off",   "ok",    "okay",  "on",    "one",   "onli",  "or",    "other", "our",   "out",   "over",
        "pleas", "put",  "say",   "see",   "she",   "should", "so",   "some",  "sure",  "take",  "tell",  "thank",
        "that", "the",   "their", "them",  "then",  "there", "these", "they",  "thing", "this",  "to",    "too",
        "up",   "us",    "use",   "veri",  "want",  "was",   "we",    "well",  "were",  "what",  "when",  "where",
        "which", "who",  "why",   "will",  "with",  "would", "yes",   "yet",   "you",   "your",  "i'm",   "don't",
};

static bool recall_is_stop(const Term *t) {
        for (size_t i = 0; i < ARRAY_SIZE(stops); i++)
                if (strlen(stops[i]) == t->n && memcmp(stops[i], t->p, t->n) == 0)
                        return true;
        return false;
}

static bool recall_is_entity(const Term *t) {
        for (size_t i = 0; i < t->n; i++)
                if ((t->p[i] >= '0' && t->p[i] <= '9') || t->p[i] == '_' || t->p[i] == '-' || t->p[i] == '.')
                        return t->n > 1;
        return false;
}

/* Is x less than y: lighter, or later in the order of bytes? */
static bool recall_is_lighter(const RecallTerm *x, const RecallTerm *y) {
        int order;

        if (x->weight != y->weight)
                return x->weight < y->weight;
        order = memcmp(x->p, y->p, MIN(x->n, y->n));
        return order ? order > 0 : x->n > y->n;
}

static void recall_offer_term(RecallQuery *q, const RecallTerm *one) {
        size_t at = q->n;

        if (at == RECALL_TERMS && !recall_is_lighter(&q->term[at - 1], one))
                return;
        q->n = MIN(q->n + 1, (size_t)RECALL_TERMS);
        for (at = q->n - 1; at > 0 && recall_is_lighter(&q->term[at - 1], one); at--)
                q->term[at] = q->term[at - 1];
        q->term[at] = *one;
}

enum { FIELD_INPUT, FIELD_GOAL, FIELD_FOCAL, FIELD_OTHER, FIELDS };

static int recall_add_list(Tokenizer *bag, unsigned field, const CcsList *list) {
        int r = 0;

        for (size_t i = 0; i < list->n && r == 0; i++) {
                const char *open = strchr(list->atoms[i], '('); /* the name is the type, no term of the subject */

                r = open ? tokenizer_add(bag, field, open, strlen(open)) : 0;
        }
        return r;
}

/* The same term in several fields weighs the sum. */
static void recall_merge(RecallQuery *q, const Term *terms, size_t n) {
        static const double weights[FIELDS] = {3, 1, 1, 0.5}; /* the question counts most */
        size_t begins[FIELDS + 1], at[FIELDS], f = 0;

        for (size_t i = 0; f <= FIELDS; f++) {
                while (i < n && terms[i].field < f)
                        i++;
                begins[f] = i;
        }
        memcpy(at, begins, sizeof(at));
        for (;;) {
                const Term *least = NULL;
                RecallTerm one = {.n = 0};

                for (f = 0; f < FIELDS; f++) {
                        Term here, best;

                        if (at[f] == begins[f + 1])
                                continue;
                        here = terms[at[f]];
                        here.field = 0;
                        if (least) {
                                best = *least;
                                best.field = 0;
                        }
                        if (!least || term_compare(&here, &best) < 0)
                                least = &terms[at[f]];
                }
                if (!least)
                        return;
                memcpy(one.p, least->p, least->n);
                one.n = least->n;
                for (f = 0; f < FIELDS; f++) {
                        const Term *here = &terms[at[f]];

                        if (at[f] == begins[f + 1] || here->n != one.n || memcmp(here->p, one.p, one.n) != 0)
                                continue;
                        one.weight += weights[f] * (recall_is_entity(here) ? 2 : 1);
                        one.subject |= f == FIELD_GOAL || f == FIELD_FOCAL;
                        one.input |= f == FIELD_INPUT;
                        one.entity |= f == FIELD_INPUT && recall_is_entity(here);
                        at[f]++;
                }
                if (!recall_is_stop(&(Term){.p = one.p, .n = one.n}))
                        recall_offer_term(q, &one);
        }
}

int recall_query(Txn *t, const Ccs *state, const RecallText *input, const RecallText *others, size_t n_others,
                 RecallQuery *ret) {
        enum { READ_MOST = 16 * 1024 };
        const Term *terms;
        Tokenizer *bag;
        size_t n;
        int r = index_bag(t, &bag)
                        ?: tokenizer_add(bag, FIELD_INPUT, input->text, MIN(input->n, (size_t)READ_MOST))
                        ?: recall_add_list(bag, FIELD_GOAL, &state->field[CCS_GOAL_ORIENTATION])
                        ?: recall_add_list(bag, FIELD_FOCAL, &state->field[CCS_FOCAL_ENTITIES]);

        for (size_t i = 0; i < n_others && r == 0; i++)
                r = tokenizer_add(bag, FIELD_OTHER, others[i].text, MIN(others[i].n, (size_t)READ_MOST / (i + 1)));
        if (r < 0)
                return r;
        terms = tokenizer_sorted(bag, &n);
        if (!terms)
                return -ENOMEM;
        ret->n = 0;
        recall_merge(ret, terms, n);
        return 0;
}

/* A row of a term: 256 numbers. */
typedef struct RecallRow {
        const uint8_t *p; /* borrowed from the store */
        uint64_t number;
        uint32_t n;
        uint32_t term;
} RecallRow;

typedef struct RecallRows {
        RecallRow row[RECALL_TERMS * RECALL_ROWS];
        size_t n;
} RecallRows;

/* Reads the term's rows from number `from` to `to`, at most `most`. */
static int recall_read_rows(Cursor *c, uint8_t *k, size_t n_head, uint32_t term, uint64_t from, uint64_t to, size_t most,
                            RecallRows *rows) {
        size_t first = rows->n;
        Bytes key, v;
        int r = 0;

        be64_put(k + n_head, from);
        cursor_seek(c, BYTES(k, n_head + 8));
        while (rows->n - first < most && (r = cursor_next(c, &key, &v)) == 0 && bytes_begin(key, BYTES(k, n_head))) {
                RecallRow *row = &rows->row[rows->n];

                if (key.n != n_head + 8 || !chunk_sane(v))
                        return -EUCLEAN;
                *row = (RecallRow){.p = v.p, .number = be64_get((const uint8_t *)key.p + n_head),
                                   .n = (uint32_t)(v.n / POSTING_BYTES), .term = term};
                if (row->number > to)
                        break;
                rows->n++;
        }
        return r == -ENOENT ? 0 : r;
}

static int recall_rows_order(const void *a, const void *b) {
        const RecallRow *x = a, *y = b;

        return x->number != y->number ? (x->number < y->number ? -1 : 1) : (int)x->term - (int)y->term;
}

static bool recall_is_worse(const RecallHit *a, const RecallHit *b) {
        return a->score != b->score ? a->score < b->score : a->number < b->number;
}

static void recall_offer(RecallHits *hits, const RecallHit *one) {
        size_t at;

        if (hits->n == hits->most && !recall_is_worse(&hits->hit[hits->n - 1], one))
                return;
        hits->n = MIN(hits->n + 1, hits->most);
        for (at = hits->n - 1; at > 0 && recall_is_worse(&hits->hit[at - 1], one); at--)
                hits->hit[at] = hits->hit[at - 1];
        hits->hit[at] = *one;
}

/* The rows of the same numbers. */
static void recall_sum(const RecallQuery *q, const RecallRow *row, size_t n, RecallHit like, RecallHits *hits) {
        double score[256];
        uint64_t terms[256] = {0};

        for (size_t i = 0; i < n; i++)
                for (uint32_t k = 0; k < row[i].n; k++) {
                        Posting p = posting_at(row[i].p, k);
                        double add = q->term[row[i].term].weight * p.times /
                                     (p.times + 0.4 + 0.8 * p.length / RECALL_LENGTH);

                        score[p.low] = terms[p.low] ? score[p.low] + add : add;
                        terms[p.low] |= UINT64_C(1) << row[i].term;
                }
        for (unsigned low = 0; low < 256; low++) {
                if (!terms[low])
                        continue;
                like.score = score[low];
                like.terms = terms[low];
                like.number = row->number << 8 | low;
                recall_offer(hits, &like);
        }
}

/* Rows of one term: the oldest and the newest places, and all between where the newest have few. */
static int recall_read_term(Cursor *c, uint8_t *k, size_t n_head, uint32_t term, uint64_t first, uint64_t last,
                            RecallRows *rows) {
        uint64_t middle = first + RECALL_OLDEST, late = MAX(last - MIN(last, (uint64_t)RECALL_NEWEST - 1), middle);
        size_t begin = rows->n, before;
        int r = recall_read_rows(c, k, n_head, term, 0, middle - 1, RECALL_OLDEST, rows);

        before = rows->n;
        if (r == 0)
                r = recall_read_rows(c, k, n_head, term, late, UINT64_MAX, RECALL_NEWEST, rows);
        if (r < 0 || late == middle || rows->n - before > RECALL_FEW)
                return r;
        before = rows->n;
        r = recall_read_rows(c, k, n_head, term, middle, late - 1, RECALL_ROWS - (before - begin), rows);
        if (rows->n - begin == RECALL_ROWS)
                rows->n = before; /* many */
        return r;
}

int recall_read(Txn *t, uint64_t scope, Kind kind, unsigned field, const RecallQuery *q, uint64_t newest, RecallHits *ret) {
        _cleanup_free_ RecallRows *rows = malloc(sizeof(*rows));
        _cleanup_cursor_ Cursor *c = NULL;
        int r = rows ? cursor_open(t, TABLE_TERM, BYTES(NULL, 0), &c) : -ENOMEM;

        if (r < 0)
                return r;
        rows->n = 0;
        for (uint32_t i = 0; i < q->n && r == 0; i++) {
                uint8_t k[TERM_KEY_MAX];
                size_t head = term_key(scope, (uint8_t)kind, (uint8_t)field, q->term[i].p, q->term[i].n, k);

                r = recall_read_term(c, k, head, i, scope >> 8, newest >> 8, rows);
        }
        if (r < 0)
                return r;
        qsort(rows->row, rows->n, sizeof(*rows->row), recall_rows_order);
        for (size_t at = 0, end; at < rows->n; at = end) {
                for (end = at + 1; end < rows->n && rows->row[end].number == rows->row[at].number;)
                        end++;
                recall_sum(q, rows->row + at, end - at, (RecallHit){.scope = scope, .kind = kind}, ret);
        }
        return 0;
}

bool recall_is_relevant(const RecallQuery *q, const RecallHit *hit) {
        unsigned inputs = 0;

        for (size_t i = 0; i < q->n; i++) {
                const RecallTerm *t = &q->term[i];

                if (!(hit->terms & UINT64_C(1) << i))
                        continue;
                if (t->subject || t->entity)
                        return true;
                inputs += t->input;
        }
        return inputs >= 2;
}
