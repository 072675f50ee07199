/* Runs: supervisor, CLI. English text as words with classes, sentences, and typed values: dates, times, amounts,
 * counts, names and noun phrases. Table driven, without a locale, linear in the text. Pure.
 *
 * The text alone is read: no schema of a subject matter is known here. */
#pragma once

#include "base/diag.h"
#include "base/util.h"

#define PHRASE_TEXT_MAX 65536 /* bytes; the rest is not read */
#define PHRASE_ID_MAX 64      /* bytes of a value */

/* Classes of a word; a word may have several. */
typedef enum PhraseClass {
        PW_STOP = 1 << 0,   /* never part of a value */
        PW_NUMBER = 1 << 1, /* "three" */
        PW_MONTH = 1 << 2,
        PW_DAY = 1 << 3,   /* "monday" */
        PW_PART = 1 << 4,  /* "morning" */
        PW_PLACE = 1 << 5, /* a preposition before a place */
        PW_FROM = 1 << 6,
        PW_TO = 1 << 7,
        PW_UNTIL = 1 << 8,     /* words before the end of a span */
        PW_JOIN = 1 << 9,      /* may stand inside of a name */
        PW_VERB = 1 << 10,     /* an operation that a goal may name */
        PW_IDLE = 1 << 11,     /* a verb that names no goal */
        PW_QUESTION = 1 << 12, /* a sentence that begins with the word asks */
        PW_SPAN = 1 << 13,     /* "days": units of a length of time */
        PW_ARTICLE = 1 << 14,  /* dropped from rules and goals */
        PW_YES = 1 << 15,
        PW_NO = 1 << 16,
        PW_THIS = 1 << 17,  /* "this", "next" before a day */
        PW_UNIT = 1 << 18,  /* may be counted, says nothing alone */
        PW_PAPER = 1 << 19, /* "runbook": has words of its own */
        PW_SAYS = 1 << 20,  /* "states" */
} PhraseClass;

typedef struct PhraseWord {
        uint32_t at;    /* offset in text and low */
        uint16_t n;     /* bytes */
        uint8_t gap;    /* white space before: 0 none, 1 on the line, 2 a new line */
        uint8_t number; /* of a number word, a month (1..12) or a day of the week (1..7) */
        bool letter;    /* a word or number; false: a single other character */
        bool digit;     /* begins with a digit */
        bool capital;   /* begins with a capital letter */
        bool begins;    /* the first of its sentence */
        bool foreign;   /* quoted, fenced, or introduced as the words of a document: no words of the speaker */
        uint32_t class; /* PhraseClass bits */
} PhraseWord;

typedef struct PhraseText {
        const char *text; /* borrowed */
        char *low;        /* owned: lower case, U+2019 as it stands */
        PhraseWord *word; /* owned */
        size_t n;         /* words */
} PhraseText;
void phrase_text_deinit(PhraseText *t);
#define _cleanup_phrase_text_ _cleanup_(phrase_text_deinit)

/* Returns 0, -ENOMEM. text of n bytes is borrowed. */
int phrase_read(const char *text, size_t n, PhraseText *ret);
/* Do the words from `at` on spell the pattern (lower case, one blank between words)? The number of words, or 0. */
size_t phrase_match(const PhraseText *t, size_t at, size_t end, const char *pattern);
/* Can the pattern begin at the text in lower case? A quick test before phrase_match(). */
static inline bool phrase_may(const char *low, const char *pattern) {
        return low[0] == pattern[0] && (low[1] == pattern[1] || pattern[1] == ' ' || pattern[1] == '\0');
}
/* The index past the sentence that begins at `at`. */
size_t phrase_sentence_end(const PhraseText *t, size_t at);
/* Does the sign at i end a sentence? */
bool phrase_ends_sentence(const PhraseText *t, size_t i);
/* Is word i this word, in lower case? false behind the end. */
bool phrase_is(const PhraseText *t, size_t i, const char *word);
/* Does an empty line stand before the word? Also true at both ends of the text. */
bool phrase_paragraph(const PhraseText *t, size_t i);
/* phrases-reports.c: marks as foreign the words of documents ("the runbook says …") and of other people ("the vendor
 * insists on …"). phrase_read() calls both. */
void phrase_mark_quotes(PhraseText *t);
void phrase_mark_reports(PhraseText *t);
void phrase_mark_claims(PhraseText *t);
/* Is one of the patterns in [at, end)? */
bool phrase_any(const PhraseText *t, size_t at, size_t end, const char *const *patterns, size_t n);
/* Classes and number of a lower-case word. */
uint32_t phrase_class(const char *low, size_t n, uint8_t *ret_number);

typedef enum PhraseType {
        PHRASE_DATE,
        PHRASE_UNTIL, /* a date that ends a span */
        PHRASE_TIME,
        PHRASE_MONEY,
        PHRASE_COUNT, /* a number with nouns */
        PHRASE_FROM,  /* a place */
        PHRASE_TO,
        PHRASE_PLACE,
        PHRASE_NAME,  /* a run of capitalised words */
        PHRASE_THING, /* other words of content */
        PHRASE_CODE,  /* phone numbers, addresses, identifiers */
        PHRASE_TYPES,
} PhraseType;
const char *phrase_type_name(PhraseType t);
/* PHRASE_TYPES: no such name. */
PhraseType phrase_type_of(const char *name, size_t n);

typedef struct PhraseValue {
        PhraseType type;
        size_t at, end;         /* words */
        char id[PHRASE_ID_MAX]; /* as said, one blank between words, number words as digits */
} PhraseValue;

/* The next value in [*at, end); *at moves behind it. false: no more. */
bool phrase_value(const PhraseText *t, size_t *at, size_t end, PhraseValue *ret);
/* Do two ids of values of like types mean the same: equal words, a part, initials, the same time or date? */
bool phrase_same(const char *a, const char *b);
/* The same for values that are compared with many others. */
typedef struct PhraseForm {
        char norm[2 * PHRASE_ID_MAX];
        unsigned minutes, month, day;
        bool time, half, date; /* half: morning or afternoon is open */
} PhraseForm;
void phrase_form(const char *s, PhraseForm *ret);
bool phrase_form_same(const PhraseForm *a, const PhraseForm *b);
/* Lower-case words [a-z0-9]+ with one blank between, as a judge compares. Returns the length. */
size_t phrase_norm(const char *s, char *out, size_t n_out);
/* Does the normal form of `part` stand in the normal form of `whole`, at word boundaries? */
bool phrase_within(const char *part, const char *whole);
/* How many of the n parts stand in `whole`? */
size_t phrase_within_of(const char *const *parts, size_t n, const char *whole);
#define PHRASE_WITHIN(list, whole) phrase_within_of(list, ARRAY_SIZE(list), whole)
