#include "base/buf.h"
#include "base/hash.h"
#include "base/size.h"
#include "policy/grant.h"
#include "policy/route.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static json_t *show_list(char *const *v) {
        _cleanup_json_ json_t *a = json_array();

        for (size_t i = 0; a && v && v[i]; i++) {
                json_t *s = json_string(v[i]);

                if (!s) /* an argument need not be UTF-8, JSON must */
                        s = json_string(DIAG_QUOTED(v[i]));
                if (json_array_append_new(a, s) < 0)
                        return NULL;
        }
        return TAKE_PTR(a);
}

static json_t *show_budgets(const Budget *b) {
        _cleanup_json_ json_t *o = json_object();

        for (size_t i = 0; o && i < BUDGET_FIELDS; i++) {
                const BudgetField *f = &budget_fields[i];
                char key[BUDGET_KEY_MAX];

                if (budget_get(b, f) == BUDGET_NONE && f->standard == BUDGET_NONE) /* left out, as in older records */
                        continue;
                if (json_object_set_new(o, budget_key(f, key),
                             budget_get(b, f) == BUDGET_NONE ? json_null() : json_u64(budget_get(b, f))) < 0)
                        return NULL;
        }
        return TAKE_PTR(o);
}

static json_t *show_files(const Grant *g) {
        _cleanup_json_ json_t *a = json_array();

        for (size_t i = 0; a && i < g->n_files; i++)
                if (json_array_append_new(a, json_pack("{s:s, s:s, s:s, s:s*}", "source", g->files[i].source, "target",
                                                       g->files[i].target, "access",
                                                       g->files[i].mask      ? "none"
                                                       : g->files[i].overlay ? "overlay"
                                                       : g->files[i].write   ? "write"
                                                                             : "read",
                                                       "of", g->files[i].of)) < 0)
                        return NULL;
        return TAKE_PTR(a);
}

/* Hosts by name, with their private addresses and budgets. */
static int show_allows(const Grant *g, json_t *o) {
        _cleanup_json_ json_t *allow = json_array(), *private = json_array();
        char text[NET_RANGE_TEXT_MAX];

        for (size_t i = 0; allow && i < g->n_allows; i++)
                if (json_array_append_new(allow, json_string(g->allows[i].text)) < 0)
                        return -1;
        for (size_t i = 0; private && i < g->n_privates; i++)
                if (json_array_append_new(private, json_string(net_range_format(&g->privates[i], text))) < 0)
                        return -1;
        if (json_object_set(o, "allow", allow) < 0 ||
            (g->n_privates > 0 && json_object_set(o, "private", private) < 0))
                return -1;
        return (g->net_budget.connections > 0 && json_put(o, "connections", json_u64(g->net_budget.connections)) < 0) ||
                               (g->net_budget.bytes > 0 && json_put(o, "bytes", json_u64(g->net_budget.bytes)) < 0) ||
                               (g->net_budget.usec > 0 && json_put(o, "usec", json_u64(g->net_budget.usec)) < 0)
                       ? -1
                       : 0;
}

static int show_publishes(const Grant *g, json_t *o) {
        _cleanup_json_ json_t *list = json_array();
        char text[NET_PUBLISH_TEXT_MAX];

        for (size_t i = 0; list && i < g->n_publishes; i++)
                if (json_array_append_new(list, json_string(net_publish_format(&g->publishes[i], text))) < 0)
                        return -1;
        return json_object_set(o, "publish", list);
}

static json_t *show_network(const Grant *g) {
        _cleanup_json_ json_t *o = json_pack("{s:s, s:[]}", "mode", network_words[g->network], "connect");

        for (size_t i = 0; o && i < g->n_connects; i++)
                if (json_array_append_new(json_object_get(o, "connect"), json_string(g->connects[i].text)) < 0)
                        return NULL;
        if (o && g->n_allows > 0 && show_allows(g, o) < 0)
                return NULL;
        if (o && g->n_publishes > 0 && show_publishes(g, o) < 0)
                return NULL;
        if (o && route_count(g) > 0 && json_object_set(o, "routes", g->routes) < 0)
                return NULL;
        return TAKE_PTR(o);
}

static json_t *show_slot_names(const Grant *g) {
        _cleanup_json_ json_t *a = json_array();
        const char *key;
        json_t *item;

        json_object_foreach(g->slots, key, item) if (!a || json_array_append_new(a, json_string(key)) < 0) return NULL;
        return TAKE_PTR(a);
}

