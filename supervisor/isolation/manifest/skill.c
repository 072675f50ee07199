#include "manifest/skill.h"

#include "base/owner.h"
#include "base/path-lookup.h"
#include "schema/limits.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <string.h>

#define SKILL_MD_NAME "SKILL.md"
#define SKILL_MD_OTHER "skill.md" /* the reference reader accepts this name too */

Skill *skill_use(Skill *s) {
        atomic_fetch_add(&s->more_users, 1);
        return s;
}

void skill_free(Skill *s) {
        if (!s || atomic_fetch_sub(&s->more_users, 1) > 0)
                return;
        free(s->dir);
        copy_deinit(&s->copy);
        skill_md_deinit(&s->md);
        manifest_deinit(&s->manifest);
        bundle_deinit(&s->bundle);
        strv_free(s->warnings);
        free(s);
}

/* Reads a file of the folder; a refusal becomes a finding, and *ret stays NULL. */
static int skill_read_file(const Skill *s, int fd, const char *path, size_t max, char **ret, size_t *ret_n,
                           Findings *f) {
        Diag message = {0};
        int r = bundle_read_file(&s->bundle, fd, path, max, ret, ret_n, &message);

        return r > 0 ? finding_add(f, FINDING_ERROR, path, 0, NULL, "file", "%s", message.text) : r;
}

static int skill_read_md(Skill *s, int fd, Findings *f) {
        const char *slash = strrchr(s->dir, '/'), *name = SKILL_MD_NAME;
        _cleanup_free_ char *text = NULL;
        size_t n;
        int r;

        if (!bundle_find(&s->bundle, name)) {
                if (!bundle_find(&s->bundle, SKILL_MD_OTHER))
                        return finding_add(f, FINDING_ERROR, name, 0, NULL, "skill-md",
                                           "missing: a skill's folder must have it");
                name = SKILL_MD_OTHER;
                r = finding_add(f, FINDING_STRICT, name, 0, NULL, "skill-md", "must be written SKILL.md");
                if (r < 0)
                        return r;
        }
        r = skill_read_file(s, fd, name, SKILL_MD_MAX, &text, &n, f);
        if (r < 0 || !text)
                return r;
        return skill_md_parse(text, n, slash ? slash + 1 : s->dir, &s->md, f);
}

static int skill_read_manifest(Skill *s, int fd, Findings *f, Diag *reterr) {
        _cleanup_free_ char *text = NULL;
        size_t n;
        int r;

        s->manifest = manifest_none();
        if (!bundle_find(&s->bundle, MANIFEST_NAME))
                return 0;
        s->has_manifest = true;
        r = skill_read_file(s, fd, MANIFEST_NAME, MANIFEST_FILE_MAX, &text, &n, f);
        if (r < 0 || !text)
                return r;
        r = manifest_parse(text, n, fd, &s->bundle, &s->manifest, f);
        /* Symlinks of the host are resolved here, once: policy judges exactly the path that is mounted later. */
        for (size_t i = 0; r == 0 && i < s->manifest.n_files; i++) {
                int e = lookup_real(s->manifest.files[i].path, &s->manifest.files[i].real);

                if (e == -ENOMEM || e == -ETIMEDOUT)
                        r = e == -ENOMEM ? e
                                         : diag(reterr, SKILL_E_BAD, "%s/" MANIFEST_NAME "#/files/%zu: \"%s\": %s",
                                                s->dir, i, s->manifest.files[i].path, lookup_strerror(e));
        }
        return r;
}

/* Refuses a store inside the skill's folder: the copy would contain the store, with the signing key. */
static int skill_check_store(const char *dir, const char *store_dir, Diag *reterr) {
        _cleanup_free_ char *store = store_dir ? realpath(store_dir, NULL) : NULL;

        if (!store || !path_is_under(store, dir))
                return store_dir && !store && errno == ENOMEM ? -ENOMEM : 0;
        return diag(reterr, SKILL_E_BUNDLE,
                    "%s: the store %s is in the skill's folder, and no region is shown a store; move the skill into a "
                    "folder of its own",
                    dir, store);
}

