#include "belief/cues-internal.h"

#include "engine/payload.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* How a cue is written, one word or sign after the other with a blank between:
 *   a|b    one of these words
 *   ?a|b   the same, or none of them
 *   @      one word or more, as few as do: whom the cue is about
 *   >      the rest of the sentence, at least one word
 *   %      an id with a "_" in it
 *   .      the end of the sentence, a comma, or a word that begins how or when
 * A word in quotes is never one of a cue's own. */
typedef enum Doubt {
        DOUBT_ALL = 1, /* no word of the sentence may leave open whether it is so */
        DOUBT_BUT,     /* nor one that takes part of it back */
        DOUBT_HEARSAY, /* nor one that says that somebody else said so, or that it is only thought */
} Doubt;

typedef enum Takes {
        TAKES_ABOUT = 1, /* what @ matched, as the reference */
        TAKES_REST,      /* what > matched, as the reference */
        TAKES_REST_TEXT, /* the same, as the payload's text */
        TAKES_SENTENCE,  /* the whole sentence as the payload's text */
        TAKES_TASK,      /* % as the id, the last word as the payload's text */
} Takes;

typedef struct Cue {
        const char *pattern;
        Kind kind;
        Op op;
        Takes takes;
        Doubt doubt;
        double confidence;
} Cue;

#define NOW "?now|finally|already|also ?fully|completely"
#define DONE "fixed|resolved|solved|closed|repaired"
#define WE "we|i|we've|i've ?have ?now|finally|just|already|also"
#define THE "the|a|an|this|that|these|those|our|my"
#define RULE "constraint|restriction|requirement|rule"
#define GONE "lifted|dropped|withdrawn|obsolete|void|revoked"
#define UNDONE "reversed|revoked|withdrawn|superseded|overturned|dropped|obsolete|void"

