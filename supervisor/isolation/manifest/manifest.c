#include "manifest/manifest.h"

#include "manifest/manifest-region.h"
#include "schema/jsonschema.h"
#include "schema/limits.h"
#include "schema/route.h"

#include <errno.h>
#include <string.h>

#define ENTRIES_MAX 32
#define ARGS_MAX 64
#define FILES_MAX 64
#define ENV_MAX 64

void manifest_deinit(Manifest *m) {
        for (size_t i = 0; i < m->n_entries; i++) {
                free(m->entries[i].name);
                strv_free(m->entries[i].argv);
        }
        free(m->entries);
        strv_free(m->reads);
        strv_free(m->writes);
        json_decref(m->slots);
        for (size_t i = 0; i < m->n_files; i++) {
                free(m->files[i].path);
                free(m->files[i].real);
                free(m->files[i].target);
        }
        free(m->files);
        net_grants_free(m->connects, m->n_connects);
        net_names_free(m->allows, m->n_allows);
        strv_free(m->routes);
        strv_free(m->env);
        json_decref(m->sections);
        json_decref(m->session);
        strv_free(m->resources);
        for (size_t i = 0; i < m->n_releases; i++)
                free(m->releases[i].entry);
        free(m->releases);
        strv_free(m->sub_skills);
        free(m->notes);
        free(m->canon);
        free(m->kernels);
        memory_rights_free(m->memory, m->n_memory);
        strv_free(m->preload);
        json_decref(m->gates);
        json_decref(m->input);
        json_decref(m->output);
        json_decref(m->mcp);
        *m = (Manifest){0};
}

Manifest manifest_none(void) {
        return (Manifest){.report_paths = true, .passes = 1, .embodiment = EMBODIMENT_PROCESS};
}

/* Whether s is a program: a path in the skill's folder, an absolute path of the region, or a name to search for. */
static bool manifest_program_valid(const char *s) {
        return !path_has_dots(s) && s[strlen(s) - 1] != '/' && strcmp(s, ".") != 0;
}

static void manifest_read_entry(Doc *d, const Node *v, ManifestEntry *e) {
        for (size_t i = 0; i < json_array_size(v->v); i++) {
                const Node *item = ITEM(v, i);
                const char *s;

                if (!doc_string(d, item, i == 0, MANIFEST_TEXT_MAX, &s))
                        continue;
                if (i == 0 && !manifest_program_valid(s))
                        doc_fault(d, item, "entry-program", "\"%s\": must name a file, without \"..\" parts",
                                  DIAG_QUOTED(s));
                d->no_memory |= strv_add(&e->argv, s) < 0;
        }
}

static void manifest_read_entries(Doc *d, const Node *v, Manifest *m) {
        const char *key;
        json_t *argv;

        if (!doc_object(d, v, ENTRIES_MAX) || !(m->entries = doc_rows(d, v, sizeof(*m->entries))))
                return;
        json_object_foreach((json_t *)v->v, key, argv) {
                const Node *at = MEMBER(v, key);
                ManifestEntry *e = &m->entries[m->n_entries];

                if (!manifest_name_valid(key)) {
                        doc_fault(d, at, "entry-name", "an entry's name has " MANIFEST_NAME_RULE);
                        continue;
                }
                if (!doc_array(d, at, ARGS_MAX))
                        continue;
                if (json_array_size(argv) == 0)
                        doc_fault(d, at, "entry-empty", "an entry has at least one item, its program");
                e->name = strdup(key);
                d->no_memory |= !e->name;
                m->n_entries++;
                manifest_read_entry(d, at, e);
        }
}

/* I-11: a region's key is useless in a slot, because a slot outlives the region. */
static void manifest_refuse_key(Doc *d, const json_t *schema, const Node *at) {
        _cleanup_jsonschema_ JsonSchema *compiled = NULL;

        if (jsonschema_compile(schema, &compiled, NULL) != 0)
                d->no_memory = true;
        else if (jsonschema_has_key(compiled))
                doc_fault(d, at, "slot-key",
                          "\"format\": \"" JSONSCHEMA_KEY_FORMAT
                          "\" is the type of a region's key: a section may have it, a slot may not");
}

