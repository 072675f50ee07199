#include "cognition/ccs-validate.h"

#include "base/ascii.h"
#include "cognition/ccs-text.h"

#include <string.h>
#include <strings.h>

static const char *const ccs_relations[] = {
        "timing", "before", "after", "cause", "possible", "depends", "part_of", "owner"};
static const char *const ccs_polarities[] = {"must", "must_not", "allowed", "avoid"};
static const char *const ccs_sources[] = {"user", "operator", "policy"};
static const char *const ccs_levels[] = {"low", "medium", "high"};

static bool ccs_named(const Atom *a, const char *const *names, size_t n) {
        for (size_t i = 0; i < n; i++)
                if (atom_is(a, names[i]))
                        return true;
        return false;
}

static bool ccs_arg_one_of(const Atom *a, size_t arg, const char *const *words, size_t n) {
        for (size_t i = 0; i < n; i++)
                if (atom_arg_is(a, arg, words[i]))
                        return true;
        return false;
}

static bool ccs_has_nested(const Atom *a) {
        for (size_t i = 1; i < a->n_parts; i++)
                if (a->parts[i].kind == ATOM_NESTED)
                        return true;
        return false;
}

/* label(id@version): id of letters, digits and . _ : -, version without leading zeros. */
static bool ccs_is_reference(const Atom *a) {
        const char *id = a->text + a->parts[1].at, *at;
        size_t n = a->parts[1].n, digits;

        if (a->n_parts != 2 || a->parts[1].kind != ATOM_WORD || !(at = memchr(id, '@', n)) || at == id)
                return false;
        for (const char *p = id; p < at; p++)
                if (!ascii_letter(*p) && !ascii_digit(*p) && !strchr("._:-", *p))
                        return false;
        digits = id + n - at - 1;
        if (digits == 0 || digits > 19 || at[1] == '0')
                return false;
        for (size_t i = 1; i <= digits; i++)
                if (!ascii_digit(at[i]))
                        return false;
        return true;
}

bool ccs_same_id(CcsField f, const Atom *a, const Atom *b) {
        const char *x, *y;
        size_t n, n_y;

        if (!atom_arg(a, 0, &x, &n) || !atom_arg(b, 0, &y, &n_y))
                return false;
        if (f == CCS_RETRIEVED_ARTIFACTS) {
                const char *end = memchr(x, '@', n), *end_y = memchr(y, '@', n_y);

                n = end ? (size_t)(end - x) : n;
                n_y = end_y ? (size_t)(end_y - y) : n_y;
                return n == n_y && memcmp(x, y, n) == 0;
        }
        if (n != n_y || strncasecmp(x, y, n) != 0)
                return false;
        return ascii_letter(*x) || (unsigned char)*x >= 0x80 ||
               (a->parts[0].n == b->parts[0].n && memcmp(a->text, b->text, a->parts[0].n) == 0);
}

int ccs_validate_atom(CcsField f, const Atom *a, Diag *reterr) {
        const char *rule = NULL;

        switch (f) {
        case CCS_FOCAL_ENTITIES:
                if (atom_n_args(a) != 1 || ccs_has_nested(a))
                        rule = "an entity is type(id)";
                break;
        case CCS_RELATIONAL_MAP:
                if (!ccs_named(a, ccs_relations, ARRAY_SIZE(ccs_relations)))
                        rule = "a relation is timing, before, after, cause, possible, depends, part_of or owner";
                break;
        case CCS_CONSTRAINTS:
                if (!ccs_named(a, ccs_polarities, ARRAY_SIZE(ccs_polarities)))
                        rule = "a constraint is must, must_not, allowed or avoid";
                else if (!ccs_arg_one_of(a, 0, ccs_sources, ARRAY_SIZE(ccs_sources)))
                        rule = "the first argument of a constraint is user, operator or policy";
                else if (atom_n_args(a) < 2)
                        rule = "a constraint says what it is about behind its source";
                break;
        case CCS_UNCERTAINTY_SIGNAL:
                if (atom_is(a, "level") &&
                    (atom_n_args(a) != 1 || !ccs_arg_one_of(a, 0, ccs_levels, ARRAY_SIZE(ccs_levels))))
                        rule = "the level is low, medium or high";
                break;
        case CCS_RETRIEVED_ARTIFACTS:
                if (!ccs_is_reference(a))
                        rule = "a reference is label(id@version)";
                break;
        case CCS_EPISODIC_TRACE:
        case CCS_SEMANTIC_GIST:
        case CCS_GOAL_ORIENTATION:
        case CCS_PREDICTIVE_CUE:
        case CCS_FIELDS: break;
        }
        return rule ? diag(reterr, CCS_E_ATOM, "%s: \"%s\": %s", ccs_field_name(f), DIAG_QUOTED(a->text), rule) : 0;
}

