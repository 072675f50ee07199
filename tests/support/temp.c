#include "tests/support/temp.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>

int temp_dir_make(TempDir *ret) {
        const char *base = getenv("TMPDIR");
        TempDir t = TEMP_DIR_NULL;

        if (!base || *base != '/')
                base = "/tmp";
        if (snprintf(t.path, sizeof(t.path), "%s/lethe-test-XXXXXX", base) >= (int)sizeof(t.path))
                return -ENAMETOOLONG;
        if (!mkdtemp(t.path))
                return -errno;
        t.fd = open(t.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (t.fd < 0) {
                int e = -errno;

                rmdir(t.path);
                return e;
        }
        *ret = t;
        return 0;
}

void temp_dir_remove(TempDir *t) {
        if (t->fd < 0)
                return;
        closep(&t->fd);
        temp_remove_tree(AT_FDCWD, t->path);
}

/* A folder on the same mount as its parent. */
static int open_inside(int dirfd, const char *name) {
        struct open_how how = {
                .flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW,
                .resolve = RESOLVE_NO_XDEV | RESOLVE_NO_SYMLINKS,
        };

        return (int)syscall(SYS_openat2, dirfd, name, &how, sizeof(how));
}

static int empty_dir(int fd) {
        DIR *d = fdopendir(fd);
        struct dirent *e;
        int r = 0;

        if (!d) {
                close(fd);
                return -errno;
        }
        while (r == 0 && (e = readdir(d))) {
                int inner;

                if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
                        continue;
                if (unlinkat(dirfd(d), e->d_name, 0) == 0 || errno == ENOENT)
                        continue;
                /* A folder that its own user may not write to, as those of copies in a store are. */
                if (errno == EACCES && fchmod(dirfd(d), 0700) == 0 && unlinkat(dirfd(d), e->d_name, 0) == 0)
                        continue;
                if (errno != EISDIR && errno != EPERM) {
                        r = -errno;
                        break;
                }
                inner = open_inside(dirfd(d), e->d_name);
                if (inner < 0 && errno == EACCES && fchmodat(dirfd(d), e->d_name, 0700, 0) == 0)
                        inner = open_inside(dirfd(d), e->d_name);
                r = inner < 0 ? -errno : empty_dir(inner);
                if (r == 0 && unlinkat(dirfd(d), e->d_name, AT_REMOVEDIR) < 0)
                        r = -errno;
        }
        closedir(d);
        return r;
}

int temp_remove_tree(int dirfd, const char *name) {
        int fd = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW), r;

        if (fd < 0)
                return -errno;
        r = empty_dir(fd);
        if (r == 0 && unlinkat(dirfd, name, AT_REMOVEDIR) < 0)
                r = -errno;
        return r;
}
