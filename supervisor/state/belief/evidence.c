#include "belief/evidence.h"
#include "belief/cues.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

ResolveQuestion asked_by(const BeliefRequest *req, const char *text, size_t n_text) {
        static const char *const says[] = {"title", "statement", "decision"};
        ResolveQuestion a = {.op = req->op,
                             .target = req->target,
                             .reference = req->reference,
                             .head = op_ends(req->op) ? req->head : NULL,
                             .aliases = req->aliases,
                             .text = text,
                             .n_text = n_text};

        if (op_creates(req->op))
                for (size_t i = 0; i < ARRAY_SIZE(says) && !a.reference; i++)
                        a.reference = json_text(json_object_get(req->payload, says[i]));
        return a;
}

static int evidence_collect_slugs(const char *text, size_t n, ResolveEvidence *e) {
        size_t at = 0;
        Word w;

        while (word_next(text, n, &at, &w)) {
                if (w.n >= RECORD_ID_MAX || !memchr(w.p, '_', w.n))
                        continue;
                if (!GROW(e->slugs, e->n_slugs))
                        return -ENOMEM;
                memcpy(e->slugs[e->n_slugs].id, w.p, w.n);
                e->slugs[e->n_slugs].id[w.n] = 0;
                e->slugs[e->n_slugs++].aside = mention_is_aside(text, w.at);
        }
        return 0;
}

/* The words of the head; a word with "/" is a list of alternatives, and the last word. */
static int evidence_read_head(Lexicon *l, const char *head, ResolveEvidence *e) {
        const char *slash = strchr(head, '/'), *last = slash ? memrchr(head, ' ', (size_t)(slash - head)) : NULL;
        size_t n = !slash ? strlen(head) : last ? (size_t)(last - head) : 0;
        int r = n > 0 ? lexicon_read(l, head, n, LEXICON_ALL, &e->head, &e->n_head) : 0;

        return r == 0 && slash ? lexicon_read(l, head + n, strlen(head + n), LEXICON_ALL, &e->needs, &e->n_needs) : r;
}

int evidence_init(Lexicon *l, const ResolveQuestion *asked, ResolveEvidence *ret) {
        _cleanup_evidence_ ResolveEvidence e = {.target = asked->target};
        size_t found = mentions_find(asked->text, asked->n_text, e.mentions);
        _cleanup_free_ char *text = mentions_blank(asked->text, asked->n_text, e.mentions, found);
        const char *clause;
        size_t n_clause, i;
        json_t *alias;
        int r;

        if (!text)
                return -ENOMEM;
        cues_first_clause(text, asked->n_text, &clause, &n_clause);
        e.n_mentions = found;
        e.saying.settles = op_ends(asked->op);
        r = evidence_collect_slugs(text, asked->n_text, &e) ?: saying_text(l, &e.saying, text, asked->n_text);
        if (r == 0)
                r = asked->reference ? saying_reference(l, &e.saying, asked->reference, strlen(asked->reference))
                                     : saying_reference(l, &e.saying, clause, n_clause);
        if (r == 0 && asked->head)
                r = evidence_read_head(l, asked->head, &e);
        json_array_foreach(asked->aliases, i, alias)
                if (r == 0)
                        r = saying_alias(l, &e.saying, json_bytes(alias), json_string_length(alias));
        for (i = 0; i < found && r == 0; i++) {
                const Mention *m = &e.mentions[i];

                r = m->hash ? saying_seek(l, &e.saying, m->hash, MENTION_HASH_LEAST) : 0;
                if (r == 0 && m->title)
                        r = saying_seek(l, &e.saying, m->title, m->n_title);
        }
        if (r < 0)
                return r;
        *ret = e;
        e = (ResolveEvidence){0};
        return 0;
}

void evidence_deinit(ResolveEvidence *e) {
        saying_deinit(&e->saying);
        free(e->head);
        free(e->needs);
        free(e->slugs);
        *e = (ResolveEvidence){0};
}

static void evidence_row_forget(EvidenceRow *row) {
        for (size_t i = 0; i < row->n_memory; i++)
                naming_deinit(&row->memory[i]);
        free(row->memory);
        row->memory = NULL;
        row->n_memory = 0;
}

/* An id made by a person is a name, too: "pandas_import_blocker". An id of a single word, or a hash, adds nothing. */
static int evidence_row_add_id(Lexicon *l, EvidenceRow *row) {
        int r = naming_read(l, row->id, strlen(row->id), &row->memory[0]);

        if (r < 0)
                return r;
        if (row->memory[0].n_words > 1)
                row->n_memory = 1;
        else
                naming_deinit(&row->memory[0]);
        return 0;
}

#define SENTENCE_WORDS 2 /* fewer words of its own name nothing: "high", "no idea" */

/* The end of the sentence: a line feed, or a mark before a blank. */
static size_t evidence_sentence_end(const char *s) {
        size_t n = 0;

        while (s[n] && s[n] != '\n' && !(strchr(".;!?", s[n]) && (s[n + 1] == ' ' || s[n + 1] == '\n')))
                n++;
        return n;
}

static int evidence_row_add_sentences(Lexicon *l, EvidenceRow *row) {
        const char *s = row->detail ?: "";
        size_t added = 0;

        while (*s && added < EVIDENCE_SENTENCES_MAX) {
                Naming *to = &row->memory[row->n_memory];
                size_t n = evidence_sentence_end(s);
                int r = naming_read(l, s, n, to);

                if (r < 0)
                        return r;
                if (to->n_words >= SENTENCE_WORDS) {
                        row->n_memory++;
                        added++;
                } else
                        naming_deinit(to);
                s += n;
                s += *s != '\0';
        }
        return 0;
}

