#include "belief/cues-draft.h"

#include "engine/payload.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* The pattern of a cue, words and signs with a blank between:
 *   a|b    one of these words
 *   ?a|b   the same, or no word
 *   @      one word or more, as few as possible: the subject of the cue
 *   >      the rest of the sentence, at least one word
 *   %      an id with a "_" in the id
 *   .      the end of the sentence, a comma, or a word of tail_words
 * A word in quotes never matches a word of the pattern. */
typedef enum Takes {
        TAKES_ABOUT = 1, /* the reference is the match of @ */
        TAKES_NAME,      /* the same, and the match is a name: "the X constraint", not "the comment about the X constraint" */
        TAKES_REST,      /* the reference is the match of > */
        TAKES_REST_TEXT, /* the payload's text is the match of > */
        TAKES_SENTENCE,  /* the payload's text is the whole sentence */
        TAKES_TASK,      /* the id is the match of %, the payload's text is the last word */
} Takes;

typedef struct Cue {
        const char *pattern;
        Kind kind;
        Op op;
        Takes takes;
        Doubt doubt;
        double confidence;
} Cue;

#include "belief/cues-natural-patterns.h"

/* After the sign ".", words that say only how or when. */
static const char *const tail_words[] = {
        "by", "in", "with", "since", "after", "via", "thanks", "as", "on", "now", "and", "so", "again", "today",
        "yesterday", "from", NULL,
};
/* A second word of this list in a sentence makes a second statement. */
static const char *const trigger_words[] = {
        "fixed", "resolved", "solved", "closed", "repaired", "decided", "broken", "blocked", "forbidden", "prohibited",
        "learned", "lifted", "superseded", "reversed", NULL,
};

/* Tells whether w is in "a|b|c". */
static bool natural_in_choice(const CueWord *w, const char *choice, size_t n) {
        while (n > 0 && !w->quoted) {
                const char *bar = memchr(choice, '|', n);
                size_t length = bar ? (size_t)(bar - choice) : n;

                if (word_may_be(w, *choice) && word_is_part(w, choice, length))
                        return true;
                choice += length + (bar != NULL);
                n -= length + (bar != NULL);
        }
        return false;
}

static bool natural_is_id(const CueWord *w) {
        char id[RECORD_ID_MAX];

        if (w->n >= sizeof(id) || !memchr(w->s, '_', w->n))
                return false;
        snprintf(id, sizeof(id), "%.*s", (int)w->n, w->s);
        return record_id_valid(KIND_TASK_STATE, id);
}

static bool natural_at_end(const Sentence *s, size_t i) {
        return i > 0 && (i == s->n || s->words[i - 1].stop ||
                         (!s->words[i].quoted && word_is_one_of(&s->words[i], tail_words)));
}

static bool natural_matches(const Sentence *s, size_t i, const char *pattern, CueMatch *m) {
        size_t n = strcspn(pattern, " ");
        const char *next = pattern[n] ? pattern + n + 1 : pattern + n;

        if (n == 0) {
                m->last = i;
                return true;
        }
        switch (*pattern) {
        case '@':
                m->about_from = i;
                for (size_t to = i + 1; to < s->n; to++)
                        if (natural_matches(s, to, next, m)) {
                                m->about_to = to;
                                return true;
                        }
                return false;
        case '>':
                m->rest_from = m->last = i;
                return i < s->n;
        case '%':
                m->id = i;
                return i < s->n && natural_is_id(&s->words[i]) && natural_matches(s, i + 1, next, m);
        case '.':
                m->last = i;
                return natural_at_end(s, i);
        case '?':
                return (i < s->n && natural_in_choice(&s->words[i], pattern + 1, n - 1) &&
                        natural_matches(s, i + 1, next, m)) ||
                       natural_matches(s, i, next, m);
        default:
                return i < s->n && natural_in_choice(&s->words[i], pattern, n) && natural_matches(s, i + 1, next, m);
        }
}

