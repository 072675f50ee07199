#include "tests/eval/setting.h"

#include "belief/cues.h"
#include "belief/pair.h"
#include "belief/shortlist.h"
#include "engine/known-names.h"

#include <errno.h>
#include <string.h>

typedef struct SettingRow {
        EvidenceRow evidence;
        uint32_t *terms; /* owned: of subject, body and hash, as in the index */
        size_t n_terms;
        Circumstance facts; /* lists owned */
        uint32_t last;      /* the last note about it; 0: none */
        char *subject;      /* owned */
        bool live;
} SettingRow;

typedef struct SettingPosting {
        uint32_t *rows, n, room;
} SettingPosting;

typedef struct SettingReplay {
        const Changes *h;
        const Setting *how;
        Lexicon *lexicon;
        SettingRow *rows;
        SettingPosting *postings;
        uint32_t n_postings, n_live;
        uint32_t n_there[SETTING_THIN_MOST]; /* by part */
        uint32_t part;   /* of the note: all rows with this remainder are its store */
        double *weights; /* by row */
        uint32_t *met;
        ResolveCandidate *candidates; /* of SHORTLIST_ROWS */
        Pair *pairs;
} SettingReplay;

static void setting_deinit(SettingReplay *r) {
        for (size_t i = 0; r->rows && i < r->h->n; i++) {
                evidence_row_deinit(&r->rows[i].evidence);
                free(r->rows[i].terms);
                free((uint64_t *)r->rows[i].facts.people);
                free((uint64_t *)r->rows[i].facts.files);
                free(r->rows[i].subject);
        }
        for (uint32_t i = 0; i < r->n_postings; i++)
                free(r->postings[i].rows);
        free(r->postings);
        free(r->rows);
        free(r->weights);
        free(r->met);
        free(r->candidates);
        free(r->pairs);
        lexicon_free(r->lexicon);
}

static bool setting_is_there(const SettingReplay *r, uint32_t row) {
        return r->how->thin <= 1 || row % r->how->thin == r->part;
}

static int setting_count_rows(void *user, uint32_t number, const char *term, size_t n, uint64_t *ret) {
        const SettingReplay *r = user;

        (void)term;
        (void)n;
        *ret = number < r->n_postings && r->how->thin <= 1 ? r->postings[number].n : 0;
        for (uint32_t i = 0; number < r->n_postings && r->how->thin > 1 && i < r->postings[number].n; i++)
                *ret += setting_is_there(r, r->postings[number].rows[i]);
        return 0;
}

static int setting_name_compare(const void *a, const void *b) {
        uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

        return x < y ? -1 : x > y;
}

static int setting_read_names(const char *list, const uint64_t **ret, size_t *ret_n) {
        uint64_t *names = calloc(strlen(list) + 1, sizeof(*names));
        size_t n = 0;

        if (!names)
                return -ENOMEM;
        for (; *list; list += strcspn(list, ",") + (list[strcspn(list, ",")] == ',')) {
                size_t length = strcspn(list, ",");

                if (length > 0)
                        names[n++] = pair_name(list, length);
        }
        qsort(names, n, sizeof(*names), setting_name_compare);
        *ret = names;
        *ret_n = n;
        return 0;
}

/* "net/x: add y" without the area. */
static const char *setting_subject(const SettingReplay *r, const char *subject) {
        const char *end = strstr(subject, ": ");

        return r->how->bare && end && !memchr(subject, ' ', (size_t)(end - subject)) && end[2] ? end + 2 : subject;
}

static int setting_read_row(SettingReplay *r, uint32_t i) {
        const ChangesRow *from = &r->h->rows[i];
        SettingRow *row = &r->rows[i];
        _cleanup_free_ char *text = NULL, *indexed = NULL;
        const char *hash;
        int n = refmem_hash(from->slug, &hash) > 0 ? REFMEM_HASH_LEAST : 0;

        row->subject = strdup(setting_subject(r, from->subject));
        if (!row->subject || asprintf(&text, "%s\n%s", row->subject, from->body) < 0 ||
            asprintf(&indexed, "%s\n%.*s", text, n, n > 0 ? hash : "") < 0)
                return -ENOMEM;
        for (size_t k = 0; k < from->n_gold; k++)
                r->rows[from->gold[k]].last = i;
        row->facts.order = i;
        row->facts.agent = *from->author ? pair_name(from->author, strlen(from->author)) : 0;
        return setting_read_names(from->people, &row->facts.people, &row->facts.n_people)
                ?: setting_read_names(r->how->files ? from->files : "", &row->facts.files, &row->facts.n_files)
                ?: evidence_row_init(r->lexicon, from->slug, row->subject, text, NULL, NULL, &row->evidence)
                ?: lexicon_read(r->lexicon, indexed, strlen(indexed), LEXICON_ALL, &row->terms, &row->n_terms);
}

