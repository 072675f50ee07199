#include "base/buf.h"
#include "base/hash.h"
#include "base/io.h"
#include "base/log.h"
#include "tests/support/child.h"
#include "tests/support/temp.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

Test(buf, grows_to_its_bound_and_not_beyond) {
        _cleanup_buf_ Buf b = {.max = 1000};
        size_t n = 0;

        cr_assert(buf_add(&b, NULL, 0) == 0 && b.data && *b.data == 0);
        for (size_t step = 1; buf_add(&b, "0123456789012345678901234567890123456789", step % 40) == 0; step++) {
                n += step % 40;
                cr_assert(b.n == n && b.data[n] == 0, "%zu bytes", n);
        }
        cr_assert(b.n == n && n <= 1000 && n > 960, "a refused addition left %zu of %zu bytes", b.n, n);
        cr_assert(buf_add(&b, "x", SIZE_MAX) == -EFBIG && buf_add(&b, "x", SIZE_MAX - b.n + 1) == -EFBIG && b.n == n);
        cr_assert(buf_printf(&b, "%2000d", 1) == -EFBIG && b.n == n);
        buf_drop(&b, n - 3);
        cr_assert(b.n == 3 && b.data[3] == 0);
        buf_drop(&b, 0);
        buf_drop(&b, 3);
        cr_assert(b.n == 0 && *b.data == 0);
        cr_assert(buf_printf(&b, "%s-%d", "a", 7) == 0 && buf_add_str(&b, "!") == 0);
        cr_assert_str_eq(b.data, "a-7!");
        buf_deinit(&b);
        cr_assert(!b.data && b.n == 0 && b.max == 1000);
        buf_drop(&b, 0);
}

static void put(const TempDir *t, const char *name, const char *text) {
        cr_assert(io_write_file(t->fd, name, text, strlen(text), 0640, true) == 0, "%s", name);
}

Test(io, a_file_is_read_whole_or_refused) {
        _cleanup_temp_dir_ TempDir t = TEMP_DIR_NULL;
        char *text = NULL, big[10000];
        size_t n;

        cr_assert(temp_dir_make(&t) == 0);
        memset(big, 'b', sizeof(big) - 1);
        big[sizeof(big) - 1] = 0;
        put(&t, "empty", "");
        put(&t, "big", big);
        cr_assert(io_read_file(t.fd, "empty", 0, &text, &n) == 0 && n == 0 && *text == 0);
        free(TAKE_PTR(text));
        cr_assert(io_read_file(t.fd, "big", 9999, &text, &n) == 0 && n == 9999 && strcmp(text, big) == 0);
        free(TAKE_PTR(text));
        cr_assert(io_read_file(t.fd, "big", 9998, &text, &n) == -EFBIG && !text);
        cr_assert(io_read_file(t.fd, "none", 10, &text, &n) == -ENOENT && !text);
        cr_assert(io_read_file(t.fd, ".", 10, &text, &n) == -EISDIR && !text);
        /* A fifo that nobody writes must not hang the reader. */
        cr_assert(mkfifoat(t.fd, "fifo", 0600) == 0);
        cr_assert(io_read_file(t.fd, "fifo", 10, &text, &n) == 0 && n == 0);
        free(text);
}

Test(io, a_file_appears_whole_or_not_at_all) {
        _cleanup_temp_dir_ TempDir t = TEMP_DIR_NULL;
        char path[PATH_MAX + 16];
        char *text = NULL;
        struct stat st;
        size_t n;

        cr_assert(temp_dir_make(&t) == 0);
        put(&t, "f", "old");
        put(&t, "f", "new");
        cr_assert(io_read_file(t.fd, "f", 10, &text, &n) == 0 && strcmp(text, "new") == 0);
        free(text);
        cr_assert(fstatat(t.fd, "f", &st, 0) == 0 && (st.st_mode & 0777) == 0640);
        /* A link at the place is replaced, and what it points at stays. */
        cr_assert(symlinkat("f", t.fd, "link") == 0);
        put(&t, "link", "other");
        cr_assert(fstatat(t.fd, "link", &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode));
        cr_assert(io_read_file(t.fd, "f", 10, &text, &n) == 0 && strcmp(text, "new") == 0);
        free(text);
        cr_assert(io_write_file(t.fd, "no/such/f", "x", 1, 0600, true) == -ENOENT);
        cr_assert(mkdirat(t.fd, "d", 0700) == 0);
        cr_assert(io_write_file(t.fd, "d", "x", 1, 0600, false) < 0);
        snprintf(path, sizeof(path), "%s/d/g", t.path);
        cr_assert(io_write_file(AT_FDCWD, path, "x", 1, 0600, true) == 0);
        /* No temporary file is left, whatever happened. */
        cr_assert(unlinkat(t.fd, "f", 0) == 0 && unlinkat(t.fd, "link", 0) == 0 && unlinkat(t.fd, "d/g", 0) == 0);
        cr_assert(unlinkat(t.fd, "d", AT_REMOVEDIR) == 0);
        cr_assert(rmdir(t.path) == 0, "something is left in the folder");
}

