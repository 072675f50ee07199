/* Runs: supervisor, CLI. Takes a statement apart into claims, so that opposite statements are found by key (G-69).
 * Pure: the same text gives the same claims, without model, clock or locale. The module reads English sentences with a
 * modal verb ("skills must not use the network", "only admins may deploy"), orders ("use TLS", "never use eval", "no
 * force pushes"), sentences with "is", and triples of subject, predicate and object. All other sentences have no
 * claims.
 *
 * Claims of a group speak of the same thing. claim_opposed() tells whether two of them are opposed. */
#pragma once

#include "base/json.h"
#include "index/tokenizer.h"

#define STATEMENT_BYTES_MAX 2048 /* the rest of a longer text is left out */
#define STATEMENT_CLAIMS_MAX 24
#define CLAIM_GROUP_BYTES 16
#define CLAIM_WORDS_MAX 24 /* words of a value: those with the least hashes */
#define CLAIM_VALUE_MAX (2 + CLAIM_WORDS_MAX * 4)

/* Bytes of the table's keys: the values never change. */
typedef enum ClaimTag {
        CLAIM_REQUIRED = 1, /* "must", an order */
        CLAIM_FORBIDDEN,    /* "must not", "never" */
        CLAIM_PERMITTED,    /* "may" */
        CLAIM_EXEMPT,       /* "need not" */
        CLAIM_USES,         /* the object of a required or permitted action */
        CLAIM_USES_ONLY,    /* the only object: "may only use X" */
        CLAIM_DONE_BY,      /* the subject of a required or permitted action */
        CLAIM_DONE_ONLY_BY, /* the only subject: "only X may deploy" */
        CLAIM_VALUE,        /* the value, name or amount of the subject */
        CLAIM_TAG_COUNT_,
} ClaimTag;

typedef struct Claim {
        uint8_t group[CLAIM_GROUP_BYTES]; /* hash of subject and predicate */
        ClaimTag tag;
        uint8_t n_value;
        uint8_t value[CLAIM_VALUE_MAX]; /* statement-value.h; empty for the first four tags */
} Claim;

typedef struct ClaimList {
        size_t n;
        Claim v[STATEMENT_CLAIMS_MAX]; /* each once */
} ClaimList;

/* The claims of a text. Returns 0, -ENOMEM. */
int statement_claims(Tokenizer *bag, const char *text, size_t n, ClaimList *ret);
/* The claims of a triple: each other object of subject and predicate is opposed. Returns 0, -ENOMEM. */
int statement_triple(Tokenizer *bag, const char *subject, const char *predicate, const char *object, ClaimList *ret);

/* May claims of these tags be opposed? */
bool claim_tags_opposed(ClaimTag a, ClaimTag b);
/* Are two claims of the same group opposed? */
bool claim_opposed(const Claim *a, const Claim *b);
/* Has a any claim opposed to a claim of b? */
bool claims_opposed(const ClaimList *a, const ClaimList *b);