static void manifest_read_slots(Doc *d, const Node *v, const SkillFolder *folder, Manifest *m) {
        const char *key;
        json_t *item;

        if (!doc_object(d, v, SLOT_LIST_MAX))
                return;
        m->slots = json_object();
        json_object_foreach((json_t *)v->v, key, item) {
                const Node *at = MEMBER(v, key);
                json_t *schema;

                if (!slot_name_valid(key))
                        doc_fault(d, at, "slot-name",
                                  "a slot's name has 1 to %d lower-case letters, digits and \"._/-\", a letter first",
                                  SLOT_NAME_MAX);
                else if ((schema = manifest_schema(d, at, folder))) {
                        manifest_refuse_key(d, schema, at);
                        d->no_memory |= json_object_set_new(m->slots, key, schema) < 0;
                }
        }
}

static void manifest_read_files(Doc *d, const Node *v, Manifest *m) {
        if (!doc_array(d, v, FILES_MAX) || !(m->files = doc_rows(d, v, sizeof(*m->files))))
                return;
        for (size_t i = 0; i < json_array_size(v->v); i++) {
                const Node *item = ITEM(v, i), *said = MEMBER(item, "at"), *at = said->v ? said : MEMBER(item, "path");
                FileAsk *f = &m->files[m->n_files];
                Diag message = {0};

                if (!doc_fields(d, item, WORDS("path", "at", "access")) || !doc_file(d, item, &f->path, &f->write))
                        continue;
                m->n_files++;
                if (said->v) {
                        if (!doc_path(d, at, &f->target))
                                continue;
                } else {
                        f->target = strdup(f->path);
                        if (!f->target) {
                                d->no_memory = true;
                                continue;
                        }
                }
                doc_judge(d, path_target_check(f->target, strcmp(f->target, f->path) == 0 && !f->write, &message), at,
                          "target", &message);
                for (size_t k = 0; k + 1 < m->n_files; k++)
                        if (m->files[k].target && strcmp(m->files[k].target, f->target) == 0)
                                doc_fault(d, at, "twice", "two files at one place in the region");
        }
}

static void manifest_read_network(Doc *d, const Node *v, Manifest *m) {
        static const NetworkMode modes[] = {NETWORK_NONE, NETWORK_LOOPBACK, NETWORK_LOOPBACK, NETWORK_HOST};
        const Node *connect = MEMBER(v, "connect"), *allow = MEMBER(v, "allow"), *routes = MEMBER(v, "routes");
        size_t word = 0;

        if (json_is_object(v->v)) {
                if (doc_fields(d, v, WORDS("connect", "allow", "routes", "connections", "bytes", "time")) && !connect->v && !allow->v && !routes->v)
                        doc_fault(d, v, "required", "\"connect\", \"allow\" or \"routes\" is required");
                if (connect->v && (allow->v || routes->v))
                        doc_fault(d, v, "network", "\"connect\" excludes \"allow\" and \"routes\"; \"allow\" takes addresses, too");
                doc_connects(d, connect, &m->connects, &m->n_connects);
                doc_allows(d, allow, &m->allows, &m->n_allows);
                doc_route_names(d, routes, PROXY_ROUTES_MAX, &m->routes);
                doc_net_budget(d, v, &m->net_budget);
                m->network = m->n_allows > 0 || m->routes ? NETWORK_LOOPBACK : m->n_connects > 0 ? NETWORK_CONNECT : NETWORK_NONE;
        } else if (doc_word(d, v, WORDS("none", "loopback", "private", "host"), &word))
                m->network = modes[word];
}

