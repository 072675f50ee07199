/* lethe.json: the fields about the life and the end of a region. */
#include "manifest/manifest-private.h"

#include "base/size.h"
#include "schema/limits.h"

#include <errno.h>
#include <string.h>

#define RESOURCES_MAX 32
#define SUB_SKILLS_MAX 64
#define GATES_MAX 64
#define GATE_AGE_MOST_USEC (UINT64_C(87600) * 3600 * 1000000)
#define PRELOAD_MAX 64

static void read_teardown(Doc *d, const json_t *v, Manifest *m) {
        static const char *const known[] = {"discipline", NULL};
        Diag message = {0};
        const char *s;

        if (!v || !doc_fields(d, v, "/teardown", known) ||
            !doc_string(d, json_object_get(v, "discipline"), "/teardown/discipline", 1, DISCIPLINE_TEXT_MAX, &s))
                return;
        m->discipline_said = doc_judge(d, discipline_parse(s, &m->discipline, &m->passes, &message), "/teardown/discipline", "discipline", &message);
}

/* Bytes as a number, or as text with a unit. */
static bool read_bytes(Doc *d, const json_t *v, const char *pointer, uint64_t *ret) {
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
                doc_fault(d, pointer, "section-bytes", "%s: must be a size from 1 to %d bytes", doc_show(v, shown), SECTION_BYTES_MAX);
        return good;
}

static void read_section(Doc *d, const char *name, const json_t *v, const Folder *folder, Manifest *m) {
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
                read_bytes(d, json_object_get(v, "bytes"), pointer_key(field, at, "bytes"), &bytes);
        if (!json_object_get(v, "schema")) {
                doc_fault(d, at, "required", "\"schema\" is required: a section is typed");
                return;
        }
        schema = manifest_schema(d, json_object_get(v, "schema"), pointer_key(field, at, "schema"), folder);
        if (schema && json_object_set_new(m->sections, name, json_pack("{s:o, s:I}", "schema", schema, "bytes", (json_int_t)bytes)) < 0)
                d->no_memory = true;
}

static void read_sections(Doc *d, const json_t *v, const Folder *folder, Manifest *m) {
        const char *key;
        json_t *item;

        if (!doc_object(d, v, "/sections", SECTIONS_MAX))
                return;
        m->sections = json_object();
        if (!m->sections)
                d->no_memory = true;
        json_object_foreach((json_t *)v, key, item) read_section(d, key, item, folder, m);
}

/* An array of names that each stand there once. */
static void read_names(Doc *d, const json_t *v, const char *pointer, size_t most, bool (*valid)(const char *), const char *rule, const char *text,
                       char ***ret) {
        if (!doc_array(d, v, pointer, most))
                return;
        for (size_t i = 0; i < json_array_size(v); i++) {
                char at[POINTER_MAX], shown[256];
                const char *s;

                pointer_item(at, pointer, i);
                if (!doc_string(d, json_array_get(v, i), at, 1, 64, &s))
                        continue;
                if (!valid(s))
                        doc_fault(d, at, rule, "\"%s\": %s", diag_quote(s, strlen(s), shown, sizeof(shown)), text);
                else if (strv_has(*ret, s))
                        doc_fault(d, at, "twice", "\"%s\" stands there twice", s);
                else
                        manifest_add_text(d, ret, s);
        }
}

const Entry *manifest_entry(const Manifest *m, const char *name) {
        for (size_t i = 0; i < m->n_entries; i++)
                if (m->entries[i].name && strcmp(m->entries[i].name, name) == 0)
                        return &m->entries[i];
        return NULL;
}

static bool releases_twice(const Manifest *m, const char *entry) {
        for (size_t i = 0; i < m->n_releases; i++)
                if (strcmp(m->releases[i].entry, entry) == 0)
                        return true;
        return false;
}

