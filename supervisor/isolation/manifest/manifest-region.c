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

/* A schema in the file of the skill that v names. New reference or NULL with a fault. */
static json_t *manifest_read_schema_file(Doc *d, const Node *v, const SkillFolder *folder) {
        _cleanup_free_ char *text = NULL;
        json_t *j = NULL;
        Diag message = {0};
        const char *path;
        size_t n;

        if (!doc_string(d, v, 1, MANIFEST_TEXT_MAX, &path))
                return NULL;
        if (!folder->bundle)
                doc_fault(d, v, "schema-file", "a schema in a file needs the skill's folder");
        else if (doc_judge(d,
                           bundle_read_file(folder->bundle, folder->fd, path, MANIFEST_FILE_MAX, &text, &n, &message),
                           v, "schema-file", &message))
                doc_judge(d, json_parse(text, n, MANIFEST_FILE_MAX, MANIFEST_DEPTH_MAX, &j, &message), v, "schema-file",
                          &message);
        return j;
}

json_t *manifest_schema(Doc *d, const Node *v, const SkillFolder *folder) {
        _cleanup_jsonschema_ JsonSchema *compiled = NULL;
        _cleanup_json_ json_t *schema = json_is_string(v->v) ? manifest_read_schema_file(d, v, folder)
                                                             : json_incref((json_t *)v->v);
        Diag message = {0};

        if (!schema && json_is_string(v->v))
                return NULL;
        if (!json_is_object(schema) && !json_is_boolean(schema)) {
                doc_fault(d, v, "schema",
                          "must be a JSON Schema (an object, true or false) or the name of a file that holds one");
                return NULL;
        }
        return doc_judge(d, jsonschema_compile(schema, &compiled, &message), v, "schema", &message) ? TAKE_PTR(schema)
                                                                                                    : NULL;
}

static void manifest_read_teardown(Doc *d, const Node *v, Manifest *m) {
        const Node *at = MEMBER(v, "discipline");
        Diag message = {0};
        const char *s;

        if (!doc_fields(d, v, WORDS("discipline")) || !doc_string(d, at, 1, DISCIPLINE_TEXT_MAX, &s))
                return;
        m->discipline_said =
                doc_judge(d, discipline_parse(s, &m->discipline, &m->passes, &message), at, "discipline", &message);
}

/* A number of bytes, or a text with a unit. */
static void manifest_read_bytes(Doc *d, const Node *v, uint64_t *ret) {
        uint64_t n = 0;

        if (json_is_integer(v->v) && json_integer_value(v->v) > 0)
                n = (uint64_t)json_integer_value(v->v);
        else if (!json_text(v->v) || size_parse(json_text(v->v), &n) < 0)
                n = 0;
        if (n >= 1 && n <= SECTION_BYTES_MAX)
                *ret = n;
        else
                doc_fault(d, v, "section-bytes", "%s: must be a size from 1 to %d bytes", DOC_SHOWN(v),
                          SECTION_BYTES_MAX);
}

static void manifest_read_section(Doc *d, const char *name, const Node *v, const SkillFolder *folder, json_t *into) {
        uint64_t bytes = SECTION_BYTES_STANDARD;
        json_t *schema;

        if (!manifest_name_valid(name)) {
                doc_fault(d, v, "section-name", "a section's name has " MANIFEST_NAME_RULE);
                return;
        }
        if (!doc_fields(d, v, WORDS("schema", "bytes")))
                return;
        if (MEMBER(v, "bytes")->v)
                manifest_read_bytes(d, MEMBER(v, "bytes"), &bytes);
        if (!MEMBER(v, "schema")->v) {
                doc_fault(d, v, "required", "\"schema\" is required: a section is typed");
                return;
        }
        schema = manifest_schema(d, MEMBER(v, "schema"), folder);
        if (schema && json_object_set_new(into, name,
                                          json_pack("{s:o, s:I}", "schema", schema, "bytes", (json_int_t)bytes)) < 0)
                d->no_memory = true;
}

static void manifest_read_sections(Doc *d, const Node *v, const SkillFolder *folder, json_t **ret) {
        const char *key;
        json_t *item;

        if (!doc_object(d, v, SECTIONS_MAX))
                return;
        *ret = json_object();
        d->no_memory |= !*ret;
        json_object_foreach((json_t *)v->v, key, item) manifest_read_section(d, key, MEMBER(v, key), folder, *ret);
}

