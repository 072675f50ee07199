/* Runs: supervisor, CLI. The languages of `search` and `list`, read strictly: what is not understood is refused with its place and the rule, and never taken
 * for something else (M-13, M-14). Pure.
 *
 *   query:   (word | "a phrase" | field:value) ...     at least one; fields: filter.h
 *   list:    (field:value) ...                         nothing: all
 *
 * A value with spaces stands in quotes; in quotes \" is a quote and \\ a backslash. Words are found stemmed, and any of them is enough; a phrase must be there word
 * for word. What other engines take for operators (-word, +word, AND, OR, NOT, *) is none here, and refused: in quotes it is text. */
#pragma once

#include "index/rank.h"
#include "memory/filter.h"

#define QUERY_BYTES_MAX 4096
#define QUERY_PHRASES_MAX 16
#define QUERY_LIMIT_STANDARD 20
#define QUERY_LIMIT_MAX 100

enum {
        QUERY_E_EMPTY = 1, /* nothing is asked for */
        QUERY_E_BAD,       /* malformed: message has place and rule */
};

typedef struct Query {
        RecordFilter filter;
        unsigned limit;
        char *phrases[QUERY_PHRASES_MAX]; /* as they are to be in the text: tokenizer_have_phrase() */
        size_t n_phrases;
        Tokenizer *bag;                       /* what the terms are borrowed from */
        RankTerm terms[RANK_TERMS_MAX];   /* of words, and of phrases (must) */
        size_t n_terms;                   /* 0: a filter alone */
} Query;
#define QUERY_NULL ((Query){0})
void query_deinit(Query *q);
#define _cleanup_query_ _cleanup_(query_deinit)

/* limit: 0 stands for the standard one. now_usec is what "7d" counts from. Returns 0, QUERY_E_*, -ENOMEM. */
int query_parse(const char *text, size_t n, uint64_t limit, uint64_t now_usec, Query *ret, Diag *reterr);
/* Returns 0, QUERY_E_BAD. */
int filter_parse(const char *text, size_t n, uint64_t now_usec, RecordFilter *ret, Diag *reterr);
/* A limit that somebody said. Returns 0, QUERY_E_BAD. */
int query_limit(uint64_t said, unsigned *ret, Diag *reterr);
/* Are all phrases of the query in one of the texts each? */
bool query_phrases_in(const Query *q, const char *const *texts, const size_t *lengths, size_t n);