/* "it must not have worked" is a guess about the past. */
static bool natural_is_epistemic(const Sentence *s, const Cue *c, const CueMatch *m) {
        return c->kind == KIND_CONSTRAINT && c->op == OP_UPSERT && m->rest_from > 0 &&
               word_is(&s->words[m->rest_from], "have");
}

/* Tells whether the sentence makes a second statement after the first. */
static bool natural_says_more(const Sentence *s, const Cue *c, const CueMatch *m) {
        return c->takes != TAKES_SENTENCE && c->takes != TAKES_REST_TEXT &&
               sentence_has_any(s, m->last, s->n, trigger_words);
}

static const Cue *natural_find_cue(const Sentence *s, CueMatch *ret, bool *ret_more) {
        *ret_more = false;
        if (s->n == 0 || s->too_long)
                return NULL;
        for (size_t i = 0; i < ARRAY_SIZE(cues); i++) {
                CueMatch m = {0};

                if (!natural_matches(s, 0, cues[i].pattern, &m) ||
                    sentence_is_doubtful(s, cues[i].doubt, &m,
                                         cues[i].takes != TAKES_ABOUT && cues[i].takes != TAKES_NAME &&
                                                 cues[i].takes != TAKES_SENTENCE) ||
                    (cues[i].takes == TAKES_NAME && !sentence_is_name(s, m.about_from, m.about_to)) ||
                    (op_ends(cues[i].op) && sentence_is_partial(s, &m)) ||
                    natural_is_epistemic(s, &cues[i], &m))
                        continue;
                *ret = m;
                *ret_more = natural_says_more(s, &cues[i], &m);
                return &cues[i];
        }
        return NULL;
}

