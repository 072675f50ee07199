/* What is written, pass by pass: discipline `zero` is one pass of zeros, `multipass` 0x00, 0xFF and random bytes, and then a look at what stands
 * there (I-29, I-30). The two calls that write are this program's own here, and note what each page holds after each of them. */
#include "scrub/scratch.h"
#include "scrub/wipe.h"
#include "tests/support/temp.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/vfs.h>

#define PAGES_N 70 /* more than one piece of whatever writes */
#define SECRET 0x5e

static uint8_t *arena;            /* memory that is watched; NULL: files are */
static char seen[PAGES_N][16];    /* what each page held after each write: 0, F, or R for anything else */

static void note(size_t page, const uint8_t *p) {
        static const uint8_t zeros[4096];
        uint8_t ones[4096];
        char kind[2] = "R";

        memset(ones, 0xFF, sizeof(ones));
        if (memcmp(p, zeros, 4096) == 0)
                *kind = '0';
        else if (memcmp(p, ones, 4096) == 0)
                *kind = 'F';
        if (page < PAGES_N && strlen(seen[page]) + 1 < sizeof(seen[page]))
                strcat(seen[page], kind);
}

ssize_t process_vm_writev(pid_t pid, const struct iovec *from, unsigned long n_from, const struct iovec *to, unsigned long n_to, unsigned long flags) {
        ssize_t n = syscall(SYS_process_vm_writev, pid, from, n_from, to, n_to, flags), left = n;

        for (unsigned long i = 0; i < n_to && left > 0; i++)
                for (size_t at = 0; at < to[i].iov_len && left > 0; at += 4096, left -= 4096)
                        note((size_t)((uint8_t *)to[i].iov_base + at - arena) / 4096, (uint8_t *)to[i].iov_base + at);
        return n;
}

ssize_t pwrite(int fd, const void *p, size_t n, off_t offset) {
        ssize_t k = syscall(SYS_pwrite64, fd, p, n, offset);
        size_t first = arena ? ((size_t)offset - (size_t)arena) / 4096 : (size_t)offset / 4096;

        for (ssize_t at = 0; at < k; at += 4096)
                note(first + (size_t)at / 4096, (const uint8_t *)p + at);
        return k;
}

static size_t forced;

int fdatasync(int fd) {
        forced++;
        return (int)syscall(SYS_fdatasync, fd);
}

static const struct {
        unsigned passes;
        const char *written;
} rows[] = {{1, "0"}, {2, "0F"}, {3, "0FR"}, {4, "0FR0"}, {7, "0FR0FR0"}};

static void check_seen(const char *what, size_t i) {
        for (size_t k = 0; k < PAGES_N; k++) {
                cr_assert_str_eq(seen[k], rows[i].written, "%s, %u passes, page %zu: %s", what, rows[i].passes, k, seen[k]);
                *seen[k] = 0;
        }
}

