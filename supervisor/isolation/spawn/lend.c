#include "spawn/lend.h"

#include "manifest/copy.h"
#include "manifest/copy.h"
#include "spawn/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

void lent_deinit(Lent *l) {
        free(l->skill);
        free(l->program);
        *l = (Lent){0};
}

static int lend_differs(const char *path, Diag *reterr) {
        return diag(reterr, SPAWN_E_SOURCE, "%s: this copy does not have its digest any more: remove it, and the next start makes it again", path);
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
        if (asprintf(&folder, "%s" LEND_SUFFIX, scratch) < 0) {
                folder = NULL;
                return -ENOMEM;
        }
        if (g->skill_dir && asprintf(&l.skill, "%s/skill", folder) < 0) {
                l.skill = NULL;
                return -ENOMEM;
        }
        if (program && asprintf(&l.program, "%s/%s", folder, strrchr(g->argv[0], '/') + 1) < 0) {
                l.program = NULL;
                return -ENOMEM;
        }
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
        _cleanup_free_ char *folder = NULL;

        if (asprintf(&folder, "%s" LEND_SUFFIX, scratch) < 0) {
                folder = NULL;
                return -ENOMEM;
        }
        return copy_remove(AT_FDCWD, folder);
}