/* A quotation may begin or end inside of the cut piece. */
static void natural_drop_quotes(Draft *d) {
        _cleanup_free_ char *s = strdup(json_str(d->value, "reference_text"));
        size_t n = 0;

        for (size_t i = 0; s && s[i]; i++)
                if (s[i] != '"' && s[i] != '`')
                        s[n++] = s[i];
        draft_put(d, d->value, "reference_text", s ? json_stringn(s, n) : NULL);
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
        case TAKES_NAME:
                natural_set_reference(d, c->kind, s, m->about_from, m->about_to);
                break;
        case TAKES_REST:
                natural_set_reference(d, c->kind, s, m->rest_from, s->n);
                break;
        case TAKES_REST_TEXT:
                why = natural_because(s, m->rest_from);
                draft_put(d, d->payload, payload_main(c->kind, c->op), piece_json_line(sentence_piece(s, m->rest_from, why)));
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

/* m: the match of the cue in s, or NULL: `reference` is the subject. */
static int natural_make(const Cue *c, const Sentence *s, const CueMatch *m, Piece reference, Piece note, Piece aliases,
                        BeliefRequest *ret, Diag *reterr) {
        _cleanup_json_ json_t *hints = NULL;
        _cleanup_draft_ Draft d = {0};
        json_t *hint;
        size_t i;
        int r = draft_init(&d, c->kind, c->op, c->confidence);

        if (r < 0)
                return r;
        if (m)
                natural_take(c, s, m, &d);
        else
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

/* A change's first line, "net/x: fix y": the fixed thing is "net/x: y". Labels of to-do lists tell no finished work. */
static int natural_commit_head(Piece note, Piece aliases, BeliefRequest *ret, Diag *reterr) {
        static const char *const labels[] = {
                "todo:", "next:", "later:", "goal:", "idea:", "wip:", "fixme:", "want:", "need:", "needs:",
                "question:", "maybe:", "proposal:", "request:", "reminder:", "action:", "note:", "step:", "please:",
                "agent:", "user:", "system:", NULL,
        };
        static const char *const verbs[] = {"fix", "fixes", "fixed", NULL};
        static const Cue cue = {"", KIND_ISSUE, OP_RESOLVE, TAKES_REST, DOUBT_BUT, 0.7};
        _cleanup_free_ char *text = NULL;
        Piece rest = note, line, area;
        Sentence s;
        CueWord label;
        size_t from;
        int n;

        if (!piece_line(&rest, &line) || line.n > CANON_PHRASE_BYTES)
                return CUES_NONE;
        area = (Piece){line.s, 0};
        while (area.n < line.n && (ascii_letter(line.s[area.n]) ||
                                   (area.n > 0 && strchr("0123456789_/.,*+-", line.s[area.n]) && line.s[area.n])))
                area.n++;
        if (area.n < 2 || area.n + 1 >= line.n || line.s[area.n] != ':' || line.s[area.n + 1] != ' ')
                return CUES_NONE;
        label = (CueWord){.s = line.s, .n = (uint16_t)(area.n + 1)};
        rest = (Piece){line.s + area.n + 2, line.n - area.n - 2};
        if (word_is_one_of(&label, labels) || !sentence_next(&rest, &s) || s.n < 2 || s.too_long || s.question ||
            s.words[0].quoted || s.words[0].stop || !word_is_one_of(&s.words[0], verbs) ||
            sentence_has_but(&s, 1))
                return CUES_NONE;
        from = s.n > 2 && word_is(&s.words[1], "for") ? 2 : 1;
        line = sentence_piece(&s, from, s.n);
        n = asprintf(&text, "%.*s: %.*s", (int)area.n, area.s, (int)line.n, line.s);
        if (n < 0)
                return -ENOMEM;
        return natural_make(&cue, &s, NULL, (Piece){text, (size_t)n}, note, aliases, ret, reterr);
}

/* Tells whether the note describes a change, "net/x: add y". Its rules and faults are about the change alone. */
static bool natural_is_change(Piece note) {
        const char *end = memchr(note.s, ':', note.n), *slash = memchr(note.s, '/', note.n),
                   *blank = memchr(note.s, ' ', note.n);

        return end && slash && slash < end && blank == end + 1;
}

/* Cuts the lines of aliases from the end of the note. */
static Piece natural_cut_aliases(Piece note, Piece *ret_aliases) {
        *ret_aliases = PIECE_NULL;
        for (size_t i = note.n; i > 0; i--)
                if (note.s[i - 1] == '\n' && cues_alias_line((Piece){note.s + i, note.n - i}, ret_aliases))
                        return (Piece){note.s, i - 1};
        return note;
}

int cues_natural_says(Piece note, Kind kind, Op op, BeliefRequest *ret) {
        Piece aliases, rest;
        Sentence s, found;
        const Cue *cue = NULL;
        CueMatch match = {0};
        int r;

        note = natural_cut_aliases(note, &aliases);
        rest = note;
        while (sentence_next(&rest, &s)) {
                bool more;
                CueMatch m;
                const Cue *c = natural_find_cue(&s, &m, &more);

                if (cue && op_ends(op) && !c && sentence_takes_back(&s))
                        return CUES_NONE;
                if (cue || !c || c->kind != kind || c->op != op)
                        continue;
                cue = c;
                found = s;
                match = m;
        }
        r = cue ? natural_make(cue, &found, &match, PIECE_NULL, note, aliases, ret, NULL) : CUES_NONE;
        return r > 0 ? CUES_NONE : r;
}

int cues_natural(Piece note, BeliefRequest *ret, Diag *reterr) {
        Piece aliases, rest;
        Sentence s, found;
        const Cue *cue = NULL;
        CueMatch match = {0};
        int r;

        note = natural_cut_aliases(note, &aliases);
        r = natural_commit_head(note, aliases, ret, reterr);
        if (r != CUES_NONE || natural_is_change(note))
                return r;
        rest = note;
        while (sentence_next(&rest, &s)) {
                bool more;
                CueMatch m;
                const Cue *c = natural_find_cue(&s, &m, &more);

                if (!c && cue && op_ends(cue->op) && sentence_takes_back(&s))
                        return CUES_NONE;
                if (!c)
                        continue;
                if (cue || more)
                        return diag(reterr, BELIEF_E_SEVERAL,
                                    "the note says more than one thing: write one note for each");
                cue = c;
                found = s;
                match = m;
        }
        return cue ? natural_make(cue, &found, &match, PIECE_NULL, note, aliases, ret, reterr) : CUES_NONE;
}
