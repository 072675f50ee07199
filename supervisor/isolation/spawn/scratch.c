/* Removing a scratch folder that a hostile program filled: no link is followed, and however deep its folders are nested, at most three
 * descriptors are open and nothing recurses. */
#include "spawn/spawn.h"

#include "base/buf.h"
#include "base/dirents.h"
#include "spawn/lend.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* A folder that was closed to its owner is opened to him again: it can then be entered and moved. Returns 1 for a folder, 0 for anything
 * else, or -errno. */
static int prepare(int dir, const char *name) {
        struct stat st;

        if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
                return -errno;
        if (!S_ISDIR(st.st_mode))
                return 0;
        if ((st.st_mode & 0700) != 0700 && fchmodat(dir, name, 0700, 0) < 0)
                return -errno;
        return 1;
}

/* Where the walk stands: a descriptor of the folder, and the names that lead to it, for the way back. Nothing of ours is made or moved in
 * the tree: on a file system that a user namespace owns, the host's users cannot. */
typedef struct Walk {
        SpawnScratchFn fn; /* for each file, before its name goes; may be NULL */
        void *arg;
        int fd;
        Buf names; /* each ends with its NUL */
} Walk;

static int enter(Walk *w, const char *name) {
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

/* Back to the folder above, where the one that is empty now goes. */
static int leave(Walk *w) {
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

static int take(Walk *w, const char *name) {
        int r = prepare(w->fd, name);

        if (r == 1)
                return unlinkat(w->fd, name, AT_REMOVEDIR) == 0 ? 0 : errno == ENOTEMPTY ? 1 : -errno;
        if (r == 0 && w->fn)
                w->fn(w->fd, name, w->arg);
        return r < 0 ? r : unlinkat(w->fd, name, 0) < 0 ? -errno : 0;
}

/* Removes what the folder has, up to the first folder that is not empty: then returns 1 and stands in that. Returns 0 when it is empty. */
static int clear_folder(Walk *w) {
        _cleanup_close_ int fd = openat(w->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        const char *name;
        Dirents d;
        int r = 0;

        if (fd < 0)
                return -errno;
        dirents_begin(&d, fd);
        while (r == 0 && (name = dirents_next(&d))) {
                r = take(w, name);
                if (r == 1)
                        r = enter(w, name) ?: 1;
        }
        dirents_end(&d);
        return r ?: d.error;
}

int spawn_scratch_empty(int top, SpawnScratchFn fn, void *arg) {
        Walk w = {.fn = fn, .arg = arg, .fd = openat(top, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
        int r = w.fd < 0 ? -errno : 1;

        while (r >= 0) {
                r = clear_folder(&w);
                if (r != 0)
                        continue;
                if (w.names.n == 0)
                        break;
                r = leave(&w);
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
