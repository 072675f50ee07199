/* A folder is emptied whatever a hostile program left there (I-29), and nothing outside of it is touched. */
#include "base/folder-empty.h"
#include "tests/support/temp.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mount.h>
#include <unistd.h>

static bool is_empty(int fd) {
        return folder_empty(fd, NULL, NULL) == 0 && unlinkat(fd, "x", 0) < 0 && errno == ENOENT;
}

static void make(int dir, const char *name) {
        int fd = openat(dir, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

        cr_assert_geq(fd, 0);
        close(fd);
}

/* Deeper than paths and descriptors reach; the shell's `rm` needs a name for each part. */
Test(folder_empty, any_depth) {
        _cleanup_temp_dir_ TempDir t = TEMP_DIR_NULL;
        int fd;

        cr_assert_eq(temp_dir_make(&t), 0);
        fd = dup(t.fd);
        for (int i = 0; i < 5000; i++) {
                int next;

                cr_assert_eq(mkdirat(fd, "deeper", 0700), 0);
                if (i % 100 == 0)
                        make(fd, "beside");
                next = openat(fd, "deeper", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
                cr_assert_geq(next, 0);
                close(fd);
                fd = next;
        }
        close(fd);
        cr_assert_eq(folder_empty(t.fd, NULL, NULL), 0);
        cr_assert_eq(unlinkat(t.fd, "deeper", AT_REMOVEDIR), -1);
        cr_assert_eq(errno, ENOENT);
        cr_assert(is_empty(t.fd));
}

Test(folder_empty, links_and_closed_folders) {
        _cleanup_temp_dir_ TempDir t = TEMP_DIR_NULL, outside = TEMP_DIR_NULL;

        cr_assert(temp_dir_make(&t) == 0 && temp_dir_make(&outside) == 0);
        make(outside.fd, "kept");
        cr_assert_eq(symlinkat(outside.path, t.fd, "link"), 0);
        cr_assert_eq(mkdirat(t.fd, "closed", 0700), 0);
        cr_assert_eq(mkdirat(t.fd, "closed/within", 0700), 0);
        make(t.fd, "closed/within/file");
        cr_assert_eq(fchmodat(t.fd, "closed/within", 0, 0), 0);
        cr_assert_eq(fchmodat(t.fd, "closed", 0, 0), 0);
        cr_assert_eq(folder_empty(t.fd, NULL, NULL), 0);
        cr_assert_eq(faccessat(outside.fd, "kept", F_OK, 0), 0);
        cr_assert_eq(faccessat(t.fd, "closed", F_OK, 0), -1);
        cr_assert_eq(faccessat(t.fd, "link", F_OK, AT_SYMLINK_NOFOLLOW), -1);
}

typedef struct Seen {
        size_t files, folders;
        const char *stop;
} Seen;

static int see(int folder, const char *name, const struct stat *st, void *arg) {
        Seen *s = arg;

        *(S_ISDIR(st->st_mode) ? &s->folders : &s->files) += 1;
        return s->stop && *name == *s->stop ? -EPERM : 0;
}

Test(folder_empty, an_entry_can_end_the_walk_and_stays) {
        _cleanup_temp_dir_ TempDir t = TEMP_DIR_NULL;
        Seen s = {.stop = "s"};

        cr_assert_eq(temp_dir_make(&t), 0);
        make(t.fd, "stays");
        cr_assert_eq(folder_empty(t.fd, see, &s), -EPERM);
        cr_assert_eq(faccessat(t.fd, "stays", F_OK, 0), 0);
        s = (Seen){0};
        cr_assert_eq(folder_empty(t.fd, see, &s), 0);
        cr_assert_eq(s.files, 1);
}

/* A folder that the kernel does not remove ends the walk: entered again and again, the walk would not end. */
Test(folder_empty, a_folder_that_stays_is_an_error) {
        _cleanup_temp_dir_ TempDir t = TEMP_DIR_NULL;
        char path[PATH_MAX + 8];

        cr_assert_eq(temp_dir_make(&t), 0);
        cr_assert_eq(mkdirat(t.fd, "busy", 0700), 0);
        snprintf(path, sizeof(path), "%s/busy", t.path);
        if (mount("none", path, "tmpfs", 0, "size=64k") < 0)
                cr_skip("needs root to mount");
        make(t.fd, "busy/file");
        cr_assert_lt(folder_empty(t.fd, NULL, NULL), 0);
        cr_assert_eq(umount2(path, MNT_DETACH), 0);
        cr_assert_eq(folder_empty(t.fd, NULL, NULL), 0);
}
