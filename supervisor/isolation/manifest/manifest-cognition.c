/* Runs: CLI, supervisor. "cognition" in "session" of a manifest: the loop around the skill (C-19..C-44). */
#include "manifest/manifest-region.h"

#include "schema/limits.h"

#include <string.h>

/* The role in a file of the skill. Owned, or NULL with a fault. */
static char *manifest_role_file(Doc *d, const Node *v, const SkillFolder *folder) {
        _cleanup_free_ char *text = NULL;
        Diag message = {0};
        const char *path;
        size_t n, bad;

        if (!doc_string(d, v, 1, MANIFEST_TEXT_MAX, &path))
                return NULL;
        if (!folder->bundle) {
                doc_fault(d, v, "role-file", "a role in a file needs the skill's folder");
                return NULL;
        }
        if (!doc_judge(d, bundle_read_file(folder->bundle, folder->fd, path, ROLE_TEXT_MAX, &text, &n, &message), v,
                       "role-file", &message))
                return NULL;
        if (!utf8_valid(text, n, &bad) || memchr(text, 0, n)) {
                doc_fault(d, v, "role-file", "%s is not UTF-8, or has U+0000", DOC_SHOWN(v));
                return NULL;
        }
        return TAKE_PTR(text);
}

json_t *manifest_cognition(Doc *d, const Node *v, const SkillFolder *folder) {
        const Node *compressor = MEMBER(v, "compressor");
        _cleanup_free_ char *file = NULL;
        const char *role = NULL, *skill = NULL;
        bool erase = false;
        uint64_t k = 0;
        json_t *o;

        if (!doc_fields(d, v, WORDS("role", "role_file", "compressor", "k", "erase")))
                return NULL;
        if (MEMBER(v, "role")->v && MEMBER(v, "role_file")->v)
                doc_fault(d, MEMBER(v, "role_file"), "role", "\"role\" is there, too: a single role is allowed");
        else if (MEMBER(v, "role")->v)
                doc_string(d, MEMBER(v, "role"), 1, ROLE_TEXT_MAX, &role);
        else if (MEMBER(v, "role_file")->v)
                role = file = manifest_role_file(d, MEMBER(v, "role_file"), folder);
        if (compressor->v && doc_string(d, compressor, 1, MANIFEST_TEXT_MAX, &skill) && !manifest_name_valid(skill))
                doc_fault(d, compressor, "compressor", "the name of a registered skill has " MANIFEST_NAME_RULE);
        if (MEMBER(v, "k")->v)
                doc_count(d, MEMBER(v, "k"), 1, ARTIFACTS_MAX, &k);
        if (MEMBER(v, "erase")->v)
                doc_bool(d, MEMBER(v, "erase"), &erase);
        o = json_pack("{s:s*, s:s*, s:I, s:o*}", "role", role, "compressor", skill, "k", (json_int_t)k, "erase",
                      erase ? json_true() : NULL);
        d->no_memory |= !o;
        return o;
}
