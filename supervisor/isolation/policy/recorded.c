/* A grant's rights as they stand in a record, for who goes on with a region whose supervisor died. Pure. */
#include "manifest/doc.h"
#include "policy/grant.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *text(const json_t *o, const char *key) {
        return json_text(json_object_get(o, key)) ?: "";
}

static int read_files(const json_t *list, Grant *g) {
        g->files = calloc(json_array_size(list) + 1, sizeof(*g->files));
        if (!g->files)
                return -ENOMEM;
        for (size_t i = 0; i < json_array_size(list); i++) {
                const json_t *o = json_array_get(list, i);
                FileGrant *f = &g->files[g->n_files];

                if (*text(o, "source") != '/')
                        continue;
                g->n_files++;
                *f = (FileGrant){.source = strdup(text(o, "source")), .target = strdup(text(o, "target")), .write = strcmp(text(o, "access"), "write") == 0,
                                 .mask = strcmp(text(o, "access"), "none") == 0, .of = *text(o, "of") ? strdup(text(o, "of")) : NULL};
                if (!f->source || !f->target || (*text(o, "of") && !f->of))
                        return -ENOMEM;
        }
        return 0;
}

static int read_network(const json_t *o, Grant *g) {
        const json_t *list = json_object_get(o, "connect");

        for (NetworkMode m = NETWORK_NONE; m <= NETWORK_HOST; m++)
                if (strcmp(network_name(m), text(o, "mode")) == 0)
                        g->network = m;
        g->connects = calloc(json_array_size(list) + 1, sizeof(*g->connects));
        if (!g->connects)
                return -ENOMEM;
        for (size_t i = 0; i < json_array_size(list); i++) {
                int r = net_parse(json_text(json_array_get(list, i)) ?: "", &g->connects[g->n_connects], NULL);

                if (r < 0)
                        return r;
                g->n_connects += r == 0;
        }
        return 0;
}

static void read_budget(const json_t *o, Budget *ret) {
        for (size_t i = 0; i < BUDGET_FIELDS; i++) {
                const BudgetField *f = &budget_fields[i];
                const json_t *v;
                char key[64];

                snprintf(key, sizeof(key), "%s%s", f->name, f->unit == UNIT_BYTES ? "_bytes" : f->unit == UNIT_USEC ? "_usec" : "");
                v = json_object_get(o, key);
                if (f->may_be_none && (json_is_null(v) || (!v && f->standard == BUDGET_NONE)))
                        *budget_at(ret, f) = BUDGET_NONE;
                else
                        (void)json_get_u64(v, budget_at(ret, f));
        }
}

static int read_names(const json_t *list, char ***ret) {
        int r = 0;

        for (size_t i = 0; r == 0 && i < json_array_size(list); i++)
                if (json_is_string(json_array_get(list, i)))
                        r = strv_add(ret, json_text(json_array_get(list, i)));
        return r;
}

static int read_scope(const char *scope, char **ret) {
        *ret = *scope ? strdup(scope) : NULL;
        return *scope && !*ret ? -ENOMEM : 0;
}

static int read_state(const json_t *o, Grant *g) {
        _cleanup_findings_ Findings ignored = {0};
        Doc d = {.file = "", .findings = &ignored};
        int r = read_names(json_object_get(o, "reads"), &g->reads);

        if (r == 0)
                r = read_names(json_object_get(o, "writes"), &g->writes);
        if (r == 0)
                r = read_scope(text(o, "notes"), &g->notes);
        if (r == 0)
                r = read_scope(text(o, "canon"), &g->canon);
        if (r == 0)
                doc_memory_rights(&d, json_object_get(o, "memory"), "/memory", &g->memory, &g->n_memory);
        return d.no_memory ? -ENOMEM : r;
}

int grant_recorded(const json_t *o, Grant *ret) {
        _cleanup_grant_ Grant g = {.discipline = DISCIPLINE_MULTIPASS, .passes = PASSES_STANDARD};
        int r = read_files(json_object_get(o, "files"), &g);

        if (r == 0)
                r = read_network(json_object_get(o, "network"), &g);
        if (r < 0)
                return r;
        r = read_state(o, &g);
        if (r < 0)
                return r;
        read_budget(json_object_get(o, "budgets"), &g.budget);
        (void)json_get_u64(json_object_get(o, "cancel_bound_usec"), &g.cancel_bound_usec);
        for (Discipline d = DISCIPLINE_ZERO; d <= DISCIPLINE_NONE; d++)
                if (strcmp(discipline_name(d), text(o, "discipline")) == 0) {
                        g.discipline = d;
                        g.passes = (unsigned)json_integer_value(json_object_get(o, "passes"));
                }
        *ret = g;
        g = (Grant){0};
        return 0;
}
