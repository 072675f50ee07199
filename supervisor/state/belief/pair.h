/* Runs: supervisor, CLI. The features of a note and the rows that it may be about (G-71), for belief/binding.h: the
 * existing measures of likeness, words shared in title, body and detail (G-70), areas, ages, agents and files. Only terms
 * of the note and of titles are weighed: the rest of a row's detail costs no look into the index. */
#pragma once

#include "belief/binding.h"
#include "belief/evidence.h"

/* Of an event, beside its text. Names as hashes (pair_name()), ascending; borrowed. */
typedef struct Circumstance {
        uint64_t order; /* of two events, the later one has the greater number */
        uint64_t agent; /* 0: unknown */
        const uint64_t *people, *files; /* people: with the agent. files: that its run read or wrote */
        size_t n_people, n_files;
} Circumstance;
uint64_t pair_name(const char *name, size_t n);

/* A candidate, weighed by evidence_weigh(). */
typedef struct Pair {
        ResolveCandidate *candidate;
        const EvidenceRow *row;
        Circumstance facts;
} Pair;
/* Sets the probability of each candidate, and whether a word of its title differs from a word of the note in digits alone
 * ("25G" and "40G": another thing, however alike the rest is). The order of the n pairs does not matter. Returns 0,
 * -ENOMEM or the error of a term's count. */
int pairs_weigh(Lexicon *l, const ResolveEvidence *e, const Circumstance *note, const Pair *pairs, size_t n);
/* The same features, BINDING_FEATURES for each pair, and the outside option's: to learn from. */
int pairs_features(Lexicon *l, const ResolveEvidence *e, const Circumstance *note, const Pair *pairs, size_t n,
                   double *ret, double outside[static BINDING_OUTSIDE]);