int evidence_row_known_as(Lexicon *l, EvidenceRow *row, const json_t *aliases, const json_t *phrases) {
        size_t n_aliases = json_array_size(aliases), n = n_aliases + json_array_size(phrases);
        int r;

        evidence_row_forget(row);
        row->memory = calloc(n + 1 + EVIDENCE_SENTENCES_MAX, sizeof(*row->memory));
        if (!row->memory)
                return -ENOMEM;
        r = evidence_row_add_id(l, row);
        for (size_t i = 0; i < n && r == 0; i++) {
                const json_t *phrase =
                        i < n_aliases ? json_array_get(aliases, i) : json_array_get(phrases, i - n_aliases);

                /* the title has the same words already */
                if (!json_is_string(phrase) || json_text_is(phrase, row->title))
                        continue;
                r = naming_read(l, json_bytes(phrase), json_string_length(phrase), &row->memory[row->n_memory]);
                row->n_memory += r == 0;
        }
        return r ?: evidence_row_add_sentences(l, row);
}

/* The text without the title: a separate line, or the whole text. Owned; NULL: no memory. */
static char *evidence_detail(const char *title, const char *text) {
        size_t n = strlen(title), before;
        const char *at = n > 0 ? strstr(text, title) : NULL;
        char *detail;

        if (!at || (at[n] != '\n' && at[n] != '\0'))
                return strdup(text);
        before = (size_t)(at - text);
        return asprintf(&detail, "%.*s%s", (int)before, text, at + n) < 0 ? NULL : detail;
}

int evidence_row_init(Lexicon *l, const char *id, const char *title, const char *text, const json_t *aliases,
                      const json_t *phrases, EvidenceRow *ret) {
        _cleanup_evidence_row_ EvidenceRow row = {.id = id, .title = title, .detail = evidence_detail(title, text)};
        int r = row.detail ? 0 : -ENOMEM;

        r = r ?: naming_read(l, title, strlen(title), &row.naming)
                ?: lexicon_read(l, text, strlen(text), LEXICON_ALL, &row.text, &row.n_text)
                ?: evidence_row_known_as(l, &row, aliases, phrases);

        if (r < 0)
                return r;
        *ret = row;
        row = (EvidenceRow){0};
        return 0;
}

void evidence_row_deinit(EvidenceRow *row) {
        naming_deinit(&row->naming);
        evidence_row_forget(row);
        free(row->text);
        free(row->detail);
        *row = (EvidenceRow){0};
}

static bool evidence_has_slug(const ResolveEvidence *e, const char *id, bool aside) {
        for (size_t i = 0; i < e->n_slugs; i++)
                if (e->slugs[i].aside == aside && strcmp(e->slugs[i].id, id) == 0)
                        return true;
        return false;
}

bool evidence_mentions(const ResolveEvidence *e, const EvidenceRow *row, bool meant) {
        for (size_t i = 0; i < e->n_mentions; i++)
                if (e->mentions[i].meant == meant &&
                    mention_is(&e->mentions[i], row->id, row->title, strlen(row->title)))
                        return true;
        return false;
}

static bool evidence_naming_has(const Naming *x, uint32_t term) {
        for (size_t i = 0; i < x->n_words; i++)
                if (x->words[i] == term)
                        return true;
        for (size_t i = 0; i < x->n_area; i++)
                if (x->area[i] == term)
                        return true;
        return x->lead != LEAD_NONE && x->lead_word == term;
}

static bool evidence_row_knows(const EvidenceRow *row, uint32_t term) {
        bool has = evidence_naming_has(&row->naming, term);

        for (size_t k = 0; k < row->n_memory && !has; k++)
                has = evidence_naming_has(&row->memory[k], term);
        return has;
}

static bool evidence_text_has(const EvidenceRow *row, uint32_t term) {
        for (size_t i = 0; i < row->n_text; i++)
                if (row->text[i] == term)
                        return true;
        return false;
}

/* Does the row know the words that the note says have ended? "The dashboard of X is fixed" is not about X (G-66). Words of
 * every note are looked up in the row's text, because no naming has them. */
static bool evidence_row_has_head(Lexicon *l, const ResolveEvidence *e, const EvidenceRow *row) {
        bool has = e->n_needs == 0;

        for (size_t i = 0; i < e->n_head; i++)
                if (!evidence_row_knows(row, e->head[i]) &&
                    (lexicon_tells(l, e->head[i]) || !evidence_text_has(row, e->head[i])))
                        return false;
        for (size_t i = 0; i < e->n_needs && !has; i++)
                has = evidence_row_knows(row, e->needs[i]) || evidence_text_has(row, e->needs[i]);
        return has;
}

int evidence_weigh(Lexicon *l, const ResolveEvidence *e, const EvidenceRow *row, ResolveCandidate *ret) {
        const bool meant = evidence_row_has_head(l, e, row), called = evidence_has_slug(e, row->id, false),
                   named = called || evidence_mentions(e, row, true);
        Likeness like;
        int r = likeness(l, &e->saying, &row->naming, row->memory, row->n_memory, &like);

        if (r < 0)
                return r;
        *ret = (ResolveCandidate){
                .id = row->id,
                .called = called && meant,
                .exact = e->target && strcmp(e->target, row->id) == 0,
                .named = named && meant,
                .aside = !meant,
                .mentioned = (named && !meant) || evidence_has_slug(e, row->id, true) || evidence_mentions(e, row, false),
                .overlap = like.overlap,
                .alias = like.alias,
                .reference = like.reference,
        };
        return 0;
}