static int write_beyond_limit(void *arg) {
        const TempDir *t = arg;
        char chunk[8192] = {0}, *text = NULL;
        size_t n;

        child_check(setrlimit(RLIMIT_FSIZE, &(struct rlimit){4096, 4096}) == 0);
        signal(SIGXFSZ, SIG_IGN);
        child_check(io_write_file(t->fd, "f", chunk, sizeof(chunk), 0600, false) == -EFBIG);
        child_check(io_read_file(t->fd, "f", 10, &text, &n) == 0);
        child_check(strcmp(text, "old") == 0);
        free(text);
        return 0;
}

Test(io, a_failed_write_leaves_the_old_file) {
        _cleanup_temp_dir_ TempDir t = TEMP_DIR_NULL;

        cr_assert(temp_dir_make(&t) == 0);
        put(&t, "f", "old");
        child_assert_ok(write_beyond_limit, &t);
        cr_assert(unlinkat(t.fd, "f", 0) == 0 && rmdir(t.path) == 0, "a temporary file is left");
}

/* What is no file of its own is written to, and is there afterwards as it was. */
Test(io, a_device_or_a_pipe_is_never_replaced) {
        static const char *const links[] = {"device", "fifo"};
        _cleanup_temp_dir_ TempDir t = TEMP_DIR_NULL;
        char path[PATH_MAX + 16], got[8] = "";
        struct stat before, after;
        int fd;

        cr_assert(temp_dir_make(&t) == 0);
        cr_assert(symlinkat("/dev/null", t.fd, "device") == 0 && mkfifoat(t.fd, "fifo", 0600) == 0);
        snprintf(path, sizeof(path), "%s/fifo", t.path);
        cr_assert(io_write_named(path, "x", 1, 0600) == -ENXIO, "nobody reads");
        fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
        for (size_t i = 0; i < ARRAY_SIZE(links); i++) {
                cr_assert(fstatat(t.fd, links[i], &before, AT_SYMLINK_NOFOLLOW) == 0);
                snprintf(path, sizeof(path), "%s/%s", t.path, links[i]);
                cr_assert(io_write_named(path, "text", 4, 0600) == 0, "%s", links[i]);
                cr_assert(fstatat(t.fd, links[i], &after, AT_SYMLINK_NOFOLLOW) == 0 && after.st_ino == before.st_ino && after.st_mode == before.st_mode, "%s", links[i]);
        }
        cr_assert(read(fd, got, sizeof(got)) == 4 && memcmp(got, "text", 4) == 0);
        close(fd);
        snprintf(path, sizeof(path), "%s/file", t.path);
        cr_assert(io_write_named(path, "one", 3, 0600) == 0 && io_write_named(path, "two", 3, 0600) == 0);
        cr_assert(io_write_named(t.path, "x", 1, 0600) < 0, "a folder");
        for (size_t i = 0; i < ARRAY_SIZE(links); i++)
                cr_assert(unlinkat(t.fd, links[i], 0) == 0);
        cr_assert(unlinkat(t.fd, "file", 0) == 0 && rmdir(t.path) == 0, "something is left in the folder");
}

Test(io, parents) {
        _cleanup_temp_dir_ TempDir t = TEMP_DIR_NULL;
        char path[PATH_MAX + 32];
        struct stat st;

        cr_assert(temp_dir_make(&t) == 0);
        snprintf(path, sizeof(path), "%s/a//b/c/", t.path);
        cr_expect(io_mkdir_parents(path, 0700) == 0 && io_mkdir_parents(path, 0700) == 0);
        cr_expect(fstatat(t.fd, "a/b/c", &st, 0) == 0 && S_ISDIR(st.st_mode));
        put(&t, "f", "");
        snprintf(path, sizeof(path), "%s/f", t.path);
        cr_expect(io_mkdir_parents(path, 0700) == -ENOTDIR, "a file is no folder");
        snprintf(path, sizeof(path), "%s/f/g", t.path);
        cr_expect(io_mkdir_parents(path, 0700) == -ENOTDIR);
        cr_expect(io_mkdir_parents("", 0700) == -ENOENT);
}

Test(io, pipes) {
        char chunk[65536], *text = NULL;
        size_t n;
        int fds[2];

        cr_assert(pipe2(fds, O_CLOEXEC) == 0);
        cr_assert(io_write_full(fds[1], "hello", 5) == 0);
        cr_assert(io_set_nonblock(fds[1]) == 0 && io_set_nonblock(fds[0]) == 0);
        memset(chunk, 'x', sizeof(chunk));
        cr_assert(io_write_full(fds[1], chunk, sizeof(chunk)) == -EAGAIN);
        close(fds[1]);
        cr_assert(io_read_all(fds[0], 1 << 20, &text, &n) == 0 && n > 5 && n <= 65536 && strncmp(text, "hello", 5) == 0);
        free(TAKE_PTR(text));
        close(fds[0]);
        cr_assert(io_read_all(fds[0], 10, &text, &n) == -EBADF && !text);
        cr_assert(io_set_nonblock(fds[0]) == -EBADF);
}

