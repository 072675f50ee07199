/* Runs: supervisor. Makes and removes scratch folders. A hostile program fills a scratch folder: removal follows no
 * link, opens at most three descriptors at any depth of nesting, and never recurses. */
#include "base/buf.h"
#include "base/dirents.h"
#include "spawn/private.h"
#include "manifest/copy.h"
#include "manifest/copy.h"

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

/* Opens a folder to its owner, for entering and moving. Returns 1 for a folder, 0 for any other file, or -errno. */
static int scratch_open_to_owner(int dir, const char *name) {
        struct stat st;

        if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
                return -errno;
        if (!S_ISDIR(st.st_mode))
                return 0;
        if ((st.st_mode & 0700) != 0700 && fchmodat(dir, name, 0700, 0) < 0)
                return -errno;
        return 1;
}

/* The position of a walk: a descriptor of the folder, and the names that lead to the folder, for the way back. The
 * supervisor makes and moves no file in the tree: the host's users cannot, on a file system of a user namespace. */
typedef struct ScratchWalk {
        SpawnScratchFn fn; /* for each file, before its removal; may be NULL */
        void *arg;
        int fd;
        Buf names; /* each ends with NUL */
} ScratchWalk;

static int scratch_enter(ScratchWalk *w, const char *name) {
        int child = openat(w->fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), e;

        if (child < 0)
                return -errno;
        e = buf_add(&w->names, name, strlen(name) + 1);
        if (e < 0) {
                close(child);
                return e;
        }
        close(w->fd);
        w->fd = child;
        return 0;
}

/* Returns to the folder above, and removes the empty folder. */
static int scratch_leave(ScratchWalk *w) {
        int above = openat(w->fd, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        size_t n = w->names.n - 1;

        if (above < 0)
                return -errno;
        while (n > 0 && w->names.data[n - 1])
                n--;
        close(w->fd);
        w->fd = above;
        if (unlinkat(above, w->names.data + n, AT_REMOVEDIR) < 0)
                return -errno;
        w->names.n = n;
        w->names.data[n] = 0;
        return 0;
}

static int scratch_remove_entry(ScratchWalk *w, const char *name) {
        int r = scratch_open_to_owner(w->fd, name);

        if (r == 1)
                return unlinkat(w->fd, name, AT_REMOVEDIR) == 0 ? 0 : errno == ENOTEMPTY ? 1 : -errno;
        if (r == 0 && w->fn)
                w->fn(w->fd, name, w->arg);
        return r < 0 ? r : unlinkat(w->fd, name, 0) < 0 ? -errno : 0;
}

/* Removes the folder's contents up to the first non-empty folder. Returns 1 inside of this folder, or 0: empty. */
static int scratch_clear_folder(ScratchWalk *w) {
        _cleanup_close_ int fd = openat(w->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        const char *name;
        Dirents d;
        int r = 0;

        if (fd < 0)
                return -errno;
        dirents_begin(&d, fd);
        while (r == 0 && (name = dirents_next(&d))) {
                r = scratch_remove_entry(w, name);
                if (r == 1)
                        r = scratch_enter(w, name) ?: 1;
        }
        dirents_end(&d);
        return r ?: d.error;
}

int spawn_scratch_make(const SpawnRequest *r, char **ret, Diag *reterr) {
        _cleanup_free_ char *base = NULL;
        static const char *const folders[] = {"", "/work", "/tmp"};
        bool root = r->probe->root;

        if (root ? !(base = strdup("/tmp")) : asprintf(&base, "%s/scratch", r->store_dir) < 0)
                return -ENOMEM;
        if (!root && mkdir(base, 0700) < 0 && errno != EEXIST)
                return diag(reterr, -errno, "\"%s\" cannot be made: %s", base, strerror(errno));
        if (asprintf(ret, "%s/%s%s", base, root ? "lethe-" : "", r->region) < 0) {
                *ret = NULL;
                return -ENOMEM;
        }
        for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
                _cleanup_free_ char *path = NULL;

                if (asprintf(&path, "%s%s", *ret, folders[i]) < 0) {
                        path = NULL;
                        return -ENOMEM;
                }
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

int spawn_scratch_empty(int top, SpawnScratchFn fn, void *arg) {
        ScratchWalk w = {.fn = fn, .arg = arg, .fd = openat(top, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
        int r = w.fd < 0 ? -errno : 1;

        while (r >= 0) {
                r = scratch_clear_folder(&w);
                if (r != 0)
                        continue;
                if (w.names.n == 0)
                        break;
                r = scratch_leave(&w);
        }
        closep(&w.fd);
        buf_deinit(&w.names);
        return r;
}

int spawn_scratch_remove(const char *path) {
        _cleanup_close_ int top = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        int missing = top < 0 ? errno : 0, n = lend_end(path);

        if (n < 0 || missing)
                return n < 0 ? n : missing == ENOENT ? 0 : -missing;
        n = spawn_scratch_empty(top, NULL, NULL);
        if (n == 0 && rmdir(path) < 0 && errno != ENOENT)
                n = -errno;
        return n;
}
