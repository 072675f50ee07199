/* Runs: tests. Folders that the store keeps of dead regions: by number, age and bytes, the oldest first. */
#include "scrub/kept.h"

#include "base/io.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define SHELF "things"
#define HOUR 3600000000ULL
#define NOW (1000 * HOUR)

static char store[64];

static void kept_set_up(void) {
        strcpy(store, "/tmp/lethe-test-kept-XXXXXX");
        cr_assert(mkdtemp(store));
}

static void kept_tear_down(void) {
        char path[128];

        snprintf(path, sizeof(path), "%s/" SHELF, store);
        rmdir(path);
        cr_assert_eq(rmdir(store), 0, "%s: %s", store, strerror(errno));
}
TestSuite(kept, .init = kept_set_up, .fini = kept_tear_down);

/* Keeps a folder with a file of so many bytes, of a region made so many hours before NOW. */
static void keep(unsigned hours, size_t bytes, char ret[static REGION_ID_MAX]) {
        _cleanup_free_ char *text = calloc(1, bytes + 1);
        _cleanup_close_ int fd = -1;

        cr_assert_eq(region_id_new(NOW - hours * HOUR, ret), 0);
        fd = kept_begin(store, SHELF, ret);
        cr_assert(fd >= 0, "%d", fd);
        cr_assert_eq(io_write_file(fd, "1", memset(text, 'x', bytes), bytes, 0600, false), 0);
        cr_assert_eq(kept_complete(store, SHELF, ret, fd, bytes), 0);
}

static void drop(const char *region) {
        _cleanup_close_ int fd = kept_open(store, SHELF, region, LOCK_EX);

        cr_assert(fd >= 0, "%d", fd);
        cr_assert_eq(kept_drop(store, SHELF, region, fd), 0);
        cr_assert_eq(kept_open(store, SHELF, region, LOCK_SH), -ENOENT);
}

//
Test(kept, surplus_is_the_oldest) {
        static const struct {
                KeepPolicy policy;
                size_t n;
                const char *why;
        } cases[] = {
                {{3, 100 * HOUR, 1000}, 0, NULL},
                {{2, 100 * HOUR, 1000}, 1, "number"},
                {{1, 100 * HOUR, 1000}, 2, "number"},
                {{3, 25 * HOUR, 1000}, 1, "age"},
                {{3, HOUR, 1000}, 3, "age"}, /* the newest, too */
                {{3, 100 * HOUR, 60}, 0, NULL},
                {{3, 100 * HOUR, 59}, 1, "bytes"},
                {{3, 100 * HOUR, 1}, 2, "bytes"}, /* the newest stays */
        };
        RegionId oldest, middle, newest;

        keep(30, 10, oldest);
        keep(2, 30, newest);
        keep(20, 20, middle);
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                _cleanup_kept_list_ KeptList l = {0};
                size_t n;

                cr_assert_eq(kept_list(store, SHELF, &l), 0);
                cr_assert(l.n == 3 && l.bytes == 60, "case %zu: %zu folders, %ju bytes", i, l.n, (uintmax_t)l.bytes);
                cr_assert_str_eq(l.folders[0].region, oldest);
                cr_assert_str_eq(l.folders[2].region, newest);
                n = kept_surplus(&l, &cases[i].policy, NOW);
                cr_assert_eq(n, cases[i].n, "case %zu: %zu", i, n);
                cr_assert(n == 0 || strcmp(l.folders[0].why, cases[i].why) == 0, "case %zu: %s", i, l.folders[0].why);
        }
        drop(oldest);
        drop(middle);
        drop(newest);
}

//
Test(kept, a_folder_in_use_is_not_dropped) {
        RegionId region;
        int fd;

        keep(1, 5, region);
        fd = kept_open(store, SHELF, region, LOCK_SH);
        cr_assert(fd >= 0);
        cr_assert_eq(kept_open(store, SHELF, region, LOCK_EX), -EBUSY);
        close(kept_open(store, SHELF, region, LOCK_SH));
        close(fd);
        drop(region);
}

//
Test(kept, an_incomplete_folder_is_not_listed) {
        _cleanup_kept_list_ KeptList l = {0};
        RegionId region;
        int fd;

        cr_assert_eq(kept_list(store, SHELF, &l), 0);
        cr_assert_eq(l.n, 0, "no shelf, no folder");
        cr_assert_eq(region_id_new(NOW * 1000, region), 0); /* in the future: nobody sweeps */
        fd = kept_begin(store, SHELF, region);
        cr_assert(fd >= 0);
        cr_assert_eq(kept_drop_new(store, SHELF, region), -EBUSY, "the maker lives");
        cr_assert_eq(kept_list(store, SHELF, &l), 0);
        cr_assert_eq(l.n, 0);
        cr_assert_eq(kept_drop_begun(store, SHELF, region, fd), 0);
        close(fd);
        close(kept_begin(store, SHELF, region));
        cr_assert_eq(kept_drop_new(store, SHELF, region), 0);
        cr_assert_eq(kept_drop_new(store, SHELF, region), KEPT_E_NONE);
        close(kept_begin(store, SHELF, region));
        kept_sweep(store, SHELF); /* a young one stays */
        cr_assert_eq(kept_drop_new(store, SHELF, region), 0);
        cr_assert_eq(region_id_new(NOW, region), 0); /* of 1970 */
        close(kept_begin(store, SHELF, region));
        kept_sweep(store, SHELF);
        cr_assert_eq(kept_drop_new(store, SHELF, region), KEPT_E_NONE);
}

//
Test(kept, a_killed_drop_is_finished) {
        char from[128], to[128];
        RegionId region;
        int fd;

        keep(1, 5, region);
        snprintf(from, sizeof(from), "%s/" SHELF "/%s", store, region);
        snprintf(to, sizeof(to), "%s/" SHELF "/.old-%s", store, region);
        cr_assert_eq(rename(from, to), 0);
        fd = open(to, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        cr_assert(flock(fd, LOCK_EX) == 0);
        kept_sweep(store, SHELF); /* the drop is under way */
        cr_assert_eq(access(to, F_OK), 0);
        close(fd);
        kept_sweep(store, SHELF);
        cr_assert_eq(access(to, F_OK), -1);
}