static int setting_init(const Changes *h, const Setting *how, SettingReplay *r) {
        int k;

        *r = (SettingReplay){.h = h, .how = how};
        r->rows = calloc(h->n + 1, sizeof(*r->rows));
        r->weights = calloc(h->n + 1, sizeof(*r->weights));
        r->met = calloc(h->n + 1, sizeof(*r->met));
        r->candidates = calloc(SHORTLIST_ROWS, sizeof(*r->candidates));
        r->pairs = calloc(SHORTLIST_ROWS, sizeof(*r->pairs));
        if (!r->rows || !r->weights || !r->met || !r->candidates || !r->pairs)
                return -ENOMEM;
        k = lexicon_new(setting_count_rows, r, NULL, &r->lexicon);
        for (uint32_t i = 0; i < h->n && k == 0; i++)
                k = setting_read_row(r, i);
        if (k < 0)
                return k;
        r->postings = calloc(lexicon_terms(r->lexicon) + 1, sizeof(*r->postings));
        r->n_postings = r->postings ? lexicon_terms(r->lexicon) : 0;
        return r->postings ? 0 : -ENOMEM;
}

/* Adds the row to the index. */
static int setting_arrive(SettingReplay *r, uint32_t i) {
        SettingRow *row = &r->rows[i];

        row->live = !r->how->life || row->last > 0;
        r->n_there[r->how->thin ? i % r->how->thin : 0]++;
        r->n_live += row->live;
        for (size_t k = 0; k < row->n_terms; k++) {
                SettingPosting *p = &r->postings[row->terms[k]];

                if (p->n == p->room) {
                        uint32_t room = p->room ? 2 * p->room : 4, *more = reallocarray(p->rows, room, sizeof(*more));

                        if (!more)
                                return -ENOMEM;
                        p->rows = more;
                        p->room = room;
                }
                p->rows[p->n++] = i;
        }
        return 0;
}

static void setting_end_rows(SettingReplay *r, uint32_t note) {
        const ChangesRow *x = &r->h->rows[note];

        for (size_t k = 0; k < x->n_gold && r->how->life; k++) {
                SettingRow *row = &r->rows[x->gold[k]];

                if (row->last != note || !row->live)
                        continue;
                row->live = false;
                r->n_live--;
        }
}

static int setting_shortlist(SettingReplay *r, uint32_t note, bool absent, const ResolveEvidence *e, Shortlist *ret) {
        ShortlistTerm terms[SHORTLIST_TERMS];
        size_t n, met = 0;
        int k = shortlist_terms(r->lexicon, &e->saying, terms, &n);

        if (k < 0)
                return k;
        for (size_t i = 0; i < n; i++) {
                const SettingPosting *p = &r->postings[terms[i].number];

                for (uint32_t j = 0; j < p->n; j++) {
                        uint32_t row = p->rows[j];

                        if (!setting_is_there(r, row) || !r->rows[row].live ||
                            (absent && changes_has_gold(&r->h->rows[note], row)))
                                continue;
                        if (r->weights[row] <= 0)
                                r->met[met++] = row;
                        r->weights[row] += terms[i].weight;
                }
        }
        for (size_t i = 0; i < met; i++) {
                shortlist_add(ret, r->met[i], r->weights[r->met[i]]);
                r->weights[r->met[i]] = 0;
        }
        return 0;
}

static int setting_print_features(SettingReplay *r, uint32_t note, bool absent, const ResolveEvidence *e, size_t n) {
        static double features[SHORTLIST_ROWS * BINDING_FEATURES];
        double outside[BINDING_OUTSIDE];
        int k = pairs_features(r->lexicon, e, &r->rows[note].facts, r->pairs, n, features, outside);

        if (k < 0)
                return k;
        fprintf(r->how->features, "note %u %d %zu", note, absent, n);
        for (size_t i = 0; i < BINDING_OUTSIDE; i++)
                fprintf(r->how->features, " %.9g", outside[i]);
        for (size_t i = 0; i < n; i++) {
                fprintf(r->how->features, "\n%d", changes_has_gold(&r->h->rows[note], r->candidates[i].number));
                for (size_t j = 0; j < BINDING_FEATURES; j++)
                        fprintf(r->how->features, " %.9g", features[i * BINDING_FEATURES + j]);
        }
        return fputc('\n', r->how->features) == EOF ? -EIO : 0;
}

