#include "tests/eval/replay.h"
#include "belief/cues.h"
#include "belief/evidence.h"
#include "belief/shortlist.h"
#include "index/lexicon.h"
#include "engine/known-names.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

typedef struct ReplayPosting {
        uint32_t *rows; /* rows that have arrived and have the term */
        uint32_t n, room;
} ReplayPosting;

/* The terms of a title and of the id's hash: the index's view of a row. */
typedef struct ReplayTitle {
        uint32_t *terms; /* owned */
        size_t n;
} ReplayTitle;

struct Replay {
        const Changes *h;
        Lexicon *lexicon;
        EvidenceRow *rows;
        ReplayTitle *titles;
        json_t **known;        /* "aliases" and "phrases" of each row; NULL: none yet */
        ReplayPosting *postings;     /* by term */
        uint32_t n_postings;
        uint32_t there;        /* rows that have arrived */
        uint32_t *seen;        /* by row: 1 + the last note with this row as a candidate */
        uint32_t *remembering; /* rows with aliases or phrases */
        size_t n_remembering;
        double *weights;       /* by row: the weight of the terms shared with the note, else 0 */
        uint32_t *met;         /* rows with a weight above 0 */
        ResolveCandidate *candidates;
};

static int replay_count_rows(void *userdata, uint32_t number, const char *term, size_t n, uint64_t *ret) {
        const Replay *r = userdata;

        (void)term;
        (void)n;
        *ret = number < r->n_postings ? r->postings[number].n : 0;
        return 0;
}

/* From here on the row exists. */
static int replay_arrive(Replay *r, uint32_t row) {
        r->there++;
        for (size_t i = 0; i < r->titles[row].n; i++) {
                ReplayPosting *p = &r->postings[r->titles[row].terms[i]];

                if (p->n == p->room) {
                        uint32_t room = p->room ? 2 * p->room : 4, *more = reallocarray(p->rows, room, sizeof(*more));

                        if (!more)
                                return -ENOMEM;
                        p->rows = more;
                        p->room = room;
                }
                p->rows[p->n++] = row;
        }
        return 0;
}

static int replay_read_title(Replay *r, uint32_t row) {
        _cleanup_free_ char *text = NULL;
        const char *hash;
        int n = refmem_hash(r->h->rows[row].slug, &hash) > 0 ? REFMEM_HASH_LEAST : 0;

        if (asprintf(&text, "%s %.*s", r->h->rows[row].subject, n, n > 0 ? hash : "") < 0) {
                text = NULL;
                return -ENOMEM;
        }
        return lexicon_read(r->lexicon, text, strlen(text), LEXICON_ALL, &r->titles[row].terms, &r->titles[row].n);
}

int replay_new(const Changes *h, Replay **ret) {
        _cleanup_replay_ Replay *r = calloc(1, sizeof(*r));
        int k;

        if (!r)
                return -ENOMEM;
        r->h = h;
        k = lexicon_new(replay_count_rows, r, NULL, &r->lexicon);
        if (k < 0)
                return k;
        r->rows = calloc(h->n + 1, sizeof(*r->rows));
        r->titles = calloc(h->n + 1, sizeof(*r->titles));
        r->known = calloc(h->n + 1, sizeof(*r->known));
        r->seen = calloc(h->n + 1, sizeof(*r->seen));
        r->remembering = calloc(h->n + 1, sizeof(*r->remembering));
        r->candidates = calloc(h->n + 1, sizeof(*r->candidates));
        r->weights = calloc(h->n + 1, sizeof(*r->weights));
        r->met = calloc(h->n + 1, sizeof(*r->met));
        if (!r->rows || !r->titles || !r->known || !r->seen || !r->remembering || !r->candidates || !r->weights ||
            !r->met)
                return -ENOMEM;
        for (uint32_t i = 0; i < h->n; i++) {
                k = evidence_row_init(r->lexicon, h->rows[i].slug, h->rows[i].subject, h->rows[i].subject, NULL, NULL, &r->rows[i]);
                if (k == 0)
                        k = replay_read_title(r, i);
                if (k < 0)
                        return k;
        }
        r->postings = calloc(lexicon_terms(r->lexicon), sizeof(*r->postings));
        if (!r->postings)
                return -ENOMEM;
        r->n_postings = lexicon_terms(r->lexicon);
        *ret = TAKE_PTR(r);
        return 0;
}

/* Resets the replay to the state before the first row. */
static int replay_start_over(Replay *r) {
        int k = 0;

        for (uint32_t i = 0; i < r->n_postings; i++)
                r->postings[i].n = 0;
        for (size_t i = 0; i < r->n_remembering && k == 0; i++) {
                uint32_t row = r->remembering[i];

                json_decref(r->known[row]);
                r->known[row] = NULL;
                k = evidence_row_known_as(r->lexicon, &r->rows[row], NULL, NULL);
        }
        r->n_remembering = 0;
        r->there = 0;
        memset(r->seen, 0, (r->h->n + 1) * sizeof(*r->seen));
        return k;
}