/* Names and sizes: schemas and role belong to the skill, whose digest is recorded. */
static json_t *show_session(const Grant *g) {
        _cleanup_json_ json_t *sections = json_object(), *o = json_copied(g->session);
        const char *key;
        json_t *item;

        item = json_object_get(o, "cognition");
        if (item && json_object_set_new(o, "cognition", json_pack("{s:O*, s:O}", "compressor",
                                                                  json_object_get(item, "compressor"), "k",
                                                                  json_object_get(item, "k"))) < 0)
                return NULL;
        json_object_foreach(json_object_get(g->session, "sections"), key, item) {
                if (json_object_set(sections, key, json_object_get(item, "bytes")) < 0)
                        return NULL;
        }
        return o && sections && json_object_set(o, "sections", sections) == 0 &&
                               json_object_set_new(o, "idle_usec", json_u64(g->session_idle_usec)) == 0
                       ? TAKE_PTR(o)
                       : NULL;
}

static json_t *show_sections(const Grant *g) {
        _cleanup_json_ json_t *a = json_array();
        const char *key;
        json_t *item;

        json_object_foreach(g->sections, key, item) {
                if (json_array_append_new(a, json_pack("{s:s, s:O}", "name", key, "bytes",
                                                       json_object_get(item, "bytes"))) < 0)
                        return NULL;
        }
        return TAKE_PTR(a);
}

static json_t *show_releases(const Grant *g) {
        _cleanup_json_ json_t *a = json_array();

        for (size_t i = 0; a && i < g->n_releases; i++)
                if (json_array_append_new(a, json_pack("{s:s, s:s, s:o}", "entry", g->releases[i].entry, "program",
                                                       g->releases[i].argv[0], "budgets",
                                                       show_budgets(&g->releases[i].budget))) < 0)
                        return NULL;
        return TAKE_PTR(a);
}

static json_t *show_gates(const Grant *g) {
        _cleanup_json_ json_t *a = json_array();

        for (size_t i = 0; a && i < json_array_size(g->gates); i++)
                if (json_array_append(a, json_object_get(json_array_get(g->gates, i), "slot")) < 0)
                        return NULL;
        return TAKE_PTR(a);
}

static json_t *show_trace(const Trace *t) {
        char id[2 * TRACE_ID_BYTES + 1], parent[2 * TRACE_SPAN_BYTES + 1], span[2 * TRACE_SPAN_BYTES + 1];

        return json_pack("{s:s, s:s, s:s}", "id", hex_encode(t->id, sizeof(t->id), id), "parent",
                         hex_encode(t->parent, sizeof(t->parent), parent), "span",
                         hex_encode(t->span, sizeof(t->span), span));
}

