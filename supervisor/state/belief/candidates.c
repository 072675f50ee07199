#include "belief/candidates.h"

#include "belief/shortlist.h"
#include "engine/statement.h"
#include "index/index.h"
#include "index/lexicon.h"
#include "index/lists.h"
#include "index/rank.h"
#include "engine/known-names.h"

#include <errno.h>
#include <string.h>

void candidates_deinit(Candidates *c) {
        free(c->v);
        free(c->rows);
        free(c->pairs);
        *c = (Candidates){0};
}

RecordState candidates_state(const Candidates *c, size_t i) {
        return c->rows[c->v[i].number].state;
}

typedef struct CandidateSearch {
        double weight[SHORTLIST_TERMS];
        /* live: rows that have not ended, collected separately when `list` is full and may hold ended rows only */
        Shortlist list, live;
        Shortlist *fill;
} CandidateSearch;

/* Adds the weights of the shared terms; a term in several fields counts once. */
static int candidates_add_overlap(void *user, const RankOverlap *o) {
        uint64_t terms = o->terms[INDEX_TEXT] | o->terms[INDEX_ALIAS] | o->terms[INDEX_PHRASE];
        CandidateSearch *f = user;
        double sum = 0;

        for (; terms; terms &= terms - 1)
                sum += f->weight[__builtin_ctzll(terms)];
        shortlist_add(f->fill, o->number, sum);
        return 0;
}

/* The rows that an operation can apply to. */
typedef enum CandidateReach {
        REACH_NONE,
        REACH_LIVE, /* only rows that have not ended, and the index can tell */
        REACH_BOTH, /* both, and the index can tell them apart */
        REACH_ALL,  /* both, and the index cannot tell */
} CandidateReach;

static CandidateReach candidates_reach(Kind kind, Op op) {
        CandidateReach reach = REACH_NONE;

        for (RecordState s = RECORD_OPEN; s < RECORD_STATE_COUNT_; s++)
                if (candidates_apply(kind, op, s))
                        reach = MAX(reach, record_state_live(s) ? REACH_LIVE : REACH_BOTH);
        return reach != REACH_NONE && !refmem_remembers(kind) ? REACH_ALL : reach;
}

/* Reads the list of a term that was counted for an earlier request. */
static int candidates_count_again(Bucket *b, const Lexicon *l, uint32_t number) {
        RankTerm term = {0};
        uint64_t rows;
        size_t n;

        term.p = lexicon_term(l, number, &n);
        term.n = (uint8_t)n;
        return lists_count(b->counting, b->txn, b->scope, (uint8_t)b->kind, b->fields, &term, number, &rows);
}

/* Finds the rows that share the most terms with the request, by the index alone. Ended rows are excluded when the
 * operation cannot apply to them. Otherwise live rows have a second list, because ended rows could fill the first. */
static int candidates_find_alike(Bucket *b, Lexicon *l, const ResolveEvidence *e, Op op, CandidateSearch *f) {
        CandidateReach reach = candidates_reach(b->kind, op);
        ShortlistTerm asked[SHORTLIST_TERMS];
        unsigned as[SHORTLIST_TERMS];
        size_t n;
        int r = reach == REACH_NONE ? 0 : shortlist_terms(l, &e->saying, asked, &n);

        if (r < 0 || reach == REACH_NONE || n == 0)
                return r;
        for (size_t i = 0; i < n; i++) {
                as[i] = asked[i].number;
                f->weight[i] = asked[i].weight;
                r = lists_have(b->counting, as[i]) ? 0 : candidates_count_again(b, l, as[i]);
                if (r < 0)
                        return r;
        }
        f->fill = &f->list;
        r = rank_overlap_counted(b->txn, b->scope, (uint8_t)b->kind, b->counting, as, f->weight, n, reach == REACH_LIVE,
                                 candidates_add_overlap, f);
        if (r < 0 || reach != REACH_BOTH || f->list.n < SHORTLIST_ROWS)
                return r;
        f->fill = &f->live;
        return rank_overlap_counted(b->txn, b->scope, (uint8_t)b->kind, b->counting, as, f->weight, n, true,
                                    candidates_add_overlap, f);
}

/* Notes that the request wants to end a row, named by its id, which has ended already. */
static void candidates_note_past(Op op, const char *id, RecordState state, Candidates *c) {
        if (!op_ends(op) || *c->past)
                return;
        strcpy(c->past, id);
        c->past_state = state;
}

bool candidates_apply(Kind kind, Op op, RecordState state) {
        return kind_next_state(kind, op, state) != RECORD_NONE ||
               (kind == KIND_DECISION && op == OP_APPEND && state == RECORD_ACTIVE);
}

/* Counts the weighed candidate behind the last, and copies id and state of the row. */
static void candidates_keep(Candidates *c, const char *id, RecordState state) {
        struct CandidateRow *row = &c->rows[c->n];

        strcpy(row->id, id);
        row->state = state;
        c->v[c->n].id = row->id;
        c->v[c->n].number = c->n;
        c->n++;
}

/* Adds a row to the candidates. */
static int candidates_weigh(Lexicon *l, const ResolveEvidence *e, const BucketRow *row, Candidates *c) {
        int r = evidence_weigh(l, e, &row->evidence, &c->v[c->n]);

        if (r < 0)
                return r;
        c->pairs[c->n] = bucket_pair(row, &c->v[c->n]);
        candidates_keep(c, row->id, row->state);
        return 0;
}

static bool candidates_have(const Candidates *c, size_t n, const char *id) {
        for (size_t i = 0; i < n; i++)
                if (strcmp(c->rows[i].id, id) == 0)
                        return true;
        return false;
}

