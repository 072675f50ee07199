#include "cognition/ccs-validate.h"

#include <errno.h>
#include <string.h>

static const struct {
        const char *name;
        size_t min, max;
} ccs_fields[CCS_FIELDS] = {
        [CCS_EPISODIC_TRACE] = {"episodic_trace", 0, 8},
        [CCS_SEMANTIC_GIST] = {"semantic_gist", 1, 8},
        [CCS_FOCAL_ENTITIES] = {"focal_entities", 0, 24},
        [CCS_RELATIONAL_MAP] = {"relational_map", 0, 24},
        [CCS_GOAL_ORIENTATION] = {"goal_orientation", 1, 4},
        [CCS_CONSTRAINTS] = {"constraints", 0, 32},
        [CCS_PREDICTIVE_CUE] = {"predictive_cue", 0, 4},
        [CCS_UNCERTAINTY_SIGNAL] = {"uncertainty_signal", 1, 9},
        [CCS_RETRIEVED_ARTIFACTS] = {"retrieved_artifacts", 0, 8},
};

const char *ccs_field_name(CcsField f) {
        assert(f < CCS_FIELDS);
        return ccs_fields[f].name;
}

void ccs_field_bounds(CcsField f, size_t *ret_min, size_t *ret_max) {
        assert(f < CCS_FIELDS);
        *ret_min = ccs_fields[f].min;
        *ret_max = ccs_fields[f].max;
}

void ccs_deinit(Ccs *c) {
        for (CcsField f = 0; f < CCS_FIELDS; f++) {
                for (size_t i = 0; i < c->field[f].n; i++)
                        free(c->field[f].atoms[i]);
                c->field[f].n = 0;
        }
}

void ccs_remove(Ccs *c, CcsField f, size_t at) {
        CcsList *l = &c->field[f];

        assert(at < l->n);
        free(l->atoms[at]);
        l->n--;
        memmove(l->atoms + at, l->atoms + at + 1, (l->n - at) * sizeof(*l->atoms));
}

size_t ccs_find(const Ccs *c, CcsField f, const char *atom) {
        const CcsList *l = &c->field[f];
        size_t i = 0;

        while (i < l->n && strcmp(l->atoms[i], atom) != 0)
                i++;
        return i;
}

int ccs_push(Ccs *c, CcsField f, const Atom *a, Diag *reterr) {
        CcsList *l = &c->field[f];
        char *text;

        if (l->n >= ccs_fields[f].max)
                return diag(reterr, CCS_E_COUNT, "%s: \"%s\": the field has at most %zu atoms", ccs_fields[f].name,
                            DIAG_QUOTED(a->text), ccs_fields[f].max);
        text = strndup(a->text, a->n);
        if (!text)
                return -ENOMEM;
        l->atoms[l->n++] = text;
        return 0;
}

/* The list's atom that the new atom replaces, or n. */
static size_t ccs_replaced(const Ccs *c, CcsField f, const Atom *a) {
        const CcsList *l = &c->field[f];
        size_t i = 0;
        Atom other;

        if (f != CCS_FOCAL_ENTITIES && f != CCS_RETRIEVED_ARTIFACTS)
                return ccs_find(c, f, a->text);
        while (i < l->n &&
               (atom_parse(l->atoms[i], strlen(l->atoms[i]), &other, NULL) != 0 || !ccs_same_id(f, &other, a)))
                i++;
        return i;
}

int ccs_add(Ccs *c, CcsField f, const char *atom, Diag *reterr) {
        Atom a;
        size_t at;
        char *text;

        if (atom_parse(atom, strlen(atom), &a, reterr) != 0) {
                diag_prefix(reterr, "%s", ccs_fields[f].name);
                return CCS_E_SYNTAX;
        }
        at = ccs_replaced(c, f, &a);
        if (at == c->field[f].n)
                return ccs_push(c, f, &a, reterr);
        if (f != CCS_FOCAL_ENTITIES && f != CCS_RETRIEVED_ARTIFACTS)
                return 0;
        text = strndup(a.text, a.n);
        if (!text)
                return -ENOMEM;
        ccs_remove(c, f, at);
        c->field[f].atoms[c->field[f].n++] = text;
        return 0;
}

int ccs_copy(const Ccs *from, Ccs *ret) {
        _cleanup_ccs_ Ccs to = CCS_NULL;

        for (CcsField f = 0; f < CCS_FIELDS; f++)
                for (size_t i = 0; i < from->field[f].n; i++) {
                        to.field[f].atoms[i] = strdup(from->field[f].atoms[i]);
                        if (!to.field[f].atoms[i])
                                return -ENOMEM;
                        to.field[f].n++;
                }
        *ret = to;
        to = CCS_NULL;
        return 0;
}

bool ccs_equal(const Ccs *a, const Ccs *b) {
        for (CcsField f = 0; f < CCS_FIELDS; f++) {
                if (a->field[f].n != b->field[f].n)
                        return false;
                for (size_t i = 0; i < a->field[f].n; i++)
                        if (strcmp(a->field[f].atoms[i], b->field[f].atoms[i]) != 0)
                                return false;
        }
        return true;
}