/* What a session of the skill keeps from turn to turn, and how long (I-84..I-86). */
static void manifest_read_session(Doc *d, const Node *v, const SkillFolder *folder, Manifest *m) {
        _cleanup_json_ json_t *sections = NULL, *cognition = NULL;
        uint64_t idle = SESSION_IDLE_STANDARD_USEC, turns = SESSION_TURNS_MOST;
        size_t word = 0;

        if (!doc_fields(d, v, WORDS("sections", "idle", "on_crash", "turns", "cognition")))
                return;
        manifest_read_sections(d, MEMBER(v, "sections"), folder, &sections);
        m->session_idle_said = MEMBER(v, "idle")->v;
        if (m->session_idle_said)
                doc_session_idle(d, MEMBER(v, "idle"), &idle);
        if (MEMBER(v, "turns")->v)
                doc_count(d, MEMBER(v, "turns"), 1, SESSION_TURNS_MOST, &turns);
        doc_word(d, MEMBER(v, "on_crash"), WORDS("end", "resume"), &word);
        if (MEMBER(v, "cognition")->v)
                cognition = manifest_cognition(d, MEMBER(v, "cognition"), folder);
        if (!sections && !(sections = json_object()))
                d->no_memory = true;
        m->session = json_pack("{s:O, s:I, s:I, s:s, s:O*}", "sections", sections, "idle_usec", (json_int_t)idle, "turns",
                               (json_int_t)turns, "on_crash", word == 1 ? "resume" : "end", "cognition", cognition);
        d->no_memory |= !m->session;
}

static bool manifest_has_release(const Manifest *m, const char *entry) {
        for (size_t i = 0; i < m->n_releases; i++)
                if (strcmp(m->releases[i].entry, entry) == 0)
                        return true;
        return false;
}

