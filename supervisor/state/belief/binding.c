#include "belief/binding.h"

#include <math.h>

#define GAP_MOST 10.0 /* as in tests/eval/learn.py */

#define NOTHING(name, coefficient)
#define COEFFICIENT(name, coefficient) coefficient,
#define NAME(name, coefficient) #name,

static const double of_pair[BINDING_FEATURES] = {
#define PAIR COEFFICIENT
#define NONE NOTHING
#define CURVE NOTHING
#include "belief/binding-coefficients.def"
#undef PAIR
#undef NONE
};

static const double of_outside[BINDING_OUTSIDE] = {
#define PAIR NOTHING
#define NONE COEFFICIENT
#include "belief/binding-coefficients.def"
#undef NONE
#undef CURVE
};

static const double of_curve[] = {
#define NONE NOTHING
#define CURVE COEFFICIENT
#include "belief/binding-coefficients.def"
#undef PAIR
#undef CURVE
};

const char *const binding_feature_names[BINDING_FEATURES] = {
#define PAIR NAME
#define CURVE NOTHING
#include "belief/binding-coefficients.def"
#undef PAIR
#undef NONE
};

const char *const binding_outside_names[BINDING_OUTSIDE] = {
#define PAIR NOTHING
#define NONE NAME
#include "belief/binding-coefficients.def"
#undef PAIR
#undef NONE
#undef CURVE
};

static double binding_utility(const double *x, const double *coefficient, size_t n) {
        double sum = 0;

        for (size_t i = 0; i < n; i++)
                sum += x[i] * coefficient[i];
        return sum;
}

/* The curve of the best candidate, by the features f. The order of the values is that of the table. */
static double binding_curve(double odds, double gap, double files, const double *f) {
        const double x[] = {1,
                            odds,
                            gap,
                            files,
                            files * odds,
                            files * gap,
                            f[BINDING_told_of_row],
                            f[BINDING_words_of_row],
                            f[BINDING_words_of_note],
                            f[BINDING_words],
                            f[BINDING_rarest],
                            f[BINDING_coverage],
                            f[BINDING_same_area],
                            f[BINDING_people_rare],
                            f[BINDING_files_share],
                            f[BINDING_files_rare],
                            f[BINDING_files_none]};

        static_assert(ARRAY_SIZE(x) == ARRAY_SIZE(of_curve), "the table has as many coefficients");
        return 1 / (1 + exp(-binding_utility(x, of_curve, ARRAY_SIZE(x))));
}

void binding_probabilities(const double *features, size_t n, const double outside[static BINDING_OUTSIDE],
                           unsigned *ret) {
        double none = binding_utility(outside, of_outside, BINDING_OUTSIDE), second = -INFINITY, first = -INFINITY, rest, p;
        size_t best = 0;

        for (size_t i = 0; i < n; i++) {
                double u = binding_utility(features + i * BINDING_FEATURES, of_pair, BINDING_FEATURES);

                second = fmax(second, fmin(first, u));
                best = u > first ? i : best;
                first = fmax(first, u);
        }
        if (n == 0)
                return;
        rest = exp(none - first);
        for (size_t i = 0; i < n; i++)
                if (i != best)
                        rest += exp(binding_utility(features + i * BINDING_FEATURES, of_pair, BINDING_FEATURES) - first);
        p = binding_curve(-log(rest), fmin(first - second, GAP_MOST), outside[BINDING_NONE_files_known],
                          features + best * BINDING_FEATURES);
        for (size_t i = 0; i < n; i++) {
                double u = binding_utility(features + i * BINDING_FEATURES, of_pair, BINDING_FEATURES);

                ret[i] = (unsigned)(RESOLVE_WHOLE * (i == best ? p : fmin(p, exp(u - first) / (1 + rest))));
        }
}
