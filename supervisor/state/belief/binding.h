/* Runs: supervisor, CLI. The probability that a note is about a row (G-71): a conditional logit with an outside option.
 * Pure. A candidate's utility is the sum of its features, each times a coefficient; the outside option, "no candidate is
 * right", has a utility, made of the whole choice. exp(utility) over the sum of all is the probability. So it
 * is absolute as well as relative: a lone candidate competes with the outside option, two alike candidates with each
 * other. A logistic curve corrects the probability of the best candidate, by odds, lead and evidence. The
 * coefficients are learned (tests/eval/learn.py) from histories in which the right row is missing for one
 * note in five. The features are made in belief/pair.h; each is a share, a count of rare words in units of the rarest
 * possible word, or a flag, so that none depends on the size of a store. */
#pragma once

#include "engine/resolve.h"

#include <stddef.h>

typedef enum BindingFeature {
#define PAIR(name, coefficient) BINDING_##name,
#define NONE(name, coefficient)
#define CURVE(name, coefficient)
#include "belief/binding-coefficients.def"
#undef PAIR
#undef NONE
#undef CURVE
        BINDING_FEATURES
} BindingFeature;

typedef enum BindingOutside {
#define PAIR(name, coefficient)
#define NONE(name, coefficient) BINDING_NONE_##name,
#define CURVE(name, coefficient)
#include "belief/binding-coefficients.def"
#undef PAIR
#undef NONE
#undef CURVE
        BINDING_OUTSIDE
} BindingOutside;

extern const char *const binding_feature_names[BINDING_FEATURES];
extern const char *const binding_outside_names[BINDING_OUTSIDE];

/* n candidates, BINDING_FEATURES features each. Writes n probabilities, rounded down. */
void binding_probabilities(const double *features, size_t n, const double outside[static BINDING_OUTSIDE],
                           unsigned *ret);