static void setting_count(const SettingReplay *r, uint32_t note, bool absent, ResolveOutcome o, size_t n,
                          SettingCount *ret) {
        const ChangesRow *row = &r->h->rows[note];
        bool bound = o.verdict == RESOLVE_BIND;

        ret->open += r->n_live;
        if (absent) {
                ret->absent++;
                ret->absent_wrong += bound;
                return;
        }
        ret->present++;
        ret->bound += bound;
        ret->wrong += bound && !changes_has_gold(row, r->candidates[0].number);
        for (size_t i = 0; i < MIN(n, (size_t)SETTING_PLACES) && !bound; i++)
                if (changes_has_gold(row, r->candidates[i].number)) {
                        for (; i < SETTING_PLACES; i++)
                                ret->within[i]++;
                        return;
                }
}

static int setting_judge(SettingReplay *r, uint32_t note, bool absent, const BeliefRequest *req, const char *text,
                         const ResolvePolicy *policy, SettingCount *ret) {
        _cleanup_evidence_ ResolveEvidence e = {0};
        ResolveQuestion asked = asked_by(req, text, strlen(text));
        Shortlist list = {0};
        ResolveOutcome o;
        size_t n = 0;
        int k;

        r->part = r->how->thin ? r->h->rows[note].gold[0] % r->how->thin : 0;
        lexicon_rows(r->lexicon, r->n_there[r->part]);
        k = evidence_init(r->lexicon, &asked, &e) ?: setting_shortlist(r, note, absent, &e, &list);
        for (; n < list.n && k == 0; n++) {
                SettingRow *row = &r->rows[list.rows[n].number];

                k = evidence_weigh(r->lexicon, &e, &row->evidence, &r->candidates[n]);
                r->candidates[n].number = list.rows[n].number;
                r->pairs[n] = (Pair){&r->candidates[n], &row->evidence, row->facts};
        }
        if (k < 0)
                return k;
        if (r->how->features)
                return setting_print_features(r, note, absent, &e, n);
        k = pairs_weigh(r->lexicon, &e, &r->rows[note].facts, r->pairs, n);
        if (k < 0)
                return k;
        o = resolve_decide(req->op, req->target, r->candidates, n, policy);
        setting_count(r, note, absent, o, n, ret);
        if (r->how->each)
                r->how->each(r->how->user, note, absent, &o, r->candidates, n);
        return 0;
}

static int setting_one_note(SettingReplay *r, uint32_t note, size_t number, const ResolvePolicy *policy,
                            SettingCount *ret) {
        ChangesRow bare = r->h->rows[note];
        _cleanup_free_ char *text = NULL;
        _cleanup_canon_request_ BeliefRequest req = {0};
        bool absent = number % SETTING_ABSENT_EVERY == SETTING_ABSENT_EVERY - 1;
        int k;

        bare.subject = r->rows[note].subject;
        text = changes_note_of(r->h, &bare, NOTE_MASKED);
        k = text ? cues_interpret(text, strlen(text), CUE_AGENT, &req, NULL) : -ENOMEM;
        if (k < 0)
                return k;
        if (k > 0 || !req.accept || req.kind != KIND_ISSUE || req.op != OP_RESOLVE) {
                ret->present += !absent;
                ret->absent += absent;
                return 0;
        }
        if (!r->how->features)
                return setting_judge(r, note, absent, &req, text, policy, ret);
        return setting_judge(r, note, false, &req, text, policy, ret)
                ?: setting_judge(r, note, true, &req, text, policy, ret);
}

int setting_replay(const Changes *h, const Setting *how, const ResolvePolicy *policy, SettingCount *ret) {
        _cleanup_(setting_deinit) SettingReplay r;
        size_t number = 0;
        int k = setting_init(h, how, &r);

        *ret = (SettingCount){0};
        for (uint32_t i = 0; i < h->n && k == 0; i++) {
                if (h->rows[i].n_gold > 0)
                        k = setting_one_note(&r, i, number++, policy, ret);
                setting_end_rows(&r, i);
                if (k == 0)
                        k = setting_arrive(&r, i);
        }
        return k;
}
