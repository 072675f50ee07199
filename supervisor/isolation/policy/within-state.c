#include "policy/within-state.h"

#include "policy/merge.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

int within_reduce(Grant *g, const char *field, const char *asked, const char *granted, const char *rule) {
        return merge_note(g->reductions, field, asked, granted, rule);
}

int within_beyond(Grant *g, const char *fmt, ...) {
        json_t *text;
        va_list ap;

        va_start(ap, fmt);
        text = json_vsprintf(fmt, ap);
        va_end(ap);
        if (!g->beyond)
                g->beyond = json_array();
        return json_array_append_new(g->beyond, text) < 0 ? -ENOMEM : 0;
}

/* Keeps the names that the region may have. given: names of the policy's row for this very skill, or NULL. */
static int within_names(Grant *g, const char *field, const char *word, char **names, char *const *had,
                        char *const *given) {
        size_t n = 0;
        int r = 0;

        for (size_t i = 0; names && names[i]; i++) {
                const bool above = strv_has(had, names[i]), keep = above || strv_has(given, names[i]);

                if (r == 0 && !keep)
                        r = within_reduce(g, field, names[i], "none", WITHIN_RULE);
                else if (r == 0 && !above)
                        r = within_beyond(g, "%s %s", word, names[i]);
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
static int within_definitions(Grant *g) {
        const char *name;
        json_t *schema;
        void *next;
        int r = 0;

        json_object_foreach_safe(g->slots, next, name, schema) {
                if (r < 0 || strv_has(g->reads, name) || strv_has(g->writes, name))
                        continue;
                r = within_reduce(g, "/slots", name, "none", WITHIN_RULE);
                json_object_del(g->slots, name);
        }
        return r;
}

/* A gate's evidence is the value of its slot: without the right to read the slot the region is refused. */
static int within_check_gates(const Grant *g, Diag *reterr) {
        size_t i;
        json_t *gate;

        json_array_foreach(g->gates, i, gate) {
                const char *slot = json_text(json_object_get(gate, "slot"));

                if (slot && !strv_has(g->reads, slot))
                        return diag(reterr, GRANT_E_GATE,
                                    "a gate consults slot %s, and the region may not read the slot: " WITHIN_RULE,
                                    slot);
        }
        return 0;
}

static int within_slots(Grant *g, const Grant *above, const SubSkillPolicy *own, Diag *reterr) {
        const bool defines = json_object_size(g->slots) > 0;
        json_t *slots = defines ? json_copy(g->slots) : NULL; /* may be shared with the manifest */
        int r = defines && !slots ? -ENOMEM : 0;

        if (slots) {
                json_decref(g->slots);
                g->slots = slots;
        }
        r = r ?: within_names(g, "/reads", "slot read", g->reads, above->reads, own ? own->reads : NULL);
        r = r ?: within_names(g, "/writes", "slot write", g->writes, above->writes, own ? own->writes : NULL);
        r = r ?: within_definitions(g);
        return r == 0 ? within_check_gates(g, reterr) : r;
}

/* An access to a scope. */
static int within_access(Grant *g, MemoryRight *m, MemoryAccess a, const MemoryRight *had, const MemoryRight *given) {
        const unsigned above = had ? had->may[a] : 0, asked = m->may[a],
                       kept = asked & (above | (given ? given->may[a] : 0));
        char field[64], want[MEMORY_FAMILIES_TEXT], have[MEMORY_FAMILIES_TEXT];
        int r = 0;

        m->may[a] = kept;
        if (kept & ~above)
                r = within_beyond(g, "memory %s %s of %s", memory_access_words[a],
                                  memory_families_text(kept & ~above, have), m->scope);
        if (r < 0 || kept == asked)
                return r;
        snprintf(field, sizeof(field), "/memory/%zu/%s", (size_t)(m - g->memory), memory_access_words[a]);
        return within_reduce(g, field, memory_families_text(asked, want), memory_families_text(kept, have),
                             WITHIN_RULE);
}

/* A row without rights stays, as in merge_memory(). */
static int within_memory(Grant *g, const Grant *above, const Limits *own) {
        int r = 0;

        for (size_t i = 0; i < g->n_memory; i++) {
                const MemoryRight *had = memory_right_of(above->memory, above->n_memory, g->memory[i].scope),
                                  *given = own ? memory_right_of(own->memory, own->n_memory, g->memory[i].scope) : NULL;

                for (MemoryAccess a = 0; r == 0 && a < MEMORY_ACCESSES; a++)
                        r = within_access(g, &g->memory[i], a, had, given);
        }
        return r;
}

/* Notes go into a single scope, and belief is read from a single scope. */
static int within_scope(Grant *g, const char *field, char **scope, const char *had, const char *given) {
        int r = 0;

        if (!*scope || (had && strcmp(had, *scope) == 0))
                return 0;
        if (given && strcmp(given, *scope) == 0)
                return within_beyond(g, "%s of %s", field + 1, *scope);
        r = within_reduce(g, field, *scope, "none", WITHIN_RULE);
        free(TAKE_PTR(*scope));
        return r;
}

int within_state(Grant *g, const Grant *above, const SkillPolicy *row, Diag *reterr) {
        const SubSkillPolicy *own = row ? &row->as_sub_skill : NULL;
        int r = within_slots(g, above, own, reterr);

        r = r ?: within_memory(g, above, row && row->limits.memory_said ? &row->limits : NULL);
        r = r ?: within_scope(g, "/notes", &g->notes, above->notes, own ? own->notes : NULL);
        r = r ?: within_scope(g, "/canon", &g->canon, above->canon, own ? own->canon : NULL);
        return r;
}
