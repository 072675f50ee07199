/* Runs: supervisor, CLI. The state before the first turn, from a role (C-3). */
#include "cognition/compress-inside.h"

#include "base/ascii.h"
#include "base/json-form.h"
#include "base/json.h"
#include "cognition/ccs-check.h"

#include <errno.h>

#define ROLE_MAX (1 << 20) /* bytes of a JSON role */

/* The rules and goals of a text. *ret_found: how many constraints and goals are new. */
static int begin_read(Compress *c, const char *text, size_t n, CompressSource source, size_t *ret_found) {
        _cleanup_phrase_text_ PhraseText t = {0};
        size_t had = c->next.field[CCS_CONSTRAINTS].n + c->next.field[CCS_GOAL_ORIENTATION].n;
        int e = phrase_read(text, n, &t);

        if (e == 0)
                e = compress_rules(c, &t, source);
        *ret_found = c->next.field[CCS_CONSTRAINTS].n + c->next.field[CCS_GOAL_ORIENTATION].n - had;
        return e;
}

/* A text that the role calls a constraint is one, whatever its words. */
static int begin_constraint(Compress *c, const char *text, CompressSource source, Diag *reterr) {
        size_t found, had = c->next.field[CCS_CONSTRAINTS].n;
        char body[RULE_BODY_MAX + 1];
        int e;

        if (phrase_norm(text, (char[256]){0}, 256) == 0)
                return diag(reterr, CCS_E_ATOM, "\"%s\": a constraint of a role has words", DIAG_QUOTED(text));
        e = begin_read(c, text, strlen(text), source, &found);
        if (e == 0 && c->next.field[CCS_CONSTRAINTS].n == had && found == 0) {
                _cleanup_phrase_text_ PhraseText t = {0};

                e = phrase_read(text, strlen(text), &t);
                if (e == 0 && rule_words(&t, 0, t.n, body, sizeof(body)) > 0)
                        e = compress_add(c, CCS_CONSTRAINTS, "must",
                                         (const char *[]){compress_source_name(source), body}, 2);
        }
        return e;
}

static int begin_goal(Compress *c, const char *text, Diag *reterr) {
        _cleanup_phrase_text_ PhraseText t = {0};
        char body[RULE_BODY_MAX + 1];
        int e = phrase_read(text, strlen(text), &t);

        if (e < 0)
                return e;
        if (rule_words(&t, 0, t.n, body, sizeof(body)) == 0)
                return diag(reterr, CCS_E_ATOM, "\"%s\": a goal of a role has words", DIAG_QUOTED(text));
        return compress_add(c, CCS_GOAL_ORIENTATION, "goal", (const char *[]){"operator", body}, 2);
}

/* A text, or a list of texts. */
static int begin_texts(Compress *c, const json_t *role, const char *name,
                       int (*each)(Compress *c, const char *text, Diag *reterr), Diag *reterr) {
        const json_t *v = json_object_get(role, name);
        const json_t *entry;
        size_t i;
        int e = 0;

        if (!v)
                return 0;
        if (json_is_string(v))
                return each(c, json_text(v), reterr);
        if (!json_is_array(v))
                return diag(reterr, CCS_E_FIELD, "role: \"%s\" is a text or a list of texts", name);
        json_array_foreach(v, i, entry) {
                if (!json_is_string(entry))
                        return diag(reterr, CCS_E_FIELD, "role: \"%s\"[%zu] is a text", name, i);
                if ((e = each(c, json_text(entry), reterr)) != 0)
                        return e;
        }
        return e;
}

static int begin_operator(Compress *c, const char *text, Diag *reterr) {
        return begin_constraint(c, text, COMPRESS_OPERATOR, reterr);
}

static int begin_policy(Compress *c, const char *text, Diag *reterr) {
        return begin_constraint(c, text, COMPRESS_POLICY, reterr);
}

static int begin_role(Compress *c, const char *text, Diag *reterr) {
        (void)reterr;
        return begin_read(c, text, strlen(text), COMPRESS_OPERATOR, &(size_t){0});
}

static int begin_bound(const json_t *role, CcsBound *ret, Diag *reterr) {
        static const char *const names[] = {"bytes", "tokens"};
        const json_t *v = json_object_get(role, "bound"), *value;
        const char *name;

        if (!v)
                return 0;
        if (!json_is_object(v))
                return diag(reterr, CCS_E_FIELD, "role: \"bound\" is %s: an object of \"bytes\" and \"tokens\" is needed",
                            json_kind(v));
        json_object_foreach((json_t *)v, name, value) {
                const bool bytes = strcmp(name, "bytes") == 0;
                const json_int_t n = json_integer_value(value),
                                 least = (json_int_t)(bytes ? CCS_BOUND_LEAST.bytes : CCS_BOUND_LEAST.tokens);

                if (name_index(names, ARRAY_SIZE(names), name) == ARRAY_SIZE(names))
                        return diag(reterr, CCS_E_FIELD, "role: bound: \"%s\": the names are \"bytes\" and \"tokens\"",
                                    DIAG_QUOTED(name));
                if (!json_is_integer(value))
                        return diag(reterr, CCS_E_FIELD, "role: bound: \"%s\" is %s: a number from %lld to %d is needed", name,
                                    json_kind(value), (long long)least, CCS_BOUND_MOST);
                if (n < least || n > CCS_BOUND_MOST)
                        return diag(reterr, CCS_E_FIELD, "role: bound: \"%s\" is %lld: a number from %lld to %d is needed", name,
                                    (long long)n, (long long)least, CCS_BOUND_MOST);
                *(bytes ? &ret->bytes : &ret->tokens) = (size_t)n;
        }
        return 0;
}

