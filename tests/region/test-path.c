/* Runs: tests. */
#include "region/region-path.h"
#include "tests/support/temp.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

Test(region_path, is_made_absolute_and_plain) {
        static const struct {
                const char *path, *want;
        } rows[] = {
                {"/etc/shadow", "/etc/shadow"}, {"//etc//./shadow/", "/etc/shadow"}, {"/..", "/"},      {"/../../x", "/x"},
                {"/a/b/../../c", "/c"},         {"/", "/"},                          {"/a/..b", "/a/..b"},
        };
        char out[PATH_MAX], cwd[PATH_MAX], want[PATH_MAX * 2];

        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                cr_assert_eq(region_path_absolute(getpid(), AT_FDCWD, rows[i].path, out), 0);
                cr_assert_str_eq(out, rows[i].want, "%s: %s", rows[i].path, out);
        }
        cr_assert_not_null(getcwd(cwd, sizeof(cwd)));
        snprintf(want, sizeof(want), "%s/x", strcmp(cwd, "/") == 0 ? "" : cwd);
        cr_assert_eq(region_path_absolute(getpid(), AT_FDCWD, "x", out), 0);
        cr_assert_str_eq(out, want);
        cr_assert_lt(region_path_absolute(getpid(), 999, "x", out), 0);
}

/* A root with a few files stands for the region's. */
static void make_root(TempDir *t) {
        int fd;

        cr_assert_eq(temp_dir_make(t), 0);
        cr_assert_eq(mkdirat(t->fd, "usr", 0755), 0);
        cr_assert_eq(mkdirat(t->fd, "etc", 0755), 0);
        cr_assert_eq(symlinkat("/usr", t->fd, "link"), 0);
        fd = openat(t->fd, "usr/tool", O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
        cr_assert_geq(fd, 0);
        close(fd);
}

Test(region_path, namespaces_denied_is_what_the_host_has_and_the_region_has_not) {
        static const struct {
                const char *path;
                bool writes, want;
        } rows[] = {
                {"/etc/passwd", false, true},     /* on the host only */
                {"/tmp", false, true},            /* a root without it */
                {"/usr/tool", false, false},      /* in the region */
                {"/link/tool", false, false},     /* by a link that starts at the region's root */
                {"/no/such/thing", false, false}, /* nowhere */
                {"/usr/new", true, true},         /* its folder can be read, not written */
                {"/no/such/thing", true, false},
                {"/work/new", true, false},
                {"/tmp/new", true, false},
                {"/dev/null", true, false},
                {"/data/new", true, false},       /* granted for writing */
                {"/worker", true, true},          /* not below /work */
        };
        _cleanup_temp_dir_ TempDir t = TEMP_DIR_NULL;
        FileGrant file = {"/srv", "/data", true};
        Grant g = {.files = &file, .n_files = 1};

        make_root(&t);
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
                cr_assert_eq(region_path_is_denial(&g, TIER_NAMESPACES, NULL, NULL, t.fd, rows[i].path, rows[i].writes), rows[i].want,
                             "%s writes %d", rows[i].path, rows[i].writes);
}

Test(region_path, landlock_denied_is_what_no_rule_has) {
        static const struct {
                const char *path;
                bool writes, want;
        } rows[] = {
                {"/etc/passwd", false, true}, {"/usr/bin", false, false},     {"/srv", false, false},          {"/no/such", false, false},
                {"/usr/new", true, true},     {"/scratch/x/new", true, false}, {"/scratch/x", false, false},
                {"/var/lib", false, false},   {"/var", true, true},
        };
        FileGrant file = {"/srv", "/srv", false};
        Grant g = {.files = &file, .n_files = 1};

        for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
                cr_assert_eq(region_path_is_denial(&g, TIER_LANDLOCK, "/scratch/x", "/var", -1, rows[i].path, rows[i].writes), rows[i].want,
                             "%s writes %d", rows[i].path, rows[i].writes);
}

Test(region_path, allow_line_only_where_a_manifest_can_allow) {
        const Grant none = {}, proc = {.proc = true};
        char *s = region_path_allow(&none, TIER_NAMESPACES, "/proc/cpuinfo", false);

        cr_assert_str_eq(s, "\"proc\": true");
        free(s);
        cr_assert_null(region_path_allow(&proc, TIER_NAMESPACES, "/proc/cpuinfo", false)); /* it has what there is to have */
        cr_assert_null(region_path_allow(&none, TIER_LANDLOCK, "/proc/cpuinfo", false));   /* there is none to be had */
        cr_assert_null(region_path_allow(&none, TIER_NAMESPACES, "/proc/sys/kernel/core_pattern", true));
        cr_assert_null(region_path_allow(&none, TIER_NAMESPACES, "/dev/mem", false));
        s = region_path_allow(&none, TIER_LANDLOCK, "/srv/x", true);
        cr_assert_not_null(s);
        free(s);
}