static const Cue cues[] = {
        {"@ is|are|was|were " NOW " " DONE " .", KIND_ISSUE, OP_RESOLVE, TAKES_ABOUT, DOUBT_ALL, 0.8},
        {"@ has|have " NOW " been " NOW " " DONE " .", KIND_ISSUE, OP_RESOLVE, TAKES_ABOUT, DOUBT_ALL, 0.8},
        {"@ is|are ?now no longer ?a|an issue|issues|problem|problems|blocker|bug|broken|blocking|failing .", KIND_ISSUE, OP_RESOLVE, TAKES_ABOUT, DOUBT_ALL, 0.75},
        {"@ no longer fails|crashes|occurs|happens|reproduces|blocks .", KIND_ISSUE, OP_RESOLVE, TAKES_ABOUT, DOUBT_ALL, 0.75},
        {WE " " DONE " >", KIND_ISSUE, OP_RESOLVE, TAKES_REST, DOUBT_BUT, 0.8},
        {DONE " " THE " >", KIND_ISSUE, OP_RESOLVE, TAKES_REST, DOUBT_BUT, 0.75},
        {"?this|the|that patch|commit|change|release fixes|resolves|solves >", KIND_ISSUE, OP_RESOLVE, TAKES_REST, DOUBT_BUT, 0.75},
        {"this|that fixes|resolves|solves >", KIND_ISSUE, OP_RESOLVE, TAKES_REST, DOUBT_BUT, 0.75},
        {"fixes|resolves|closes " THE " >", KIND_ISSUE, OP_RESOLVE, TAKES_REST, DOUBT_BUT, 0.7},
        {WE " decided to|that >", KIND_DECISION, OP_APPEND, TAKES_REST_TEXT, DOUBT_HEARSAY, 0.8},
        {WE " decided against|on >", KIND_DECISION, OP_APPEND, TAKES_SENTENCE, DOUBT_HEARSAY, 0.8},
        {WE " agreed|chosen to|that >", KIND_DECISION, OP_APPEND, TAKES_REST_TEXT, DOUBT_HEARSAY, 0.75},
        {"it was|is ?now|finally decided to|that >", KIND_DECISION, OP_APPEND, TAKES_REST_TEXT, DOUBT_HEARSAY, 0.75},
        {"decided to|that >", KIND_DECISION, OP_APPEND, TAKES_REST_TEXT, DOUBT_HEARSAY, 0.75},
        {"the|our ?earlier|previous|old|first decision to|that|on|about|for|against @ is|was ?now|hereby " UNDONE " .", KIND_DECISION, OP_INVALIDATE, TAKES_ABOUT,
         DOUBT_BUT, 0.8},
        {"the|our ?earlier|previous|old|first decision to|that|on|about|for|against @ has ?now been " UNDONE " .", KIND_DECISION, OP_INVALIDATE, TAKES_ABOUT,
         DOUBT_BUT, 0.8},
        {"the|our ?earlier|previous|old|first decision to|that|on|about|for|against @ no longer applies|holds|stands .", KIND_DECISION, OP_INVALIDATE, TAKES_ABOUT,
         DOUBT_BUT, 0.8},
        {WE " reversed|revoked|withdrew|withdrawn|overturned the|our decision to|that|on|about|for|against >", KIND_DECISION, OP_INVALIDATE, TAKES_REST, DOUBT_BUT,
         0.8},
        {"the|our " RULE " that|on|to|of|for|about @ no longer applies|holds|exists|stands .", KIND_CONSTRAINT, OP_INVALIDATE, TAKES_ABOUT, DOUBT_BUT, 0.8},
        {"the|our " RULE " that|on|to|of|for|about @ is|was ?now|finally " GONE " .", KIND_CONSTRAINT, OP_INVALIDATE, TAKES_ABOUT, DOUBT_BUT, 0.8},
        {"the|our " RULE " that|on|to|of|for|about @ has ?now|finally been " GONE " .", KIND_CONSTRAINT, OP_INVALIDATE, TAKES_ABOUT, DOUBT_BUT, 0.8},
        {"the|our @ " RULE " no longer applies|holds|exists|stands .", KIND_CONSTRAINT, OP_INVALIDATE, TAKES_ABOUT, DOUBT_BUT, 0.8},
        {"the|our @ " RULE " is|was ?now|finally " GONE " .", KIND_CONSTRAINT, OP_INVALIDATE, TAKES_ABOUT, DOUBT_BUT, 0.8},
        {"the|our @ " RULE " has ?now|finally been " GONE " .", KIND_CONSTRAINT, OP_INVALIDATE, TAKES_ABOUT, DOUBT_BUT, 0.8},
        {"@ must|shall not|never|always >", KIND_CONSTRAINT, OP_UPSERT, TAKES_SENTENCE, DOUBT_HEARSAY, 0.7},
        {"@ mustn't >", KIND_CONSTRAINT, OP_UPSERT, TAKES_SENTENCE, DOUBT_HEARSAY, 0.7},
        {"@ is|are forbidden|prohibited .", KIND_CONSTRAINT, OP_UPSERT, TAKES_SENTENCE, DOUBT_HEARSAY, 0.7},
        {"we|i|we're|i'm|work ?am|are|is ?now|still blocked by|on >", KIND_ISSUE, OP_UPSERT, TAKES_SENTENCE, DOUBT_HEARSAY, 0.7},
        {"@ is|are ?now|still|again broken .", KIND_ISSUE, OP_UPSERT, TAKES_SENTENCE, DOUBT_ALL, 0.6},
        {WE " learned|learnt that >", KIND_LEARNING, OP_APPEND, TAKES_REST_TEXT, DOUBT_HEARSAY, 0.75},
        {"?the task % is|was ?now|finally done|finished|complete|completed|started|blocked|failed .", KIND_TASK_STATE, OP_UPSERT, TAKES_TASK, DOUBT_ALL, 0.8},
};

/* Words that leave a sentence open. Each class has those of the ones below it. */
static const char *const all_words[] = {
        "if", "whether", "unless", "until", "when", "once", "not", "cannot", "never", "no", "nothing", "none", "nobody", "neither", "nor", "hardly", "isn't", "aren't",
        "wasn't", "weren't", "hasn't", "haven't", "won't", "don't", "doesn't", "didn't", "can't", "might", "may", "could", "would", "should", "will", "must", "shall",
        "all", "every", "everything", "everybody", "both", "each", "some", "few", "half", "most", "many", "any", "several", "various", "how", "what", "which", "who",
        "why", "where", "i", "we", "you", "he", "she", "they", "anything", "something", "please", "hopefully", "now", "your", "ensure", "verify", "confirm", "sure", "while", "whereas", "because", "since", NULL,
};
static const char *const but_words[] = {
        "but", "except", "however", "only", "isn't", "doesn't", "wasn't", "although", "though", "still", "almost", "nearly", "partly", "partially", "mostly", "half", "nothing", "none", "temporarily", NULL,
};
static const char *const hearsay_words[] = {
        "maybe", "perhaps", "probably", "possibly", "apparently", "allegedly", "reportedly", "supposedly", "seems", "seem", "seemed", "hope", "think", "thinks",
        "believe", "believes", "guess", "assume", "suppose", "wish", "imagine", "pretend", "suggest", "suggests", "claims", "claim", "claimed", "says", "say", "said",
        "told", "wrote", "asks", "asked", "unclear", "unsure", "example", "instructions", "ignore", "disregard", "e.g", "i.e", NULL,
};
/* Behind what was said these take it back, or wait for something. */
static const char *const after_words[] = {"if", "unless", "until", "when", "once", "not", "never", "whether", "assuming", "provided", NULL};
/* What begins a clause that hangs on another one. */
static const char *const clause_words[] = {"before", "after", "since", "while", "as", "because", "although", "though", "that", NULL};
/* Words behind "." that say how or when, and nothing else about it. */
static const char *const tail_words[] = {"by", "in", "with", "since", "after", "via", "thanks", "as", "on", "now", "and", "so", "again", "today", "yesterday", "from",
                                         NULL};
