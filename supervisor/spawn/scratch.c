/* Removing a scratch folder that a hostile program filled: no link is followed, and however deep its folders are nested, at most three
 * descriptors are open and nothing recurses. */
#include "spawn/spawn.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static bool is_dot(const char *name) {
        return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

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

/* What is done with each file before its name goes. */
typedef struct Each {
        SpawnScratchFn fn; /* may be NULL */
        void *arg;
        unsigned long serial;
} Each;

static int drop(int dir, const char *name, const Each *each) {
        if (each->fn)
                each->fn(dir, name, each->arg);
        return unlinkat(dir, name, 0) < 0 ? -errno : 0;
}

/* Empties a folder: files go, folders move up to `top` under names of ours. Closes fd. */
static int flatten(int fd, int top, Each *each) {
        DIR *d = fdopendir(fd);
        struct dirent *e;
        int r = 0;

        if (!d) {
                close(fd);
                return -errno;
        }
        while (r >= 0 && (e = readdir(d))) {
                char name[32];

                if (is_dot(e->d_name))
                        continue;
                r = prepare(dirfd(d), e->d_name);
                if (r == 0)
                        r = drop(dirfd(d), e->d_name, each);
                if (r <= 0)
                        continue;
                do
                        snprintf(name, sizeof(name), "moved-%lu", each->serial++);
                while (renameat2(dirfd(d), e->d_name, top, name, RENAME_NOREPLACE) < 0 && errno == EEXIST);
                r = faccessat(top, name, F_OK, AT_SYMLINK_NOFOLLOW) < 0 ? -errno : 0;
        }
        closedir(d);
        return MIN(r, 0);
}

/* One round over the top folder. Returns how many entries it had, or -errno. */
static int clear_top(int top, Each *each) {
        int fd = openat(top, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), n = 0, r = 0;
        DIR *d = fd < 0 ? NULL : fdopendir(fd);
        struct dirent *e;

        if (!d) {
                r = -errno;
                if (fd >= 0)
                        close(fd);
                return r;
        }
        while (r >= 0 && (e = readdir(d))) {
                if (is_dot(e->d_name))
                        continue;
                n++;
                r = prepare(top, e->d_name);
                if (r == 1) {
                        int child = openat(top, e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

                        r = child < 0 ? -errno : flatten(child, top, each);
                        if (r == 0 && unlinkat(top, e->d_name, AT_REMOVEDIR) < 0)
                                r = -errno;
                } else if (r == 0)
                        r = drop(top, e->d_name, each);
        }
        closedir(d);
        return r < 0 ? r : n;
}

int spawn_scratch_empty(int top, SpawnScratchFn fn, void *arg) {
        Each each = {.fn = fn, .arg = arg};
        int n;

        while ((n = clear_top(top, &each)) > 0)
                ;
        return n;
}

int spawn_scratch_remove(const char *path) {
        _cleanup_close_ int top = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        int n;

        if (top < 0)
                return errno == ENOENT ? 0 : -errno;
        n = spawn_scratch_empty(top, NULL, NULL);
        if (n == 0 && rmdir(path) < 0 && errno != ENOENT)
                n = -errno;
        return n;
}
