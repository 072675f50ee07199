/* The rights of a region that is an execution of an object: never more than the object's trust scope (O-21, O-25).
 * Pure. */
#include "policy/grant.h"
#include "policy/merge.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* A list of names, or "*". Everything else names nothing. */
static bool narrow_names(const json_t *list, const char *name) {
        size_t i;
        json_t *one;

        if (json_text_is(list, "*"))
                return true;
        json_array_foreach((json_t *)list, i, one)
                if (json_text_is(one, name))
                        return true;
        return false;
}

static int narrow_list(Grant *g, char **names, const json_t *list, const char *field, const char *rule) {
        size_t n = 0;
        int r = 0;

        for (size_t i = 0; names && names[i]; i++) {
                if (narrow_names(list, names[i])) {
                        names[n++] = names[i];
                        continue;
                }
                r = r ?: merge_note(g->reductions, field, names[i], "none", rule);
                free(names[i]);
        }
        if (names)
                names[n] = NULL;
        return r;
}

/* Keeps only definitions of slots that the region reads or writes. The object may be shared with the manifest. */
static int narrow_definitions(Grant *g, const char *rule) {
        json_t *slots, *schema;
        const char *name;
        void *next;
        int r = 0;

        if (json_object_size(g->slots) == 0)
                return 0;
        slots = json_copied(g->slots);
        if (!slots)
                return -ENOMEM;
        json_decref(g->slots);
        g->slots = slots;
        json_object_foreach_safe(slots, next, name, schema) {
                if (strv_has(g->reads, name) || strv_has(g->writes, name))
                        continue;
                r = r ?: merge_note(g->reductions, "/slots", name, "none", rule);
                json_object_del(slots, name);
        }
        return r;
}

static int narrow_scope(Grant *g, const char *field, char **scope, const char *rule) {
        int r = *scope ? merge_note(g->reductions, field, *scope, "none", rule) : 0;

        free(TAKE_PTR(*scope));
        return r;
}

static int narrow_memory(Grant *g, const json_t *scope, const char *rule) {
        const bool reads = json_text_is(json_object_get(scope, "reads"), "*"),
                   writes = json_text_is(json_object_get(scope, "writes"), "*");
        int r = 0;

        for (size_t i = 0; i < g->n_memory; i++)
                for (MemoryAccess a = 0; r == 0 && a < MEMORY_ACCESSES; a++) {
                        MemoryRight *m = &g->memory[i];
                        char field[64], want[MEMORY_FAMILIES_TEXT];

                        if (m->may[a] == 0 || (a == MEMORY_WRITE || a == MEMORY_DELETE ? writes : reads))
                                continue;
                        snprintf(field, sizeof(field), "/memory/%zu/%s", i, memory_access_words[a]);
                        r = merge_note(g->reductions, field, memory_families_text(m->may[a], want), "none", rule);
                        m->may[a] = 0;
                }
        if (r == 0 && !writes)
                r = narrow_scope(g, "/notes", &g->notes, rule);
        if (r == 0 && !reads)
                r = narrow_scope(g, "/canon", &g->canon, rule) ?: narrow_scope(g, "/kernels", &g->kernels, rule);
        if (r == 0 && g->own_notes && !(reads && writes)) {
                r = merge_note(g->reductions, "/notes/read", "true", "false", rule);
                g->own_notes = false;
        }
        return r;
}

/* A gate's evidence is the value of its slot: without the right to read the slot the region is refused. */
static int narrow_gates(const Grant *g, const char *rule, Diag *reterr) {
        size_t i;
        json_t *gate;

        json_array_foreach(g->gates, i, gate) {
                const char *slot = json_text(json_object_get(gate, "slot"));

                if (slot && !strv_has(g->reads, slot))
                        return diag(reterr, GRANT_E_GATE,
                                    "a gate of skill %s consults slot %s, and the region may not read the "
                                    "slot: %s",
                                    g->skill_name, slot, rule);
        }
        return 0;
}

int grant_narrow(Grant *g, const json_t *scope, const char *rule, Diag *reterr) {
        int r = narrow_list(g, g->reads, json_object_get(scope, "reads"), "/reads", rule);

        g->commit = COMMIT_SUCCESS;
        r = r ?: narrow_list(g, g->writes, json_object_get(scope, "writes"), "/writes", rule);
        r = r ?: narrow_list(g, g->sub_skills, json_object_get(scope, "skills"), "/sub_skills", rule);
        r = r ?: narrow_definitions(g, rule);
        r = r ?: narrow_memory(g, scope, rule);
        return r == 0 ? narrow_gates(g, rule, reterr) : r;
}