/* All members without the user's words. A grant of grant_copy_untold() has no program and no number of arguments. */
static json_t *show_common(const Grant *g) {
        _cleanup_json_ json_t *o =
                json_pack("{s:{s:s, s:s, s:s?}, s:s*, s:o*, s:s, s:s, s:s?, s:b, s:s, s:s}", "skill", "name",
                          g->skill_name, "digest", g->skill_digest, "folder", g->skill_folder, "program",
                          g->argv ? g->argv[0] : NULL, "arguments",
                          g->argv ? json_integer((json_int_t)strv_length(g->argv) - 1) : NULL, "workdir", g->workdir,
                          "min_tier", tier_name(g->min_tier), "tier", g->tier ? tier_name(g->tier) : NULL, "proc",
                          g->proc, "on_denial", g->on_denial == DENIAL_END ? "end" : "continue", "report",
                          g->report_paths ? "paths" : "calls");

        if (!o || json_put(o, "budgets", show_budgets(&g->budget)) < 0 || json_put(o, "files", show_files(g)) < 0 ||
            json_put(o, "network", show_network(g)) < 0 || json_put(o, "reads", show_list(g->reads)) < 0 ||
            json_put(o, "writes", show_list(g->writes)) < 0 || json_put(o, "slots", show_slot_names(g)) < 0 ||
            json_put(o, "discipline", json_string(discipline_name(g->discipline))) < 0 ||
            json_put(o, "passes", json_integer(g->passes)) < 0 ||
            json_put(o, "lineage", json_string(lineage_name(g->lineage))) < 0 ||
            json_put(o, "key_scope", json_string(key_scope_words[g->key_scope])) < 0 ||
            json_put(o, "embodiment", json_string(embodiment_words[g->embodiment])) < 0 ||
            json_put(o, "commit", json_string(commit_words[g->commit])) < 0 ||
            (g->raised && json_object_set(o, "raised", g->raised) < 0) ||
            (g->terminals && json_put(o, "terminals", json_true()) < 0) ||
            json_put(o, "sections", show_sections(g)) < 0 || json_put(o, "resources", show_list(g->resources)) < 0 ||
            json_put(o, "release", show_releases(g)) < 0 || json_put(o, "sub_skills", show_list(g->sub_skills)) < 0 ||
            (g->session && json_put(o, "session", show_session(g)) < 0) ||
            (g->preload && json_put(o, "preload", show_list(g->preload)) < 0) ||
            (g->notes && json_put(o, "notes", json_string(g->notes)) < 0) ||
            (g->canon && json_put(o, "canon", json_string(g->canon)) < 0) ||
            (g->kernels && json_put(o, "kernels", json_string(g->kernels)) < 0) ||
            (g->own_notes && json_put(o, "own_notes", json_true()) < 0) ||
            (g->n_memory > 0 && json_put(o, "memory", memory_rights_json(g->memory, g->n_memory)) < 0) ||
            json_put(o, "gates", show_gates(g)) < 0 ||
            json_put(o, "cancel_bound", json_string(g->cancel_declared ? "declared" : "computed")) < 0 ||
            (g->teardown_usec > 0 && json_put(o, "teardown_predicted_usec", json_u64(g->teardown_usec)) < 0) ||
            json_put(o, "cancel_bound_usec", json_u64(g->cancel_bound_usec)) < 0 ||
            (g->grace_usec > 0 && json_put(o, "grace_usec", json_u64(g->grace_usec)) < 0) ||
            json_put(o, "max_regions", json_u64(g->max_regions)) < 0 ||
            json_put(o, "max_of_skill", json_u64(g->max_of_skill)) < 0 ||
            json_put(o, "reductions", g->reductions ? json_incref(g->reductions) : json_array()) < 0 ||
            (g->beyond && json_object_set(o, "beyond_parent", g->beyond) < 0) ||
            (g->name && json_put(o, "name", json_string(g->name)) < 0) ||
            (g->program_loose && json_put(o, "program_may_differ", json_true()) < 0))
                return NULL;
        return TAKE_PTR(o);
}

json_t *grant_to_json(const Grant *g) {
        static const char *const lists[] = {"reductions", "raised", "files", "slots", "reads", "writes", "network",
                                            "release", "sections", "sub_skills", "gates", "resources", "preload",
                                            "memory", "session", "beyond_parent"};
        _cleanup_json_ json_t *o = show_common(g);

        if (o && g->trace.set && json_put(o, "trace", show_trace(&g->trace)) < 0)
                return NULL;
        /* A ledger entry has a bound: lists beyond the bound are replaced by their length, the longest kinds first. */
        for (size_t i = 0;
             o && i < ARRAY_SIZE(lists) && json_dumpb(o, NULL, 0, JSON_COMPACT | JSON_SORT_KEYS) > GRANT_RECORD_MAX;
             i++) {
                json_t *v = json_object_get(o, lists[i]);

                if (json_object_set_new(o, lists[i],
                             json_pack("{s:I}", "cut",
                                       (json_int_t)(json_is_array(v) ? json_array_size(v) : g->n_connects))) < 0)
                        return NULL;
        }
        return TAKE_PTR(o);
}

json_t *grant_show_json(const Grant *g) {
        _cleanup_json_ json_t *o = show_common(g);

        if (!o || json_put(o, "version", json_integer(1)) < 0 || json_put(o, "argv", show_list(g->argv)) < 0 ||
            json_put(o, "environment", show_list(g->env)) < 0)
                return NULL;
        return TAKE_PTR(o);
}

/* Foreign text on a terminal: escaped, not cut. */
static int show_add_quoted(Buf *b, const char *s) {
        int r = 0;

        for (; r == 0 && *s; s++)
                r = (unsigned char)*s < 0x20 || *s == 0x7F ? buf_printf(b, "\\x%02x", (unsigned char)*s)
                                                           : buf_add(b, s, 1);
        return r;
}

static int show_add_list(Buf *b, const char *title, char *const *v) {
        int r = buf_printf(b, "%-14s", title);

        if (r == 0 && strv_length(v) == 0)
                r = buf_add_str(b, "none");
        for (size_t i = 0; r == 0 && v && v[i]; i++) {
                r = i > 0 ? buf_add_str(b, " ") : 0;
                r = r ?: show_add_quoted(b, v[i]);
        }
        return r ? r : buf_add_str(b, "\n");
}

