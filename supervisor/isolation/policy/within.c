/* The rights of a region that another region starts. Pure. */
#include "base/size.h"
#include "policy/grant.h"
#include "policy/merge.h"
#include "policy/place.h"
#include "policy/within-state.h"

#include <errno.h>
#include <stdio.h>

static int within_budget(Grant *g, const Budget *most, Diag *reterr) {
        for (size_t i = 0; i < BUDGET_FIELDS; i++) {
                const BudgetField *f = &budget_fields[i];
                uint64_t *have = budget_at(&g->budget, f), left = budget_get(most, f);
                char asked[BUDGET_TEXT_MAX], granted[BUDGET_TEXT_MAX], field[64];

                if (left >= *have)
                        continue;
                budget_format(f, left, granted);
                if (left < f->least)
                        return diag(reterr, GRANT_E_REFUSED,
                                    "%s: %s is left of the budget of the region above, and a region needs %s at least",
                                    f->name, granted, budget_format(f, f->least, asked));
                budget_format(f, *have, asked);
                snprintf(field, sizeof(field), "/budgets/%s", f->name);
                if (within_reduce(g, field, asked, granted, "the rest of the budget of the region above") < 0)
                        return -ENOMEM;
                *have = left;
                g->limit_by[i] = LIMIT_BY_ABOVE;
        }
        for (size_t i = 0; i < g->n_releases; i++)
                g->releases[i].budget.memory_bytes =
                        MIN(g->releases[i].budget.memory_bytes, g->budget.memory_bytes / 2);
        return 0;
}

/* Keeps the addresses that the region may have. */
static int within_connects(Grant *g, const Grant *above, const Limits *own) {
        size_t n = 0;
        int r = 0;

        for (size_t i = 0; i < g->n_connects; i++) {
                NetGrant *c = &g->connects[i];
                const bool had =
                        above->network == NETWORK_HOST || merge_has_connect(above->connects, above->n_connects, c);
                const bool given = own && (own->network_host || merge_has_connect(own->connects, own->n_connects, c));

                if (r == 0 && !g->network_closed && (had || given)) {
                        r = had ? 0 : within_beyond(g, "connect %s", c->text);
                        g->connects[n++] = *c;
                        continue;
                }
                r = r ?: within_reduce(g, "/network/connect", c->text, "none",
                                       g->network_closed ? "command line --network none" : WITHIN_RULE);
                free(c->text);
        }
        g->n_connects = n;
        return r;
}

static int within_network(Grant *g, const Grant *above, const SkillPolicy *row) {
        const Limits *own = row && row->limits.network_said ? &row->limits : NULL;
        const NetworkMode asked = g->network;
        const char *rule;
        int r;

        g->network_closed |= above->network_closed;
        rule = g->network_closed ? "command line --network none" : WITHIN_RULE;
        r = within_connects(g, above, own);
        if (r < 0)
                return r;
        if (asked == NETWORK_HOST && !g->network_closed &&
            (above->network == NETWORK_HOST || (own && own->network_host)))
                return above->network == NETWORK_HOST ? 0 : within_beyond(g, "network host");
        if (asked == NETWORK_PRIVATE && !g->network_closed && above->network != NETWORK_NONE)
                return 0;
        if (asked == NETWORK_PRIVATE && !g->network_closed && own) /* less than any network that a row can grant */
                return within_beyond(g, "network private");
        g->network = g->n_connects > 0 ? NETWORK_CONNECT : NETWORK_NONE;
        return g->network == asked || asked == NETWORK_CONNECT
                       ? 0 : within_reduce(g, "/network", network_name(asked), network_name(g->network), rule);
}

static const char *const within_words[] = {"none", "read", "write"};

/* The access to a path of the host; *ret_had: the access of the region above. */
static int within_right(const Grant *above, const Limits *own, const char *path, int *ret_had) {
        *ret_had = place_right(above->files, above->n_files, path);
        return MAX(*ret_had, own ? merge_covers(own, path) : 0);
}

/* The right to a path. */
static int within_path(Grant *g, const Grant *above, const Limits *own, const char *path, int asked, int *ret) {
        int had, right = MIN(asked, within_right(above, own, path, &had));

        *ret = right;
        return right > had ? within_beyond(g, "%s %s", within_words[right], path) : 0;
}

