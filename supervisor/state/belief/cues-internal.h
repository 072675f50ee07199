/* Runs: supervisor, CLI. What the files of the built-in interpreter share. */
#pragma once

#include "belief/cues.h"

/* A piece of the note, lent. */
typedef struct Piece {
        const char *s;
        size_t n;
} Piece;
#define PIECE_NULL ((Piece){0})

Piece piece_trim(Piece p);
bool piece_is(Piece p, const char *word); /* letters of ASCII in either case */
/* Takes the next line off *rest; false at the end. */
bool piece_line(Piece *rest, Piece *ret);
json_t *piece_json(Piece p);
json_t *piece_json_line(Piece p); /* runs of white space become one blank */

/* A request that is being made. Setting fails in `failed` once for all. */
typedef struct Draft {
        json_t *value, *payload, *aliases;
        bool failed;
} Draft;
int draft_init(Draft *d, Kind kind, Op op, double confidence);
void draft_deinit(Draft *d);
#define _cleanup_draft_ _cleanup_(draft_deinit)
void draft_set(Draft *d, const char *name, Piece text);
void draft_pay(Draft *d, const char *name, Piece text);
void draft_alias(Draft *d, Piece text); /* a hint: one beyond what fits is left out, and so is what is there already */
/* Judged like anybody's. Returns 0, BELIEF_E_*, -ENOMEM. */
int draft_finish(Draft *d, BeliefRequest *ret, Diag *reterr);

enum {
        CUES_NONE = CANON_CODE_COUNT_, /* nothing that this reader knows */
};
/* Each returns 0, CUES_NONE, BELIEF_E_*, -ENOMEM. */
int cues_grammar(Piece note, CueRole role, BeliefRequest *ret, Diag *reterr);
int cues_natural(Piece note, BeliefRequest *ret, Diag *reterr);

/* A line "alias: a, b" or "aliases: ..."; *ret is what stands behind the colon. */
bool cues_alias_line(Piece line, Piece *ret);
void cues_add_aliases(Draft *d, Piece list);
/* A word of a sentence without the marks around it. */
typedef struct Word {
        const char *s; /* lent */
        uint16_t n;
        bool quoted;   /* it stands in quotes, or is code: named, not said */
        bool stop;     /* a comma or the like follows it */
} Word;
#define SENTENCE_WORDS_MAX 64

typedef struct Sentence {
        Word words[SENTENCE_WORDS_MAX];
        size_t n;
        const char *begin, *end; /* all of it, lent */
        bool question;
        bool too_long; /* it has more words than that */
} Sentence;
/* Takes the next sentence off *rest; it may have no word. A line feed alone is a blank; an empty line, and a line that begins as an item of a list, end a
 * sentence. False at the end. */
bool sentence_next(Piece *rest, Sentence *ret);
/* Most are another one from the first letter on. */
static inline bool word_may_be(const Word *w, char first) {
        char c = w->n > 0 ? *w->s : 0;

        return c == first || (c | 0x20) == first || (unsigned char)c >= 0x80;
}
bool word_is(const Word *w, const char *word); /* letters in either case; a typographic apostrophe is one */
bool word_is_part(const Word *w, const char *word, size_t n); /* the same, of the first n bytes at `word` */
/* From the first to before the last one, as it stands in the note, with the brackets and quotes that belong to them. */
Piece sentence_piece(const Sentence *s, size_t from, size_t to);

/* "name: rest" with a name of letters and "_". */
bool cues_field_line(Piece line, Piece *ret_name, Piece *ret_rest);