Test(wipe, memory_is_written_as_often_as_was_asked) {
        arena = mmap(NULL, PAGES_N * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
                for (unsigned read_only = 0; read_only < 2; read_only++) { /* which the quick call refuses */
                        AddressRun run = {(uintptr_t)arena, (uintptr_t)arena + PAGES_N * 4096};
                        Runs runs = {.v = &run, .n = 1, .bytes = PAGES_N * 4096};
                        PageScan s = {.pid = getpid()};
                        WipeCount count = {0};
                        Wipe w;

                        memset(arena, SECRET, PAGES_N * 4096);
                        mprotect(arena, PAGES_N * 4096, read_only ? PROT_READ : PROT_READ | PROT_WRITE);
                        cr_assert_eq(wipe_init(&w, rows[i].passes), 0);
                        wipe_runs(&w, &s, &runs, &count);
                        mprotect(arena, PAGES_N * 4096, PROT_READ | PROT_WRITE);
                        check_seen(read_only ? "read-only memory" : "memory", i);
                        cr_assert_eq(count.overwritten, PAGES_N * 4096);
                        cr_assert_eq(memcmp(arena, wipe_pattern(&w, rows[i].passes - 1), 4096), 0);
                        wipe_deinit(&w);
                }
        munmap(arena, PAGES_N * 4096);
}

/* The arrays of a scan serve the next one, and only the pages of the range are listed. */
Test(scan, one_without_areas_keeps_to_its_range_and_its_arrays) {
        uint8_t *p = mmap(NULL, PAGES_N * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        uint64_t common[600], *kept = common;
        PageScan s = {.common_frames = {.v = kept, .max = ARRAY_SIZE(common)}};
        int e;

        memset(p, SECRET, PAGES_N * 4096);
        for (size_t n = 1; n < PAGES_N; n += 8) {
                cr_assert_eq(scan_begin_plain(&s, getpid(), NULL), 0);
                e = scan_private(&s, (uintptr_t)p, (uintptr_t)p + n * 4096);
                scan_end(&s);
                if (e == -EOPNOTSUPP)
                        cr_skip("PAGEMAP_SCAN: Linux 6.7");
                cr_assert_eq(e, 0);
                cr_expect_eq(s.own.bytes + s.common.bytes, n * 4096);
                cr_expect_eq(s.common_frames.v, kept);
        }
        s.common_frames = (Frames){};
        scan_deinit(&s);
        munmap(p, PAGES_N * 4096);
}

static uint8_t secret[PAGES_N * 4096];

static void fill(int fd) {
        memset(secret, SECRET, sizeof(secret));
        cr_assert_eq(write(fd, secret, sizeof(secret)), sizeof(secret));
}

Test(wipe, files_are_written_as_often_as_was_asked) {
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                _cleanup_close_ int fd = memfd_create("wiped", MFD_CLOEXEC), kept = -1;
                _cleanup_temp_dir_ TempDir t = TEMP_DIR_NULL;
                WipeCount count = {0};
                ScratchWiped said = {};
                uint8_t page[4096];
                Wipe w;

                fill(fd);
                cr_assert_eq(wipe_init(&w, rows[i].passes), 0);
                cr_assert_eq(wipe_file(&w, fd, &count), 0);
                check_seen("a deleted file", i);
                cr_assert_eq(count.overwritten, PAGES_N * 4096);
                wipe_deinit(&w);

                cr_assert_eq(temp_dir_make(&t), 0);
                kept = openat(t.fd, "f", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
                fill(kept);
                cr_assert_eq(scratch_wipe(t.fd, rows[i].passes, &(ScratchSum){}, &said), 0);
                check_seen("a file of scratch", i);
                cr_assert(said.files == 1 && said.bytes_overwritten == PAGES_N * 4096 && said.bytes_missed == 0);
                for (size_t k = 0; k < PAGES_N; k++)
                        cr_assert(pread(kept, page, sizeof(page), (off_t)k * 4096) == 4096 && memcmp(page, secret, 64) != 0, "page %zu", k);
        }
}

/* I-33: a hostile program chooses the number of extents, and a forced write may take the disk a turn. */
Test(wipe, each_pass_of_a_file_is_forced_out_once) {
        static const uint8_t page[4096] = {SECRET};
        _cleanup_temp_dir_ TempDir t = TEMP_DIR_NULL;
        _cleanup_close_ int fd = -1;
        WipeCount count = {0};
        struct statfs fs;
        Wipe w;

        cr_assert_eq(temp_dir_make(&t), 0);
        fd = openat(t.fd, "f", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        for (off_t i = 0; i < 64; i++)
                cr_assert_eq(pwrite(fd, page, sizeof(page), i * 1024 * 1024), sizeof(page));
        cr_assert_eq(fstatfs(fd, &fs), 0);
        forced = 0;
        cr_assert_eq(wipe_init(&w, 3), 0);
        cr_assert_eq(wipe_file(&w, fd, &count), 0);
        cr_assert_eq(forced, fs.f_type == TMPFS_MAGIC ? 0 : 3, "%zu times", forced);
        cr_assert(count.overwritten >= 64 * 4096 && count.denied == 0 && count.mismatched == 0);
        wipe_deinit(&w);
}

/* A file that cannot be written: nothing of the file counts as overwritten. */
Test(wipe, a_failed_pass_is_a_loss_of_the_file) {
        _cleanup_close_ int made = memfd_create("sealed", MFD_CLOEXEC | MFD_ALLOW_SEALING);
        WipeCount count = {0};
        Wipe w;

        fill(made);
        cr_assert_eq(fcntl(made, F_ADD_SEALS, F_SEAL_WRITE), 0);
        cr_assert_eq(wipe_init(&w, 2), 0);
        cr_assert_eq(wipe_file(&w, made, &count), 0);
        cr_assert(count.denied == PAGES_N * 4096 && count.overwritten == 0 && count.mismatched == 0);
        wipe_deinit(&w);
}

/* I-16: a file that only somebody else's descriptor shows. */
Test(wipe, what_has_no_name_is_missed) {
        _cleanup_close_ int made = (int)syscall(SYS_fsopen, "tmpfs", 1), root = -1, held = -1;
        const char *kept = "x";
        ScratchWiped said = {};

        if (made < 0)
                cr_skip("needs root: makes a file system");
        cr_assert_eq(syscall(SYS_fsconfig, made, 1, "size", "1m", 0), 0);
        cr_assert_eq(syscall(SYS_fsconfig, made, 6, NULL, NULL, 0), 0); /* that is all: make it */
        root = (int)syscall(SYS_fsmount, made, 1, 0);
        cr_assert_geq(root, 0);
        for (int i = 0; i < 2; i++, kept = "y") {
                closep(&held);
                held = openat(root, kept, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
                fill(held);
        }
        cr_assert_eq(unlinkat(root, "y", 0), 0);
        cr_assert_eq(scratch_wipe(root, 1, &(ScratchSum){.lent = 4096}, &said), 0);
        cr_assert(said.files == 1 && said.bytes_overwritten == PAGES_N * 4096 && said.bytes_missed == (PAGES_N - 1) * 4096, "%llu missed",
                  (unsigned long long)said.bytes_missed);
        said = (ScratchWiped){};
        cr_assert_eq(scratch_wipe(root, 1, &(ScratchSum){.lent = PAGES_N * 4096}, &said), 0);
        cr_assert(said.files == 0 && said.bytes_missed == 0); /* all of it was seen to, and is lent */
}

/* Two regions are not overwritten with the same bytes: what stands there says nothing. */
Test(wipe, random_is_random) {
        uint8_t first[4096];
        Wipe a, b;

        cr_assert(wipe_init(&a, 3) == 0 && wipe_init(&b, 3) == 0);
        memcpy(first, wipe_pattern(&a, 2), sizeof(first));
        cr_assert_neq(memcmp(first, wipe_pattern(&b, 2), sizeof(first)), 0);
        cr_assert_neq(memcmp(first, first + 2048, 2048), 0);
        for (unsigned pass = 0; pass < 3; pass++)
                for (size_t at = 4096; at < WIPE_SOURCE; at += 4096)
                        cr_assert_eq(memcmp(wipe_pattern(&a, pass), wipe_pattern(&a, pass) + at, 4096), 0);
        cr_assert(wipe_init(&(Wipe){0}, 0) == -EINVAL && wipe_init(&(Wipe){0}, WIPE_PASSES_MAX + 1) == -EINVAL);
        wipe_deinit(&a);
        wipe_deinit(&b);
}
