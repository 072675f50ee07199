/* Runs: supervisor, CLI. Shared by the files of the built-in interpreter. */
#pragma once

#include "base/ascii.h"
#include "belief/request.h"

/* A piece of the note, borrowed. */
typedef struct Piece {
        const char *s;
        size_t n;
} Piece;
#define PIECE_NULL ((Piece){0})

Piece piece_trim(Piece p);
bool piece_is(Piece p, const char *word); /* letters of ASCII in either case */
/* Takes the next line from *rest. Returns false at the end. */
bool piece_line(Piece *rest, Piece *ret);
json_t *piece_json(Piece p);
json_t *piece_json_line(Piece p); /* runs of white space become one blank */

/* A request under construction. A failure sets `failed` and is reported at the end. */
typedef struct Draft {
        json_t *value, *payload, *aliases;
        bool failed;
} Draft;
int draft_init(Draft *d, Kind kind, Op op, double confidence);
void draft_deinit(Draft *d);
#define _cleanup_draft_ _cleanup_(draft_deinit)
void draft_put(Draft *d, json_t *object, const char *name, json_t *value); /* takes value */
void draft_alias(Draft *d, Piece text); /* a hint: dropped when known already, or above the limit */
/* Validates the request like any interpreter's. Returns 0, BELIEF_E_*, -ENOMEM. */
int draft_finish(Draft *d, BeliefRequest *ret, Diag *reterr);

enum {
        CUES_NONE = CANON_CODE_COUNT_, /* the note is not in the reader's language */
};
/* Each returns 0, CUES_NONE, BELIEF_E_*, -ENOMEM. */
int cues_grammar(Piece note, bool from_tool, BeliefRequest *ret, Diag *reterr);
int cues_natural(Piece note, BeliefRequest *ret, Diag *reterr);
/* Is the text behind "KIND ID:" no text of a row, but its end: "withdrawn on Monday", "status: fixed"? (cues-label.c) */
bool cues_is_end_label(Kind kind, Piece text);
/* The first sentence with a cue for this operation that no later sentence takes back, whatever else the note says. */
int cues_natural_says(Piece note, Kind kind, Op op, BeliefRequest *ret);

/* The note's names for its subject, for a search: phrases in quotes or back quotes, and words that look like names in a
 * program (with "_", "()", "::" or "->"). Array of at most CANON_ALIASES_MAX different strings, owned; NULL: out of
 * memory. */
json_t *cues_hints(const char *text, size_t n);
/* A line "alias: a, b" or "aliases: ..."; *ret is the text after the colon. */
bool cues_alias_line(Piece line, Piece *ret);
void cues_add_aliases(Draft *d, Piece list);
/* A word of a sentence without the marks around it. */
typedef struct CueWord {
        const char *s; /* borrowed */
        uint16_t n;
        bool quoted;   /* in quotes, or code: a name, not a statement */
        bool stop;     /* a comma or similar mark follows */
} CueWord;
#define SENTENCE_WORDS_MAX 64
/* Words of a comeback, in a clause beside an end and in a sentence after one. */
#define CUE_COMEBACKS                                                                                       \
        "reappeared", "returned", "returns", "resurfaced", "recurred", "revert", "reverted", "rollback",    \
                "undone", "reopen", "reopened", "reopening", "readopted", "re-adopted", "reinstated",       \
                "re-instated", "reintroduced", "re-introduced", "revived", "resumed"

typedef struct Sentence {
        CueWord words[SENTENCE_WORDS_MAX];
        size_t n;
        const char *begin, *end; /* the whole sentence, borrowed */
        bool question;
        bool too_long; /* more than SENTENCE_WORDS_MAX words */
} Sentence;
/* Takes the next sentence from *rest; a sentence may have no words. A single line feed is a blank. An empty line, or a
 * line that begins as an item of a list, ends the sentence. Returns false at the end. */
bool sentence_next(Piece *rest, Sentence *ret);
/* A quick test: most words differ in the first letter. */
static inline bool word_may_be(const CueWord *w, char first) {
        char c = w->n > 0 ? *w->s : 0;

        return c == first || (c | 0x20) == first || (unsigned char)c >= 0x80;
}
bool word_is(const CueWord *w, const char *word); /* in either case; a typographic apostrophe counts as ' */
bool word_is_part(const CueWord *w, const char *word, size_t n); /* compares the first n bytes at `word` */
/* The words [from, to) as in the note, with the brackets and quotes around them. */
Piece sentence_piece(const Sentence *s, size_t from, size_t to);

/* The numbers of a sentence's words that a cue matched: its subject, or the rest that is its subject, an id, and the end
 * of the cue's own words. 0: no such part; of rest_to: the end of the sentence. */
typedef struct CueMatch {
        size_t about_from, about_to, rest_from, rest_to, id, last;
} CueMatch;
typedef enum Doubt {
        DOUBT_ALL = 1, /* a word of doubt in the statement spoils the cue */
        DOUBT_BUT,     /* a word of partial withdrawal spoils the cue */
        DOUBT_HEARSAY, /* only a word of hearsay or of an opinion spoils the cue */
} Doubt;
bool word_is_one_of(const CueWord *w, const char *const *words); /* a list that ends with NULL */
bool sentence_has_any(const Sentence *s, size_t from, size_t to, const char *const *words);
/* cues-doubt.c (G-66). from_begin: words before the subject count, too. */
bool sentence_is_doubtful(const Sentence *s, Doubt doubt, const CueMatch *m, bool from_begin);
bool sentence_has_but(const Sentence *s, size_t from);
/* An end that holds in part, or not yet where it matters: "in theory", "on branch x". */
bool sentence_is_partial(const Sentence *s, const CueMatch *m);
bool sentence_is_hearsay(const Sentence *s); /* a question, or another's words */
bool word_denies(const CueWord *w); /* "not", "never", "without" ... */
bool word_is_article(const CueWord *w);
/* A sentence after a statement takes the statement back: "It came back an hour later." */
bool sentence_takes_back(const Sentence *s);
/* The phrase [from, to) has no preposition. */
bool sentence_is_name(const Sentence *s, size_t from, size_t to);
/* The noun that the phrase [from, to) is about: "dashboard" of "the dashboard of X"; PIECE_NULL: a name, or a word for any
 * trouble ("bug"). */
Piece sentence_head(const Sentence *s, size_t from, size_t to);

/* "name: rest" with a name of letters and "_". */
bool cues_field_line(Piece line, Piece *ret_name, Piece *ret_rest);
