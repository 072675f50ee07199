#include "spawn/plan.h"
#include "spawn/proc-files.h"
#include "spawn/spawn.h"

#include <criterion/criterion.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>

static const Probe machine = {.root = true, .has_nobody = true, .landlock_abi = 7,
                              .system = {{PROBE_LINK, "usr/bin"}, {PROBE_LINK, "usr/sbin"}, {PROBE_FOLDER, ""}}};
static const struct sock_filter code[] = {{0x06, 0, 0, 0}};

static Grant grant(void) {
        static char *argv[] = {(char *)"main.sh", (char *)"/skill/data.txt", NULL};
        static char *env[] = {(char *)"PATH=/lethe/bin:/usr/bin", (char *)"HOME=/work", (char *)"X=1", NULL};
        static FileGrant files[] = {{(char *)"/srv/in", (char *)"/data/in", false}, {(char *)"/srv/out", (char *)"/data/out", true}};

        return (Grant){.skill_dir = (char *)"/srv/skill", .argv = argv, .env = env, .files = files, .n_files = 2, .min_tier = TIER_NAMESPACES,
                       .budget = {.memory_bytes = 100, .cpu_usec = 1500000, .processes = 5, .open_files = 9, .file_bytes = 50,
                                  .scratch_bytes = 5000}};
}

static const LaunchEntry *entry(const Plan *p, const char *target) {
        for (size_t i = 0; i < p->spec.n_entries; i++)
                if (strcmp(p->spec.entries[i].target, target) == 0)
                        return &p->spec.entries[i];
        return NULL;
}

static const LaunchLimit *limit(const Plan *p, unsigned resource) {
        for (size_t i = 0; i < p->spec.n_limits; i++)
                if (p->spec.limits[i].resource == resource)
                        return &p->spec.limits[i];
        return NULL;
}

static Plan plan(const Grant *g, Tier tier, bool trees, bool in_cgroup) {
        const PlanInput in = {.grant = g, .probe = &machine, .tier = tier, .region = "01abc", .shim_dir = "/opt/shims", .scratch = "/store/s",
                              .memory_in_cgroup = in_cgroup, .trees = trees, .filter = code, .n_filter = 1};
        Plan p;

        cr_assert(plan_make(&in, &p) == 0);
        return p;
}

Test(plan, tier_namespaces_binds_what_is_granted_and_no_more) {
        Grant g = grant();
        Plan p = plan(&g, TIER_NAMESPACES, true, true);
        uint8_t *bytes;
        size_t n;

        cr_assert(p.n_trees == 4 && strcmp(p.trees[1].source, "/srv/skill") == 0 && !p.trees[1].write && !p.trees[1].uniform);
        cr_assert(p.trees[0].uniform && entry(&p, "/lethe")->tree == 0); /* Lethe may stand below /root, where no worker can walk */
        cr_assert(p.trees[3].write && strcmp(p.trees[3].source, "/srv/out") == 0);
        cr_assert(entry(&p, "/skill")->tree == 1 && !(entry(&p, "/skill")->flags & (LAUNCH_WRITE | LAUNCH_FOLLOW)));
        cr_assert(entry(&p, "/data/out")->flags == LAUNCH_WRITE && entry(&p, "/data/in")->flags == 0);
        cr_assert(entry(&p, "/bin")->kind == LAUNCH_LINK && entry(&p, "/lib")->kind == LAUNCH_BIND && !entry(&p, "/lib64"));
        cr_assert(entry(&p, "/lethe")->kind == LAUNCH_BIND && !(entry(&p, "/lethe")->flags & LAUNCH_WRITE));
        cr_assert(!entry(&p, "/dev/fd") && entry(&p, "/etc/resolv.conf")->kind == LAUNCH_FILE && !(p.spec.flags & LAUNCH_PROC));
        for (size_t i = 0; i < p.spec.n_entries; i++)
                cr_assert(!(p.spec.entries[i].flags & LAUNCH_WRITE) || strcmp(p.spec.entries[i].target, "/data/out") == 0);
        cr_assert(p.spec.uid == 1000 && p.spec.gid == 1000 && (p.spec.flags & LAUNCH_CHANGE_IDS));
        cr_assert(p.spec.scratch_bytes == 8192 + 4096);
        cr_assert_str_eq(p.spec.search, "/lethe/bin:/usr/bin:/skill");
        cr_assert_str_eq(p.spec.env[p.spec.n_env - 1], "LETHE_REGION=01abc");
        cr_assert(launch_encode(&p.spec, &bytes, &n) == 0);
        free(bytes);
        plan_deinit(&p);
}