static void manifest_read_environment(Doc *d, const Node *v, Manifest *m) {
        const char *key, *s;
        json_t *item;

        if (!doc_object(d, v, ENV_MAX))
                return;
        json_object_foreach((json_t *)v->v, key, item) {
                _cleanup_free_ char *line = NULL;
                const Node *at = MEMBER(v, key);

                if (!env_name_valid(key, strlen(key)) || strncmp(key, "LETHE_", 6) == 0)
                        doc_fault(d, at, "environment-name",
                                  "a variable's name has 1 to 256 letters, digits and \"_\", no digit first; LETHE_* "
                                  "is Lethe's own");
                else if (doc_string(d, at, 0, MANIFEST_TEXT_MAX, &s)) {
                        line = text_printf("%s=%s", key, s);
                        d->no_memory |= !line || strv_add(&m->env, line) < 0;
                }
        }
}

static void manifest_read_fields(Doc *d, const Node *j, const SkillFolder *folder, Manifest *m) {
        const char *ignored;
        size_t word = 0;

        doc_fields(d, j, WORDS("$schema", "version", "entry", "budgets", "reads", "writes", "slots", "files",
                               "network", "environment", "proc", "terminals", "min_tier", "on_denial", "report", "cancel_bound", "grace",
                               "teardown", "lineage", "key_scope", "sections", "resources", "release", "sub_skills",
                               "notes", "canon", "kernels", "memory", "gates", "warm", "embodiment", "commit",
                               "session", "input", "output", "mcp"));
        doc_string(d, MEMBER(j, "$schema"), 0, 1024, &ignored);
        manifest_read_entries(d, MEMBER(j, "entry"), m);
        doc_budgets(d, MEMBER(j, "budgets"), &m->budget);
        doc_slot_names(d, MEMBER(j, "reads"), &m->reads);
        doc_slot_names(d, MEMBER(j, "writes"), &m->writes);
        manifest_read_slots(d, MEMBER(j, "slots"), folder, m);
        manifest_read_files(d, MEMBER(j, "files"), m);
        manifest_read_network(d, MEMBER(j, "network"), m);
        manifest_read_environment(d, MEMBER(j, "environment"), m);
        doc_bool(d, MEMBER(j, "proc"), &m->proc);
        doc_bool(d, MEMBER(j, "terminals"), &m->terminals);
        doc_tier(d, MEMBER(j, "min_tier"), &m->min_tier);
        if (doc_word(d, MEMBER(j, "on_denial"), WORDS("continue", "end"), &word))
                m->on_denial = word == 1 ? DENIAL_END : DENIAL_CONTINUE;
        if (doc_word(d, MEMBER(j, "report"), WORDS("calls", "paths"), &word))
                m->report_paths = word == 1;
        doc_cancel_bound(d, MEMBER(j, "cancel_bound"), &m->cancel_bound_usec);
        if (doc_grace(d, MEMBER(j, "grace"), &m->grace_usec) && m->cancel_bound_usec > 0 &&
            m->grace_usec >= m->cancel_bound_usec)
                doc_fault(d, MEMBER(j, "grace"), "grace-bound",
                          "%s: must be less than \"cancel_bound\", which has the teardown as well",
                          DOC_SHOWN(MEMBER(j, "grace")));
        manifest_read_region(d, j, folder, m);
}

int manifest_parse(const char *text, size_t n, int dirfd, const Bundle *bundle, Manifest *ret, Findings *findings) {
        _cleanup_(manifest_deinit) Manifest m = manifest_none();
        Doc d = {.file = MANIFEST_NAME, .findings = findings};
        _cleanup_json_ json_t *j = doc_parse(&d, text, n);

        if (j)
                manifest_read_fields(&d, &(Node){.v = j}, &(SkillFolder){dirfd, bundle}, &m);
        if (d.no_memory)
                return -ENOMEM;
        if (d.n_faults > 0)
                return 0;
        *ret = m;
        m = (Manifest){0};
        return 0;
}
