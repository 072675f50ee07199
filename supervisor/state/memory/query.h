/* Runs: supervisor, CLI. The languages of `search` and `list`, read strictly: a text outside of the grammar is refused
 * with its place and the rule, and never read as a different query (M-13, M-14). Pure.
 *
 *   query:   (word | "a phrase" | field:value) ...     at least one; fields: filter.h
 *   list:    (field:value) ...                         empty: all
 *
 * A value with spaces stands in quotes; in quotes \" is a quote and \\ a backslash. Words are found by their stems, and
 * any word is enough; a phrase must be in the text word for word. Operators of usual search engines (-word, +word, AND,
 * OR, NOT, *) are refused outside of quotes; inside of quotes such text is plain text. */
#pragma once

#include "index/rank.h"
#include "memory/filter.h"

#define QUERY_BYTES_MAX 4096
#define QUERY_PHRASES_MAX 16
#define QUERY_LIMIT_STANDARD 20
#define QUERY_LIMIT_MAX 100

enum {
        QUERY_E_EMPTY = 1, /* the query is empty */
        QUERY_E_BAD,       /* malformed: the message has place and rule */
};

typedef struct MemoryQuery {
        RecordFilter filter;
        unsigned limit;
        char *phrases[QUERY_PHRASES_MAX]; /* in the form of tokenizer_have_phrase() */
        size_t n_phrases;
        Tokenizer *bag;                       /* owns the text of the terms */
        RankTerm terms[RANK_TERMS_MAX];   /* of words, and of phrases (must) */
        size_t n_terms;                   /* 0: the query has only fields */
} MemoryQuery;
#define QUERY_NULL ((MemoryQuery){0})
void query_deinit(MemoryQuery *q);
#define _cleanup_query_ _cleanup_(query_deinit)

/* limit: 0 stands for the standard limit. now_usec: the base of an age such as "7d". Returns 0, QUERY_E_*, -ENOMEM. */
int query_parse(const char *text, size_t n, uint64_t limit, uint64_t now_usec, MemoryQuery *ret, Diag *reterr);
/* Reads the language of `list`. Returns 0, QUERY_E_BAD. */
int filter_parse(const char *text, size_t n, uint64_t now_usec, RecordFilter *ret, Diag *reterr);
/* Checks a limit of a caller. Returns 0, QUERY_E_BAD. */
int query_limit(uint64_t said, unsigned *ret, Diag *reterr);
/* Tells whether each phrase of the query is in one of the texts. */
bool query_phrases_in(const MemoryQuery *q, const char *const *texts, const size_t *lengths, size_t n);