/* A second one of these in a sentence is a second thing that it says. */
static const char *const trigger_words[] = {"fixed", "resolved", "solved", "closed", "repaired", "decided", "broken", "blocked", "forbidden", "prohibited", "learned",
                                            "lifted", "superseded", "reversed", NULL};

static bool is_one_of(const Word *w, const char *const *words) {
        for (; *words; words++)
                if (word_may_be(w, **words) && word_is(w, *words))
                        return true;
        return false;
}

typedef struct Match {
        size_t about_from, about_to, rest_from, id, last; /* words: @, >, %, and where the pattern's own ones ended */
} Match;

/* Whether w is one of "a|b|c". */
static bool in_choice(const Word *w, const char *choice, size_t n) {
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

static bool is_id(const Word *w) {
        char id[RECORD_ID_MAX];

        if (w->n >= sizeof(id) || !memchr(w->s, '_', w->n))
                return false;
        snprintf(id, sizeof(id), "%.*s", (int)w->n, w->s);
        return record_id_valid(KIND_TASK_STATE, id);
}

static bool at_end(const Sentence *s, size_t i) {
        return i > 0 && (i == s->n || s->words[i - 1].stop || (!s->words[i].quoted && is_one_of(&s->words[i], tail_words)));
}

static bool matches(const Sentence *s, size_t i, const char *pattern, Match *m) {
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
                        if (matches(s, to, next, m)) {
                                m->about_to = to;
                                return true;
                        }
                return false;
        case '>':
                m->rest_from = m->last = i;
                return i < s->n;
        case '%':
                m->id = i;
                return i < s->n && is_id(&s->words[i]) && matches(s, i + 1, next, m);
        case '.':
                m->last = i;
                return at_end(s, i);
        case '?':
                return (i < s->n && in_choice(&s->words[i], pattern + 1, n - 1) && matches(s, i + 1, next, m)) || matches(s, i, next, m);
        default:
                return i < s->n && in_choice(&s->words[i], pattern, n) && matches(s, i + 1, next, m);
        }
}

static bool has_any(const Sentence *s, size_t from, size_t to, const char *const *words) {
        for (size_t i = from; i < to; i++)
                if (is_one_of(&s->words[i], words))
                        return true;
        return false;
}

static bool doubtful(const Sentence *s, const Cue *c, const Match *m) {
        size_t from = 0;

        if (s->question || has_any(s, 0, s->n, hearsay_words))
                return true;
        if (c->takes == TAKES_ABOUT || c->takes == TAKES_SENTENCE)
                from = m->about_from;
        switch (c->doubt) {
        case DOUBT_ALL:
                /* What the pattern itself says, as "no longer", stands behind what it is about. */
                if (has_any(s, from, m->about_to, all_words) || has_any(s, 0, s->n, but_words) || has_any(s, m->last, s->n, after_words))
                        return true;
                return m->about_to > 0 && is_one_of(&s->words[m->about_from], clause_words);
        case DOUBT_BUT:
                return has_any(s, 0, s->n, but_words) || (m->about_to > 0 ? has_any(s, m->last, s->n, after_words)
                                                                         : has_any(s, m->rest_from, m->rest_from + 1, all_words));
        case DOUBT_HEARSAY:
                return m->about_to == 1 && word_is(&s->words[0], "you");
        }
        return true;
}

