/* Runs: CLI. Skills as resources: skills/list, skills/get, and the files by resources/read. A skill's digests
 * are those of its registration; a file that has another digest is not given. */
#include "mcp/mcp.h"

#include "base/hash.h"
#include "base/log.h"
#include "engine/skill.h"
#include "request/registry.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#define SCHEME "skill://"
#define FILES_MAX 512 /* of the extension */
#define BYTES_MAX (16 * 1024 * 1024)
#define SKILLS_MAX 512

static const struct {
        const char *end, *type;
} types[] = {
        {".md", "text/markdown"},      {".json", "application/json"}, {".py", "text/x-python"},
        {".js", "text/javascript"},    {".sh", "application/x-sh"},   {".txt", "text/plain"},
        {".yaml", "application/yaml"}, {".yml", "application/yaml"},  {".csv", "text/csv"},
        {".html", "text/html"},        {".png", "image/png"},         {".svg", "image/svg+xml"},
};

static const char *skill_type(const char *path) {
        const size_t n = strlen(path);

        for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
                const size_t end = strlen(types[i].end);

                if (n > end && strcmp(path + n - end, types[i].end) == 0)
                        return types[i].type;
        }
        return "application/octet-stream";
}

/* The path of a URI: bytes besides letters, digits and -._~/ are %XX. */
static int skill_add_uri(Buf *b, const char *name, const char *path) {
        int e = buf_printf(b, SCHEME "%s/", name);

        for (const char *p = path; e == 0 && *p; p++)
                e = strchr("-._~/", *p) || (*p >= '0' && *p <= '9') || (*p >= 'A' && *p <= 'Z') ||
                                    (*p >= 'a' && *p <= 'z')
                            ? buf_add(b, p, 1)
                            : buf_printf(b, "%%%02X", (unsigned char)*p);
        return e;
}

static json_t *skill_uri(const char *name, const char *path) {
        _cleanup_buf_ Buf b = {};

        return skill_add_uri(&b, name, path) == 0 ? json_stringn(b.data, b.n) : NULL;
}

static int hex_digit(char c) {
        return c >= '0' && c <= '9'   ? c - '0'
               : c >= 'a' && c <= 'f' ? c - 'a' + 10
               : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                      : -1;
}

/* "skill://NAME/PATH" into both; owned in *ret_name, *ret_path lent from it. Returns 0, MCP_E_RESOURCE, -ENOMEM. */
static int skill_from_uri(const char *uri, char **ret_name, const char **ret_path, Diag *reterr) {
        _cleanup_free_ char *text = strncmp(uri, SCHEME, strlen(SCHEME)) == 0 ? strdup(uri + strlen(SCHEME)) : NULL;
        char *out = text, *slash = text ? strchr(text, '/') : NULL;

        if (!slash)
                return diag(reterr, MCP_E_RESOURCE, "uri %s: must be " SCHEME "NAME/PATH", DIAG_QUOTED(uri));
        for (const char *in = text; *in; in++, out++) {
                const int high = *in == '%' ? hex_digit(in[1]) : -1, low = high >= 0 ? hex_digit(in[2]) : -1;

                if (*in == '%' && (low < 0 || high + low == 0))
                        return diag(reterr, MCP_E_RESOURCE, "uri %s: %% must stand before two hexadecimal digits",
                                    DIAG_QUOTED(uri));
                *out = *in == '%' ? (char)(high * 16 + low) : *in;
                in += *in == '%' ? 2 : 0;
        }
        *out = 0;
        slash = strchr(text, '/');
        *slash = 0;
        *ret_path = slash + 1;
        *ret_name = TAKE_PTR(text);
        return 0;
}

static json_t *skill_frontmatter(const Skill *s) {
        return json_pack("{s:s, s:s, s:s*, s:s*}", "name", s->md.name, "description", s->md.description ?: "",
                         "license", s->md.license, "compatibility", s->md.compatibility);
}

/* The entry of a skill, or NULL with *ret_e: more than the extension allows is no entry. */
static json_t *skill_entry(const Skill *s, int *ret_e) {
        _cleanup_json_ json_t *files = json_array();
        uint64_t bytes = 0;

        *ret_e = -ENOMEM;
        for (size_t i = 0; files && i < s->bundle.n_files; i++) {
                const BundleFile *f = &s->bundle.files[i];

                bytes += f->bytes;
                if (f->link) /* a link has the bytes of the target */
                        continue;
                if (json_array_append_new(files, json_pack("{s:o, s:s, s:o}", "uri", skill_uri(s->md.name, f->path),
                                                           "digest", f->digest, "size", json_u64(f->bytes))) < 0)
                        return NULL;
        }
        if (!files)
                return NULL;
        *ret_e = 0;
        if (json_array_size(files) > FILES_MAX || bytes > BYTES_MAX) {
                log_warning("mcp: the skill %s has more than %d files or %d bytes and is not listed", s->md.name,
                            FILES_MAX, BYTES_MAX);
                return NULL;
        }
        *ret_e = -ENOMEM;
        return json_pack("{s:o, s:o, s:O}", "uri", skill_uri(s->md.name, "SKILL.md"), "frontmatter",
                         skill_frontmatter(s), "resources", files);
}

/* Calls each() for every skill of the client whose folder is as it was registered, or for the named one alone. Returns
 * 0, the first other result of each(), -errno. */