void replay_free(Replay *r) {
        if (!r)
                return;
        for (size_t i = 0; i < r->n_remembering; i++)
                json_decref(r->known[r->remembering[i]]);
        for (size_t i = 0; r->rows && i < r->h->n; i++)
                evidence_row_deinit(&r->rows[i]);
        for (size_t i = 0; r->titles && i < r->h->n; i++)
                free(r->titles[i].terms);
        for (uint32_t i = 0; i < r->n_postings; i++)
                free(r->postings[i].rows);
        free(r->postings);
        lexicon_free(r->lexicon);
        free(r->rows);
        free(r->titles);
        free(r->known);
        free(r->seen);
        free(r->remembering);
        free(r->candidates);
        free(r->weights);
        free(r->met);
        free(r);
}

/* The request was bound to the row. Adds the request's names to the row, as the engine does. */
static int replay_remember(Replay *r, uint32_t row, const BeliefRequest *req, const char *clause, size_t n_clause) {
        _cleanup_json_ json_t *body =
                json_pack("{s:O*, s:[s*, s%]}", "aliases", req->aliases, "phrases", req->reference, clause, n_clause);
        Record rec = {.key = {.kind = KIND_ISSUE}};
        int k;

        if (!r->known[row]) {
                r->known[row] = json_object();
                r->remembering[r->n_remembering++] = row;
        }
        rec.row = r->known[row];
        k = body && rec.row ? refmem_grow(&rec, body) : -ENOMEM;
        return k < 0 ? k
                     : evidence_row_known_as(r->lexicon, &r->rows[row], json_object_get(rec.row, "aliases"),
                                             json_object_get(rec.row, "phrases"));
}

static int replay_add_candidate(Replay *r, uint32_t row, uint32_t note, const ResolveEvidence *e, size_t *n) {
        ResolveCandidate *c = &r->candidates[*n];
        int k;

        if (r->seen[row] == note + 1)
                return 0;
        r->seen[row] = note + 1;
        k = evidence_weigh(r->lexicon, e, &r->rows[row], c);
        c->number = row;
        *n += k == 0;
        return k;
}

static bool replay_is_mentioned(const ResolveEvidence *e, const EvidenceRow *row) {
        return e->n_mentions > 0 && (evidence_mentions(e, row, true) || evidence_mentions(e, row, false));
}

/* Makes the short list; promotion does so with the index. */
static int replay_shortlist(Replay *r, const ResolveEvidence *e, Shortlist *ret) {
        ShortlistTerm terms[SHORTLIST_TERMS];
        size_t n, met = 0;
        int k = shortlist_terms(r->lexicon, &e->saying, terms, &n);

        if (k < 0)
                return k;
        for (size_t i = 0; i < n; i++) {
                const ReplayPosting *p = &r->postings[terms[i].number];

                for (uint32_t j = 0; j < p->n; j++) {
                        if (r->weights[p->rows[j]] <= 0)
                                r->met[met++] = p->rows[j];
                        r->weights[p->rows[j]] += terms[i].weight;
                }
        }
        for (size_t i = 0; i < met; i++) {
                shortlist_add(ret, r->met[i], r->weights[r->met[i]]);
                r->weights[r->met[i]] = 0;
        }
        return 0;
}

/* Collects the candidates: rows that share the most with the note, and all rows with aliases or phrases. */
static int replay_gather(Replay *r, uint32_t note, const ResolveEvidence *e, size_t *ret_n) {
        Shortlist list = {0};
        size_t n = 0;
        int k = replay_shortlist(r, e, &list);

        for (size_t i = 0; i < list.n && k == 0; i++)
                k = replay_add_candidate(r, (uint32_t)list.rows[i].number, note, e, &n);
        for (size_t i = 0; i < r->n_remembering && k == 0; i++)
                k = replay_add_candidate(r, r->remembering[i], note, e, &n);
        *ret_n = n;
        return k;
}

/* Tells whether the text names an earlier row, meant or not. */
static bool replay_mentions_any(const Replay *r, uint32_t before, const char *text) {
        ResolveEvidence e = {0};

        e.n_mentions = mentions_find(text, strlen(text), e.mentions);
        for (uint32_t i = 0; i < before && e.n_mentions > 0; i++)
                if (replay_is_mentioned(&e, &r->rows[i]))
                        return true;
        return false;
}

/* Compares the request with the existing rows: *ret_n candidates, in the order of resolve_decide(). */
static int replay_decide(Replay *r, uint32_t i, const BeliefRequest *req, const char *text, const ResolvePolicy *policy,
                         ResolveOutcome *ret, size_t *ret_n) {
        _cleanup_evidence_ ResolveEvidence e = {0};
        ResolveQuestion asked = asked_by(req, text, strlen(text));
        int k;

        lexicon_rows(r->lexicon, r->there);
        k = evidence_init(r->lexicon, &asked, &e);
        if (k == 0)
                k = replay_gather(r, i, &e, ret_n);
        if (k == 0)
                *ret = resolve_decide(req->op, req->target, r->candidates, *ret_n, policy);
        return k;
}

