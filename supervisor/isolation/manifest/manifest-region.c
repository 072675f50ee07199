#include "manifest/manifest-region.h"

#include "base/size.h"
#include "schema/jsonschema.h"
#include "schema/limits.h"

#include <string.h>

#define RESOURCES_MAX 32
#define SUB_SKILLS_MAX 64
#define GATES_MAX 64
#define GATE_AGE_MOST_USEC (UINT64_C(87600) * 3600 * 1000000)
#define PRELOAD_MAX 64

bool manifest_name_valid(const char *s) {
        return *s >= 'a' && *s <= 'z' && strlen(s) <= 64 &&
               strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789-_") == strlen(s);
}

/* A schema in a file of the skill. New reference or NULL with a fault. */
static json_t *manifest_read_schema_file(Doc *d, const char *pointer, const char *path, const SkillFolder *folder) {
        _cleanup_free_ char *text = NULL;
        json_t *j = NULL;
        Diag message = {0};
        size_t n;

        if (!folder->bundle) {
                doc_fault(d, pointer, "schema-file", "a schema in a file needs the skill's folder");
                return NULL;
        }
        if (!doc_judge(d, bundle_read_file(folder->bundle, folder->fd, path, MANIFEST_FILE_MAX, &text, &n, &message),
                       pointer, "schema-file", &message) ||
            !doc_judge(d, json_parse(text, n, MANIFEST_FILE_MAX, MANIFEST_DEPTH_MAX, &j, &message), pointer,
                       "schema-file", &message))
                return NULL;
        return j;
}

json_t *manifest_schema(Doc *d, const json_t *v, const char *pointer, const SkillFolder *folder) {
        _cleanup_jsonschema_ JsonSchema *compiled = NULL;
        _cleanup_json_ json_t *schema = NULL;
        Diag message = {0};
        const char *path;

        if (json_is_string(v)) {
                if (!doc_string(d, v, pointer, 1, MANIFEST_TEXT_MAX, &path) ||
                    !(schema = manifest_read_schema_file(d, pointer, path, folder)))
                        return NULL;
        } else
                schema = json_incref((json_t *)v);
        if (!json_is_object(schema) && !json_is_boolean(schema)) {
                doc_fault(d, pointer, "schema",
                          "must be a JSON Schema (an object, true or false) or the name of a file that holds one");
                return NULL;
        }
        return doc_judge(d, jsonschema_compile(schema, &compiled, &message), pointer, "schema", &message)
                       ? TAKE_PTR(schema) : NULL;
}

static void manifest_read_teardown(Doc *d, const json_t *v, Manifest *m) {
        static const char *const known[] = {"discipline", NULL};
        Diag message = {0};
        const char *s;

        if (!v || !doc_fields(d, v, "/teardown", known) ||
            !doc_string(d, json_object_get(v, "discipline"), "/teardown/discipline", 1, DISCIPLINE_TEXT_MAX, &s))
                return;
        m->discipline_said = doc_judge(d, discipline_parse(s, &m->discipline, &m->passes, &message),
                                       "/teardown/discipline", "discipline", &message);
}

/* A number of bytes, or a text with a unit. */
static bool manifest_read_bytes(Doc *d, const json_t *v, const char *pointer, uint64_t *ret) {
        char shown[256];
        uint64_t n = 0;
        bool good = false;

        if (json_is_integer(v) && json_integer_value(v) > 0) {
                n = (uint64_t)json_integer_value(v);
                good = true;
        } else if (json_text(v))
                good = size_parse(json_text(v), &n) == 0;
        if (good && n >= 1 && n <= SECTION_BYTES_MAX)
                *ret = n;
        else
                doc_fault(d, pointer, "section-bytes", "%s: must be a size from 1 to %d bytes", doc_show(v, shown),
                          SECTION_BYTES_MAX);
        return good;
}

static void manifest_read_section(Doc *d, const char *name, const json_t *v, const SkillFolder *folder, Manifest *m) {
        static const char *const known[] = {"schema", "bytes", NULL};
        char at[POINTER_MAX], field[POINTER_MAX];
        uint64_t bytes = SECTION_BYTES_STANDARD;
        json_t *schema;

        pointer_key(at, "/sections", name);
        if (!manifest_name_valid(name)) {
                doc_fault(d, at, "section-name", "a section's name has " MANIFEST_NAME_RULE);
                return;
        }
        if (!doc_fields(d, v, at, known))
                return;
        if (json_object_get(v, "bytes"))
                manifest_read_bytes(d, json_object_get(v, "bytes"), pointer_key(field, at, "bytes"), &bytes);
        if (!json_object_get(v, "schema")) {
                doc_fault(d, at, "required", "\"schema\" is required: a section is typed");
                return;
        }
        schema = manifest_schema(d, json_object_get(v, "schema"), pointer_key(field, at, "schema"), folder);
        if (schema && json_object_set_new(m->sections, name,
                                          json_pack("{s:o, s:I}", "schema", schema, "bytes", (json_int_t)bytes)) < 0)
                d->no_memory = true;
}