Test(plan, limits_are_the_budget) {
        Grant g = grant();
        Plan p = plan(&g, TIER_NAMESPACES, false, true);

        cr_assert(p.n_trees == 0 && entry(&p, "/skill")->tree == -1);
        cr_assert(limit(&p, RLIMIT_NOFILE)->hard == 10 && limit(&p, RLIMIT_FSIZE)->hard == 51 && limit(&p, RLIMIT_CORE)->hard == 1);
        cr_assert(limit(&p, RLIMIT_CPU)->soft == 3 && limit(&p, RLIMIT_NPROC)->hard == 13 && !limit(&p, RLIMIT_DATA));
        plan_deinit(&p);
        p = plan(&g, TIER_NAMESPACES, false, false);
        cr_assert(limit(&p, RLIMIT_DATA)->hard == 100 + FILTER_MEMORY_NOTIFY_BYTES);
        plan_deinit(&p);
}

Test(plan, proc_and_network_add_their_own) {
        Grant g = grant();
        Plan p;

        g.proc = true;
        g.network = NETWORK_HOST;
        p = plan(&g, TIER_NAMESPACES, false, true);
        cr_assert((p.spec.flags & LAUNCH_PROC) && (p.spec.flags & LAUNCH_NET_HOST));
        cr_assert(entry(&p, "/dev/fd")->kind == LAUNCH_LINK && entry(&p, "/etc/resolv.conf")->kind == LAUNCH_BIND);
        plan_deinit(&p);
}

/* a region that is executed after all keeps its network. */
Test(plan, not_ahead_keeps_the_other_flags) {
        Grant g = grant();
        Plan p;

        g.network = NETWORK_LOOPBACK;
        p = plan(&g, TIER_NAMESPACES, false, true);
        p.spec.flags |= LAUNCH_AHEAD;
        plan_not_ahead(&p);
        cr_assert(!(p.spec.flags & LAUNCH_AHEAD) && p.spec.flags & LAUNCH_LOOPBACK);
        plan_deinit(&p);
}

/* names of descriptors stand there only where the supervisor is told of their opens. */
Test(plan, names_of_descriptors_need_reports) {
        Grant g = grant();
        Plan p;

        g.report_paths = true;
        p = plan(&g, TIER_NAMESPACES, false, true);
        cr_assert(entry(&p, "/dev/stdin")->kind == LAUNCH_FIFO && entry(&p, "/dev/fd/63")->kind == LAUNCH_FIFO);
        plan_deinit(&p);
        g.report_paths = false;
        p = plan(&g, TIER_NAMESPACES, false, true);
        cr_assert(!entry(&p, "/dev/stdin"));
        plan_deinit(&p);
}

