/* The rights of a region that another region starts: never more than the rights above (attenuation). Pure. */
#include "base/size.h"
#include "policy/allow.h"
#include "policy/grant.h"
#include "policy/merge.h"
#include "policy/place.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

int attenuate_beyond(Grant *g, const char *fmt, ...) {
        json_t *text;
        va_list ap;

        va_start(ap, fmt);
        text = json_vsprintf(fmt, ap);
        va_end(ap);
        if (!g->beyond)
                g->beyond = json_array();
        return json_array_append_new(g->beyond, text) < 0 ? -ENOMEM : 0;
}

static int attenuate_budget(Grant *g, const Budget *most, Diag *reterr) {
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
                if (merge_note(g->reductions, field, asked, granted, "the rest of the budget of the region above") < 0)
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
static int attenuate_connects(Grant *g, const Grant *above, const Limits *own) {
        size_t n = 0;
        int r = 0;

        for (size_t i = 0; i < g->n_connects; i++) {
                NetGrant *c = &g->connects[i];
                const bool had =
                        above->network == NETWORK_HOST || merge_has_connect(above->connects, above->n_connects, c);
                const bool given = own && (own->network_host || merge_has_connect(own->connects, own->n_connects, c));

                if (r == 0 && !g->network_closed && (had || given)) {
                        r = had ? 0 : attenuate_beyond(g, "connect %s", c->text);
                        g->connects[n++] = *c;
                        continue;
                }
                r = r ?: merge_note(g->reductions, "/network/connect", c->text, "none",
                                    g->network_closed ? "command line --network none" : ATTENUATE_RULE);
                free(c->text);
        }
        g->n_connects = n;
        return r;
}

static int attenuate_network(Grant *g, const Grant *above, const SkillPolicy *row) {
        const Limits *own = row && row->limits.network_said ? &row->limits : NULL;
        const NetworkMode asked = g->network;
        const char *rule;
        int r;

        g->network_closed |= above->network_closed;
        rule = g->network_closed ? "command line --network none" : ATTENUATE_RULE;
        r = attenuate_connects(g, above, own) ?: allow_attenuate(g, above, own);
        if (r < 0)
                return r;
        if (asked == NETWORK_HOST && !g->network_closed &&
            (above->network == NETWORK_HOST || (own && own->network_host)))
                return above->network == NETWORK_HOST ? 0 : attenuate_beyond(g, "network host");
        if (asked == NETWORK_LOOPBACK && g->listen[0])
                return 0;
        if (asked == NETWORK_LOOPBACK && !g->network_closed && above->network != NETWORK_NONE)
                return 0;
        if (asked == NETWORK_LOOPBACK && !g->network_closed && own) /* less than any network that a row can grant */
                return attenuate_beyond(g, "network loopback");
        g->network = g->n_connects > 0 ? NETWORK_CONNECT : NETWORK_NONE;
        if (g->network == asked || asked == NETWORK_CONNECT)
                return 0;
        return merge_note(g->reductions, "/network", network_words[asked], network_words[g->network], rule);
}

static const char *const attenuate_words[] = {"none", "read", "write"};

/* The access to a path of the host; *ret_had: the access of the region above. */
static int attenuate_right(const Grant *above, const Limits *own, const char *path, int *ret_had) {
        *ret_had = place_right(above->files, above->n_files, path);
        return MAX(*ret_had, own ? merge_covers(own, path) : 0);
}

/* The right to a path. */
static int attenuate_path(Grant *g, const Grant *above, const Limits *own, const char *path, int asked, int *ret) {
        int had, right = MIN(asked, attenuate_right(above, own, path, &had));

        *ret = right;
        return right > had ? attenuate_beyond(g, "%s %s", attenuate_words[right], path) : 0;
}

/* Cuts the paths below f at which the region above has less access (I-97). */
static int attenuate_parts(Grant *g, const FileGrant *f, const Grant *above, const Limits *own) {
        const int most = f->write ? 2 : 1;
        _cleanup_strv_ char **edges = NULL;
        int r = place_edges(above->files, above->n_files, f->source, &edges);

        for (size_t i = 0; r == 0 && edges && edges[i]; i++) {
                _cleanup_free_ char *text = NULL;
                char place[PATH_MAX];
                int right;

                r = attenuate_path(g, above, own, edges[i], most, &right);
                if (r < 0 || right == most)
                        continue;
                if (!place_inside(f, edges[i], place))
                        return -ENAMETOOLONG;
                /* another grant of the region is mounted there, and is checked separately */
                if (place_shows(g->files, g->n_files, place) != f)
                        continue;
                if (!(text = text_printf("%s %s", attenuate_words[most], edges[i])))
                        return -ENOMEM;
                r = merge_note(g->reductions, "/files", text, attenuate_words[right], ATTENUATE_RULE);
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

static int attenuate_file(Grant *g, FileGrant *f, const Grant *above, const Limits *own, bool *ret_keep) {
        const int asked = f->write ? 2 : 1;
        _cleanup_free_ char *text = NULL;
        int right, r;

        if (!(text = text_printf("%s %s", attenuate_words[asked], f->source)))
                return -ENOMEM;
        r = attenuate_path(g, above, own, f->source, asked, &right);
        *ret_keep = right > 0;
        f->write = right == 2;
        if (r < 0 || right == asked)
                return r;
        return merge_note(g->reductions, "/files", text, attenuate_words[right], ATTENUATE_RULE);
}

static int attenuate_files(Grant *g, const Grant *above, const SkillPolicy *row) {
        const Limits *own = row && row->limits.files_said ? &row->limits : NULL;
        size_t n = 0;
        int r = 0;

        for (size_t i = 0; i < g->n_files; i++) {
                FileGrant f = g->files[i];
                bool keep = false;

                r = r ?: attenuate_file(g, &f, above, own, &keep);
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
                r = attenuate_parts(g, &g->files[i], above, own);
        return r;
}

/* The discipline is not weaker than above: the data came from the region above. */
static int attenuate_discipline(Grant *g, const Grant *above) {
        char asked[DISCIPLINE_TEXT_MAX], granted[DISCIPLINE_TEXT_MAX];

        if (discipline_strength(g->discipline, g->passes) >= discipline_strength(above->discipline, above->passes))
                return 0;
        discipline_format(g->discipline, g->passes, asked);
        g->discipline = above->discipline;
        g->passes = above->passes;
        return merge_note(g->reductions, "/teardown/discipline", asked,
                          discipline_format(g->discipline, g->passes, granted), "no weaker than in the region above");
}

/* The region's end is a part of the end of the region above. The default is no request: admit() computes the bound. */
static int attenuate_cancel_bound(Grant *g, const Grant *above) {
        char asked[SIZE_TEXT_MAX], granted[SIZE_TEXT_MAX];
        const uint64_t bound = g->cancel_bound_usec;

        g->cancel_bound_usec = MIN(bound, above->cancel_bound_usec);
        if (g->cancel_bound_usec == bound || (!g->cancel_declared && bound == CANCEL_BOUND_STANDARD_USEC))
                return 0;
        return merge_note(g->reductions, "/cancel_bound", duration_format(bound, asked),
                          duration_format(g->cancel_bound_usec, granted), "no longer than in the region above");
}

/* Keeps the names that the region may have. given: names of the policy's row for this very skill, or NULL. */
static int attenuate_names(Grant *g, const char *field, const char *word, char **names, char *const *had,
                        char *const *given) {
        size_t n = 0;
        int r = 0;

        for (size_t i = 0; names && names[i]; i++) {
                const bool above = strv_has(had, names[i]), keep = above || strv_has(given, names[i]);

                if (r == 0 && !keep)
                        r = merge_note(g->reductions, field, names[i], "none", ATTENUATE_RULE);
                else if (r == 0 && !above)
                        r = attenuate_beyond(g, "%s %s", word, names[i]);
                if (keep)
                        names[n++] = names[i];
                else
                        free(names[i]);
        }
        if (names)
                names[n] = NULL;
        return r;
}

/* Keeps only definitions of slots that the region reads or writes. */
static int attenuate_definitions(Grant *g) {
        const char *name;
        json_t *schema;
        void *next;
        int r = 0;

        json_object_foreach_safe(g->slots, next, name, schema) {
                if (r < 0 || strv_has(g->reads, name) || strv_has(g->writes, name))
                        continue;
                r = merge_note(g->reductions, "/slots", name, "none", ATTENUATE_RULE);
                json_object_del(g->slots, name);
        }
        return r;
}

/* A gate's evidence is the value of its slot: without the right to read the slot the region is refused. */
static int attenuate_check_gates(const Grant *g, Diag *reterr) {
        size_t i;
        json_t *gate;

        json_array_foreach(g->gates, i, gate) {
                const char *slot = json_text(json_object_get(gate, "slot"));

                if (slot && !strv_has(g->reads, slot))
                        return diag(reterr, GRANT_E_GATE,
                                    "a gate consults slot %s, and the region may not read the slot: " ATTENUATE_RULE,
                                    slot);
        }
        return 0;
}

static int attenuate_slots(Grant *g, const Grant *above, const SubSkillPolicy *own, Diag *reterr) {
        const bool defines = json_object_size(g->slots) > 0;
        json_t *slots = defines ? json_copied(g->slots) : NULL; /* may be shared with the manifest */
        int r = defines && !slots ? -ENOMEM : 0;

        if (slots) {
                json_decref(g->slots);
                g->slots = slots;
        }
        r = r ?: attenuate_names(g, "/reads", "slot read", g->reads, above->reads, own ? own->reads : NULL);
        r = r ?: attenuate_names(g, "/writes", "slot write", g->writes, above->writes, own ? own->writes : NULL);
        r = r ?: attenuate_definitions(g);
        return r == 0 ? attenuate_check_gates(g, reterr) : r;
}

/* An access to a scope. */
static int attenuate_access(Grant *g, MemoryRight *m, MemoryAccess a, const MemoryRight *had,
                            const MemoryRight *given) {
        const unsigned above = had ? had->may[a] : 0, asked = m->may[a],
                       kept = asked & (above | (given ? given->may[a] : 0));
        char field[64], want[MEMORY_FAMILIES_TEXT], have[MEMORY_FAMILIES_TEXT];
        int r = 0;

        m->may[a] = kept;
        if (kept & ~above)
                r = attenuate_beyond(g, "memory %s %s of %s", memory_access_words[a],
                                  memory_families_text(kept & ~above, have), m->scope);
        if (r < 0 || kept == asked)
                return r;
        snprintf(field, sizeof(field), "/memory/%zu/%s", (size_t)(m - g->memory), memory_access_words[a]);
        return merge_note(g->reductions, field, memory_families_text(asked, want), memory_families_text(kept, have),
                          ATTENUATE_RULE);
}

/* A row without rights stays, as in merge_memory(). */
static int attenuate_memory(Grant *g, const Grant *above, const Limits *own) {
        int r = 0;

        for (size_t i = 0; i < g->n_memory; i++) {
                const MemoryRight *had = memory_right_of(above->memory, above->n_memory, g->memory[i].scope),
                                  *given = own ? memory_right_of(own->memory, own->n_memory, g->memory[i].scope) : NULL;

                for (MemoryAccess a = 0; r == 0 && a < MEMORY_ACCESSES; a++)
                        r = attenuate_access(g, &g->memory[i], a, had, given);
        }
        return r;
}

/* Notes go into a single scope, and belief is read from a single scope. */
static int attenuate_scope(Grant *g, const char *field, char **scope, const char *had, const char *given) {
        int r = 0;

        if (!*scope || (had && strcmp(had, *scope) == 0))
                return 0;
        if (given && strcmp(given, *scope) == 0)
                return attenuate_beyond(g, "%s of %s", field + 1, *scope);
        r = merge_note(g->reductions, field, *scope, "none", ATTENUATE_RULE);
        free(TAKE_PTR(*scope));
        return r;
}

static int attenuate_state(Grant *g, const Grant *above, const SkillPolicy *row, Diag *reterr) {
        const SubSkillPolicy *own = row ? &row->as_sub_skill : NULL;
        int r = attenuate_slots(g, above, own, reterr);

        r = r ?: attenuate_memory(g, above, row && row->limits.memory_said ? &row->limits : NULL);
        r = r ?: attenuate_scope(g, "/notes", &g->notes, above->notes, own ? own->notes : NULL);
        r = r ?: attenuate_scope(g, "/canon", &g->canon, above->canon, own ? own->canon : NULL);
        r = r ?: attenuate_scope(g, "/kernels", &g->kernels, above->kernels, own ? own->kernels : NULL);
        g->own_notes &= g->notes != NULL; /* the run is the sub-skill's own */
        return r;
}

int grant_attenuate(Grant *g, const Grant *above, const Budget *most, const Policy *policy, Diag *reterr) {
        const SkillPolicy *row = policy ? policy_skill(policy, g->skill_name) : NULL;
        int r = attenuate_budget(g, most, reterr);

        g->grace_usec = 0; /* a region below ends with the region above */
        r = r ?: attenuate_cancel_bound(g, above);
        r = r ?: allow_drop_env(g);
        r = r ?: attenuate_network(g, above, row);
        r = r ?: allow_set_env(g);
        r = r ?: attenuate_files(g, above, row);
        r = r ?: attenuate_discipline(g, above);
        return r == 0 ? attenuate_state(g, above, row, reterr) : r;
}
