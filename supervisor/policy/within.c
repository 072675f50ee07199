#include "policy/grant.h"

#include <errno.h>

int grant_within(Grant *g, const Budget *most, Diag *reterr) {
        for (size_t i = 0; i < BUDGET_FIELDS; i++) {
                const BudgetField *f = &budget_fields[i];
                uint64_t *have = budget_at(&g->budget, f), left = budget_get(most, f);
                char asked[BUDGET_TEXT_MAX], granted[BUDGET_TEXT_MAX], field[64];

                if (left >= *have)
                        continue;
                budget_format(f, left, granted);
                if (left < f->least)
                        return diag(reterr, GRANT_E_REFUSED, "%s: %s can be had of this region's budget, and a region needs %s at least", f->name,
                                    granted, budget_format(f, f->least, asked));
                budget_format(f, *have, asked);
                snprintf(field, sizeof(field), "/budgets/%s", f->name);
                if (json_array_append_new(g->reductions, json_pack("{s:s, s:s, s:s, s:s}", "field", field, "asked", asked, "granted", granted, "rule",
                                                                   "what was left of the region that started it")) < 0)
                        return -ENOMEM;
                *have = left;
        }
        return 0;
}