static void manifest_read_sections(Doc *d, const json_t *v, const SkillFolder *folder, Manifest *m) {
        const char *key;
        json_t *item;

        if (!doc_object(d, v, "/sections", SECTIONS_MAX))
                return;
        m->sections = json_object();
        if (!m->sections)
                d->no_memory = true;
        json_object_foreach((json_t *)v, key, item) manifest_read_section(d, key, item, folder, m);
}

static bool manifest_has_release(const Manifest *m, const char *entry) {
        for (size_t i = 0; i < m->n_releases; i++)
                if (strcmp(m->releases[i].entry, entry) == 0)
                        return true;
        return false;
}

static void manifest_read_releases(Doc *d, const json_t *v, Manifest *m) {
        static const char *const known[] = {"entry", "budgets", NULL};

        if (!doc_array(d, v, "/release", RELEASES_MAX))
                return;
        m->releases = doc_rows(d, v, sizeof(*m->releases));
        if (!m->releases)
                return;
        for (size_t i = 0; i < json_array_size(v); i++) {
                const json_t *item = json_array_get(v, i);
                ReleaseAsk *r = &m->releases[m->n_releases];
                char at[POINTER_MAX], field[POINTER_MAX], shown[256];
                const char *s;

                pointer_item(at, "/release", i);
                if (!doc_fields(d, item, at, known))
                        continue;
                if (!json_object_get(item, "entry"))
                        doc_fault(d, at, "required", "\"entry\" is required");
                if (json_object_get(item, "budgets"))
                        doc_budgets(d, json_object_get(item, "budgets"), pointer_key(field, at, "budgets"), &r->budget);
                if (!doc_string(d, json_object_get(item, "entry"), pointer_key(field, at, "entry"), 1, 64, &s))
                        continue;
                if (!manifest_entry(m, s))
                        doc_fault(d, field, "release-entry", "\"%s\": \"entry\" has no such name",
                                  diag_quote(s, strlen(s), shown, sizeof(shown)));
                else if (manifest_has_release(m, s))
                        doc_fault(d, field, "twice", "\"%s\" stands there twice: a callback runs once", s);
                else if ((r->entry = strdup(s)))
                        m->n_releases++;
                else
                        d->no_memory = true;
        }
}

static bool manifest_has_gate(const Manifest *m, const char *slot) {
        for (size_t i = 0; i < json_array_size(m->gates); i++)
                if (json_text_is(json_object_get(json_array_get(m->gates, i), "slot"), slot))
                        return true;
        return false;
}

static void manifest_read_gates(Doc *d, const json_t *v, const SkillFolder *folder, Manifest *m) {
        static const char *const known[] = {"slot", "schema", "max_age", NULL};
        static const DurationRule age_rule = {1, GATE_AGE_MOST_USEC, "gate-age", "1us to 87600h"};

        if (!doc_array(d, v, "/gates", GATES_MAX))
                return;
        m->gates = json_array();
        for (size_t i = 0; i < json_array_size(v); i++) {
                const json_t *item = json_array_get(v, i);
                char at[POINTER_MAX], field[POINTER_MAX], shown[256];
                json_t *schema;
                const char *s;
                uint64_t age = 0;

                pointer_item(at, "/gates", i);
                if (!doc_fields(d, item, at, known))
                        continue;
                if (!json_object_get(item, "slot") || !json_object_get(item, "schema")) {
                        doc_fault(d, at, "required", "\"slot\" and \"schema\" are required");
                        continue;
                }
                if (!doc_string(d, json_object_get(item, "slot"), pointer_key(field, at, "slot"), 1, SLOT_NAME_MAX, &s))
                        continue;
                if (!slot_name_valid(s) || !strv_has(m->reads, s)) {
                        doc_fault(d, field, "gate-slot", "\"%s\": a gate consults a slot of \"reads\"",
                                  diag_quote(s, strlen(s), shown, sizeof(shown)));
                        continue;
                }
                if (manifest_has_gate(m, s)) {
                        doc_fault(d, field, "twice", "\"%s\" stands there twice", s);
                        continue;
                }
                if (json_object_get(item, "max_age") &&
                    !doc_duration(d, json_object_get(item, "max_age"), pointer_key(field, at, "max_age"), &age_rule,
                                  &age))
                        continue;
                schema = manifest_schema(d, json_object_get(item, "schema"), pointer_key(field, at, "schema"), folder);
                if (schema &&
                    json_array_append_new(m->gates, json_pack("{s:s, s:o, s:o*}", "slot", s, "schema", schema,
                                                              "max_age_usec", age ? json_u64(age) : NULL)) < 0)
                        d->no_memory = true;
        }
}

/* Whether s is a module's name: json, xml.sax; List::Util; libsqlite3.so.0. Every segment begins with a letter or _. */
static bool manifest_module_name_valid(const char *s) {
        bool first = true;

        for (const char *begin = s; *s; s++) {
                bool letter = (*s >= 'a' && *s <= 'z') || (*s >= 'A' && *s <= 'Z') || *s == '_',
                     digit = *s >= '0' && *s <= '9';

                if (s[0] == ':' && s[1] == ':' && !first)
                        s++;
                else if (s == begin ? !letter : !letter && !digit && (first || !strchr(".+-", *s)))
                        return false;
                first = *s == '.' || *s == ':';
        }
        return !first;
}

