#include "cognition/ccs-diff.h"

#include "cognition/ccs-text.h"

static void ccs_diff_put(CcsDiff *d, CcsField f, CcsChangeKind kind, const char *atom) {
        d->changes[d->n++] = (CcsChange){.field = f, .kind = kind, .atom = atom};
}

/* Does an atom stand before b[at] that stood behind it in a? */
static bool ccs_diff_moved(const Ccs *a, const Ccs *b, CcsField f, size_t at, size_t was) {
        for (size_t i = 0; i < at; i++) {
                size_t before = ccs_find(a, f, b->field[f].atoms[i]);

                if (before < a->field[f].n && before > was)
                        return true;
        }
        return false;
}

void ccs_diff(const Ccs *a, const Ccs *b, CcsDiff *ret) {
        ret->n = 0;
        for (CcsField f = 0; f < CCS_FIELDS; f++) {
                for (size_t i = 0; i < a->field[f].n; i++)
                        if (ccs_find(b, f, a->field[f].atoms[i]) == b->field[f].n)
                                ccs_diff_put(ret, f, CCS_REMOVED, a->field[f].atoms[i]);
                for (size_t i = 0; i < b->field[f].n; i++) {
                        size_t was = ccs_find(a, f, b->field[f].atoms[i]);

                        if (was == a->field[f].n)
                                ccs_diff_put(ret, f, CCS_ADDED, b->field[f].atoms[i]);
                        else if (ccs_diff_moved(a, b, f, i, was))
                                ccs_diff_put(ret, f, CCS_MOVED, b->field[f].atoms[i]);
                }
        }
}

int ccs_diff_print(const CcsDiff *d, Buf *out) {
        static const char signs[] = {[CCS_REMOVED] = '-', [CCS_ADDED] = '+', [CCS_MOVED] = '>'};
        int e = 0;

        for (size_t i = 0; i < d->n && !e; i++) {
                const CcsChange *x = &d->changes[i];

                if (i == 0 || x->field != x[-1].field)
                        e = buf_printf(out, "%s:\n", ccs_field_name(x->field));
                e = e ?: buf_printf(out, " %c ", signs[x->kind])
                                ?: ccs_print_atom(x->field, x->atom, out)
                                ?: buf_add_str(out, "\n");
        }
        return e;
}