static int show_add_changes(Buf *b, const json_t *list) {
        int r = 0;

        for (size_t i = 0; r == 0 && i < json_array_size(list); i++) {
                const json_t *x = json_array_get(list, i);
                const bool standard = json_is_true(json_object_get(x, "default"));
                const char *const keys[] = {"field", "asked", "granted", "rule"},
                                  *const words[] = {"  ", standard ? ": default " : ": asked ", ", granted ",
                                                    "; rule: "};

                for (size_t k = 0; r == 0 && k < ARRAY_SIZE(keys); k++) {
                        r = buf_add_str(b, words[k]);
                        r = r ?: show_add_quoted(b, json_text(json_object_get(x, keys[k])));
                }
                r = r ?: buf_add_str(b, "\n");
        }
        return r;
}

static int show_add_reductions(Buf *b, const Grant *g) {
        int r = json_array_size(g->raised) == 0 ? 0 : buf_printf(b, "%-14s\n", "raised");

        r = r ?: show_add_changes(b, g->raised);
        r = r ?: buf_printf(b, "%-14s%s\n", "not granted",
                            json_array_size(g->reductions) == 0 ? "nothing: all that was asked" : "");
        return r ? r : show_add_changes(b, g->reductions);
}

static int show_add_memory(Buf *b, const MemoryRight *m) {
        char families[MEMORY_FAMILIES_TEXT];
        int r = buf_printf(b, "%-14sof scope %s:", "memory", m->scope);
        bool first = true;

        for (size_t k = 0; r == 0 && k < MEMORY_ACCESSES; k++) {
                if (!m->may[k])
                        continue;
                r = buf_printf(b, "%s %s %s", first ? "" : ",", memory_access_words[k],
                               memory_families_text(m->may[k], families));
                first = false;
        }
        if (r == 0 && first)
                r = buf_add_str(b, " nothing");
        return r ? r : buf_add_str(b, "\n");
}

/* The life and end of the region. */
static int show_add_region(Buf *b, const Grant *g) {
        char text[DISCIPLINE_TEXT_MAX], size[SIZE_TEXT_MAX];
        const char *key;
        json_t *item;
        int r = g->grace_usec == 0
                        ? 0
                        : buf_printf(b, "%-14s%s from SIGTERM to the kill, of the teardown's time\n", "grace",
                                     duration_format(g->grace_usec, size));

        r = r ?: buf_printf(b, "%-14s%s, within %s (%s)\n%-14s%s\n%-14s%s\n%-14s%s\n%-14s%s\n%-14s%s", "teardown",
                           discipline_format(g->discipline, g->passes, text),
                           duration_format(g->cancel_bound_usec, size), g->cancel_declared ? "declared" : "computed",
                           "commit", g->commit == COMMIT_SUCCESS ? "success: exit code 0 alone" : "any exit code",
                           "embodiment", embodiment_words[g->embodiment], "lineage", lineage_name(g->lineage),
                           "key scope", key_scope_words[g->key_scope], "sections",
                           json_object_size(g->sections) == 0 ? "none" : "");

        json_object_foreach(g->sections, key, item) {
                r = r ?: buf_printf(b, "%s (%s) ", key,
                                    size_format((uint64_t)json_integer_value(json_object_get(item, "bytes")), size));
        }
        r = r ?: buf_add_str(b, "\n");
        r = r ?: show_add_list(b, "resources", g->resources);
        for (size_t i = 0; r == 0 && i < g->n_releases; i++)
                r = buf_printf(b, "%-14s%s\n", i == 0 ? "release" : "", g->releases[i].entry);
        r = r ?: show_add_list(b, "sub-skills", g->sub_skills);
        if (r == 0 && g->notes)
                r = buf_printf(b, "%-14sof scope %s%s\n", "notes", g->notes, g->own_notes ? ", and reads its own" : "");
        if (r == 0 && g->canon)
                r = buf_printf(b, "%-14sof scope %s\n", "belief read", g->canon);
        if (r == 0 && g->kernels)
                r = buf_printf(b, "%-14sof scope %s\n", "kernels read", g->kernels);
        for (size_t i = 0; r == 0 && i < g->n_memory; i++)
                r = show_add_memory(b, &g->memory[i]);
        return r ? r : show_add_list(b, "preload", g->preload);
}

