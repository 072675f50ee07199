#include "manifest/skill-md.h"

#include "manifest/vocabulary.h"
#include "manifest/yaml-tree.h"

#include <errno.h>
#include <string.h>

#define FILE_NAME "SKILL.md"
#define NAME_MAX_CHARS 64
#define DESCRIPTION_MAX_CHARS 1024
#define COMPATIBILITY_MAX_CHARS 500

void skill_md_deinit(SkillMd *m) {
        free(m->name);
        free(m->description);
        free(m->license);
        free(m->compatibility);
        json_decref(m->metadata);
        strv_free(m->allowed_tools);
        *m = (SkillMd){0};
}

/* Characters, not bytes: s is valid UTF-8. */
static size_t md_characters(const char *s) {
        size_t n = 0;

        for (; *s; s++)
                n += ((unsigned char)*s & 0xC0) != 0x80;
        return n;
}

static bool md_has_control(const char *s, bool newline_too) {
        for (; *s; s++)
                if (((unsigned char)*s < 0x20 && (newline_too || (*s != '\n' && *s != '\t'))) || *s == 0x7F)
                        return true;
        return false;
}

static bool md_is_blank(const char *s) {
        return s[strspn(s, " \t\r\n")] == 0;
}

typedef struct MdReader {
        const char *folder;
        const YamlTree *tree;
        SkillMd *md;
        Findings *findings;
} MdReader;

/* Returns 0 or -ENOMEM. */
#define REPORT(r, level, key, rule, ...)                                                                               \
        (finding_add((r)->findings, level, FILE_NAME,                                                                  \
                     (unsigned)json_integer_value(json_object_get((r)->tree->lines, (key))), NULL, rule,               \
                     __VA_ARGS__) < 0 ? -ENOMEM : 0)
#define ADD(...)                                                                                                       \
        do {                                                                                                           \
                if (REPORT(__VA_ARGS__) < 0)                                                                           \
                        return -ENOMEM;                                                                                \
        } while (0)

bool skill_md_name_runs(const char *name) {
        return *name && *name != '.' &&
               strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_. ") == strlen(name);
}