/* The atom among its neighbours. */
static int ccs_validate_place(CcsField f, const Atom *atoms, size_t at, Diag *reterr) {
        const Atom *a = &atoms[at];

        if (f == CCS_UNCERTAINTY_SIGNAL && atom_is(a, "level") != (at == 0))
                return diag(reterr, CCS_E_ATOM, "%s: \"%s\": one level(...) stands first, gaps follow",
                            ccs_field_name(f), DIAG_QUOTED(a->text));
        for (size_t i = 0; i < at; i++) {
                if (atoms[i].n == a->n && memcmp(atoms[i].text, a->text, a->n) == 0)
                        return diag(reterr, CCS_E_COUNT, "%s: \"%s\": an atom stands once in its field",
                                    ccs_field_name(f), DIAG_QUOTED(a->text));
                if ((f == CCS_FOCAL_ENTITIES || f == CCS_RETRIEVED_ARTIFACTS) && ccs_same_id(f, &atoms[i], a))
                        return diag(reterr, CCS_E_COUNT,
                                    "%s: \"%s\": the id stands in \"%s\", too: an id stands once in the field",
                                    ccs_field_name(f), DIAG_QUOTED(a->text), DIAG_QUOTED(atoms[i].text));
        }
        return 0;
}

static int ccs_validate_field(const Ccs *c, CcsField f, Diag *reterr) {
        const CcsList *l = &c->field[f];
        Atom atoms[CCS_ATOMS_MAX];
        size_t min, max, bytes = 0;
        int e = 0;

        ccs_field_bounds(f, &min, &max);
        if (l->n < min || l->n > max)
                return diag(reterr, CCS_E_COUNT, "%s: %zu atoms; the field has %zu to %zu", ccs_field_name(f), l->n,
                            min, max);
        for (size_t i = 0; i < l->n && !e; i++) {
                size_t n = strlen(l->atoms[i]);

                bytes += n + (i > 0 ? strlen(" & ") : 0);
                if (atom_parse(l->atoms[i], n, &atoms[i], reterr) != 0) {
                        diag_prefix(reterr, "%s", ccs_field_name(f));
                        return CCS_E_SYNTAX;
                }
                if (atoms[i].n != n || memcmp(atoms[i].text, l->atoms[i], n) != 0)
                        return diag(reterr, CCS_E_SYNTAX, "%s: \"%s\": the canonical form is \"%s\"", ccs_field_name(f),
                                    DIAG_QUOTED(l->atoms[i]), DIAG_QUOTED(atoms[i].text));
                e = ccs_validate_atom(f, &atoms[i], reterr) ?: ccs_validate_place(f, atoms, i, reterr);
        }
        if (!e && f == CCS_SEMANTIC_GIST && bytes > CCS_GIST_MAX)
                return diag(reterr, CCS_E_ATOM, "%s: %zu bytes; the gist has at most %d", ccs_field_name(f), bytes,
                            CCS_GIST_MAX);
        return e;
}

int ccs_validate(const Ccs *c, const CcsBound *bound, Diag *reterr) {
        size_t bytes, tokens;

        for (CcsField f = 0; f < CCS_FIELDS; f++) {
                int e = ccs_validate_field(c, f, reterr);

                if (e)
                        return e;
        }
        if (!bound)
                return 0;
        ccs_measure(c, &bytes, &tokens);
        if (bytes > bound->bytes || tokens > bound->tokens)
                return diag(reterr, CCS_E_OVER_BUDGET,
                            "over_budget: %zu bytes and %zu tokens; the bound is %zu bytes and %zu tokens", bytes,
                            tokens, bound->bytes, bound->tokens);
        return 0;
}
