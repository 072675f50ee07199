#include "cognition/ccs-check.h"

#include "cognition/ccs-text.h"
#include "cognition/word-set.h"

#include <string.h>

typedef struct CcsFit {
        Ccs *c, *evicted; /* evicted: NULL or the caller's */
        const CcsBound *bound;
        size_t bytes, tokens;          /* of the text as it is now */
        size_t support[CCS_ATOMS_MAX]; /* of each relation */
} CcsFit;

static bool ccs_fits(const CcsFit *x) {
        return x->bytes <= x->bound->bytes && x->tokens <= x->bound->tokens;
}

/* What must stay: goals, constraints, the level, an atom of the gist, and the names of all fields. */
static bool ccs_fit_can(const CcsFit *x) {
        Ccs least = CCS_NULL; /* borrows the atoms */

        least.field[CCS_GOAL_ORIENTATION] = x->c->field[CCS_GOAL_ORIENTATION];
        least.field[CCS_CONSTRAINTS] = x->c->field[CCS_CONSTRAINTS];
        least.field[CCS_UNCERTAINTY_SIGNAL] = x->c->field[CCS_UNCERTAINTY_SIGNAL];
        least.field[CCS_UNCERTAINTY_SIGNAL].n = MIN(least.field[CCS_UNCERTAINTY_SIGNAL].n, (size_t)1);
        least.field[CCS_SEMANTIC_GIST] = x->c->field[CCS_SEMANTIC_GIST];
        least.field[CCS_SEMANTIC_GIST].n = MIN(least.field[CCS_SEMANTIC_GIST].n, (size_t)1);
        CcsFit y = {.bound = x->bound};
        ccs_measure(&least, &y.bytes, &y.tokens);
        return ccs_fits(&y);
}

/* Takes one atom out. The gist's atoms stand behind " & ", the others on lines with a blank. */
static void ccs_fit_evict(CcsFit *x, CcsField f, size_t at) {
        CcsList *l = &x->c->field[f];
        size_t n = strlen(l->atoms[at]);

        x->bytes -= n + (f == CCS_SEMANTIC_GIST ? 3 : 2);
        x->tokens -= ccs_tokens(l->atoms[at], n) + (f == CCS_SEMANTIC_GIST);
        if (f == CCS_RELATIONAL_MAP)
                memmove(x->support + at, x->support + at + 1, (l->n - at - 1) * sizeof(*x->support));
        if (x->evicted && x->evicted->field[f].n < CCS_ATOMS_MAX) {
                CcsList *to = &x->evicted->field[f];

                to->atoms[to->n++] = TAKE_PTR(l->atoms[at]);
        }
        ccs_remove(x->c, f, at);
}

static void ccs_fit_oldest(CcsFit *x, CcsField f, size_t keep) {
        while (!ccs_fits(x) && x->c->field[f].n > keep)
                ccs_fit_evict(x, f, keep);
}

static void ccs_fit_least_supported(CcsFit *x) {
        while (!ccs_fits(x) && x->c->field[CCS_RELATIONAL_MAP].n > 0) {
                size_t least = 0;

                for (size_t i = 1; i < x->c->field[CCS_RELATIONAL_MAP].n; i++)
                        if (x->support[i] < x->support[least])
                                least = i;
                ccs_fit_evict(x, CCS_RELATIONAL_MAP, least);
        }
}

static int ccs_fit_weigh(CcsFit *x) {
        static const CcsField supporters[] = {CCS_GOAL_ORIENTATION, CCS_CONSTRAINTS, CCS_FOCAL_ENTITIES};
        _cleanup_word_set_ WordSet words = WORD_SET_NULL;
        const CcsList *relations = &x->c->field[CCS_RELATIONAL_MAP];
        int e = 0;

        for (size_t k = 0; k < ARRAY_SIZE(supporters); k++) {
                const CcsList *l = &x->c->field[supporters[k]];

                for (size_t i = 0; i < l->n && !e; i++)
                        e = word_set_add(&words, l->atoms[i], strlen(l->atoms[i]));
        }
        for (size_t i = 0; i < relations->n && !e; i++) {
                Atom a;

                x->support[i] = 0;
                if (atom_parse(relations->atoms[i], strlen(relations->atoms[i]), &a, NULL) == 0)
                        x->support[i] = word_set_count(&words, &a, NULL);
        }
        return e;
}

int ccs_fit(Ccs *c, const CcsBound *bound, Ccs *ret_evicted, Diag *reterr) {
        CcsFit x = {.c = c, .evicted = ret_evicted, .bound = bound};
        int e;

        ccs_measure(c, &x.bytes, &x.tokens);
        if (ccs_fits(&x))
                return 0;
        if (!ccs_fit_can(&x))
                return diag(reterr, CCS_E_OVER_BUDGET,
                            "over_budget: %zu goal%s and %zu constraint%s alone are beyond %zu bytes and %zu tokens; "
                            "lift a constraint, or begin a session with a greater bound",
                            c->field[CCS_GOAL_ORIENTATION].n, c->field[CCS_GOAL_ORIENTATION].n == 1 ? "" : "s",
                            c->field[CCS_CONSTRAINTS].n, c->field[CCS_CONSTRAINTS].n == 1 ? "" : "s", bound->bytes,
                            bound->tokens);
        e = ccs_fit_weigh(&x);
        if (e)
                return e;
        ccs_fit_oldest(&x, CCS_RETRIEVED_ARTIFACTS, 0);
        ccs_fit_least_supported(&x);
        ccs_fit_oldest(&x, CCS_FOCAL_ENTITIES, 0);
        ccs_fit_oldest(&x, CCS_PREDICTIVE_CUE, 0);
        ccs_fit_oldest(&x, CCS_EPISODIC_TRACE, 0);
        ccs_fit_oldest(&x, CCS_UNCERTAINTY_SIGNAL, 1);
        while (!ccs_fits(&x) && c->field[CCS_SEMANTIC_GIST].n > 1)
                ccs_fit_evict(&x, CCS_SEMANTIC_GIST, c->field[CCS_SEMANTIC_GIST].n - 1);
        assert(ccs_fits(&x));
        return 0;
}