static int begin_json(Compress *c, const char *text, size_t n, CcsBound *bound, Diag *reterr) {
        static const char *const names[] = {"role", "goal", "constraints", "policy", "bound"};
        json_t *role = NULL, *value;
        const char *name;
        int e = json_parse(text, n, ROLE_MAX, 8, &role, reterr);

        if (e < 0)
                return e;
        if (e > 0) {
                diag_prefix(reterr, "role");
                return CCS_E_SYNTAX;
        }
        if (!json_is_object(role))
                e = diag(reterr, CCS_E_SYNTAX,
                         "role: JSON is an object here; plain text begins with another character");
        if (e == 0)
                json_object_foreach(role, name, value)
                        if (e == 0 && name_index(names, ARRAY_SIZE(names), name) == ARRAY_SIZE(names))
                                e = diag(reterr, CCS_E_FIELD,
                                         "role: \"%s\": the names are \"role\", \"goal\", \"constraints\", \"policy\" "
                                         "and \"bound\"",
                                         DIAG_QUOTED(name));
        e = e ?: begin_bound(role, bound, reterr);
        e = e ?: begin_texts(c, role, "policy", begin_policy, reterr);
        e = e ?: begin_texts(c, role, "constraints", begin_operator, reterr);
        e = e ?: begin_texts(c, role, "goal", begin_goal, reterr);
        e = e ?: begin_texts(c, role, "role", begin_role, reterr);
        json_decref(role);
        return e;
}

/* The rules for which the state had no room are in the report. */
static int begin_room(const CompressReport *report, Diag *reterr) {
        for (size_t i = 0; i < report->n; i++)
                if (report->event[i].act == COMPRESS_REFUSED)
                        return diag(reterr, CCS_E_COUNT,
                                    "role: a state has at most %d constraints; the first rule without room is \"%s\" "
                                    "(%zu more)",
                                    CCS_ATOMS_MAX, DIAG_QUOTED(report->event[i].atom), report->n_total - i - 1);
        return 0;
}

static int begin_fit(Compress *c, const CcsBound *bound, Diag *reterr) {
        const CcsList *l = &c->next.field[CCS_CONSTRAINTS];
        _cleanup_ccs_ Ccs whole = CCS_NULL;
        int e = ccs_fit(&c->next, bound, NULL, reterr);

        if (e != CCS_E_OVER_BUDGET || l->n == 0)
                return e;
        if (ccs_copy(&c->next, &whole) < 0)
                return -ENOMEM;
        while (whole.field[CCS_CONSTRAINTS].n > 0 && ccs_fit(&whole, bound, NULL, NULL) == CCS_E_OVER_BUDGET)
                ccs_remove(&whole, CCS_CONSTRAINTS, whole.field[CCS_CONSTRAINTS].n - 1);
        return diag(reterr, CCS_E_OVER_BUDGET,
                    "over_budget: the bound has room for %zu of %zu constraints; the first beyond it is \"%s\"",
                    whole.field[CCS_CONSTRAINTS].n, l->n,
                    DIAG_QUOTED(l->atoms[MIN(whole.field[CCS_CONSTRAINTS].n, l->n - 1)]));
}

static int begin_signals(Compress *c) {
        const CcsList *goals = &c->next.field[CCS_GOAL_ORIENTATION];
        int e = 0;

        if (goals->n == 0)
                e = compress_add(c, CCS_GOAL_ORIENTATION, "assist", &(const char *){"user"}, 1);
        if (!e)
                e = MIN(ccs_add(&c->next, CCS_SEMANTIC_GIST, goals->atoms[0], NULL), 0);
        return e ?: compress_add(c, CCS_UNCERTAINTY_SIGNAL, "level", &(const char *){"low"}, 1);
}

int ccs_begin(const char *role_or_null, size_t n, Ccs *ret, CcsBound *ret_bound, CompressReport *report, Diag *reterr) {
        return ccs_begin_within(role_or_null, n, NULL, ret, ret_bound, report, reterr);
}

/* Text that begins as a list and is JSON was meant as JSON. */
static bool begin_is_array(const char *text, size_t n) {
        _cleanup_json_ json_t *list = NULL;

        return json_parse(text, n, ROLE_MAX, 8, &list, NULL) == 0 && json_is_array(list);
}

static int begin_role_text(Compress *c, const char *role, size_t n, char first, CcsBound *bound, Diag *reterr) {
        if (first == '{')
                return begin_json(c, role, n, bound, reterr);
        if (first == '[' && begin_is_array(role, n))
                return diag(reterr, CCS_E_SYNTAX, "role: the JSON is an array: an object with \"role\", \"goal\", "
                            "\"constraints\", \"policy\" and \"bound\" is needed, or text");
        return begin_read(c, role, n, COMPRESS_OPERATOR, &(size_t){0});
}

int ccs_begin_within(const char *role_or_null, size_t n, const CcsBound *given, Ccs *ret, CcsBound *ret_bound,
                     CompressReport *report, Diag *reterr) {
        CompressReport own;
        Compress c = {.report = report ?: &own, .begins = true};
        CcsBound bound = CCS_BOUND;
        const char *at = role_or_null;
        int e = 0;

        c.report->n = c.report->n_total = 0;
        while (at && at < role_or_null + n && ascii_blank(*at))
                at++;
        if (at && at < role_or_null + n)
                e = begin_role_text(&c, role_or_null, n, *at, &bound, reterr);
        bound = given ? *given : bound;
        e = e ?: begin_room(c.report, reterr);
        e = e ?: begin_signals(&c);
        e = e ?: begin_fit(&c, &bound, reterr);
        if (e != 0) {
                ccs_deinit(&c.next);
                return e;
        }
        *ret = c.next;
        *ret_bound = bound;
        return 0;
}
