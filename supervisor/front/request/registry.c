#include "request/registry.h"

#include "base/path-lookup.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

static int registry_load_dir(const RegistryUse *use, const char *dir, const char *digest, Skill **ret, Diag *reterr) {
        const SkillSource from = {.dir = dir, .store_dir = use->store_dir, .digest = digest};
        int r = skill_load_kept(use->kept, &from, ret, reterr);

        if (r == 0 && use->store_dir && !(use->foreign && !digest)) {
                r = skill_check_owner(*ret, reterr);
                if (r != 0)
                        skill_free(TAKE_PTR(*ret));
                if (r > 0 && !digest)
                        diag_prefix(reterr, "--foreign runs the skill all the same");
        }
        return r <= 0 ? r : r == SKILL_E_MISSING ? REGISTRY_E_UNKNOWN : REGISTRY_E_SKILL;
}

int registry_load_row(const SkillRow *row, const RegistryUse *use, Skill **ret, Diag *reterr) {
        _cleanup_skill_ Skill *s = NULL;
        _cleanup_free_ char *difference = NULL;
        int r = registry_load_dir(use, row->folder, row->digest, &s, reterr);

        if (r > 0) {
                diag_prefix(reterr, "skill %s, registered at %s", row->name, row->folder);
                return r == REGISTRY_E_UNKNOWN ? REGISTRY_E_CHANGED : r;
        }
        if (r < 0)
                return r;
        if (strcmp(s->bundle.digest, row->digest) != 0) {
                difference = bundle_difference(&s->bundle, row->files);
                return diag(reterr, REGISTRY_E_CHANGED, "skill %s differs from its registration: in %s, %s; `lethe "
                            "skill add %s` registers the current files", row->name, s->dir,
                            difference ?: "a file changed", s->dir);
        }
        *ret = TAKE_PTR(s);
        return 0;
}

/* A user of another tool names a program, or an image. */
static int registry_unknown(const char *skill, Diag *reterr) {
        _cleanup_free_ char *program = NULL;
        const int r = path_search(skill, &program);

        if (r < 0)
                return r;
        if (program)
                return diag(reterr, REGISTRY_E_UNKNOWN, "\"%s\": neither a registered skill nor a folder; --exec %s runs "
                            "the program %s", DIAG_QUOTED(skill), skill, program);
        return diag(reterr, REGISTRY_E_UNKNOWN, "\"%s\": neither a registered skill nor a folder; `lethe skill list` shows "
                    "the registered skills, and --exec PROGRAM runs a program of the host (there are no images)",
                    DIAG_QUOTED(skill));
}

int registry_load(Txn *t, const RegistryUse *use, const char *skill, bool registered, Skill **ret, Diag *reterr) {
        struct stat st;

        if (registered || (!strchr(skill, '/') && strcmp(skill, ".") != 0 && strcmp(skill, "..") != 0)) {
                _cleanup_skill_row_ SkillRow row = {0};
                int r = t ? engine_skill_get(t, skill, &row) : -ENOENT;

                if (r == 0)
                        return registry_load_row(&row, use, ret, reterr);
                if (r != -ENOENT)
                        return r;
                if (registered)
                        return diag(reterr, REGISTRY_E_UNKNOWN, "\"%s\": no skill is registered by that name; `lethe "
                                    "skill list` shows the registered skills", DIAG_QUOTED(skill));
                if (lookup_stat(skill, true, &st) == -ENOENT)
                        return registry_unknown(skill, reterr);
        }
        return registry_load_dir(use, skill, NULL, ret, reterr);
}

bool registry_has(Store *store, const char *name, const char *digest, bool otherwise) {
        _cleanup_skill_row_ SkillRow row = {0};
        _cleanup_txn_ Txn *t = NULL;
        Diag d = {};
        int e = store_begin_at_once(store, &t, &d) ?: engine_skill_get(t, name, &row);

        return e == 0 ? strcmp(row.digest, digest) == 0 : e == -ENOENT ? false : otherwise;
}
