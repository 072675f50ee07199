#include "belief/support.h"

#include "base/buf.h"
#include "belief/candidates.h"
#include "belief/cues-draft.h"
#include "belief/cues.h"
#include "belief/support-patterns.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { IN_NOTE = 1, IN_ANY = 2 };

typedef struct SupportSentence {
        uint32_t *terms, *denied; /* owned, ascending; denied: of the words right behind a denial */
        size_t n, n_denied;
} SupportSentence;

static void support_sentence_deinit(SupportSentence *x) {
        free(x->terms);
        free(x->denied);
        *x = (SupportSentence){0};
}

void support_deinit(NoteSupport *s) {
        for (size_t i = 0; i < s->n_sentences; i++)
                support_sentence_deinit(&s->sentences[i]);
        free(s->sentences);
        free(s->in_note);
        lexicon_free(s->lexicon);
        belief_request_deinit(&s->said);
        json_decref(s->aliases);
        json_decref(s->missing);
        *s = (NoteSupport){0};
}

/* The words right behind denials: "use" of "must not use". A denial at the end denies the word before. */
static int support_read_denied(Lexicon *l, const Sentence *words, SupportSentence *ret) {
        _cleanup_buf_ Buf denied = {0};
        int r = 0;

        for (size_t i = 0; r == 0 && i < words->n; i++) {
                size_t next = i + 1;

                if (!word_denies(&words->words[i]))
                        continue;
                while (next < words->n && word_is_article(&words->words[next]))
                        next++;
                if (next == words->n)
                        next = i > 0 ? i - 1 : i;
                r = buf_add(&denied, words->words[next].s, words->words[next].n) ?: buf_add(&denied, " ", 1);
        }
        if (r < 0 || denied.n == 0)
                return r;
        return lexicon_read(l, denied.data, denied.n, LEXICON_ALL, &ret->denied, &ret->n_denied);
}

static int support_read(Lexicon *l, const Sentence *words, SupportSentence *ret) {
        return lexicon_read(l, words->begin, (size_t)(words->end - words->begin), LEXICON_ALL, &ret->terms, &ret->n)
                       ?: support_read_denied(l, words, ret);
}

static int support_read_note(NoteSupport *s, const char *note, size_t n) {
        Piece rest = {note, n};
        Sentence words;
        int r = 0;

        while (r == 0 && sentence_next(&rest, &words)) {
                if (!GROW(s->sentences, s->n_sentences))
                        return -ENOMEM;
                s->sentences[s->n_sentences] = (SupportSentence){0};
                r = support_read(s->lexicon, &words, &s->sentences[s->n_sentences++]);
        }
        return r;
}

static int support_mark_note(NoteSupport *s) {
        uint32_t *terms = NULL;
        size_t n = 0;
        int r = lexicon_read(s->lexicon, any_text, strlen(any_text), LEXICON_ALL, &terms, &n);

        s->n_in_note = lexicon_terms(s->lexicon);
        s->in_note = r == 0 ? calloc(s->n_in_note + 1, 1) : NULL;
        if (!s->in_note) {
                free(terms);
                return r < 0 ? r : -ENOMEM;
        }
        for (size_t i = 0; i < s->n_sentences; i++)
                for (size_t k = 0; k < s->sentences[i].n; k++)
                        s->in_note[s->sentences[i].terms[k]] = IN_NOTE;
        for (size_t i = 0; i < n; i++)
                s->in_note[terms[i]] = IN_ANY;
        free(terms);
        return 0;
}

static int term_compare_numbers(const void *a, const void *b) {
        const uint32_t *x = a, *y = b;

        return *x < *y ? -1 : *x > *y;
}

static bool support_term_is_in(uint32_t term, const uint32_t *terms, size_t n) {
        return n > 0 && bsearch(&term, terms, n, sizeof(term), term_compare_numbers);
}

static size_t support_shared(const SupportSentence *of, const SupportSentence *x, const uint8_t *in_note) {
        size_t shared = 0;

        for (size_t i = 0; i < of->n; i++)
                shared += in_note[of->terms[i]] == IN_NOTE && support_term_is_in(of->terms[i], x->terms, x->n);
        return shared;
}

/* Are the same shared words denied? */
static bool support_denies_alike(const SupportSentence *of, const SupportSentence *x) {
        for (size_t i = 0; i < of->n_denied; i++)
                if (support_term_is_in(of->denied[i], x->terms, x->n) &&
                    !support_term_is_in(of->denied[i], x->denied, x->n_denied))
                        return false;
        for (size_t i = 0; i < x->n_denied; i++)
                if (!support_term_is_in(x->denied[i], of->denied, of->n_denied))
                        return false;
        return true;
}

/* The words of one sentence of the advisor's text: all in the note, and denied where the likest sentence of the note
 * denies. names: the text is a name, without denials. */
static bool support_has_sentence(const NoteSupport *s, const SupportSentence *x, bool names) {
        size_t best = 0;
        bool alike = true;

        for (size_t i = 0; i < x->n; i++)
                if (x->terms[i] >= s->n_in_note || !s->in_note[x->terms[i]])
                        return false;
        for (size_t i = 0; i < s->n_sentences && !names; i++) {
                size_t shared = support_shared(&s->sentences[i], x, s->in_note);

                if (shared > 0 && shared >= best)
                        alike = support_denies_alike(&s->sentences[i], x) || (shared == best && alike);
                best = MAX(best, shared);
        }
        return alike;
}

