/* Runs: tests. What a digest of --exec is remembered of, and when it is taken anew. */
#include "base/cache.h"
#include "base/io.h"
#include "policy/program.h"
#include "tests/support/temp.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define SYSTEM_PROGRAM "/usr/bin/bash" /* of a package, larger than what is hashed at once */
#define PROGRAM_BYTES (100 * 1024)

/* A folder that looks like a store as far as a cache cares. */
static TempDir store(void) {
        TempDir t = TEMP_DIR_NULL;

        cr_assert_eq(temp_dir_make(&t), 0);
        cr_assert_eq(io_write_file(t.fd, "data.mdb", "", 0, 0600, false), 0);
        return t;
}

static void digest_of(const char *program, const char *store_dir, char ret[static DIGEST_TEXT_MAX]) {
        _cleanup_program_ Program p = {0};
        Diag d = {};

        cr_assert_eq(program_find(program, &(ProgramView){}, store_dir, &p, &d), 0, "%s", d.text);
        strcpy(ret, p.digest);
}

/* The name of the one thing remembered, or "". */
static void remembered(const TempDir *t, char ret[static 256]) {
        _cleanup_close_ int dir = cache_open(t->path);
        DIR *d = fdopendir(dup(dir));
        struct dirent *e;

        *ret = 0;
        while (d && (e = readdir(d)))
                if (e->d_name[0] != '.') {
                        cr_assert(*ret == 0, "more than one: %s, %s", ret, e->d_name);
                        snprintf(ret, 256, "%s", e->d_name);
                }
        closedir(d);
}

Test(program, what_only_root_writes_is_hashed_once) {
        _cleanup_temp_dir_ TempDir t = store();
        char plain[DIGEST_TEXT_MAX], first[DIGEST_TEXT_MAX], again[DIGEST_TEXT_MAX], name[256];
        _cleanup_close_ int dir = -1;
        _cleanup_free_ uint8_t *bytes = NULL;
        char *at;
        size_t n;

        digest_of(SYSTEM_PROGRAM, NULL, plain);
        digest_of(SYSTEM_PROGRAM, t.path, first);
        digest_of(SYSTEM_PROGRAM, t.path, again);
        cr_expect_str_eq(first, plain);
        cr_expect_str_eq(again, plain);
        remembered(&t, name);
        cr_assert(*name);

        /* It is really read: another digest there is the answer, as long as all else is right. */
        dir = cache_open(t.path);
        cr_assert_eq(cache_get(dir, name, 4096, &bytes, &n), 0);
        at = memmem(bytes, n, plain, strlen(plain));
        cr_assert_not_null(at);
        at[10] = at[10] == 'a' ? 'b' : 'a';
        cache_put(dir, name, bytes, n);
        digest_of(SYSTEM_PROGRAM, t.path, again);
        cr_expect_str_neq(again, plain);
        /* Of a file that is not the one that was seen, nothing is. */
        bytes[0] ^= 1;
        cache_put(dir, name, bytes, n);
        digest_of(SYSTEM_PROGRAM, t.path, again);
        cr_expect_str_eq(again, plain);
}

Test(program, damage_is_as_good_as_nothing) {
        _cleanup_temp_dir_ TempDir t = store();
        char plain[DIGEST_TEXT_MAX], again[DIGEST_TEXT_MAX], name[256];
        _cleanup_close_ int dir = -1;
        _cleanup_free_ char *bytes = NULL;
        size_t n;

        digest_of(SYSTEM_PROGRAM, t.path, plain);
        remembered(&t, name);
        dir = cache_open(t.path);
        cr_assert_eq(io_read_file(dir, name, 4096, &bytes, &n), 0);
        for (size_t i = 0; i <= n; i++) {
                if (i < n)
                        bytes[i] ^= 1;
                cr_assert_eq(io_write_file(dir, name, bytes, i < n ? n : n / 2, 0600, false), 0);
                digest_of(SYSTEM_PROGRAM, t.path, again);
                cr_assert_str_eq(again, plain, "byte %zu", i);
                if (i < n)
                        bytes[i] ^= 1;
        }
}

static void write_program(const TempDir *t, char fill, mode_t mode) {
        _cleanup_free_ char *text = malloc(PROGRAM_BYTES);
        int fd = openat(t->fd, "program", O_WRONLY | O_CREAT | O_CLOEXEC, 0755);

        memset(text, fill, PROGRAM_BYTES);
        memcpy(text, "#!/bin/sh\n", 10);
        cr_assert(fd >= 0 && io_write_full(fd, text, PROGRAM_BYTES) == 0 && fchmod(fd, mode) == 0);
        close(fd);
}

/* What somebody else may write, or changed a moment ago, is hashed each time. */
Test(program, what_may_change_unseen_is_not_remembered) {
        static const mode_t modes[] = {0755, 0775, 0757};
        _cleanup_temp_dir_ TempDir t = store();
        char path[PATH_MAX + 16], digest[DIGEST_TEXT_MAX], name[256];

        snprintf(path, sizeof(path), "%s/program", t.path);
        for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
                write_program(&t, 'x', modes[i]);
                program_settled_sec = i == 0 ? 1000 : -10; /* long enough ago: then only the mode is against it */
                digest_of(path, t.path, digest);
                remembered(&t, name);
                cr_expect_str_empty(name, "mode %o", modes[i]);
        }
        if (geteuid() != 0 || fchownat(t.fd, "program", 65534, 65534, 0) < 0) /* below: a file of an ordinary user's own */
                return;
        cr_assert_eq(fchmodat(t.fd, "program", 0755, 0), 0);
        digest_of(path, t.path, digest);
        remembered(&t, name);
        cr_expect_str_empty(name, "another owner");
}

/* With size and time of change set back to what they were: the kernel's own time of change is not. */
Test(program, another_content_has_another_digest) {
        _cleanup_temp_dir_ TempDir t = store();
        char path[PATH_MAX + 16], first[DIGEST_TEXT_MAX], second[DIGEST_TEXT_MAX], name[256];
        struct stat st;

        if (geteuid() != 0)
                cr_skip_test("needs root: remembered is only what root owns");
        snprintf(path, sizeof(path), "%s/program", t.path);
        program_settled_sec = -10;
        write_program(&t, 'x', 0755);
        digest_of(path, t.path, first);
        remembered(&t, name);
        cr_assert(*name, "not remembered: the test would not show anything");
        cr_assert_eq(fstatat(t.fd, "program", &st, 0), 0);
        usleep(50000); /* more than a tick of the clock by which files are dated */
        write_program(&t, 'y', 0755);
        cr_assert_eq(utimensat(t.fd, "program", (struct timespec[]){st.st_atim, st.st_mtim}, 0), 0);
        digest_of(path, t.path, second);
        cr_expect_str_neq(first, second);
}

Test(program, no_cache_where_no_store_is) {
        _cleanup_temp_dir_ TempDir t = TEMP_DIR_NULL;
        char digest[DIGEST_TEXT_MAX];

        cr_assert_eq(temp_dir_make(&t), 0);
        digest_of(SYSTEM_PROGRAM, t.path, digest);
        cr_expect(faccessat(t.fd, "cache", F_OK, 0) < 0 && errno == ENOENT);
}
