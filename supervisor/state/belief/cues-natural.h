/* Runs: supervisor, CLI. Inside of the built-in interpreter: the cues of plain English, and what a sentence says by a
 * cue or by an end in other words (cues-end.h). */
#pragma once

#include "belief/cues-end.h"

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
        TAKES_NAME, /* the same, and the match is a name: "the X constraint", not "the comment about the X constraint"
                     */
        TAKES_REST, /* the reference is the match of > */
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

/* The statement of a sentence. */
typedef struct NaturalFound {
        Cue cue;
        Sentence s;
        CueMatch m;
        bool by_end; /* `end` is set, and no match */
        EndClaim end;
        bool doubtful; /* a cue of the table that the rest of the sentence makes doubtful: the note is refused, not read
                        */
} NaturalFound;
/* cues-natural-find.c: *ret_more is set when the sentence says more than one thing. */
bool natural_find(const Sentence *s, NaturalFound *ret, bool *ret_more);
/* cues-natural-take.c: the request of a find. Returns 0, BELIEF_E_*, -ENOMEM. */
int natural_request(const NaturalFound *f, Piece note, Piece aliases, BeliefRequest *ret, Diag *reterr);
/* The end of an issue with this reference, of a change's first line. */
int natural_request_of_change(const Cue *c, Piece reference, Piece note, Piece aliases, BeliefRequest *ret,
                              Diag *reterr);
