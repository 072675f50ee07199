/* Runs: supervisor. Makes and removes scratch folders. */
#include "base/folder-empty.h"
#include "manifest/copy.h"
#include "spawn/private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* Tier landlock has no mounts, so its regions name their skill by a path of the host. The region of an ordinary user
 * can reach the copy in the user's store. The region of root cannot: its user is nobody, and root's store is closed to
 * nobody. So root's supervisor copies the copy once more, into a folder beside the region's scratch. Only root and the
 * region's group can enter the folder, which is removed with the scratch. */
void lent_deinit(Lent *l) {
        free(l->skill);
        free(l->program);
        *l = (Lent){0};
}

static int lend_differs(const char *path, Diag *reterr) {
        return diag(reterr, SPAWN_E_SOURCE, "%s: this copy no longer has the recorded digest; fix: remove the copy, "
                    "and the next start makes a new copy", path);
}

static int lend_skill(const Grant *g, const char *to, Diag *reterr) {
        _cleanup_close_ int from = open(g->skill_dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), into = -1;
        _cleanup_bundle_ Bundle b = {0};
        int e;

        if (from < 0 || mkdir(to, 0700) < 0 || (into = open(to, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)) < 0)
                return -errno;
        e = bundle_copy(from, into, &b, reterr);
        if (e != 0)
                return e < 0 ? e : SPAWN_E_SOURCE;
        if (strcmp(b.digest, g->skill_digest) != 0)
                return lend_differs(g->skill_dir, reterr);
        return fchmod(into, 0555) < 0 ? -errno : 0;
}

static int lend_program(const Grant *g, const char *to, Diag *reterr) {
        _cleanup_close_ int from = open(g->program_copy, O_RDONLY | O_NOFOLLOW | O_CLOEXEC), into = -1;
        char digest[DIGEST_TEXT_MAX];
        int e;

        if (from < 0 || (into = open(to, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600)) < 0)
                return -errno;
        e = copy_bytes(from, into, digest);
        if (e == 0 && strcmp(digest, g->skill_digest) != 0)
                return lend_differs(g->program_copy, reterr);
        return e == 0 && fchmod(into, 0555) < 0 ? -errno : e;
}

int lend(const Grant *g, const char *scratch, gid_t gid, Lent *ret, Diag *reterr) {
        bool program = g->program && !g->program_granted && strcmp(g->program, g->program_copy) != 0;
        _cleanup_(lent_deinit) Lent l = {0};
        _cleanup_free_ char *folder = NULL;
        int e = 0;

        if (!g->skill_dir && !program)
                return 0;
        if (!(folder = text_printf("%s" LEND_SUFFIX, scratch)) ||
            (g->skill_dir && !(l.skill = text_printf("%s/skill", folder))) ||
            (program && !(l.program = text_printf("%s/%s", folder, strrchr(g->argv[0], '/') + 1))))
                return -ENOMEM;
        if (mkdir(folder, 0700) < 0)
                return diag(reterr, -errno, "\"%s\" cannot be made: %s", folder, strerror(errno));
        if (g->skill_dir)
                e = lend_skill(g, l.skill, reterr);
        if (e == 0 && program)
                e = lend_program(g, l.program, reterr);
        if (e == 0 && (lchown(folder, (uid_t)-1, gid) < 0 || chmod(folder, 0750) < 0))
                e = -errno;
        if (e != 0)
                return e;
        *ret = l;
        l = (Lent){0};
        return 0;
}

int lend_end(const char *scratch) {
        _cleanup_free_ char *folder = text_printf("%s" LEND_SUFFIX, scratch);

        return folder ? copy_remove(AT_FDCWD, folder) : -ENOMEM;
}

int spawn_scratch_make(const SpawnRequest *r, char **ret, Diag *reterr) {
        static const char *const folders[] = {"", "/work", "/tmp"};
        bool root = r->probe->root;
        _cleanup_free_ char *base = root ? strdup("/tmp") : text_printf("%s/scratch", r->store_dir);

        if (!base)
                return -ENOMEM;
        if (!root && mkdir(base, 0700) < 0 && errno != EEXIST)
                return diag(reterr, -errno, "\"%s\" cannot be made: %s", base, strerror(errno));
        if (!(*ret = text_printf("%s/%s%s", base, root ? "lethe-" : "", r->region)))
                return -ENOMEM;
        for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
                _cleanup_free_ char *path = text_printf("%s%s", *ret, folders[i]);

                if (!path)
                        return -ENOMEM;
                if (mkdir(path, 0700) < 0) {
                        int e = -errno;

                        if (i == 0) { /* not of this region: never remove */
                                free(*ret);
                                *ret = NULL;
                        }
                        return diag(reterr, e, "\"%s\" cannot be made: %s", path, strerror(-e));
                }
                if (root && lchown(path, probe_region_id(r->probe), probe_region_id(r->probe)) < 0)
                        return -errno;
        }
        return 0;
}

int spawn_scratch_remove(const char *path) {
        _cleanup_close_ int top = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        int missing = top < 0 ? errno : 0, n = lend_end(path);

        if (n < 0 || missing)
                return n < 0 ? n : missing == ENOENT ? 0 : -missing;
        n = folder_empty(top, NULL, NULL);
        if (n == 0 && rmdir(path) < 0 && errno != ENOENT)
                n = -errno;
        return n;
}
