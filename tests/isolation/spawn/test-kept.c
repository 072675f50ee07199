/* Runs: tests. What is kept of the machine is never older than the machine: each thing is changed behind its back. */
#include "base/id.h"
#include "spawn/find.h"
#include "spawn/cache.h"
#include "tests/support/child.h"
#include "tests/support/temp.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Into a root folder of our own, whose /bin is what we say. */
static void enter(TempDir *t) {
        child_check(temp_dir_make(t) == 0 && chroot(t->path) == 0 && chdir("/") == 0);
        child_check(symlink("usr/bin", "/bin") == 0 && mkdir("/etc", 0755) == 0);
}

static bool bin_is(SpawnCache *k, const char *text) {
        Probe p;

        spawn_cache_probe(k, &p);
        return text ? p.system[0].kind == PROBE_LINK && strcmp(p.system[0].text, text) == 0 : p.system[0].kind == PROBE_FOLDER;
}

static int links(void *arg) {
        SpawnCache *k = spawn_cache_new();
        TempDir t;

        child_check(k && !bin_is(k, "other"));
        enter(&t);
        child_check(bin_is(k, "usr/bin")); /* another root folder */
        child_check(unlink("/bin") == 0 && symlink("other", "/bin") == 0);
        child_check(bin_is(k, "other"));   /* changed within the same tick */
        usleep(1200000);
        child_check(bin_is(k, "other") && bin_is(k, "other")); /* kept from here on */
        child_check(unlink("/bin") == 0 && symlink("usr/bin", "/bin") == 0);
        child_check(bin_is(k, "usr/bin"));
        usleep(1200000);
        child_check(bin_is(k, "usr/bin"));
        child_check(unlink("/bin") == 0 && mkdir("/bin", 0755) == 0);
        child_check(bin_is(k, NULL));
        spawn_cache_free(k);
        return 0;
}

Test(kept, how_the_host_has_its_folders) {
        if (geteuid() != 0)
                cr_skip_test("needs root: a root folder of one's own");
        child_assert_ok(links, NULL);
}

static int host(void *arg) {
        static const char ids[][34] = {"0123456789abcdef0123456789abcdef\n", "fedcba9876543210fedcba9876543210\n"};
        char seen[ARRAY_SIZE(ids)][HOST_ID_MAX], again[HOST_ID_MAX];
        TempDir t;

        host_id(again);
        enter(&t);
        child_check(!host_id(again));
        for (size_t i = 0; i < ARRAY_SIZE(ids); i++) {
                int fd = open("/etc/machine-id", O_WRONLY | O_CREAT, 0644);

                child_check(fd >= 0 && write(fd, ids[i], 33) == 33 && close(fd) == 0);
                child_check(host_id(seen[i]) && host_id(again) && strcmp(seen[i], again) == 0);
                usleep(20000);
        }
        child_check(strcmp(seen[0], seen[1]) != 0);
        child_check(unlink("/etc/machine-id") == 0 && !host_id(again));
        return 0;
}

Test(kept, which_host_it_is) {
        if (geteuid() != 0)
                cr_skip_test("needs root: a root folder of one's own");
        child_assert_ok(host, NULL);
}

Test(kept, where_the_shims_are) {
        _cleanup_temp_dir_ TempDir t = TEMP_DIR_NULL;
        char one[PATH_MAX + 16], two[PATH_MAX + 16], link[PATH_MAX + 16];
        SpawnCache *k = spawn_cache_new();
        char *found;

        cr_assert(k && temp_dir_make(&t) == 0);
        snprintf(one, sizeof(one), "%s/one", t.path);
        snprintf(two, sizeof(two), "%s/two", t.path);
        snprintf(link, sizeof(link), "%s/shim-root", t.path);
        cr_assert(mkdir(one, 0755) == 0 && symlink("one", link) == 0);
        find_set_folder(t.path);
        for (int i = 0; i < 2; i++) {
                found = spawn_cache_shims(k);
                cr_expect_str_eq(found, one);
                free(found);
        }
        cr_assert(mkdir(two, 0755) == 0 && rmdir(one) == 0 && unlink(link) == 0 && symlink("two", link) == 0);
        found = spawn_cache_shims(k);
        cr_expect_str_eq(found, two);
        free(found);
        find_set_folder(NULL);
        spawn_cache_free(k);
}

/* More inputs than are kept, in turns: each gets its own program, and a copy that it may do with what it likes. */
Test(kept, filters) {
        _cleanup_temp_dir_ TempDir t = TEMP_DIR_NULL;
        SpawnCache *k = spawn_cache_new();

        cr_assert(k && temp_dir_make(&t) == 0);
        for (int turn = 0; turn < 3; turn++)
                for (uint8_t i = 0; i < 12; i++) {
                        const FilterInput in = {.tier = TIER_NAMESPACES, .notify_paths = i & 1, .notify_memory = i >> 1 & 1, .notify_tasks = i >> 2 & 1,
                                                .host_files = i >> 3};
                        _cleanup_free_ struct sock_filter *f = NULL, *want = NULL;
                        size_t n, n_want;

                        cr_assert_eq(filter_cached(&in, t.path, &want, &n_want), 0);
                        cr_assert_eq(spawn_cache_filter(k, &in, t.path, &f, &n), 0);
                        cr_expect(n == n_want && memcmp(f, want, n * sizeof(*f)) == 0, "%d: %d", turn, i);
                        memset(f, 0, n * sizeof(*f));
                }
        spawn_cache_free(k);
}

Test(kept, without_it_all_is_asked_each_time) {
        Probe a, b;

        spawn_cache_probe(NULL, &a);
        probe_quick(&b);
        cr_expect(memcmp(&a, &b, sizeof(a)) == 0);
}