static void read_release(Doc *d, const json_t *v, Manifest *m) {
        static const char *const known[] = {"entry", "budgets", NULL};

        if (!doc_array(d, v, "/release", RELEASES_MAX))
                return;
        m->releases = calloc(json_array_size(v) + 1, sizeof(*m->releases));
        if (!m->releases) {
                d->no_memory = true;
                return;
        }
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
                        doc_fault(d, field, "release-entry", "\"%s\": \"entry\" has no such name", diag_quote(s, strlen(s), shown, sizeof(shown)));
                else if (releases_twice(m, s))
                        doc_fault(d, field, "twice", "\"%s\" stands there twice: a callback runs once", s);
                else if ((r->entry = strdup(s)))
                        m->n_releases++;
                else
                        d->no_memory = true;
        }
}

static bool gate_twice(const Manifest *m, const char *slot) {
        for (size_t i = 0; i < json_array_size(m->gates); i++)
                if (json_text_is(json_object_get(json_array_get(m->gates, i), "slot"), slot))
                        return true;
        return false;
}

/* How old the slot's value may be. False: it is none. */
static bool gate_age(Doc *d, const json_t *v, const char *at, uint64_t *ret) {
        char shown[256];
        const char *s;

        *ret = 0;
        if (!v)
                return true;
        if (!doc_string(d, v, at, 1, 32, &s))
                return false;
        if (duration_parse(s, ret) == 0 && *ret >= 1 && *ret <= GATE_AGE_MOST_USEC)
                return true;
        doc_fault(d, at, "gate-age", "%s: must be a time from 1us to 87600h", doc_show(v, shown));
        return false;
}

static void read_gates(Doc *d, const json_t *v, const Folder *folder, Manifest *m) {
        static const char *const known[] = {"slot", "schema", "max_age", NULL};

        if (!doc_array(d, v, "/gates", GATES_MAX))
                return;
        m->gates = json_array();
        for (size_t i = 0; i < json_array_size(v); i++) {
                const json_t *item = json_array_get(v, i);
                char at[POINTER_MAX], field[POINTER_MAX], shown[256];
                json_t *schema;
                const char *s;
                uint64_t age;

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
                        doc_fault(d, field, "gate-slot", "\"%s\": a gate consults a slot of \"reads\"", diag_quote(s, strlen(s), shown, sizeof(shown)));
                        continue;
                }
                if (gate_twice(m, s)) {
                        doc_fault(d, field, "twice", "\"%s\" stands there twice", s);
                        continue;
                }
                if (!gate_age(d, json_object_get(item, "max_age"), pointer_key(field, at, "max_age"), &age))
                        continue;
                schema = manifest_schema(d, json_object_get(item, "schema"), pointer_key(field, at, "schema"), folder);
                if (schema && json_array_append_new(m->gates, json_pack("{s:s, s:o, s:o*}", "slot", s, "schema", schema, "max_age_usec", age ? json_u64(age) : NULL)) < 0)
                        d->no_memory = true;
        }
}

/* One segment of a module's name after the other. */
/* json, xml.sax; List::Util; libsqlite3.so.0 */
static bool module_name_valid(const char *s) {
        bool first = true;

        for (const char *begin = s; *s; s++) {
                bool letter = (*s >= 'a' && *s <= 'z') || (*s >= 'A' && *s <= 'Z') || *s == '_', digit = *s >= '0' && *s <= '9';

                if (s[0] == ':' && s[1] == ':' && !first)
                        s++;
                else if (s == begin ? !letter : !letter && !digit && (first || !strchr(".+-", *s)))
                        return false;
                first = *s == '.' || *s == ':';
        }
        return !first;
}

static void read_warm(Doc *d, const json_t *v, Manifest *m) {
        static const char *const known[] = {"preload", NULL};
        const json_t *preload = json_object_get(v, "preload");

        if (!v || !doc_fields(d, v, "/warm", known))
                return;
        if (!json_is_array(preload) || json_array_size(preload) == 0)
                doc_fault(d, "/warm", "required", "\"preload\" is required: the modules that are imported ahead, at least one");
        else
                read_names(d, preload, "/warm/preload", PRELOAD_MAX, module_name_valid, "module-name",
                           "a module's name has letters, digits, _, + and -, and dots or :: between its parts", &m->preload);
}