static void manifest_read_releases(Doc *d, const Node *v, Manifest *m) {
        if (!doc_array(d, v, RELEASES_MAX) || !(m->releases = doc_rows(d, v, sizeof(*m->releases))))
                return;
        for (size_t i = 0; i < json_array_size(v->v); i++) {
                const Node *item = ITEM(v, i), *entry = MEMBER(item, "entry");
                ReleaseAsk *r = &m->releases[m->n_releases];
                const char *s;

                if (!doc_fields(d, item, WORDS("entry", "budgets")))
                        continue;
                if (!entry->v)
                        doc_fault(d, item, "required", "\"entry\" is required");
                doc_budgets(d, MEMBER(item, "budgets"), &r->budget);
                if (!doc_string(d, entry, 1, 64, &s))
                        continue;
                if (!manifest_entry(m, s))
                        doc_fault(d, entry, "release-entry", "\"%s\": \"entry\" has no such name",
                                  DIAG_QUOTED(s));
                else if (manifest_has_release(m, s))
                        doc_fault(d, entry, "twice", "\"%s\" stands there twice: a callback runs once", s);
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

static void manifest_read_gate(Doc *d, const Node *v, const SkillFolder *folder, Manifest *m) {
        static const DurationRule age_rule = {1, GATE_AGE_MOST_USEC, "gate-age", "1us to 87600h"};
        const Node *slot = MEMBER(v, "slot"), *max_age = MEMBER(v, "max_age");
        json_t *schema;
        const char *s;
        uint64_t age = 0;

        if (!doc_fields(d, v, WORDS("slot", "schema", "max_age")))
                return;
        if (!slot->v || !MEMBER(v, "schema")->v)
                doc_fault(d, v, "required", "\"slot\" and \"schema\" are required");
        else if (!doc_string(d, slot, 1, SLOT_NAME_MAX, &s))
                return;
        else if (!slot_name_valid(s) || !strv_has(m->reads, s))
                doc_fault(d, slot, "gate-slot", "\"%s\": a gate consults a slot of \"reads\"",
                          DIAG_QUOTED(s));
        else if (manifest_has_gate(m, s))
                doc_fault(d, slot, "twice", "\"%s\" stands there twice", s);
        else if ((!max_age->v || doc_duration(d, max_age, &age_rule, &age)) &&
                 (schema = manifest_schema(d, MEMBER(v, "schema"), folder)) &&
                 json_array_append_new(m->gates, json_pack("{s:s, s:o, s:o*}", "slot", s, "schema", schema,
                                                           "max_age_usec", age ? json_u64(age) : NULL)) < 0)
                d->no_memory = true;
}

static void manifest_read_gates(Doc *d, const Node *v, const SkillFolder *folder, Manifest *m) {
        if (!doc_array(d, v, GATES_MAX))
                return;
        m->gates = json_array();
        for (size_t i = 0; i < json_array_size(v->v); i++)
                manifest_read_gate(d, ITEM(v, i), folder, m);
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

static void manifest_read_warm(Doc *d, const Node *v, Manifest *m) {
        static const NameRule rule = {
                manifest_module_name_valid, 64, "module-name",
                "a module's name has letters, digits, _, + and -, and dots or :: between its parts"};
        const Node *preload = MEMBER(v, "preload");

        if (!doc_fields(d, v, WORDS("preload")))
                return;
        if (!json_is_array(preload->v) || json_array_size(preload->v) == 0)
                doc_fault(d, v, "required",
                          "\"preload\" is required: the modules that are imported ahead, at least one");
        else
                doc_names(d, preload, PRELOAD_MAX, &rule, &m->preload);
}

/* true: scope "default"; {"scope": NAME}: scope NAME. */
/* own: where "read" of notes goes; NULL: the member has a scope alone. */
static void manifest_read_scope(Doc *d, const Node *v, char **ret, bool *own) {
        const Node *scope = MEMBER(v, "scope");

        if (json_is_true(v->v)) {
                *ret = strdup("default");
                d->no_memory |= !*ret;
        } else if (json_is_object(v->v)) {
                if (!doc_fields(d, v, own ? WORDS("scope", "read") : WORDS("scope")))
                        return;
                if (!scope->v)
                        doc_fault(d, v, "required", "\"scope\" is required, or true: scope default");
                doc_scope(d, scope, ret);
                if (own)
                        doc_bool(d, MEMBER(v, "read"), own);
        } else if (v->v && !json_is_false(v->v))
                doc_fault(d, v, "type", "%s: must be true, false or {\"scope\": NAME}", DOC_SHOWN(v));
}

void manifest_read_region(Doc *d, const Node *j, const SkillFolder *folder, Manifest *m) {
        static const NameRule resource_rule = {manifest_name_valid, 64, "resource-name",
                                               "a resource's name has " MANIFEST_NAME_RULE};
        static const NameRule skill_rule = {
                skill_name_valid, 64, "skill-name",
                "a skill's name has 1 to 64 lower-case letters, digits and single hyphens inside"};
        const Node *resources = MEMBER(j, "resources");
        const size_t held = json_array_size(resources->v);
        size_t word = 0;

        manifest_read_teardown(d, MEMBER(j, "teardown"), m);
        if ((m->lineage_said = doc_word(d, MEMBER(j, "lineage"), WORDS("events", "stats", "handles"), &word)))
                m->lineage = (LineageDetail)word;
        if ((m->key_scope_said = doc_word(d, MEMBER(j, "key_scope"), key_scope_words, &word)))
                m->key_scope = (KeyScope)word;
        if ((m->embodiment_said = doc_word(d, MEMBER(j, "embodiment"), embodiment_words, &word)))
                m->embodiment = (Embodiment)word;
        if ((m->commit_said = doc_word(d, MEMBER(j, "commit"), commit_words, &word)))
                m->commit = (CommitWhen)word;
        manifest_read_sections(d, MEMBER(j, "sections"), folder, &m->sections);
        manifest_read_session(d, MEMBER(j, "session"), folder, m);
        doc_names(d, resources, RESOURCES_MAX, &resource_rule, &m->resources);
        manifest_read_releases(d, MEMBER(j, "release"), m);
        /* Without "release", the skill's resources outside the region would stay for ever after the region's end. */
        if (held > 0 && json_array_size(MEMBER(j, "release")->v) == 0)
                doc_fault(d, resources, "release-missing",
                          "%zu resource%s and no \"release\": a skill that holds external resources names the "
                          "entries that give them back",
                          held, held == 1 ? "" : "s");
        doc_names(d, MEMBER(j, "sub_skills"), SUB_SKILLS_MAX, &skill_rule, &m->sub_skills);
        manifest_read_scope(d, MEMBER(j, "notes"), &m->notes, &m->own_notes);
        manifest_read_scope(d, MEMBER(j, "canon"), &m->canon, NULL);
        manifest_read_scope(d, MEMBER(j, "kernels"), &m->kernels, NULL);
        doc_memory_rights(d, MEMBER(j, "memory"), &m->memory, &m->n_memory);
        manifest_read_gates(d, MEMBER(j, "gates"), folder, m);
        if (MEMBER(j, "input")->v)
                m->input = manifest_schema(d, MEMBER(j, "input"), folder);
        if (MEMBER(j, "output")->v)
                m->output = manifest_schema(d, MEMBER(j, "output"), folder);
        if (MEMBER(j, "mcp")->v)
                manifest_read_mcp(d, MEMBER(j, "mcp"), &m->mcp);
        manifest_read_warm(d, MEMBER(j, "warm"), m);
}