/* a devpts of the region's own where it is granted, and a terminal's requests for /dev/tty alone. */
Test(plan, terminals_are_the_regions_own) {
        Grant g = grant();
        Plan p;

        p = plan(&g, TIER_NAMESPACES, false, true);
        cr_assert(!(p.spec.flags & LAUNCH_TERMINALS) && !entry(&p, TERMINALS_DIR) && !entry(&p, "/dev/ptmx"));
        plan_deinit(&p);
        g.terminals = true;
        p = plan(&g, TIER_NAMESPACES, false, true);
        cr_assert((p.spec.flags & LAUNCH_TERMINALS) && !(p.spec.flags & LAUNCH_TERMINAL));
        cr_assert(entry(&p, TERMINALS_DIR)->kind == LAUNCH_FOLDER && entry(&p, "/dev/ptmx")->kind == LAUNCH_LINK);
        cr_assert(entry(&p, "/dev/tty")->flags & LAUNCH_TTY);
        cr_assert(!(entry(&p, "/dev/null")->flags & LAUNCH_TTY));
        plan_deinit(&p);
        g.terminals = false;
        g.terminal = true;
        p = plan(&g, TIER_LANDLOCK, false, true);
        cr_assert(!(p.spec.flags & LAUNCH_TERMINALS) && (p.spec.flags & LAUNCH_TERMINAL) && !entry(&p, "/dev/ptmx"));
        plan_deinit(&p);
}

/* the same for the same budget, and only identities differ between regions. */
Test(plan, generated_files_of_proc_are_constant) {
        const Budget a = {.memory_bytes = 64 << 20}, b = {.memory_bytes = 65 << 20};
        ProcFile first[PROC_FILES_MAX], second[PROC_FILES_MAX], other[PROC_FILES_MAX];
        struct utsname u;
        int n = proc_files(&a, 3, "01abc", first);

        cr_assert(uname(&u) == 0 && n > 20);
        cr_assert(proc_files(&a, 3, "01abd", second) == n && proc_files(&b, 3, "01abc", other) == n);
        for (int i = 0; i < n; i++) {
                bool random = strstr(first[i].path, "/random/uuid") || strstr(first[i].path, "/random/boot_id"),
                     memory = strcmp(first[i].path, "/proc/meminfo") == 0;

                cr_assert((strcmp(first[i].text, second[i].text) == 0) == !random, "%s", first[i].path);
                cr_assert((strcmp(first[i].text, other[i].text) == 0) == !memory, "%s", first[i].path);
                cr_assert(!strstr(first[i].text, u.release) && !strstr(first[i].text, u.version), "%s", first[i].path);
                cr_assert(proc_files_has(first[i].path));
                if (memory)
                        cr_assert(strstr(first[i].text, "MemTotal:           65536 kB\n"), "%s", first[i].text);
                if (strcmp(first[i].path, "/proc/cpuinfo") == 0)
                        cr_assert(strstr(first[i].text, "processor\t: 2\n") && !strstr(first[i].text, "processor\t: 3\n"));
                free(first[i].text);
                free(second[i].text);
                free(other[i].text);
        }
        cr_assert(proc_files_has("/proc/sys/kernel") && !proc_files_has("/proc/kallsyms") && !proc_files_has("/proc/sys/kernel/core_pattern"));
}

Test(plan, tier_landlock_speaks_of_the_hosts_paths) {
        Grant g = grant();
        Plan p = plan(&g, TIER_LANDLOCK, true, true);

        cr_assert(p.n_trees == 0 && p.spec.uid == 65534);
        cr_assert_str_eq(p.spec.argv[1], "/srv/skill/data.txt");
        cr_assert_str_eq(p.spec.env[0], "PATH=/opt/shims/bin:/usr/bin");
        cr_assert_str_eq(p.spec.env[1], "HOME=/store/s/work");
        cr_assert_str_eq(p.spec.env[2], "X=1");
        cr_assert_str_eq(p.spec.workdir, "/store/s/work");
        cr_assert_str_eq(p.spec.search, "/opt/shims/bin:/usr/bin:/srv/skill");
        cr_assert(!entry(&p, "/dev/shm") && !entry(&p, "/etc/passwd"));
        plan_deinit(&p);
}