/* true: scope "default"; {"scope": NAME}: that one. */
static void read_scope(Doc *d, const json_t *v, const char *pointer, char **ret) {
        static const char *const known[] = {"scope", NULL};
        char at[POINTER_MAX], shown[256];
        const char *scope = "default";

        if (!v || json_is_false(v))
                return;
        if (!json_is_true(v)) {
                if (!json_is_object(v)) {
                        doc_fault(d, pointer, "type", "%s: must be true, false or {\"scope\": NAME}", doc_show(v, shown));
                        return;
                }
                pointer_key(at, pointer, "scope");
                if (!doc_fields(d, v, pointer, known))
                        return;
                if (!json_object_get(v, "scope")) {
                        doc_fault(d, pointer, "required", "\"scope\" is required, or true: scope default");
                        return;
                }
                if (!doc_string(d, json_object_get(v, "scope"), at, 1, SCOPE_NAME_BYTES, &scope))
                        return;
                if (!scope_name_valid(scope)) {
                        doc_fault(d, at, "scope-name", "%s: a scope's name has 1 to 64 of a-z 0-9 . _ -, a letter or digit first",
                                  doc_show(json_object_get(v, "scope"), shown));
                        return;
                }
        }
        *ret = strdup(scope);
        d->no_memory |= !*ret;
}

void manifest_read_region(Doc *d, const json_t *j, const Folder *folder, Manifest *m) {
        static const char *const details[] = {"events", "stats", "handles", NULL}, *const scopes[] = {"invocation", "invocation-tree", NULL};
        static const char *const embodiments[] = {"arena", "process", "container", NULL}, *const commits[] = {"any", "success", NULL};
        static const LineageDetail lineages[] = {LINEAGE_EVENTS, LINEAGE_STATS, LINEAGE_HANDLES};
        size_t word = 0;

        read_teardown(d, json_object_get(j, "teardown"), m);
        if ((m->lineage_said = doc_word(d, json_object_get(j, "lineage"), "/lineage", details, &word)))
                m->lineage = lineages[word];
        if ((m->key_scope_said = doc_word(d, json_object_get(j, "key_scope"), "/key_scope", scopes, &word)))
                m->key_scope = word == 1 ? KEY_SCOPE_TREE : KEY_SCOPE_INVOCATION;
        if ((m->embodiment_said = doc_word(d, json_object_get(j, "embodiment"), "/embodiment", embodiments, &word)))
                m->embodiment = (Embodiment)word;
        if ((m->commit_said = doc_word(d, json_object_get(j, "commit"), "/commit", commits, &word)))
                m->commit = word == 1 ? COMMIT_SUCCESS : COMMIT_ANY;
        read_sections(d, json_object_get(j, "sections"), folder, m);
        read_names(d, json_object_get(j, "resources"), "/resources", RESOURCES_MAX, manifest_name_valid, "resource-name",
                   "a resource's name has " MANIFEST_NAME_RULE, &m->resources);
        read_release(d, json_object_get(j, "release"), m);
        /* What a skill holds outside its region would stay for ever when the region ends. */
        if (json_array_size(json_object_get(j, "resources")) > 0 && json_array_size(json_object_get(j, "release")) == 0)
                doc_fault(d, "/resources", "release-missing", "%zu resource%s and no \"release\": a skill that holds external resources names the "
                          "entries that give them back", json_array_size(json_object_get(j, "resources")),
                          json_array_size(json_object_get(j, "resources")) == 1 ? "" : "s");
        read_names(d, json_object_get(j, "sub_skills"), "/sub_skills", SUB_SKILLS_MAX, skill_name_valid, "skill-name",
                   "a skill's name has 1 to 64 lower-case letters, digits and single hyphens inside", &m->sub_skills);
        read_scope(d, json_object_get(j, "notes"), "/notes", &m->notes);
        read_scope(d, json_object_get(j, "canon"), "/canon", &m->canon);
        doc_memory_rights(d, json_object_get(j, "memory"), "/memory", &m->memory, &m->n_memory);
        read_gates(d, json_object_get(j, "gates"), folder, m);
        read_warm(d, json_object_get(j, "warm"), m);
}