static int skills_each(McpServer *m, const char *only, int (*each)(const Skill *s, void *userdata), void *userdata,
                       Diag *reterr) {
        _cleanup_store_ Store *store = NULL;
        _cleanup_txn_ Txn *t = NULL;
        SkillRow *rows = NULL;
        size_t n = 0;
        int e = store_open(m->options->store, STORE_READ, &store, reterr);

        if (e == -ENOENT)
                return 0;
        e = e ?: store_begin(store, false, &t, reterr) ?: engine_skill_list(t, &rows, &n);
        for (size_t i = 0; e == 0 && i < n && i < SKILLS_MAX; i++) {
                _cleanup_skill_ Skill *s = NULL;

                if (!mcp_may_have(m, rows[i].name) || (only && strcmp(only, rows[i].name) != 0))
                        continue;
                e = registry_load_row(&rows[i], &(const RegistryUse){}, &s, &(Diag){});
                e = e > 0 ? 0 : e ?: each(s, userdata);
        }
        skill_rows_free(rows, n);
        return e > 0 && e < MCP_E_RESOURCE ? MCP_E_INTERNAL : e;
}

static int skill_list(const Skill *s, void *userdata) {
        int e;
        json_t *entry = skill_entry(s, &e);

        return entry ? json_array_append_new(userdata, entry) < 0 ? -ENOMEM : 0 : e;
}

int mcp_skills_list(McpServer *m, json_t **ret, Diag *reterr) {
        _cleanup_json_ json_t *list = json_array();
        int e = list ? skills_each(m, NULL, skill_list, list, reterr) : -ENOMEM;

        if (e == 0)
                *ret = json_pack("{s:O}", "skills", list);
        return e;
}

int mcp_skills_get(McpServer *m, const char *uri, json_t **ret, Diag *reterr) {
        _cleanup_json_ json_t *list = json_array();
        _cleanup_free_ char *name = NULL;
        const char *path;
        int e = skill_from_uri(uri, &name, &path, reterr) ?: skills_each(m, name, skill_list, list, reterr);

        if (e != 0)
                return e;
        if (strcmp(path, "SKILL.md") != 0 || json_array_size(list) == 0)
                return diag(reterr, MCP_E_RESOURCE, "uri %s: there is no skill; skills/list has the skills",
                            DIAG_QUOTED(uri));
        *ret = json_pack("{s:O}", "skill", json_array_get(list, 0));
        return 0;
}

static int skill_resources(const Skill *s, void *userdata) {
        int e;
        _cleanup_json_ json_t *entry = skill_entry(s, &e);

        for (size_t i = 0; entry && i < s->bundle.n_files; i++) {
                const BundleFile *f = &s->bundle.files[i];
                _cleanup_free_ char *name = NULL;

                if (f->link)
                        continue;
                if (asprintf(&name, "%s/%s", s->md.name, f->path) < 0) {
                        name = NULL;
                        return -ENOMEM;
                }
                if (json_array_append_new(userdata, json_pack("{s:o, s:s, s:s, s:o}", "uri",
                                                              skill_uri(s->md.name, f->path), "name", name, "mimeType",
                                                              skill_type(f->path), "size", json_u64(f->bytes))) < 0)
                        return -ENOMEM;
        }
        return entry ? 0 : e;
}

int mcp_skills_resources(McpServer *m, json_t **ret, Diag *reterr) {
        _cleanup_json_ json_t *list = json_array();
        int e = list ? skills_each(m, NULL, skill_resources, list, reterr) : -ENOMEM;

        if (e == 0)
                *ret = json_pack("{s:O}", "resources", list);
        return e;
}

typedef struct SkillRead {
        const char *uri, *path;
        json_t *ret; /* owned */
        Diag *reterr;
} SkillRead;

static int skill_read(const Skill *s, void *userdata) {
        SkillRead *r = userdata;
        _cleanup_close_ int dir = open(s->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        _cleanup_free_ char *text = NULL, *encoded = NULL;
        const BundleFile *f = bundle_find(&s->bundle, r->path);
        size_t n = 0;
        int e;

        if (!f || f->link || dir < 0)
                return 0; /* told as missing */
        e = bundle_read_file(&s->bundle, dir, r->path, BYTES_MAX, &text, &n, r->reterr);
        if (e != 0)
                return e < 0 ? e : MCP_E_INTERNAL;
        r->ret = json_pack("{s:[{s:s, s:s, s:s%}]}", "contents", "uri", r->uri, "mimeType", skill_type(r->path), "text",
                           text, n);
        if (r->ret)
                return 0;
        encoded = base64_encode(text, n); /* no text in UTF-8 */
        r->ret = encoded ? json_pack("{s:[{s:s, s:s, s:s}]}", "contents", "uri", r->uri, "mimeType",
                                     skill_type(r->path), "blob", encoded)
                         : NULL;
        return r->ret ? 0 : -ENOMEM;
}

int mcp_skills_read(McpServer *m, const char *uri, json_t **ret, Diag *reterr) {
        _cleanup_free_ char *name = NULL;
        SkillRead r = {.uri = uri, .path = "", .reterr = reterr};
        int e = skill_from_uri(uri, &name, &r.path, reterr) ?: skills_each(m, name, skill_read, &r, reterr);

        *ret = r.ret;
        return e ?: r.ret ? 0 : diag(reterr, MCP_E_RESOURCE, "uri %s: there is no resource", DIAG_QUOTED(uri));
}
