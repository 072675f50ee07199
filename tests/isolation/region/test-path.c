/* Runs: tests. */
#include "region/region-host-lookup.h"
#include "region/region-path.h"
#include "spawn/plan.h"
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

/* I-64: the host is not asked. A path that it has and a path that it has not are told alike. */
Test(region_path, what_is_inside_is_told_by_the_text_alone) {
        static const struct {
                const char *path;
                bool writes;
                PathReach want;
        } rows[] = {
                {"/etc/shadow", false, PATH_OUTSIDE},     {"/etc/no-such-file", false, PATH_OUTSIDE},
                {"/root", false, PATH_OUTSIDE},           {"/etc/passwd", false, PATH_INSIDE},
                {"/etc", false, PATH_INSIDE},             {"/", false, PATH_INSIDE}, /* on the way to what is inside */
                {"/dev", false, PATH_INSIDE},             {"/dev/kvm", false, PATH_OUTSIDE},
                {"/usr/tool", false, PATH_INSIDE},        {"/usr/no/such", false, PATH_INSIDE},
                {"/usr/new", true, PATH_DENIED},          {"/usr/no/such", true, PATH_DENIED},
                {"/no/such/thing", true, PATH_OUTSIDE},   {"/work/new", true, PATH_INSIDE},
                {"/tmp/new", true, PATH_INSIDE},          {"/dev/null", true, PATH_INSIDE},
                {"/data/new", true, PATH_INSIDE},         {"/data/new", false, PATH_INSIDE},
                {"/read/new", true, PATH_DENIED},         {"/worker", true, PATH_OUTSIDE}, /* not below /work */
                {"/skill/x", false, PATH_OUTSIDE},        {"/proc/self/maps", false, PATH_OUTSIDE},
                {"/srv/x", false, PATH_OUTSIDE},          /* the host's name of what was granted */
        };
        FileGrant files[] = {{"/srv", "/data", true}, {"/srv", "/read", false}};
        const Grant g = {.files = files, .n_files = 2}, with = {.proc = true, .skill_dir = (char *)"/srv/skill"};

        for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
                cr_assert_eq(region_path_reach(&g, TIER_NAMESPACES, NULL, NULL, rows[i].path, rows[i].writes), rows[i].want, "%s writes %d", rows[i].path,
                             rows[i].writes);
        cr_assert_eq(region_path_reach(&with, TIER_NAMESPACES, NULL, NULL, "/skill/x", false), PATH_INSIDE);
        cr_assert_eq(region_path_reach(&with, TIER_NAMESPACES, NULL, NULL, "/proc/self/maps", false), PATH_INSIDE);
        cr_assert_eq(region_path_reach(&with, TIER_NAMESPACES, NULL, NULL, "/proc/17/maps", false), PATH_INSIDE);
        cr_assert_eq(region_path_reach(&with, TIER_NAMESPACES, NULL, NULL, "/proc/self/comm", true), PATH_DENIED);
        cr_assert_eq(region_path_reach(&with, TIER_NAMESPACES, NULL, NULL, "/proc/stat", false), PATH_INSIDE);
        cr_assert_eq(region_path_reach(&with, TIER_NAMESPACES, NULL, NULL, "/proc/kallsyms", false), PATH_OUTSIDE);
        cr_assert_eq(region_path_reach(&with, TIER_NAMESPACES, NULL, NULL, "/proc/sys/kernel/core_pattern", true), PATH_OUTSIDE);
        cr_assert_eq(region_path_reach(&g, TIER_NAMESPACES, NULL, NULL, "/dev/shm/x", true), PATH_INSIDE);
        cr_assert_eq(region_path_reach(&g, TIER_NAMESPACES, NULL, NULL, "/etc/fonts/fonts.conf", false), PATH_INSIDE);
        cr_assert_eq(region_path_reach(&g, TIER_NAMESPACES, NULL, NULL, "/etc/java-17-openjdk/security", false), PATH_INSIDE);
        cr_assert_eq(region_path_reach(&g, TIER_NAMESPACES, NULL, NULL, "/etc/fontsx", false), PATH_OUTSIDE);
}