static int md_read_name(MdReader *r, const json_t *v) {
        const char *s = json_text(v);
        const char *shown;

        if (!v)
                return REPORT(r, FINDING_STRICT, "name", "name-required", "\"name\" is missing: it is required");
        if (!s || md_is_blank(s))
                return REPORT(r, FINDING_STRICT, "name", "name-string", "\"name\" must be a text of 1 to %d characters",
                              NAME_MAX_CHARS);
        shown = DIAG_QUOTED(s);
        if (md_has_control(s, true))
                return REPORT(r, FINDING_ERROR, "name", "name-characters", "name \"%s\": control characters", shown);
        if (md_characters(s) > NAME_MAX_CHARS)
                return REPORT(r, FINDING_ERROR, "name", "name-length",
                              "name \"%s\": %zu characters, at most %d are allowed", shown, md_characters(s),
                              NAME_MAX_CHARS);
        if (!skill_md_name_runs(s))
                return REPORT(r, FINDING_ERROR, "name", "name-characters",
                              "name \"%s\": " SKILL_MD_NAME_RULE "; give the skill and its folder such a name", shown);
        if (s[0] == '-' || s[strlen(s) - 1] == '-')
                ADD(r, FINDING_STRICT, "name", "name-hyphen", "name \"%s\": must not start or end with a hyphen",
                    shown);
        if (strstr(s, "--"))
                ADD(r, FINDING_STRICT, "name", "name-hyphen", "name \"%s\": must not have two hyphens in a row", shown);
        if (strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789-") != strlen(s))
                ADD(r, FINDING_STRICT, "name", "name-characters",
                    "name \"%s\": only lower-case letters a-z, digits and hyphens are allowed", shown);
        if (r->folder && strcmp(r->folder, s) != 0)
                ADD(r, FINDING_STRICT, "name", "name-folder", "name \"%s\": must be the name of the folder, \"%s\"",
                    shown, DIAG_QUOTED(r->folder));
        r->md->name = strdup(s);
        return r->md->name ? 0 : -ENOMEM;
}

/* A text field with a bound in characters (0: no bound). */
static int md_read_text(MdReader *r, const json_t *v, const char *key, size_t most, bool required, char **ret) {
        const char *s = json_text(v);

        if (!v)
                return required ? REPORT(r, FINDING_STRICT, key, "description-required",
                                         "\"%s\" is missing: it is required", key) : 0;
        if (!s)
                return REPORT(r, FINDING_STRICT, key, "text-string", "\"%s\" must be a text", key);
        if (md_is_blank(s) && most > 0)
                return REPORT(r, FINDING_STRICT, key, "text-empty", "\"%s\" is empty: it must have 1 to %zu characters",
                              key, most);
        if (most > 0 && md_characters(s) > most)
                ADD(r, FINDING_STRICT, key, "text-length", "\"%s\" has %zu characters: at most %zu are allowed", key,
                    md_characters(s), most);
        if (md_has_control(s, false))
                ADD(r, FINDING_STRICT, key, "text-characters", "\"%s\" has control characters", key);
        *ret = strdup(s);
        return *ret ? 0 : -ENOMEM;
}

static int md_read_metadata(MdReader *r, json_t *v) {
        const char *key;
        json_t *item;

        if (!v)
                return 0;
        if (!json_is_object(v))
                return REPORT(r, FINDING_STRICT, "metadata", "metadata-map",
                              "\"metadata\" must be a map from texts to texts");
        r->md->metadata = json_object();
        if (!r->md->metadata)
                return -ENOMEM;
        json_object_foreach(v, key, item) {
                if (!json_is_string(item))
                        ADD(r, FINDING_STRICT, "metadata", "metadata-flat",
                            "metadata \"%s\": must be a text, the map is flat",
                            DIAG_QUOTED(key));
                else if (json_object_set(r->md->metadata, key, item) < 0)
                        return -ENOMEM;
        }
        if (json_object_get(r->tree->plain, "metadata"))
                ADD(r, FINDING_NOTE, "metadata", "metadata-quotes",
                    "a value in \"metadata\" is a number, a boolean or null to some readers: quote it");
        return 0;
}

/* The specification allows a text with spaces between the tools, or a list of texts. */
static int md_read_allowed_tools(MdReader *r, const json_t *v) {
        if (!v)
                return 0;
        if (json_is_string(v)) {
                _cleanup_free_ char *copy = strdup(json_text(v));
                char *at = NULL;

                if (!copy)
                        return -ENOMEM;
                for (char *p = strtok_r(copy, " \t\n", &at); p; p = strtok_r(NULL, " \t\n", &at))
                        if (strv_add(&r->md->allowed_tools, p) < 0)
                                return -ENOMEM;
                return 0;
        }
        for (size_t i = 0; json_is_array(v) && i < json_array_size(v); i++) {
                const json_t *item = json_array_get(v, i);

                if (!json_is_string(item))
                        return REPORT(r, FINDING_STRICT, "allowed-tools", "allowed-tools",
                                      "\"allowed-tools\" item %zu must be a text", i + 1);
                if (strv_add(&r->md->allowed_tools, json_text(item)) < 0)
                        return -ENOMEM;
        }
        if (!json_is_array(v))
                ADD(r, FINDING_STRICT, "allowed-tools", "allowed-tools",
                    "\"allowed-tools\" must be a text or a list of texts");
        return 0;
}

static int md_read_fields(MdReader *r) {
        static const char *const known[] = {"name", "description", "license", "compatibility", "metadata",
                                            "allowed-tools", NULL};
        json_t *root = r->tree->root, *item;
        const char *key;
        int q;

        json_object_foreach(root, key, item) {
                if (word_index(known, key) < 0)
                        ADD(r, FINDING_STRICT, key, "unknown-field",
                            "the field \"%s\" is not in the specification (name, description, license, compatibility, "
                            "metadata, allowed-tools); what Lethe needs stands in lethe.json",
                            DIAG_QUOTED(key));
        }
        q = md_read_name(r, json_object_get(root, "name"));
        q = q ?: md_read_text(r, json_object_get(root, "description"), "description", DESCRIPTION_MAX_CHARS, true,
                              &r->md->description);
        q = q ?: md_read_text(r, json_object_get(root, "license"), "license", 0, false, &r->md->license);
        q = q ?: md_read_text(r, json_object_get(root, "compatibility"), "compatibility", COMPATIBILITY_MAX_CHARS,
                              false, &r->md->compatibility);
        q = q ?: md_read_metadata(r, json_object_get(root, "metadata"));
        q = q ?: md_read_allowed_tools(r, json_object_get(root, "allowed-tools"));
        return q;
}

/* Whether the line is a fence: exactly "---", because some readers refuse a fence with trailing white space. */
static bool md_is_fence(const char *line, size_t n) {
        if (n > 0 && line[n - 1] == '\r')
                n--;
        return n == 3 && memcmp(line, "---", 3) == 0;
}

/* Finds the front matter. Returns 0 with *ret_n, 1 with a finding, -ENOMEM. */
static int md_find_matter(const char *text, size_t n, const char **ret, size_t *ret_n, Findings *findings) {
        const char *nl = memchr(text, '\n', n), *from, *p, *end = text + n;

        if (!nl || !md_is_fence(text, (size_t)(nl - text)))
                return finding_add(findings, FINDING_ERROR, FILE_NAME, 1, NULL, "front-matter",
                                   "must start with YAML front matter: the first line must be \"---\"") < 0
                               ? -ENOMEM : 1;
        from = nl + 1;
        for (p = from; p < end; p = nl + 1) {
                nl = memchr(p, '\n', (size_t)(end - p));
                if (!nl)
                        nl = end;
                if (md_is_fence(p, (size_t)(nl - p))) {
                        *ret = from;
                        *ret_n = (size_t)(p - from);
                        return 0;
                }
                if (nl == end)
                        break;
        }
        return finding_add(findings, FINDING_ERROR, FILE_NAME, 1, NULL, "front-matter",
                           "the front matter does not end: a second line \"---\" is missing") < 0 ? -ENOMEM : 1;
}

#define REFUSE(line, rule, ...) finding_add(findings, FINDING_ERROR, FILE_NAME, line, NULL, rule, __VA_ARGS__)

int skill_md_parse(const char *text, size_t n, const char *folder, SkillMd *ret, Findings *findings) {
        _cleanup_(skill_md_deinit) SkillMd md = {0};
        _cleanup_yaml_tree_ YamlTree tree = {0};
        MdReader r = {.folder = folder, .tree = &tree, .md = &md, .findings = findings};
        const char *matter;
        size_t n_matter, bad;
        int q;

        if (n > SKILL_MD_MAX)
                return REFUSE(0, "file-size", "%zu bytes: at most %d are read", n, SKILL_MD_MAX);
        if (memchr(text, 0, n))
                return REFUSE(0, "file-nul", "a NUL byte: this is not a text file");
        if (!utf8_valid(text, n, &bad)) {
                unsigned line = 1;

                for (size_t i = 0; i < bad; i++)
                        line += text[i] == '\n';
                return REFUSE(line, "file-utf8", "not UTF-8 at byte %zu", bad);
        }
        if (n >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0) {
                if (finding_add(findings, FINDING_STRICT, FILE_NAME, 1, NULL, "file-bom",
                                "starts with a byte order mark: other readers refuse it") < 0)
                        return -ENOMEM;
                text += 3;
                n -= 3;
        }
        q = md_find_matter(text, n, &matter, &n_matter, findings);
        if (q)
                return q < 0 ? q : 0;
        if (n_matter > SKILL_MD_MATTER_MAX)
                return REFUSE(1, "front-matter-size", "%zu bytes of front matter: at most %d are read", n_matter,
                              SKILL_MD_MATTER_MAX);
        q = yaml_tree_read(matter, n_matter, FILE_NAME, 2, SKILL_MD_DEPTH_MAX, &tree, findings);
        if (q < 0 || !tree.root)
                return q;
        q = md_read_fields(&r);
        if (q < 0)
                return q;
        *ret = md;
        md = (SkillMd){0};
        return 0;
}