static void manifest_read_warm(Doc *d, const json_t *v, Manifest *m) {
        static const char *const known[] = {"preload", NULL};
        static const NameRule rule = {
                manifest_module_name_valid, 64, "module-name",
                "a module's name has letters, digits, _, + and -, and dots or :: between its parts"};
        const json_t *preload = json_object_get(v, "preload");

        if (!v || !doc_fields(d, v, "/warm", known))
                return;
        if (!json_is_array(preload) || json_array_size(preload) == 0)
                doc_fault(d, "/warm", "required",
                          "\"preload\" is required: the modules that are imported ahead, at least one");
        else
                doc_names(d, preload, "/warm/preload", PRELOAD_MAX, &rule, &m->preload);
}

/* true: scope "default"; {"scope": NAME}: scope NAME. */
static void manifest_read_scope(Doc *d, const json_t *v, const char *pointer, char **ret) {
        static const char *const known[] = {"scope", NULL};
        char at[POINTER_MAX], shown[256];

        if (json_is_true(v)) {
                *ret = strdup("default");
                d->no_memory |= !*ret;
        } else if (json_is_object(v)) {
                if (!doc_fields(d, v, pointer, known))
                        return;
                if (!json_object_get(v, "scope"))
                        doc_fault(d, pointer, "required", "\"scope\" is required, or true: scope default");
                doc_scope(d, json_object_get(v, "scope"), pointer_key(at, pointer, "scope"), ret);
        } else if (v && !json_is_false(v))
                doc_fault(d, pointer, "type", "%s: must be true, false or {\"scope\": NAME}", doc_show(v, shown));
}

void manifest_read_region(Doc *d, const json_t *j, const SkillFolder *folder, Manifest *m) {
        static const char *const details[] = {"events", "stats", "handles", NULL};
        static const char *const commits[] = {"any", "success", NULL};
        static const char *const scopes[] = {"invocation", "invocation-tree", NULL};
        static const char *const embodiments[] = {"arena", "process", "container", NULL};
        static const NameRule resource_rule = {manifest_name_valid, 64, "resource-name",
                                               "a resource's name has " MANIFEST_NAME_RULE};
        static const NameRule skill_rule = {
                skill_name_valid, 64, "skill-name",
                "a skill's name has 1 to 64 lower-case letters, digits and single hyphens inside"};
        static const LineageDetail lineages[] = {LINEAGE_EVENTS, LINEAGE_STATS, LINEAGE_HANDLES};
        size_t word = 0;

        manifest_read_teardown(d, json_object_get(j, "teardown"), m);
        if ((m->lineage_said = doc_word(d, json_object_get(j, "lineage"), "/lineage", details, &word)))
                m->lineage = lineages[word];
        if ((m->key_scope_said = doc_word(d, json_object_get(j, "key_scope"), "/key_scope", scopes, &word)))
                m->key_scope = word == 1 ? KEY_SCOPE_TREE : KEY_SCOPE_INVOCATION;
        if ((m->embodiment_said = doc_word(d, json_object_get(j, "embodiment"), "/embodiment", embodiments, &word)))
                m->embodiment = (Embodiment)word;
        if ((m->commit_said = doc_word(d, json_object_get(j, "commit"), "/commit", commits, &word)))
                m->commit = word == 1 ? COMMIT_SUCCESS : COMMIT_ANY;
        manifest_read_sections(d, json_object_get(j, "sections"), folder, m);
        doc_names(d, json_object_get(j, "resources"), "/resources", RESOURCES_MAX, &resource_rule, &m->resources);
        manifest_read_releases(d, json_object_get(j, "release"), m);
        /* Without "release", the skill's resources outside the region would stay for ever after the region's end. */
        if (json_array_size(json_object_get(j, "resources")) > 0 && json_array_size(json_object_get(j, "release")) == 0)
                doc_fault(d, "/resources", "release-missing",
                          "%zu resource%s and no \"release\": a skill that holds external resources names the "
                          "entries that give them back",
                          json_array_size(json_object_get(j, "resources")),
                          json_array_size(json_object_get(j, "resources")) == 1 ? "" : "s");
        doc_names(d, json_object_get(j, "sub_skills"), "/sub_skills", SUB_SKILLS_MAX, &skill_rule, &m->sub_skills);
        manifest_read_scope(d, json_object_get(j, "notes"), "/notes", &m->notes);
        manifest_read_scope(d, json_object_get(j, "canon"), "/canon", &m->canon);
        doc_memory_rights(d, json_object_get(j, "memory"), "/memory", &m->memory, &m->n_memory);
        manifest_read_gates(d, json_object_get(j, "gates"), folder, m);
        manifest_read_warm(d, json_object_get(j, "warm"), m);
}