/* The list of mounts and the list of places inside have to be one. */
Test(region_path, every_place_of_a_plan_is_inside) {
        static const Probe machine = {.root = true, .has_nobody = true, .landlock_abi = 7,
                                      .system = {{PROBE_LINK, "usr/bin"}, {PROBE_LINK, "usr/sbin"}, {PROBE_FOLDER, ""}, {PROBE_FOLDER, ""}, {PROBE_FOLDER, ""}},
                                      .etc = {"fonts", "java-17-openjdk"}, .n_etc = 2};
        static const NetworkMode modes[] = {NETWORK_NONE, NETWORK_CONNECT, NETWORK_HOST};
        static char *argv[] = {(char *)"main", NULL};
        FileGrant file = {(char *)"/srv/in", (char *)"/data/in", false};

        for (size_t i = 0; i < 2 * ARRAY_SIZE(modes); i++) {
                Grant g = {.skill_dir = (char *)"/srv/skill", .program = (char *)"/opt/tool", .argv = argv, .files = &file, .n_files = 1,
                           .network = modes[i / 2], .proc = i % 2, .report_paths = true};
                const PlanInput in = {.grant = &g, .probe = &machine, .tier = TIER_NAMESPACES, .region = "01abc", .shim_dir = "/opt/shims"};
                Plan p;

                cr_assert_eq(plan_make(&in, &p), 0);
                for (size_t k = 0; k < p.spec.n_entries; k++)
                        cr_assert_eq(region_path_reach(&g, TIER_NAMESPACES, NULL, NULL, p.spec.entries[k].target, false), PATH_INSIDE, "%s",
                                     p.spec.entries[k].target);
                plan_deinit(&p);
        }
}

Test(region_path, landlock_denied_is_what_no_rule_has) {
        static const struct {
                const char *path;
                bool writes;
                PathReach want;
        } rows[] = {
                {"/etc/passwd", false, PATH_OUTSIDE},     {"/usr/bin", false, PATH_INSIDE},   {"/srv", false, PATH_INSIDE},
                {"/no/such", false, PATH_OUTSIDE},        {"/usr/new", true, PATH_DENIED},    {"/scratch/x/new", true, PATH_INSIDE},
                {"/scratch/x", false, PATH_INSIDE},       {"/var/lib", false, PATH_INSIDE},   {"/var", true, PATH_DENIED},
        };
        FileGrant file = {"/srv", "/srv", false};
        Grant g = {.files = &file, .n_files = 1};

        for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
                cr_assert_eq(region_path_reach(&g, TIER_LANDLOCK, "/scratch/x", "/var", rows[i].path, rows[i].writes), rows[i].want, "%s writes %d",
                             rows[i].path, rows[i].writes);
}

/* After the end of a region: through links, and what is mounted. The folder stands where the test's files do. */
Test(region_path, the_host_is_looked_at_through_links) {
        _cleanup_temp_dir_ TempDir t = TEMP_DIR_NULL;
        static const struct {
                const char *name;
                HostHas want;
        } rows[] = {
                {"file", HOST_HAS},         {"none", HOST_HAS_NOT},       {"file/x", HOST_HAS_NOT},    {"link", HOST_HAS},    {"link/inner", HOST_HAS},
                {"link/none", HOST_HAS_NOT}, {"absolute/stat", HOST_HAS},  {"up/folder", HOST_HAS},     {"dangling", HOST_HAS}, {"dangling/x", HOST_HAS_NOT},
                {"round/x", HOST_UNKNOWN},  {"absolute/self/no-such-name", HOST_HAS}, /* nobody looks into a process */
        };
        char path[PATH_MAX * 2];
        HostLook l;

        cr_assert_eq(temp_dir_make(&t), 0);
        cr_assert_eq(mkdirat(t.fd, "folder", 0755), 0);
        cr_assert_eq(mkdirat(t.fd, "folder/inner", 0755), 0);
        close(openat(t.fd, "file", O_CREAT | O_WRONLY | O_CLOEXEC, 0644));
        cr_assert_eq(symlinkat("folder", t.fd, "link"), 0);
        cr_assert_eq(symlinkat("/proc", t.fd, "absolute"), 0);
        cr_assert_eq(symlinkat("link/.././folder/..", t.fd, "up"), 0);
        cr_assert_eq(symlinkat("nowhere", t.fd, "dangling"), 0);
        cr_assert_eq(symlinkat("round", t.fd, "round"), 0);
        host_look_begin(&l, 60000000);
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                snprintf(path, sizeof(path), "%s/%s", t.path, rows[i].name);
                cr_assert_eq(host_look(&l, path), rows[i].want, "%s", path);
        }
        cr_assert_eq(host_look(&l, "/"), HOST_HAS);
        cr_assert_eq(host_look(&l, "/proc/stat"), HOST_HAS);
        cr_assert_eq(host_look(&l, "/dev/null"), HOST_HAS);
        host_look_end(&l);
        host_look_begin(&l, 0);
        snprintf(path, sizeof(path), "%s/file", t.path);
        usleep(1);
        cr_assert_eq(host_look(&l, path), HOST_UNKNOWN, "no time is left");
        host_look_end(&l);
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