static int candidates_make_room(Candidates *c, size_t n) {
        c->v = calloc(n, sizeof(*c->v));
        c->rows = calloc(n, sizeof(*c->rows));
        c->pairs = calloc(n, sizeof(*c->pairs));
        return c->v && c->rows && c->pairs ? 0 : -ENOMEM;
}

/* Adds the rows of a list. Skips the first n_named candidates and rows of the second list (or NULL). */
static int candidates_consider(Bucket *b, Lexicon *l, const ResolveEvidence *e, const Shortlist *list,
                               const Shortlist *other, Op op, size_t n_named, Candidates *c) {
        const BucketRow *row;
        int r = 0;

        for (size_t i = 0; r == 0 && i < list->n; i++) {
                if (other && shortlist_has(other, list->rows[i].number))
                        continue;
                r = bucket_numbered(b, list->rows[i].number, &row);
                if (r == 0 && candidates_apply(b->kind, op, row->state) && !candidates_have(c, n_named, row->id))
                        r = candidates_weigh(l, e, row, c);
        }
        return r;
}

/* Adds the rows with an id in the text, then the found rows, each once. */
static int candidates_consider_all(Bucket *b, Lexicon *l, const ResolveEvidence *e, const CandidateSearch *f,
                                   const ResolveQuestion *asked, Candidates *c) {
        const BucketRow *row;
        size_t n_named;
        int r = candidates_make_room(c, f->live.n + f->list.n + 1 + e->n_slugs);

        for (size_t i = 0; r == 0 && i < e->n_slugs; i++) {
                const char *id = e->slugs[i].id;

                if (!record_id_valid(b->kind, id) || candidates_have(c, c->n, id))
                        continue;
                r = bucket_row(b, id, &row);
                if (r == -ENOENT)
                        r = 0;
                else if (r == 0 && candidates_apply(b->kind, asked->op, row->state))
                        r = candidates_weigh(l, e, row, c);
                else if (r == 0 && !e->slugs[i].aside)
                        candidates_note_past(asked->op, row->id, row->state, c);
        }
        n_named = c->n;
        if (r == 0)
                r = candidates_consider(b, l, e, &f->live, NULL, asked->op, n_named, c)
                        ?: candidates_consider(b, l, e, &f->list, &f->live, asked->op, n_named, c);
        return r == -ENOENT ? -EUCLEAN : r;
}

/* The request names a row: only this row can be a candidate. */
static int candidates_take_target(Bucket *b, const ResolveQuestion *asked, Candidates *c) {
        RecordKey key = record_key_of(b->scope, b->kind, asked->target);
        _cleanup_record_ Record rec = RECORD_NULL;
        int r = candidates_make_room(c, 1) ?: record_get(b->txn, &key, &rec);

        if (r < 0)
                return r == -ENOENT ? 0 : r;
        if (kind_next_state(b->kind, asked->op, rec.state) == RECORD_NONE) {
                candidates_note_past(asked->op, rec.key.id, rec.state, c);
                return 0;
        }
        c->v[0].exact = true;
        candidates_keep(c, asked->target, rec.state);
        return 0;
}

static int candidates_look_up(Bucket *b, const ResolveQuestion *asked, Candidates *c) {
        _cleanup_evidence_ ResolveEvidence e = {0};
        ListsRoom room;
        _cleanup_lists_ Lists counted = {.lent = &room};
        CandidateSearch f = {0};
        Lexicon *l;
        int r = bucket_lexicon(b, &l);

        if (r <= 0)
                return r;
        r = evidence_init(l, asked, &e);
        if (r < 0)
                return r;
        b->counting = &counted;
        r = candidates_find_alike(b, l, &e, asked->op, &f) ?: candidates_consider_all(b, l, &e, &f, asked, c)
                ?: bucket_compare(l, &e, asked, c->pairs, c->n);
        b->counting = NULL;
        return r;
}

/* A constraint or decision that says the opposite is another row: a repeat is sought, and the words of "must" and "must
 * not" are alike (G-69). */
static int candidates_drop_opposed(Bucket *b, const ResolveQuestion *asked, Candidates *c) {
        bool may = c->n > 0 && !asked->target && asked->reference && op_creates(asked->op) &&
                   (b->kind == KIND_CONSTRAINT || b->kind == KIND_DECISION);
        ClaimList says, row_says;
        Tokenizer *bag;
        size_t kept = 0;
        int r = may ? index_bag(b->txn, &bag) : -ENOENT;

        if (r == 0)
                r = statement_claims(bag, asked->reference, strlen(asked->reference), &says);
        for (size_t i = 0; r == 0 && i < c->n; i++) {
                const BucketRow *row;

                r = bucket_row(b, c->v[i].id, &row);
                if (r == 0)
                        r = statement_claims(bag, row->title, strlen(row->title), &row_says);
                if (r == 0 && (c->v[i].exact || c->v[i].named || !claims_opposed(&says, &row_says)))
                        c->v[kept++] = c->v[i];
        }
        if (r == 0)
                c->n = kept;
        return r == -ENOENT && !may ? 0 : r;
}

int candidates_find(Bucket *b, const ResolveQuestion *asked, const ResolvePolicy *policy, Candidates *ret) {
        const ResolvePolicy of_bucket = resolve_policy_of(policy, b->kind);
        _cleanup_candidates_ Candidates c = {0};
        int r = asked->target ? candidates_take_target(b, asked, &c) : candidates_look_up(b, asked, &c);

        if (r == 0)
                r = candidates_drop_opposed(b, asked, &c);
        if (r < 0)
                return r;
        c.outcome = resolve_decide(asked->op, asked->target, c.v, c.n, &of_bucket);
        *ret = c;
        c = (Candidates){0};
        return 0;
}
