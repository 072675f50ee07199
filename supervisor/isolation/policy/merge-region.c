/* The parts of a grant about the end of a region: its discipline and its release callbacks. */
#include "policy/merge.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

int policy_allows_discipline(const Policy *p, const Skill *s, Discipline d, Diag *reterr) {
        const SkillPolicy *row = s ? policy_skill(p, s->md.name) : NULL;
        bool trusted = row && row->trusted && row->digest && strcmp(row->digest, s->bundle.digest) == 0;

        if (d != DISCIPLINE_NONE || trusted)
                return 0;
        if (!s)
                return diag(reterr, GRANT_E_REFUSED, "discipline none: only for a skill that the policy calls trusted, not for a program");
        return diag(reterr, GRANT_E_REFUSED, "discipline none: only for a trusted skill; %s#/skills/%s would need \"trusted\": true and \"digest\": \"%s\"",
                    p->path ?: "the policy file", s->md.name, s->bundle.digest);
}

/* A skill asks for what its data need. The command line can leave less behind, not more. */
int merge_discipline(Merge *m) {
        const Manifest *a = m->manifest;
        const RunRequest *q = m->request;
        Grant *g = m->grant;
        char asked[DISCIPLINE_TEXT_MAX], said[DISCIPLINE_TEXT_MAX];

        g->discipline = q->discipline_said ? q->discipline : a->discipline;
        g->passes = q->discipline_said ? q->passes : a->passes;
        if (q->discipline_said && a->discipline_said && discipline_compare(q->discipline, q->passes, a->discipline, a->passes) < 0)
                return diag(m->reterr, GRANT_E_REFUSED, "--discipline %s: leaves more behind than lethe.json#/teardown/discipline asks (%s)",
                            discipline_format(q->discipline, q->passes, said), discipline_format(a->discipline, a->passes, asked));
        return 0;
}

/* What a callback asks, or else what the region itself has; never more than that. Its memory is the region's, set aside: what it asks, or a quarter or 16 MiB;
 * at most half. */
static int release_budget(Merge *m, const ReleaseAsk *a, size_t i, Budget *ret) {
        Budget whole = m->grant->budget;

        *ret = whole;
        whole.memory_bytes /= 2;
        ret->memory_bytes = MIN(MAX(ret->memory_bytes / 4, UINT64_C(16) << 20), whole.memory_bytes);
        for (size_t k = 0; k < BUDGET_FIELDS; k++) {
                const BudgetField *f = &budget_fields[k];
                uint64_t v = budget_get(&a->budget, f), most = budget_get(&whole, f);
                char asked[BUDGET_TEXT_MAX], granted[BUDGET_TEXT_MAX], field[64];
                int r;

                if (v > 0 && v <= most)
                        *budget_at(ret, f) = v;
                if (v <= most)
                        continue;
                *budget_at(ret, f) = most;
                snprintf(field, sizeof(field), "/release/%zu/budgets/%s", i, f->name);
                r = merge_reduce(m, field, budget_format(f, v, asked), budget_format(f, most, granted), "a callback gets no more than its region had, and half of "
                                                                                                        "its memory");
                if (r < 0)
                        return r;
        }
        return 0;
}

int merge_releases(Merge *m, const Skill *s) {
        const Manifest *a = m->manifest;
        Grant *g = m->grant;
        int r = 0;

        g->releases = calloc(a->n_releases + 1, sizeof(*g->releases));
        if (!g->releases)
                return -ENOMEM;
        for (size_t i = 0; r == 0 && i < a->n_releases; i++) {
                ReleaseGrant *to = &g->releases[g->n_releases++];
                const Entry *e = manifest_entry(a, a->releases[i].entry);

                assert(e); /* the reader of the manifest saw to it */
                to->entry = strdup(a->releases[i].entry);
                if (!to->entry)
                        return -ENOMEM;
                r = grant_entry(s, e, &to->argv, m->reterr);
                if (r == 0)
                        r = release_budget(m, &a->releases[i], i, &to->budget);
        }
        return r;
}