static int replay_one_note(Replay *r, uint32_t i, NoteText how, bool memory, const ResolvePolicy *policy,
                           ReplayNote *ret) {
        const ChangesRow *row = &r->h->rows[i];
        _cleanup_free_ char *text = changes_note(r->h, i, how);
        _cleanup_canon_request_ BeliefRequest req = {0};
        ResolveOutcome o;
        const char *clause;
        size_t n, n_clause;
        int k = text ? cues_interpret(text, strlen(text), CUE_AGENT, &req, NULL) : -ENOMEM;

        if (k < 0)
                return k;
        *ret = (ReplayNote){.row = i, .mentions = how == NOTE_AS_IS && replay_mentions_any(r, i, text)};
        if (k > 0 || !req.accept || req.kind != KIND_ISSUE || req.op != OP_RESOLVE)
                return 0;
        ret->read = true;
        k = replay_decide(r, i, &req, text, policy, &o, &n);
        if (k < 0)
                return k;
        ret->any = o.n > 0;
        ret->best = o.best;
        ret->second = o.second;
        ret->names = o.n > 0 && r->candidates[0].named;
        ret->bound = o.verdict == RESOLVE_BIND;
        ret->right = o.n > 0 && changes_has_gold(row, r->candidates[0].number);
        for (size_t c = 0; c < n && ret->place == 0; c++)
                if (changes_has_gold(row, r->candidates[c].number))
                        ret->place = c + 1;
        if (!ret->bound || !memory)
                return 0;
        cues_first_clause(text, strlen(text), &clause, &n_clause);
        return replay_remember(r, (uint32_t)r->candidates[0].number, &req, clause, n_clause);
}

int replay_notes(Replay *r, NoteText how, bool memory, const ResolvePolicy *policy, ReplayNotes *ret) {
        _cleanup_replay_notes_ ReplayNotes made = {.notes = calloc(r->h->n_notes + 1, sizeof(*made.notes))};
        int k = made.notes ? replay_start_over(r) : -ENOMEM;

        for (uint32_t i = 0; i < r->h->n && k == 0; i++) {
                if (r->h->rows[i].n_gold > 0)
                        k = replay_one_note(r, i, how, memory, policy, &made.notes[made.n++]);
                if (k == 0)
                        k = replay_arrive(r, i);
        }
        if (k < 0)
                return k;
        *ret = made;
        made = (ReplayNotes){0};
        return 0;
}

void replay_notes_deinit(ReplayNotes *n) {
        free(n->notes);
        *n = (ReplayNotes){0};
}

ReplayCount replay_count(const ReplayNotes *n, size_t from, size_t to) {
        ReplayCount c = {.notes = to - from};

        for (size_t i = from; i < to; i++) {
                c.bound += n->notes[i].bound;
                c.wrong += n->notes[i].bound && !n->notes[i].right;
        }
        return c;
}

ReplayCount replay_count_at(const ReplayNotes *n, double tau, double delta) {
        ReplayCount c = {.notes = n->n};

        for (size_t i = 0; i < n->n; i++)
                if (n->notes[i].any && resolve_binds(n->notes[i].best, n->notes[i].second, tau, delta)) {
                        c.bound++;
                        c.wrong += !n->notes[i].right;
                }
        return c;
}

int replay_titles(Replay *r, const ResolvePolicy *policy, ReplayTitles *ret) {
        int k = replay_start_over(r);

        *ret = (ReplayTitles){0};
        for (uint32_t i = 0; i < r->h->n && k == 0; i++) {
                _cleanup_canon_request_ BeliefRequest req = {0};
                _cleanup_free_ char *text = NULL;
                ResolveOutcome o;
                size_t n;

                if (asprintf(&text, "issue: %s", r->h->rows[i].subject) < 0) {
                        text = NULL;
                        return -ENOMEM;
                }
                k = cues_interpret(text, strlen(text), CUE_AGENT, &req, NULL);
                if (k < 0)
                        return k;
                ret->titles++;
                ret->unread += k > 0 || !req.accept;
                if (k > 0 || !req.accept) {
                        k = 0;
                        continue;
                }
                k = replay_decide(r, i, &req, text, policy, &o, &n);
                if (k < 0)
                        return k;
                if (o.verdict == RESOLVE_BIND) {
                        ret->merged++;
                        ret->merged_wrong += !changes_has_gold(&r->h->rows[i], r->candidates[0].number);
                } else if (o.verdict == RESOLVE_NEW) {
                        ret->created++;
                        k = replay_arrive(r, i);
                } else
                        ret->waiting++;
        }
        return k;
}