/* "it must not have worked" says what is thought to have happened. */
static bool is_epistemic(const Sentence *s, const Cue *c, const Match *m) {
        return c->kind == KIND_CONSTRAINT && c->op == OP_UPSERT && m->rest_from > 0 && word_is(&s->words[m->rest_from], "have");
}

/* Does the sentence say a second thing behind the first? */
static bool says_more(const Sentence *s, const Cue *c, const Match *m) {
        return c->takes != TAKES_SENTENCE && c->takes != TAKES_REST_TEXT && has_any(s, m->last, s->n, trigger_words);
}

static const Cue *find(const Sentence *s, Match *ret, bool *ret_more) {
        *ret_more = false;
        if (s->n == 0 || s->too_long)
                return NULL;
        for (size_t i = 0; i < ARRAY_SIZE(cues); i++) {
                Match m = {0};

                if (!matches(s, 0, cues[i].pattern, &m) || doubtful(s, &cues[i], &m) || is_epistemic(s, &cues[i], &m))
                        continue;
                *ret = m;
                *ret_more = says_more(s, &cues[i], &m);
                return &cues[i];
        }
        return NULL;
}

static void set_line(Draft *d, json_t *object, const char *name, Piece p) {
        if (json_object_set_new(object, name, piece_json_line(p)) < 0)
                d->failed = true;
}

/* A quotation may begin or end within what was cut out. */
static void drop_quotes(Draft *d) {
        _cleanup_free_ char *s = strdup(json_text(json_object_get(d->value, "reference_text")) ?: "");
        size_t n = 0;

        for (size_t i = 0; s && s[i]; i++)
                if (s[i] != '"' && s[i] != '`')
                        s[n++] = s[i];
        if (!s || json_object_set_new(d->value, "reference_text", json_stringn(s, n)) < 0)
                d->failed = true;
}

/* What is fixed without the article; a pronoun alone names nothing. */
static void set_reference(Draft *d, const Sentence *s, size_t from, size_t to) {
        static const char *const articles[] = {"the", "a", "an", "this", "that", "these", "those", "our", "my", NULL};
        static const char *const pronouns[] = {"it", "this", "that", "these", "those", "them", "they", NULL};

        if (to - from == 1 && is_one_of(&s->words[from], pronouns))
                return;
        while (from + 1 < to && is_one_of(&s->words[from], articles))
                from++;
        set_line(d, d->value, "reference_text", sentence_piece(s, from, to));
        drop_quotes(d);
}

/* "... because X": the reason is not part of what was decided. */
static size_t because(const Sentence *s, size_t from) {
        for (size_t i = from + 1; i + 1 < s->n; i++)
                if (!s->words[i].quoted && word_is(&s->words[i], "because"))
                        return i;
        return s->n;
}

static void take(const Cue *c, const Sentence *s, const Match *m, Draft *d) {
        size_t why;

        switch (c->takes) {
        case TAKES_ABOUT:
                set_reference(d, s, m->about_from, m->about_to);
                break;
        case TAKES_REST:
                set_reference(d, s, m->rest_from, s->n);
                break;
        case TAKES_REST_TEXT:
                why = because(s, m->rest_from);
                set_line(d, d->payload, payload_main(c->kind, c->op), sentence_piece(s, m->rest_from, why));
                if (why < s->n)
                        set_line(d, d->payload, "why", sentence_piece(s, why + 1, s->n));
                break;
        case TAKES_SENTENCE:
                set_line(d, d->payload, payload_main(c->kind, c->op), sentence_piece(s, 0, s->n));
                break;
        case TAKES_TASK:
                set_line(d, d->value, "target_id", sentence_piece(s, m->id, m->id + 1));
                set_line(d, d->payload, "status", sentence_piece(s, m->last - 1, m->last));
                break;
        }
}

static int several(Diag *reterr) {
        return diag(reterr, BELIEF_E_SEVERAL, "the note says more than one thing: write one note for each");
}

