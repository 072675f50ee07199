/* Runs: supervisor, CLI. The structured request: the result of an interpreter, built in or a skill, for a note (G-10).
 * Each field is validated before any lookup. Pure, and an invalid field is never corrected or guessed (G-11). */
#pragma once

#include "base/diag.h"
#include "base/json.h"
#include "record/kind.h"

/* Positive codes: refusals. */
typedef enum BeliefCode {
        CANON_OK = 0,
#define CODE(id, word) BELIEF_E_##id,
#include "belief/codes.def"
#undef CODE
        CANON_CODE_COUNT_,
} BeliefCode;
/* The word of the code; NULL for an unknown code. */
const char *belief_code_name(int code);

#define CANON_NOTE_MAX (32 * 1024)     /* bytes of a note's text */
#define CANON_LINE_MAX (256 * 1024)    /* bytes of an interpreter's answer */
#define CANON_ALIASES_MAX 16
#define CANON_READS_MAX 64
#define CANON_ALIAS_BYTES 128
#define CANON_PHRASE_BYTES 1024        /* reference_text, rationale */

typedef struct BeliefRequest {
        json_t *value; /* the whole request, for the queue and the outcome; owned, the other fields borrow from value */
        bool accept;           /* false: the note is noise; rationale says why, and no other field is set */
        Kind kind;
        Op op;
        const char *target;    /* or NULL */
        json_t *payload;       /* an object that fits the bucket's schema for op */
        const char *reference; /* or NULL */
        const char *head;      /* the noun of the reference; a row without the word is not meant (G-66); or NULL */
        json_t *aliases;       /* array of strings, or NULL */
        double confidence;     /* 0 to 1 */
        const char *rationale; /* or NULL */
        json_t *reads;         /* array of {"bucket","id","version"?}, or NULL */
} BeliefRequest;
void belief_request_deinit(BeliefRequest *r);
#define _cleanup_canon_request_ _cleanup_(belief_request_deinit)

/* A line, with or without newline. Returns 0, BELIEF_E_* with a message that names field, value and rule, -ENOMEM. */
int belief_request_parse(const char *line, size_t n, BeliefRequest *ret, Diag *reterr);
/* The same for a JSON value; takes a new reference. */
int belief_request_read(json_t *value, BeliefRequest *ret, Diag *reterr);

/* The rules for every note: 1 to CANON_NOTE_MAX bytes of UTF-8, no control characters but line feed, carriage return
 * and tab, no text that looks like an interpreter's request. Returns 0, BELIEF_E_*. */
int belief_note_check(const char *text, size_t n, Diag *reterr);