Test(plan, in_tier_landlock_the_most_specific_place_decides) {
        static const struct {
                const char *region, *host;
        } rows[] = {
                {"/tmp/notes.txt", "/store/s/tmp/notes.txt"},
                {"/tmp/shared", "/srv/shared"},
                {"/tmp/shared/a", "/srv/shared/a"},
                {"/tmp/shared/private/a", "/srv/private/a"},
                {"/tmp/sharedother", "/store/s/tmp/sharedother"},
                {"/data/skill", "/srv/data/skill"},
        };
        FileGrant files[] = {{(char *)"/srv/private", (char *)"/tmp/shared/private", false},
                             {(char *)"/srv/shared", (char *)"/tmp/shared", true},
                             {(char *)"/srv/data", (char *)"/data", false}};

        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                char *argv[] = {(char *)"/bin/cat", (char *)rows[i].region, NULL};
                Grant g = grant();
                Plan p;

                g.argv = argv;
                g.files = files;
                g.n_files = ARRAY_SIZE(files);
                p = plan(&g, TIER_LANDLOCK, false, true);
                cr_expect_str_eq(p.spec.argv[1], rows[i].host, "%s stands for %s", rows[i].region, p.spec.argv[1]);
                plan_deinit(&p);
        }
}

Test(plan, a_relative_program_is_the_skills_own) {
        Grant g = grant();
        char *argv[] = {(char *)"bin/run", NULL};
        Plan p;

        g.argv = argv;
        p = plan(&g, TIER_NAMESPACES, false, true);
        cr_assert_str_eq(p.spec.argv[0], "/skill/bin/run");
        plan_deinit(&p);
        p = plan(&g, TIER_LANDLOCK, false, true);
        cr_assert_str_eq(p.spec.argv[0], "/srv/skill/bin/run");
        plan_deinit(&p);
}

typedef struct TierRow {
        const char *what;
        Tier asked, least;
        int landlock, denied;
        bool nobody;
        int result;
        Tier got;
        const char *says;
} TierRow;

static const TierRow tier_rows[] = {
        {"all there", 0, TIER_NAMESPACES, 7, 0, true, 0, TIER_NAMESPACES, NULL},
        {"landlock asked", TIER_LANDLOCK, TIER_LANDLOCK, 7, 0, true, 0, TIER_LANDLOCK, NULL},
        {"no namespaces, may fall", 0, TIER_LANDLOCK, 7, USERNS_DENIED_CLONE, true, 0, TIER_LANDLOCK, NULL},
        {"no namespaces, may not fall", 0, TIER_NAMESPACES, 7, USERNS_DENIED_CLONE, true, SPAWN_E_TIER, 0, "unprivileged_userns_clone"},
        {"no namespaces, but asked", TIER_NAMESPACES, TIER_LANDLOCK, 7, USERNS_DENIED_COUNT, true, SPAWN_E_TIER, 0, "max_user_namespaces"},
        {"no Landlock", 0, TIER_NAMESPACES, 0, 0, true, SPAWN_E_TIER, 0, "Landlock"},
        {"old Landlock is enough in namespaces", 0, TIER_NAMESPACES, 1, 0, true, 0, TIER_NAMESPACES, NULL},
        {"old Landlock is not enough alone", TIER_LANDLOCK, TIER_LANDLOCK, 5, 0, true, SPAWN_E_TIER, 0, "ABI 6"},
        {"root alone", TIER_LANDLOCK, TIER_LANDLOCK, 7, 0, false, SPAWN_E_TIER, 0, "never"},
};

Test(plan, tier_is_what_is_there_and_never_below_what_is_asked) {
        for (size_t i = 0; i < ARRAY_SIZE(tier_rows); i++) {
                const TierRow *r = &tier_rows[i];
                Grant g = {.tier = r->asked, .min_tier = r->least};
                Probe p = machine;
                Tier got = 0;
                Diag d = {0};

                p.landlock_abi = r->landlock;
                p.userns_denied = r->denied;
                p.has_nobody = r->nobody;
                cr_assert(plan_tier(&g, &p, &got, &d) == r->result, "%s", r->what);
                cr_assert(r->result != 0 || got == r->got, "%s: %d", r->what, got);
                cr_assert(!r->says || (strstr(d.text, r->says) && strstr(d.text, "fix:")), "%s: %s", r->what, d.text);
        }
}
