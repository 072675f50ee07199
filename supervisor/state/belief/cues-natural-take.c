/* Runs: supervisor, CLI. From a sentence to the request (cues-natural.h). */
#include "belief/cues-natural.h"

#include "base/buf.h"
#include "engine/payload.h"

#include <errno.h>
#include <string.h>

/* A quotation may begin or end inside of the cut piece. */
static void natural_drop_quotes(Draft *d) {
        _cleanup_free_ char *s = strdup(json_str(d->value, "reference_text"));
        size_t n = 0;

        for (size_t i = 0; s && s[i]; i++)
                if (s[i] != '"' && s[i] != '`')
                        s[n++] = s[i];
        draft_put(d, d->value, "reference_text", s ? json_stringn(s, n) : NULL);
}

/* A rule or a decision has to know all words of the name. */
static int natural_put_head(Draft *d, const Sentence *s, size_t from, size_t to) {
        _cleanup_buf_ Buf words = {0};
        EndText t;
        int r = 0;

        end_text_read(s, &t);
        for (size_t i = from; r == 0 && i < to; i++)
                if (end_tells(&t, i, KIND_CONSTRAINT) && !t.id[i])
                        r = (words.n > 0 ? buf_add(&words, " ", 1) : 0)
                                    ?: buf_add(&words, s->words[i].s, s->words[i].n);
        if (r == 0 && words.n > 0)
                draft_put(d, d->value, "head", piece_json_line((Piece){words.data, words.n}));
        return r;
}

/* Sets the reference without the article. A pronoun alone names nothing. */
static void natural_set_reference(Draft *d, Kind kind, const Sentence *s, size_t from, size_t to) {
        static const char *const articles[] = {"the", "a", "an", "this", "that", "these", "those", "our", "my", NULL};
        static const char *const pronouns[] = {"it", "this", "that", "these", "those", "them", "they", NULL};
        Piece head;

        if (to - from == 1 && word_is_one_of(&s->words[from], pronouns))
                return;
        while (from + 1 < to && word_is_one_of(&s->words[from], articles))
                from++;
        draft_put(d, d->value, "reference_text", piece_json_line(sentence_piece(s, from, to)));
        natural_drop_quotes(d);
        head = kind == KIND_ISSUE ? sentence_head(s, from, to) : PIECE_NULL;
        if (head.n > 0)
                draft_put(d, d->value, "head", piece_json(head));
        else if (kind != KIND_ISSUE)
                d->failed |= natural_put_head(d, s, from, to) < 0;
}

/* "... because X": the reason is no part of the decision. */
static size_t natural_because(const Sentence *s, size_t from) {
        for (size_t i = from + 1; i + 1 < s->n; i++)
                if (!s->words[i].quoted && word_is(&s->words[i], "because"))
                        return i;
        return s->n;
}

static void natural_take(const Cue *c, const Sentence *s, const CueMatch *m, Draft *d) {
        size_t why;

        switch (c->takes) {
        case TAKES_ABOUT:
        case TAKES_NAME: natural_set_reference(d, c->kind, s, m->about_from, m->about_to); break;
        case TAKES_REST: natural_set_reference(d, c->kind, s, m->rest_from, m->rest_to > 0 ? m->rest_to : s->n); break;
        case TAKES_REST_TEXT:
                why = natural_because(s, m->rest_from);
                draft_put(d, d->payload, payload_main(c->kind, c->op),
                          piece_json_line(sentence_piece(s, m->rest_from, why)));
                if (why < s->n)
                        draft_put(d, d->payload, "why", piece_json_line(sentence_piece(s, why + 1, s->n)));
                break;
        case TAKES_SENTENCE:
                draft_put(d, d->payload, payload_main(c->kind, c->op), piece_json_line(sentence_piece(s, 0, s->n)));
                break;
        case TAKES_TASK:
                draft_put(d, d->value, "target_id", piece_json_line(sentence_piece(s, m->id, m->id + 1)));
                draft_put(d, d->payload, "status", piece_json_line(sentence_piece(s, m->last - 1, m->last)));
                break;
        }
}

/* The reference is the words of the claim; the row has to know each word. */
static int natural_take_end(const Sentence *s, const EndClaim *c, Draft *d) {
        _cleanup_buf_ Buf words = {0};
        int r = 0;

        for (size_t i = 0; r == 0 && i < c->n; i++) {
                const CueWord *w = &s->words[c->id ? c->id - 1 : c->words[i]];
                size_t n = w->n;

                if (n > 2 && w->s[n - 1] == 's' && w->s[n - 2] == '\'')
                        n -= 2;
                r = (i > 0 ? buf_add(&words, " ", 1) : 0) ?: buf_add(&words, w->s, n);
                if (c->id)
                        break;
        }
        if (r < 0 || words.n == 0)
                return r;
        draft_put(d, d->value, "reference_text", piece_json_line((Piece){words.data, words.n}));
        if (c->id) {
                _cleanup_free_ char *id = strndup(words.data, words.n);

                if (!id)
                        return -ENOMEM;
                if (record_id_valid(c->kind, id)) /* the clause names its row, whatever else the note names */
                        draft_put(d, d->value, "target_id", json_string(id));
                return 0;
        }
        if (c->needs)
                r = buf_add(&words, " ", 1) ?: buf_add(&words, c->needs, strlen(c->needs));
        draft_put(d, d->value, "head", piece_json_line((Piece){words.data, words.n}));
        return r;
}

/* f: NULL for a change, whose subject is `reference`. */
static int natural_make(const Cue *c, const NaturalFound *f, Piece reference, Piece note, Piece aliases,
                        BeliefRequest *ret, Diag *reterr) {
        _cleanup_json_ json_t *hints = NULL;
        _cleanup_draft_ Draft d = {0};
        json_t *hint;
        size_t i;
        int r = draft_init(&d, c->kind, c->op, c->confidence);

        if (r == 0 && f && f->by_end)
                r = natural_take_end(&f->s, &f->end, &d);
        if (r < 0)
                return r;
        if (f && !f->by_end)
                natural_take(c, &f->s, &f->m, &d);
        else if (!f)
                draft_put(&d, d.value, "reference_text", piece_json_line(reference));
        cues_add_aliases(&d, aliases);
        if (op_ends(c->op)) {
                hints = cues_hints(note.s, note.n);
                if (!hints)
                        return -ENOMEM;
                json_array_foreach(hints, i, hint)
                        draft_alias(&d, (Piece){json_bytes(hint), json_string_length(hint)});
        }
        return draft_finish(&d, ret, reterr);
}

int natural_request(const NaturalFound *f, Piece note, Piece aliases, BeliefRequest *ret, Diag *reterr) {
        return natural_make(&f->cue, f, PIECE_NULL, note, aliases, ret, reterr);
}

int natural_request_of_change(const Cue *c, Piece reference, Piece note, Piece aliases, BeliefRequest *ret,
                              Diag *reterr) {
        return natural_make(c, NULL, reference, note, aliases, ret, reterr);
}