/* Secrets by their names alone. */
static int show_add_routes(Buf *b, const Grant *g) {
        const char *name;
        json_t *route;
        int r = 0;

        json_object_foreach(g->routes, name, route) {
                const char *secret = json_str(route, "secret"), *variable = json_str(route, "variable");

                r = r ?: buf_printf(b, "\n               route http://127.0.0.1:%d/%s -> %s", PROXY_ROUTE_PORT, name, json_str(route, "upstream"));
                if (r == 0 && *secret)
                        r = buf_printf(b, ", secret %s in header %s", secret, json_str(route, "header"));
                if (r == 0 && *variable)
                        r = buf_printf(b, ", %s", variable);
                for (size_t i = 0; r == 0 && i < json_array_size(json_object_get(route, "models")); i++)
                        r = buf_printf(b, "%s%s", i == 0 ? ", models " : " ", json_text(json_array_get(json_object_get(route, "models"), i)));
        }
        return r;
}

static int show_add_grant(Buf *b, const Grant *g) {
        char text[BUDGET_TEXT_MAX];
        int r = buf_printf(b, "%-14s", "skill");

        r = r ?: show_add_quoted(b, g->skill_name);
        r = r ?: buf_printf(b, "\n%-14s%s\n", "digest", g->skill_digest);
        r = r ?: show_add_list(b, "command", g->argv);
        if (r == 0 && g->program_loose)
                r = buf_printf(b,
                               "%-14sothers than root can change a link or folder on the way to it: it may differ "
                               "from its digest by then\n",
                               "");
        r = r ?: show_add_list(b, "environment", g->env);
        r = r ?: buf_printf(b, "%-14s%s\n%-14s%s%s\n", "workdir", g->workdir, "tier", g->tier ? "" : "at least ",
                            tier_name(g->tier ? g->tier : g->min_tier));
        for (size_t i = 0; r == 0 && i < BUDGET_FIELDS; i++)
                r = buf_printf(b, "%-14s%s\n", budget_fields[i].name,
                               budget_format(&budget_fields[i], budget_get(&g->budget, &budget_fields[i]), text));
        r = r ?: buf_printf(b, "%-14s%s", "network", network_words[g->network]);
        for (size_t i = 0; r == 0 && i < g->n_connects; i++)
                r = buf_printf(b, " %s", g->connects[i].text);
        for (size_t i = 0; r == 0 && i < g->n_allows; i++)
                r = buf_printf(b, "%s%s", i == 0 ? ", and through the proxy " : " ", g->allows[i].text);
        for (size_t i = 0; r == 0 && i < g->n_publishes; i++)
                r = buf_printf(b, "%s%s", i == 0 ? "\n               published at " : " ",
                               net_publish_format(&g->publishes[i], (char[NET_PUBLISH_TEXT_MAX]){0}));
        for (size_t i = 0; r == 0 && i < g->n_privates; i++)
                r = buf_printf(b, "%s%s", i == 0 ? "\n               with private addresses " : " ",
                               net_range_format(&g->privates[i], (char[NET_RANGE_TEXT_MAX]){0}));
        r = r ?: show_add_routes(b, g);
        r = r ?: buf_printf(b, "\n%-14s%s", "files", g->n_files == 0 ? "none\n" : "\n");
        for (size_t i = 0; r == 0 && i < g->n_files; i++)
                r = buf_printf(b, "  %s %s at %s%s\n",
                               g->files[i].mask      ? "hide "
                               : g->files[i].overlay ? "layer"
                               : g->files[i].write   ? "write"
                                                     : "read ",
                               g->files[i].source, g->files[i].target, g->files[i].mask ? ": an empty folder" : "");
        r = r ?: show_add_list(b, "slots read", g->reads);
        r = r ?: show_add_list(b, "slots written", g->writes);
        r = r ?: show_add_region(b, g);
        r = r ?: buf_printf(b, "%-14s%s\n%-14s%s\n%-14s%s, reported: %s\n", "/proc",
                            g->proc ? "own processes only" : "none", "terminals",
                            g->terminal || g->terminals ? "own" : "none", "denials", g->on_denial == DENIAL_END ? "end the region" : "go on",
                            g->report_paths ? "calls and paths" : "calls");
        return r ? r : show_add_reductions(b, g);
}

char *grant_show_text(const Grant *g) {
        _cleanup_buf_ Buf b = {0};

        return show_add_grant(&b, g) < 0 ? NULL : TAKE_PTR(b.data);
}