static int support_has(NoteSupport *s, const char *text, size_t n, bool names) {
        Piece rest = {text, n};
        Sentence words;
        bool all = true;

        while (all && sentence_next(&rest, &words)) {
                SupportSentence x = {0};
                int r = support_read(s->lexicon, &words, &x);

                if (r == 0)
                        all = support_has_sentence(s, &x, names);
                support_sentence_deinit(&x);
                if (r < 0)
                        return r;
        }
        return all;
}

/* A text with the note's words, and with a denial only where the note denies. */
static int support_has_text(NoteSupport *s, const json_t *text) {
        return support_has(s, json_bytes(text), json_string_length(text), false);
}

/* A name of the note's words, without denials. */
static int support_has_name(NoteSupport *s, const char *name) {
        return support_has(s, name, strlen(name), true);
}

int support_miss(NoteSupport *s, const char *field) {
        json_t *v;
        size_t i;

        json_array_foreach(s->missing, i, v)
                if (json_text_is(v, field))
                        return 0;
        return json_array_append_new(s->missing, json_string(field)) < 0 ? -ENOMEM : 0;
}

static int support_take_names(NoteSupport *s, const BeliefRequest *q) {
        json_t *alias;
        size_t i;
        int r = 0, has = q->reference ? support_has_name(s, q->reference) : 1;

        if (has == 0) {
                s->heard.reference = NULL;
                has = support_miss(s, "reference_text");
        }
        json_array_foreach(q->aliases, i, alias) {
                if (has < 0)
                        break;
                has = support_has_name(s, json_text(alias) ?: "");
                if (has > 0)
                        r |= json_array_append(s->aliases, alias);
                else if (has == 0)
                        has = support_miss(s, "candidate_aliases");
        }
        s->heard.aliases = json_array_size(s->aliases) > 0 ? s->aliases : NULL;
        return has < 0 ? has : r < 0 ? -ENOMEM : 0;
}

int support_init(const BeliefRequest *q, const char *note, size_t n, NoteSupport *ret) {
        _cleanup_support_ NoteSupport s = {.note = note, .n_note = n, .heard = *q, .aliases = json_array(),
                                           .missing = json_array()};
        int r = s.aliases && s.missing ? lexicon_new(NULL, NULL, NULL, &s.lexicon) : -ENOMEM;

        r = r ?: support_read_note(&s, note, n)
              ?: support_mark_note(&s)
              ?: cues_support(note, n, q->kind, q->op, &s.says_operation, &s.said)
              ?: support_take_names(&s, q);
        if (r < 0)
                return r;
        s.heard.reference = s.heard.reference ?: s.said.reference;
        s.heard.head = s.said.head;
        *ret = s;
        s = (NoteSupport){0};
        return 0;
}

/* Each text below v. The request has at most a few levels (request.c). */
static int support_has_value(NoteSupport *s, const json_t *v) {
        const char *name;
        json_t *of;
        size_t i;
        int r = 1;

        if (json_is_string(v))
                return support_has_text(s, v);
        json_array_foreach(v, i, of)
                if (r > 0)
                        r = support_has_value(s, of);
        json_object_foreach((json_t *)v, name, of)
                if (r > 0)
                        r = support_has_value(s, of);
        return r;
}

int support_judge(NoteSupport *s, bool is_new) {
        const BeliefRequest *q = &s->heard;
        const char *name;
        json_t *v;
        int r = s->says_operation ? 0 : support_miss(s, "operation");

        json_object_foreach(q->payload, name, v) {
                char field[64];

                if (r < 0)
                        return r;
                r = support_has_value(s, v);
                if (r != 0)
                        continue;
                snprintf(field, sizeof(field), "payload.%.48s", name);
                r = support_miss(s, field);
        }
        if (r >= 0 && is_new && q->target) {
                r = support_has_name(s, q->target);
                r = r == 0 ? support_miss(s, "target_id") : r;
        }
        return r < 0 ? r : 0;
}

static bool support_may_choose(const Candidates *c, Op op, const char *id, const ResolvePolicy *p) {
        for (size_t i = 0; i < c->outcome.n; i++) {
                const ResolveCandidate *v = &c->v[i];

                if (strcmp(v->id, id) == 0)
                        return !v->aside && (v->named || !v->mentioned) &&
                               resolve_binds(v->score, 0, op_creates(op) && !v->called ? p->create_tau : p->tau, 0) &&
                               (c->outcome.verdict != RESOLVE_BIND || i == 0);
        }
        return false;
}

int support_judge_row(NoteSupport *s, Bucket *b, const ResolvePolicy *policy, bool is_new) {
        const BeliefRequest *q = &s->heard;
        _cleanup_candidates_ Candidates c = {0};
        BeliefRequest unnamed = *q;
        ResolveQuestion asked;
        bool may;
        int r;

        unnamed.target = NULL;
        asked = asked_by(&unnamed, s->note, s->n_note);
        r = candidates_find(b, &asked, policy, &c);
        if (r < 0)
                return r;
        if (is_new)
                may = c.outcome.verdict == RESOLVE_NEW ||
                      tokenizer_have_phrase(s->note, s->n_note, q->target, strlen(q->target));
        else
                may = support_may_choose(&c, q->op, q->target, policy);
        return may ? 0 : support_miss(s, "target_id");
}