Test(io, a_packet_of_more_descriptors_or_bytes_is_refused) {
        static const struct {
                const char *name;
                size_t n_bytes, n_fds;
                ssize_t want;
        } rows[] = {{"none", 1, 0, 1}, {"one", 1, 1, 1}, {"two", 1, 2, -EPROTO}, {"three", 1, 3, -EPROTO},
                    {"too long", 2, 1, -EPROTO}};
        int pair[2];

        cr_assert_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                const int sent[] = {pair[0], pair[0], pair[0]};
                int fd = -1, free_before = dup(0), free_after;
                char byte;

                close(free_before);
                cr_assert_eq(io_send_fds(pair[0], "ab", rows[i].n_bytes, sent, rows[i].n_fds), 0);
                cr_expect_eq(io_receive_fd(pair[1], 0, &byte, 1, &fd), rows[i].want, "%s", rows[i].name);
                cr_expect_eq(fd >= 0, rows[i].want == 1 && rows[i].n_fds == 1, "%s", rows[i].name);
                closep(&fd);
                free_after = dup(0);
                close(free_after);
                cr_expect_eq(free_after, free_before, "%s: a descriptor stays open", rows[i].name);
        }
        close(pair[0]);
        close(pair[1]);
}

Test(hash, a_file_is_hashed_from_its_start) {
        _cleanup_temp_dir_ TempDir t = TEMP_DIR_NULL;
        uint8_t a[HASH_BYTES], b[HASH_BYTES];
        uint64_t n = 0;
        char c;
        int fd;

        cr_assert(temp_dir_make(&t) == 0);
        put(&t, "f", "some bytes");
        fd = openat(t.fd, "f", O_RDONLY | O_CLOEXEC);
        cr_assert(fd >= 0 && read(fd, &c, 1) == 1);
        hash_bytes("some bytes", 10, a);
        cr_expect(hash_fd(fd, 10, b, &n) == 0 && n == 10 && memcmp(a, b, sizeof(a)) == 0);
        cr_expect(hash_fd(fd, 9, b, NULL) == -EFBIG);
        close(fd);
        cr_expect(hash_fd(fd, 9, b, NULL) == -EBADF);
}

static int log_lines(void *arg) {
        int *fds = arg;
        char text[5000];
        ssize_t n;

        child_check(dup2(fds[1], STDERR_FILENO) >= 0);
        log_note("a %s", "b");
        log_debug("not shown");
        log_set_level(LOG_LEVEL_DEBUG);
        log_debug("shown");
        log_set_level(LOG_LEVEL_ERROR);
        log_warning("not shown");
        log_error("%4000d", 1);
        n = read(fds[0], text, sizeof(text) - 1);
        child_check(n > 0);
        text[n] = 0;
        child_check(strncmp(text, "lethe: a b\nlethe: debug: shown\nlethe:  ", 39) == 0);
        child_check(strlen(text) < 2200 && text[n - 1] == '\n' && !strstr(text, "not shown"));
        return 0;
}

Test(log, one_line_each_and_a_level) {
        int fds[2];

        cr_assert(pipe2(fds, O_CLOEXEC) == 0);
        child_assert_ok(log_lines, fds);
        close(fds[0]);
        close(fds[1]);
}

/* Who does not read standard error holds up nothing. */
static int log_held(void *arg) {
        int fds[2];
        char text[8192], *last = NULL;
        size_t in_pipe = 0;
        ssize_t n;

        child_check(pipe2(fds, O_CLOEXEC) == 0 && dup2(fds[1], STDERR_FILENO) >= 0);
        close(fds[1]);
        log_hold();
        for (int i = 0; i < 4000; i++) /* some 4 MB: more than the pipe and what is kept */
                log_note("%d %*d", i, 1000, i);
        if (fork() == 0) {
                log_let_go(-1, 60000);
                _exit(0);
        }
        close(STDERR_FILENO);
        while ((n = read(fds[0], text, sizeof(text) - 1)) > 0) {
                text[n] = 0;
                in_pipe += (size_t)n;
                last = text;
        }
        child_check(in_pipe > 100000 && in_pipe < 4 * 65536);
        child_check(strstr(last, " lines were left out: nobody read standard error\n") != NULL);
        return 0;
}

/* Nobody reads at all: the end is not waited for, and what is said after it does not wait either. */
static int log_unread(void *arg) {
        int fds[2];

        child_check(pipe2(fds, O_CLOEXEC) == 0 && dup2(fds[1], STDERR_FILENO) >= 0);
        log_hold();
        for (int i = 0; i < 100; i++)
                log_note("%d %*d", i, 1000, i);
        child_check(log_is_kept());
        log_let_go(-1, 1);
        for (int i = 0; i < 100; i++)
                log_note("%d %*d", i, 1000, i);
        return 0;
}

Test(log, waits_for_nobody) {
        child_assert_ok(log_held, NULL);
        child_assert_ok(log_unread, NULL);
}
