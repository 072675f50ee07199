/* Reads the rights of a recorded grant, to continue a region whose supervisor died. Pure. */
#include "policy/allow.h"
#include "policy/grant.h"
#include "policy/place.h"

#include <errno.h>
#include <string.h>

static int recorded_files(const json_t *list, Grant *g) {
        int r = 0;

        for (size_t i = 0; r == 0 && i < json_array_size(list); i++) {
                const json_t *o = json_array_get(list, i);
                const char *access = json_str(o, "access"), *of = json_str(o, "of");
                const FileGrant f = {.source = (char *)json_str(o, "source"),
                                     .target = (char *)json_str(o, "target"),
                                     .write = strcmp(access, "write") == 0,
                                     .overlay = strcmp(access, "overlay") == 0,
                                     .mask = strcmp(access, "none") == 0,
                                     .of = *of ? (char *)of : NULL};

                if (*f.source == '/')
                        r = place_add(g, &f);
        }
        return r;
}

static int recorded_allows(const json_t *o, Grant *g) {
        const json_t *allow = json_object_get(o, "allow"), *private = json_object_get(o, "private");
        int r = 0;

        for (size_t i = 0; r == 0 && i < json_array_size(allow) && i < PROXY_RULES_MAX; i++) {
                NetName a = {};

                r = net_name_parse(json_text(json_array_get(allow, i)) ?: "", &a, NULL);
                r = r == 0 ? merge_add_allow(g, &a) : MIN(r, 0);
                free(a.text);
        }
        g->privates = calloc(json_array_size(private) + 1, sizeof(*g->privates));
        if (!g->privates)
                return -ENOMEM;
        for (size_t i = 0; i < json_array_size(private) && i < PROXY_NETS_MAX; i++)
                g->n_privates += net_range_parse(json_text(json_array_get(private, i)) ?: "", &g->privates[g->n_privates], NULL) == 0;
        g->listen[0] = g->n_allows > 0 ? PROXY_PORT : 0;
        g->net_budget = (ProxyBudget){json_number(o, "connections"), json_number(o, "bytes"), json_number(o, "usec")};
        return r;
}

static int recorded_network(const json_t *o, Grant *g) {
        const json_t *list = json_object_get(o, "connect");
        const int mode = network_parse(json_str(o, "mode"));

        if (mode >= 0)
                g->network = (NetworkMode)mode;
        g->connects = calloc(json_array_size(list) + 1, sizeof(*g->connects));
        if (!g->connects)
                return -ENOMEM;
        for (size_t i = 0; i < json_array_size(list); i++) {
                int r = net_parse(json_text(json_array_get(list, i)) ?: "", &g->connects[g->n_connects], NULL);

                if (r < 0)
                        return r;
                g->n_connects += r == 0;
        }
        return recorded_allows(o, g);
}

static void recorded_budget(const json_t *o, Budget *ret) {
        for (size_t i = 0; i < BUDGET_FIELDS; i++) {
                const BudgetField *f = &budget_fields[i];
                const json_t *v;
                char key[BUDGET_KEY_MAX];

                v = json_object_get(o, budget_key(f, key));
                if (f->may_be_none && (json_is_null(v) || (!v && f->standard == BUDGET_NONE)))
                        *budget_at(ret, f) = BUDGET_NONE;
                else
                        (void)json_get_u64(v, budget_at(ret, f));
        }
}

static int recorded_names(const json_t *list, char ***ret) {
        int r = 0;

        for (size_t i = 0; r == 0 && i < json_array_size(list); i++)
                if (json_is_string(json_array_get(list, i)))
                        r = strv_add(ret, json_text(json_array_get(list, i)));
        return r;
}

static int recorded_state(const json_t *o, Grant *g) {
        _cleanup_findings_ Findings ignored = {0};
        Doc d = {.file = "", .findings = &ignored};
        int r = recorded_names(json_object_get(o, "reads"), &g->reads);

        r = r ?: recorded_names(json_object_get(o, "writes"), &g->writes);
        r = r ?: text_copy(&g->notes, json_text(json_object_get(o, "notes")));
        r = r ?: text_copy(&g->canon, json_text(json_object_get(o, "canon")));
        r = r ?: text_copy(&g->kernels, json_text(json_object_get(o, "kernels")));
        g->own_notes = json_is_true(json_object_get(o, "own_notes"));
        if (r == 0)
                doc_memory_rights(&d, MEMBER(&(Node){.v = o}, "memory"), &g->memory, &g->n_memory);
        return d.no_memory ? -ENOMEM : r;
}

int grant_recorded(const json_t *o, Grant *ret) {
        _cleanup_grant_ Grant g = {.discipline = DISCIPLINE_MULTIPASS, .passes = PASSES_STANDARD};
        int r = recorded_files(json_object_get(o, "files"), &g);

        r = r ?: recorded_network(json_object_get(o, "network"), &g);
        r = r ?: recorded_state(o, &g);
        if (r < 0)
                return r;
        recorded_budget(json_object_get(o, "budgets"), &g.budget);
        (void)json_get_u64(json_object_get(o, "cancel_bound_usec"), &g.cancel_bound_usec);
        for (Discipline d = DISCIPLINE_ZERO; d <= DISCIPLINE_NONE; d++)
                if (strcmp(discipline_name(d), json_str(o, "discipline")) == 0) {
                        g.discipline = d;
                        g.passes = (unsigned)json_integer_value(json_object_get(o, "passes"));
                }
        *ret = g;
        g = (Grant){0};
        return 0;
}
