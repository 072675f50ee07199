#include "tests/support/child.h"
#include "tests/support/temp.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static int give_back(void *arg) {
        return *(int *)arg;
}

static int fail_a_check(void *arg) {
        errno = ENOENT;
        child_check(arg != NULL);
        return 0;
}

static int die(void *arg) {
        raise(SIGKILL);
        return 0;
}

/* The test process has two threads, so that this fails there and must work in a child. */
static int new_user_namespace(void *arg) {
        return unshare(CLONE_NEWUSER) == 0 ? 0 : errno;
}

Test(child, exit_status_signal_and_words) {
        ChildEnd end;

        for (int status = 0; status < 256; status += 51) {
                cr_assert(child_run(give_back, &status, &end) == 0);
                cr_assert(end.status == status && end.signal == 0 && !*end.text, "status %d gave %d", status, end.status);
        }
        cr_assert(child_run(fail_a_check, NULL, &end) == 0);
        cr_assert(end.status == CHILD_CHECK_FAILED && strstr(end.text, "arg != NULL") && strstr(end.text, "No such file"), "%s",
                  end.text);
        cr_assert(child_run(die, NULL, &end) == 0);
        cr_assert(end.status == -1 && end.signal == SIGKILL);
}

Test(child, is_single_threaded) {
        ChildEnd end;

        cr_assert(child_run(new_user_namespace, NULL, &end) == 0);
        cr_assert(end.status != EINVAL, "unshare saw more than one thread");
}

Test(temp, a_tree_goes_whole_and_links_are_not_followed) {
        TempDir outer = TEMP_DIR_NULL, inner = TEMP_DIR_NULL;
        struct stat st;
        char link[PATH_MAX + 16];
        int fd;

        cr_assert(temp_dir_make(&outer) == 0 && temp_dir_make(&inner) == 0);
        cr_assert(strcmp(outer.path, inner.path) != 0 && strncmp(outer.path, getenv("TMPDIR"), strlen(getenv("TMPDIR"))) == 0);
        fd = openat(outer.fd, "kept", O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
        cr_assert(fd >= 0);
        close(fd);
        cr_assert(mkdirat(inner.fd, "a", 0700) == 0 && mkdirat(inner.fd, "a/b", 0700) == 0);
        snprintf(link, sizeof(link), "%s/a/b/out", inner.path);
        cr_assert(symlink(outer.path, link) == 0);
        cr_assert(fchmodat(inner.fd, "a/b", 0500, 0) == 0 && fchmodat(inner.fd, "a", 0500, 0) == 0); /* as the folders of a store's copies are */
        temp_dir_remove(&inner);
        cr_assert(stat(inner.path, &st) < 0 && errno == ENOENT);
        cr_assert(fstatat(outer.fd, "kept", &st, 0) == 0, "what a link points at was removed");
        temp_dir_remove(&outer);
        cr_assert(stat(outer.path, &st) < 0 && errno == ENOENT);
}
