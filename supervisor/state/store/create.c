#include "store/wal.h"
#include "store/store-internal.h"
#include "store/table.h"
#include "base/dirents.h"
#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>

/* A store is made whole in a folder beside its place and renamed there: a power cut, a kill or a race never leaves a
 * half-made store. The maker holds flock(2) on the folder: a folder without a holder was left by a dead maker. */

#define MAKE_TRIES 100

static void create_remove(int parent, const char *name) {
        int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
        static const char *const files[] = {"data.mdb", "lock.mdb", "key", "vkey", "redo", "anchor"};

        if (fd < 0)
                return;
        for (size_t i = 0; i < ARRAY_SIZE(files); i++)
                unlinkat(fd, files[i], 0);
        unlinkat(fd, "run", AT_REMOVEDIR);
        close(fd);
        unlinkat(parent, name, AT_REMOVEDIR);
}

static void create_sweep(int parent, const char *prefix) {
        _cleanup_closedir_ DIR *d = opendirat(parent, ".");
        struct dirent *e;

        while (d && (e = readdir(d))) {
                _cleanup_close_ int f = -1;

                if (strncmp(e->d_name, prefix, strlen(prefix)) != 0)
                        continue;
                f = openat(parent, e->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
                if (f >= 0 && flock(f, LOCK_EX | LOCK_NB) == 0)
                        create_remove(parent, e->d_name);
        }
}

static int create_fill(Store *s, const char *path, Diag *reterr) {
        Txn *t;
        int r = key_make(s->dir_fd, s->public_key, reterr);

        if (r < 0)
                return store_refusal(s, r, "cannot make the signing key", reterr);
        origin_of(s->public_key, s->origin);
        r = key_load(s, reterr);
        if (r != 0)
                return r;
        r = wal_make(s->dir_fd);
        if (r < 0)
                return store_refusal(s, r, "cannot make the write-ahead log (redo)", reterr);
        if (mkdirat(s->dir_fd, "run", 0700) < 0)
                return store_refusal(s, -errno, "cannot make folder run", reterr);
        r = env_open(s, path, true, reterr);
        if (r != 0)
                return r;
        r = store_begin(s, true, &t, reterr);
        if (r != 0)
                return r;
        r = store_made_newest(t)
                ?: table_put(t, TABLE_META, BYTES_STR("public"), BYTES(s->public_key, 32));
        if (r == 0)
                r = store_hooks.created(t, reterr);
        if (r != 0) {
                store_abort(t);
                return r < 0 ? store_refusal(s, r, "cannot be filled", reterr) : r;
        }
        return store_commit(t, reterr);
}

/* Another process may sweep in the moment between mkdir and flock, and take the folder for a dead maker's: then the
 * folder is gone, and the next try has a new name. Returns the folder's descriptor, locked, or -errno. */
static int create_make_folder(int parent, const char *prefix, char name[static NAME_MAX + 1]) {
        for (unsigned tries = 0; tries < MAKE_TRIES; tries++) {
                _cleanup_close_ int fd = -1;
                struct stat ours, there;
                uint32_t rnd;

                if (getrandom(&rnd, sizeof(rnd), 0) != (ssize_t)sizeof(rnd))
                        return -EIO;
                snprintf(name, NAME_MAX + 1, "%.240s%08x", prefix, rnd);
                if (mkdirat(parent, name, 0700) < 0) {
                        if (errno == EEXIST)
                                continue;
                        return -errno;
                }
                errno = ENOENT; /* also for a different folder of the same name */
                fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
                if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0 && fstat(fd, &ours) == 0 &&
                    fstatat(parent, name, &there, AT_SYMLINK_NOFOLLOW) == 0 && there.st_ino == ours.st_ino &&
                    there.st_dev == ours.st_dev)
                        return TAKE_FD(fd);
                if (errno != ENOENT && errno != EWOULDBLOCK)
                        return -errno;
        }
        return -EBUSY;
}

int store_create(const char *dir, Diag *reterr) {
        _cleanup_close_ int parent = -1, made = -1;
        char path[PATH_MAX], name[NAME_MAX + 1], prefix[NAME_MAX + 1];
        const char *slash = strrchr(dir, '/'), *base = slash ? slash + 1 : dir;
        /* the name is secret: no gate is needed */
        Store s = {.dir = (char *)dir, .mode = STORE_WRITE, .dir_fd = -1, .lock_fd = -1, .wal_fd = -1,
                   .gate = {.none = true}};
        int r;

        if (!*base || snprintf(prefix, sizeof(prefix), "%s.new.", base) >= (int)sizeof(prefix) - 8)
                return diag(reterr, STORE_E_MISSING, "store %s: not a name for a folder", dir);
        if (slash && slash > dir) {
                _cleanup_free_ char *up = strndup(dir, (size_t)(slash - dir));

                if (!up)
                        return -ENOMEM;
                r = io_mkdir_parents(up, 0700);
                if (r < 0)
                        return store_refusal(&s, r, "cannot make the folders above", reterr);
                parent = open(up, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        } else
                parent = open(slash ? "/" : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (parent < 0)
                return store_refusal(&s, -errno, "cannot open the folder above", reterr);
        create_sweep(parent, prefix);
        made = create_make_folder(parent, prefix, name);
        if (made < 0)
                return store_refusal(&s, made, "cannot be made", reterr);
        if (snprintf(path, sizeof(path), "%.*s%s", slash ? (int)(slash - dir + 1) : 0, dir, name) >= (int)sizeof(path))
                return -ENAMETOOLONG;
        s.dir_fd = made;
        r = create_fill(&s, path, reterr);
        env_close(&s);
        key_free(&s);
        if (r == 0 && fsync(made) < 0)
                r = store_refusal(&s, -errno, "cannot be made durable", reterr);
        if (r == 0 && renameat(parent, name, parent, base) < 0) {
                if (errno != ENOTEMPTY && errno != EEXIST)
                        r = store_refusal(&s, -errno, "cannot be renamed into place", reterr);
                create_remove(parent, name); /* another process was faster: its store stays */
        } else if (r != 0)
                create_remove(parent, name);
        else if (fsync(parent) < 0)
                r = store_refusal(&s, -errno, "cannot be made durable", reterr);
        return r;
}