static int skill_inspect_from(const SkillSource *from, Skill **ret, Findings *findings, Diag *reterr) {
        _cleanup_skill_ Skill *s = calloc(1, sizeof(*s));
        _cleanup_close_ int fd = -1, copy = -1;
        const char *dir = from->dir;
        const char *shown = DIAG_QUOTED(dir);
        Diag message = {0};
        int r;

        if (!s)
                return -ENOMEM;
        r = from->gone ? (s->dir = strdup(dir)) ? 0 : -ENOMEM : lookup_real(dir, &s->dir);
        if (r < 0)
                return r == -ENOMEM ? r
                                    : diag(reterr, r == -ETIMEDOUT ? SKILL_E_BUNDLE : SKILL_E_MISSING, "%s: %s", shown,
                                           lookup_strerror(r));
        for (const char *p = s->dir; *p; p++)
                if ((unsigned char)*p < 0x20 || *p == 0x7F || !utf8_valid(s->dir, strlen(s->dir), NULL))
                        return diag(reterr, SKILL_E_BAD,
                                    "%s: the path to a skill must be UTF-8 without control characters", shown);
        if (from->gone) {
                r = copy_find_skill(from->store_dir, from->digest, &s->copy, &copy, &message);
                if (r == -ENOENT)
                        return diag(reterr, SKILL_E_MISSING, "%s: the store has no copy with the digest %s", shown,
                                    from->digest);
                r = r ?: bundle_read(copy, &s->bundle, &message);
        } else {
                r = lookup_may_read(s->dir);
                if (r < 0)
                        return diag(reterr, SKILL_E_BUNDLE, "%s: %s", shown, lookup_strerror(r));
                fd = open(s->dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
                if (fd < 0)
                        return errno == ENOTDIR
                                       ? diag(reterr, SKILL_E_MISSING,
                                              "%s: a skill is a folder, this is none; fix: --exec runs a program",
                                              shown)
                                       : diag(reterr, SKILL_E_MISSING, "%s: %s", shown, strerror(errno));
                r = skill_check_store(s->dir, from->store_dir, reterr);
                if (r != 0)
                        return r;
                r = bundle_read(fd, &s->bundle, &message);
                if (r == 0 && from->store_dir && (!from->digest || strcmp(from->digest, s->bundle.digest) == 0))
                        r = copy_skill(from->store_dir, fd, &s->bundle, &s->copy, &copy, &message);
        }
        if (r > 0)
                return diag(reterr, r == COPY_E_CHANGED || r == COPY_E_STORE ? SKILL_E_COPY : SKILL_E_BUNDLE, "%s: %s",
                            shown, message.text);
        r = r ?: skill_read_md(s, copy >= 0 ? copy : fd, findings);
        r = r ?: skill_read_manifest(s, copy >= 0 ? copy : fd, findings, reterr);
        if (r != 0)
                return r;
        *ret = TAKE_PTR(s);
        return 0;
}

int skill_check_owner(const Skill *s, Diag *reterr) {
        Diag other;
        int r = owner_check(s->dir, geteuid(), &other);

        if (r < 0)
                return r;
        if (r > 0 || s->bundle.others)
                return diag(reterr, SKILL_E_OTHERS, "skill %s is not this user's alone: %s", s->dir,
                            r > 0 ? other.text : s->bundle.others);
        return 0;
}

int skill_inspect(const char *dir, Skill **ret, Findings *findings, Diag *reterr) {
        return skill_inspect_from(&(const SkillSource){.dir = dir}, ret, findings, reterr);
}

int skill_load_from(const SkillSource *from, Skill **ret, Diag *reterr) {
        _cleanup_findings_ Findings f = {0};
        _cleanup_skill_ Skill *s = NULL;
        int r = skill_inspect_from(from, &s, &f, reterr);

        if (r)
                return r;
        for (size_t i = 0; i < f.n; i++) {
                _cleanup_free_ char *text = finding_text(&f.v[i]);
                bool missing = strcmp(f.v[i].rule, "skill-md") == 0;
                size_t others = findings_count(&f, FINDING_ERROR);

                if (!text)
                        return -ENOMEM;
                if (f.v[i].level == FINDING_ERROR)
                        return others > 1
                                       ? diag(reterr, missing ? SKILL_E_MISSING : SKILL_E_BAD,
                                              "%s/%s (and %zu more: lethe validate lists them)", s->dir, text,
                                              others - 1)
                                       : diag(reterr, missing ? SKILL_E_MISSING : SKILL_E_BAD, "%s/%s", s->dir, text);
                if (f.v[i].level == FINDING_STRICT && strv_add(&s->warnings, text) < 0)
                        return -ENOMEM;
        }
        if (!s->md.name) { /* a run is possible without a name in SKILL.md: the folder has a name */
                s->md.name = strdup(strrchr(s->dir, '/') + 1);
                if (!s->md.name)
                        return -ENOMEM;
        }
        if (*s->md.name && !skill_md_name_runs(s->md.name))
                return diag(reterr, SKILL_E_BAD,
                            "%s: SKILL.md has no name, and the folder's is \"%s\": " SKILL_MD_NAME_RULE
                            "; put a name into SKILL.md, or rename the folder",
                            s->dir, DIAG_QUOTED(s->md.name));
        if (!*s->md.name || strlen(s->md.name) > NAME_MAX)
                return diag(reterr, SKILL_E_BAD, "%s: neither SKILL.md nor the folder gives the skill a name", s->dir);
        *ret = TAKE_PTR(s);
        return 0;
}