/* Cuts the paths below f at which the region above has less access (I-97). */
static int within_parts(Grant *g, const FileGrant *f, const Grant *above, const Limits *own) {
        const int most = f->write ? 2 : 1;
        _cleanup_strv_ char **edges = NULL;
        int r = place_edges(above->files, above->n_files, f->source, &edges);

        for (size_t i = 0; r == 0 && edges && edges[i]; i++) {
                _cleanup_free_ char *text = NULL;
                char place[PATH_MAX];
                int right;

                r = within_path(g, above, own, edges[i], most, &right);
                if (r < 0 || right == most)
                        continue;
                if (!place_inside(f, edges[i], place))
                        return -ENAMETOOLONG;
                /* another grant of the region is mounted there, and is checked separately */
                if (place_shows(g->files, g->n_files, place) != f)
                        continue;
                if (!(text = text_printf("%s %s", within_words[most], edges[i])))
                        return -ENOMEM;
                r = within_reduce(g, "/files", text, within_words[right], WITHIN_RULE);
                if (r == 0) {
                        const char *of = f->of ?: f->source;
                        const size_t at = (size_t)(f - g->files);

                        r = place_add(g, &(FileGrant){.source = edges[i],
                                                      .target = place,
                                                      .write = right == 2,
                                                      .mask = right == 0,
                                                      .of = (char *)of});
                        f = &g->files[at];
                }
        }
        return r;
}

static int within_file(Grant *g, FileGrant *f, const Grant *above, const Limits *own, bool *ret_keep) {
        const int asked = f->write ? 2 : 1;
        _cleanup_free_ char *text = NULL;
        int right, r;

        if (!(text = text_printf("%s %s", within_words[asked], f->source)))
                return -ENOMEM;
        r = within_path(g, above, own, f->source, asked, &right);
        *ret_keep = right > 0;
        f->write = right == 2;
        return r == 0 && right < asked ? within_reduce(g, "/files", text, within_words[right], WITHIN_RULE) : r;
}

static int within_files(Grant *g, const Grant *above, const SkillPolicy *row) {
        const Limits *own = row && row->limits.files_said ? &row->limits : NULL;
        size_t n = 0;
        int r = 0;

        for (size_t i = 0; i < g->n_files; i++) {
                FileGrant f = g->files[i];
                bool keep = false;

                r = r ?: within_file(g, &f, above, own, &keep);
                if (keep && r == 0) {
                        g->files[n++] = f;
                        continue;
                }
                free(f.source);
                free(f.target);
                free(f.of);
        }
        g->n_files = n;
        for (size_t i = 0; r == 0 && i < n; i++)
                r = within_parts(g, &g->files[i], above, own);
        return r;
}

/* The discipline is not weaker than above: the data came from the region above. */
static int within_discipline(Grant *g, const Grant *above) {
        char asked[DISCIPLINE_TEXT_MAX], granted[DISCIPLINE_TEXT_MAX];

        if (discipline_compare(g->discipline, g->passes, above->discipline, above->passes) >= 0)
                return 0;
        discipline_format(g->discipline, g->passes, asked);
        g->discipline = above->discipline;
        g->passes = above->passes;
        return within_reduce(g, "/teardown/discipline", asked, discipline_format(g->discipline, g->passes, granted),
                      "no weaker than in the region above");
}

/* The region's end is a part of the end of the region above. The default is no request: admit() computes the bound. */
static int within_cancel_bound(Grant *g, const Grant *above) {
        char asked[SIZE_TEXT_MAX], granted[SIZE_TEXT_MAX];
        const uint64_t bound = g->cancel_bound_usec;

        g->cancel_bound_usec = MIN(bound, above->cancel_bound_usec);
        if (g->cancel_bound_usec == bound || (!g->cancel_declared && bound == CANCEL_BOUND_STANDARD_USEC))
                return 0;
        return within_reduce(g, "/cancel_bound", duration_format(bound, asked),
                             duration_format(g->cancel_bound_usec, granted),
                             "no longer than in the region above");
}

int grant_within(Grant *g, const Grant *above, const Budget *most, const Policy *policy, Diag *reterr) {
        const SkillPolicy *row = policy ? policy_skill(policy, g->skill_name) : NULL;
        int r = within_budget(g, most, reterr);

        r = r ?: within_cancel_bound(g, above);
        r = r ?: within_network(g, above, row);
        r = r ?: within_files(g, above, row);
        r = r ?: within_discipline(g, above);
        return r == 0 ? within_state(g, above, row, reterr) : r;
}