/* m: what the cue matched in s, or NULL, and then `reference` is what it is about. */
static int make(const Cue *c, const Sentence *s, const Match *m, Piece reference, Piece note, Piece aliases, BeliefRequest *ret, Diag *reterr) {
        _cleanup_json_ json_t *hints = NULL;
        _cleanup_draft_ Draft d = {0};
        json_t *hint;
        size_t i;
        int r = draft_init(&d, c->kind, c->op, c->confidence);

        if (r < 0)
                return r;
        if (m)
                take(c, s, m, &d);
        else
                set_line(&d, d.value, "reference_text", reference);
        cues_add_aliases(&d, aliases);
        if (c->op == OP_RESOLVE || c->op == OP_INVALIDATE) {
                hints = cues_hints(note.s, note.n);
                if (!hints)
                        return -ENOMEM;
                json_array_foreach(hints, i, hint)
                        draft_alias(&d, (Piece){json_bytes(hint), json_string_length(hint)});
        }
        return draft_finish(&d, ret, reterr);
}

/* The first line of a change's description, "net/x: fix y": what was fixed is "net/x: y". Labels of lists of work to do say nothing about what was done. */
static int commit_head(Piece note, Piece aliases, BeliefRequest *ret, Diag *reterr) {
        static const char *const labels[] = {"todo:", "next:", "later:", "goal:", "idea:", "wip:", "fixme:", "want:", "need:", "needs:", "question:", "maybe:",
                                             "proposal:", "request:", "reminder:", "action:", "note:", "step:", "please:", "agent:", "user:", "system:", NULL};
        static const char *const verbs[] = {"fix", "fixes", "fixed", NULL};
        static const Cue cue = {"", KIND_ISSUE, OP_RESOLVE, TAKES_REST, DOUBT_BUT, 0.7};
        _cleanup_free_ char *text = NULL;
        Piece rest = note, line, area;
        Sentence s;
        Word label;
        size_t from;
        int n;

        if (!piece_line(&rest, &line) || line.n > CANON_PHRASE_BYTES)
                return CUES_NONE;
        area = (Piece){line.s, 0};
        while (area.n < line.n && ((line.s[area.n] | 0x20) - 'a' < 26U || (area.n > 0 && strchr("0123456789_/.,*+-", line.s[area.n]) && line.s[area.n])))
                area.n++;
        if (area.n < 2 || area.n + 1 >= line.n || line.s[area.n] != ':' || line.s[area.n + 1] != ' ')
                return CUES_NONE;
        label = (Word){.s = line.s, .n = (uint16_t)(area.n + 1)};
        rest = (Piece){line.s + area.n + 2, line.n - area.n - 2};
        if (is_one_of(&label, labels) || !sentence_next(&rest, &s) || s.n < 2 || s.too_long || s.question || s.words[0].quoted || s.words[0].stop ||
            !is_one_of(&s.words[0], verbs) || has_any(&s, 1, s.n, but_words))
                return CUES_NONE;
        from = s.n > 2 && word_is(&s.words[1], "for") ? 2 : 1;
        line = sentence_piece(&s, from, s.n);
        n = asprintf(&text, "%.*s: %.*s", (int)area.n, area.s, (int)line.n, line.s);
        if (n < 0)
                return -ENOMEM;
        return make(&cue, &s, NULL, (Piece){text, (size_t)n}, note, aliases, ret, reterr);
}

/* Whether the note is the description of a change, "net/x: add y": what it says of rules and faults is about that change. */
static bool is_change(Piece note) {
        const char *end = memchr(note.s, ':', note.n), *slash = memchr(note.s, '/', note.n), *blank = memchr(note.s, ' ', note.n);

        return end && slash && slash < end && blank == end + 1;
}

/* Cuts the lines of aliases off the note's end. */
static Piece cut_aliases(Piece note, Piece *ret_aliases) {
        *ret_aliases = PIECE_NULL;
        for (size_t i = note.n; i > 0; i--)
                if (note.s[i - 1] == '\n' && cues_alias_line((Piece){note.s + i, note.n - i}, ret_aliases))
                        return (Piece){note.s, i - 1};
        return note;
}

int cues_natural(Piece note, BeliefRequest *ret, Diag *reterr) {
        Piece aliases, rest;
        Sentence s, found;
        const Cue *cue = NULL;
        Match match = {0};
        int r;

        note = cut_aliases(note, &aliases);
        r = commit_head(note, aliases, ret, reterr);
        if (r != CUES_NONE || is_change(note))
                return r;
        rest = note;
        while (sentence_next(&rest, &s)) {
                bool more;
                Match m;
                const Cue *c = find(&s, &m, &more);

                if (!c)
                        continue;
                if (cue || more)
                        return several(reterr);
                cue = c;
                found = s;
                match = m;
        }
        return cue ? make(cue, &found, &match, PIECE_NULL, note, aliases, ret, reterr) : CUES_NONE;
}
