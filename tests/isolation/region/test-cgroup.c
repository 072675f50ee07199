/* Runs: tests. Planning on a made-up hierarchy; the rest on this machine's own, where it lets us. */
#include "base/id.h"
#include "base/clock.h"
#include "region/region-budget.h"
#include "region/region-cgroup.h"
#include "tests/support/child.h"
#include "tests/support/temp.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static Guard no_guard = GUARD_NULL;
static const char v1_self[] = "8:pids:/\n4:memory:/box/1\n2:cpu,cpuacct:/\n0::/\n";

static void put(TempDir *t, const char *name, const char *text) {
        int fd = openat(t->fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

        cr_assert(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text), "%s", name);
        close(fd);
}

static void folder(TempDir *t, const char *name) {
        cr_assert_eq(mkdirat(t->fd, name, 0755), 0, "%s", name);
}

static bool ends_with(const char *s, const char *tail) {
        return s && strlen(s) >= strlen(tail) && strcmp(s + strlen(s) - strlen(tail), tail) == 0;
}

Test(region_cgroup, plan_v1) {
        _cleanup_temp_dir_ TempDir t = TEMP_DIR_NULL;
        RegionCgroup c;
        char *text;
        int e;

        cr_assert_eq(temp_dir_make(&t), 0);
        folder(&t, "memory");
        folder(&t, "memory/box");
        folder(&t, "memory/box/1");
        folder(&t, "pids");
        folder(&t, "cpuacct");
        cr_assert_eq(region_cgroup_plan(t.path, v1_self, "r1", &c), 0);
        cr_assert(!c.v2 && region_cgroup_any(&c));
        cr_assert(ends_with(c.memory, "/memory/box/1/lethe-r1"), "%s", c.memory);
        cr_assert(ends_with(c.pids, "/pids/lethe-r1"), "%s", c.pids);
        cr_assert(ends_with(c.cpu, "/cpuacct/lethe-r1"), "%s", c.cpu);
        text = region_cgroup_text(&c, &e);
        cr_assert(text && strchr(text, ':') != strrchr(text, ':'));
        free(text);
        region_cgroup_deinit(&c);
        /* Only some controllers. */
        cr_assert_eq(region_cgroup_plan(t.path, "8:pids:/\n", "r1", &c), 0);
        cr_assert(c.pids && !c.memory && !c.cpu);
        region_cgroup_deinit(&c);
        cr_assert_eq(region_cgroup_plan(t.path, "garbage\n::\n4:memory\n", "r1", &c), 0);
        cr_assert(!region_cgroup_any(&c));
        region_cgroup_deinit(&c);
}

/* a share of processors has a folder of its own, or that of the count, or none. */
Test(region_cgroup, plan_of_a_share_of_processors) {
        _cleanup_temp_dir_ TempDir t = TEMP_DIR_NULL, two = TEMP_DIR_NULL;
        const char *dirs[REGION_CGROUPS_MAX + 1];
        RegionCgroup c;

        cr_assert_eq(temp_dir_make(&t), 0);
        folder(&t, "cpu");
        folder(&t, "cpuacct");
        for (unsigned one = 0; one < 2; one++) {
                const char *self = one ? v1_self : "3:cpu:/\n2:cpuacct:/\n";
                size_t n = 0;

                cr_assert_eq(region_cgroup_plan(t.path, self, "r1", &c), 0);
                cr_assert_eq(region_cgroup_plan_quota(t.path, self, "r1", &c), 0);
                cr_assert(ends_with(c.quota, one ? "/cpuacct/lethe-r1" : "/cpu/lethe-r1"), "%s", c.quota);
                region_cgroup_list(&c, dirs);
                while (dirs[n])
                        n++;
                cr_assert_eq(n, one ? 1 : 2);
                region_cgroup_deinit(&c);
        }
        cr_assert_eq(region_cgroup_plan(t.path, "2:cpuacct:/\n", "r1", &c), 0);
        cr_assert_eq(region_cgroup_plan_quota(t.path, "2:cpuacct:/\n", "r1", &c), 0);
        cr_assert_not(c.quota);
        region_cgroup_deinit(&c);

        cr_assert_eq(temp_dir_make(&two), 0);
        put(&two, "cgroup.controllers", "cpu memory pids\n");
        folder(&two, "user");
        for (unsigned has = 0; has < 3; has++) { /* not delegated; on already; to be switched on */
                put(&two, "user/cgroup.controllers", has ? "cpu memory pids\n" : "cpuset memory pids\n");
                put(&two, "user/cgroup.subtree_control", has == 1 ? "cpu memory pids\n" : "memory pids\n");
                cr_assert_eq(region_cgroup_plan(two.path, "0::/user\n", "r1", &c), 0);
                cr_assert_eq(region_cgroup_plan_quota(two.path, "0::/user\n", "r1", &c), 0);
                cr_assert(has ? ends_with(c.quota, "/user/lethe-r1") : !c.quota, "%u", has);
                region_cgroup_deinit(&c);
        }
}

Test(region_cgroup, plan_v2) {
        _cleanup_temp_dir_ TempDir t = TEMP_DIR_NULL;
        RegionCgroup c;
        char *text;
        int e;

        cr_assert_eq(temp_dir_make(&t), 0);
        put(&t, "cgroup.controllers", "cpu memory pids\n");
        folder(&t, "user");
        put(&t, "user/cgroup.controllers", "memory pids\n");
        put(&t, "user/cgroup.subtree_control", "memory pids\n");
        cr_assert_eq(region_cgroup_plan(t.path, "0::/user\n", "r1", &c), 0);
        cr_assert(c.v2 && ends_with(c.memory, "/user/lethe-r1") && strcmp(c.memory, c.pids) == 0);
        text = region_cgroup_text(&c, &e);
        cr_assert(text && !strchr(text, ':'));
        free(text);
        region_cgroup_deinit(&c);
        put(&t, "user/cgroup.controllers", "memoryx pids\n"); /* a controller whose name only begins like it */
        cr_assert_eq(region_cgroup_plan(t.path, "0::/user\n", "r1", &c), 0);
        cr_assert(!region_cgroup_any(&c));
        region_cgroup_deinit(&c);
        cr_assert_eq(region_cgroup_plan(t.path, "0::/elsewhere\n", "r1", &c), 0);
        cr_assert(!region_cgroup_any(&c));
        region_cgroup_deinit(&c);
}

Test(region_cgroup, recovery_leaves_foreign_folders_alone) {
        _cleanup_temp_dir_ TempDir t = TEMP_DIR_NULL;
        char text[PATH_MAX * 2];
        struct stat st;

        cr_assert_eq(temp_dir_make(&t), 0);
        folder(&t, "precious");
        folder(&t, "lethe-other");
        folder(&t, "lethe-r1");
        folder(&t, "lethe-pools-1-7");
        folder(&t, "lethe-poolsx-1-7");
        snprintf(text, sizeof(text), "%.700s/precious:%.700s/lethe-other:%.700s/lethe-r1:/no/such/lethe-r1:%.700s/lethe-pools-1-7:%.700s/lethe-poolsx-1-7",
                 t.path, t.path, t.path, t.path, t.path);
        cr_assert_eq(region_cgroup_clear_text(text, "r1", "pools"), 0);
        cr_assert_eq(fstatat(t.fd, "precious", &st, 0), 0);
        cr_assert_eq(fstatat(t.fd, "lethe-other", &st, 0), 0);
        cr_assert_lt(fstatat(t.fd, "lethe-r1", &st, 0), 0);
        cr_assert_lt(fstatat(t.fd, "lethe-pools-1-7", &st, 0), 0);
        cr_assert_eq(fstatat(t.fd, "lethe-poolsx-1-7", &st, 0), 0);
}

static Budget small(void) {
        return (Budget){.memory_bytes = 16 << 20, .processes = 4};
}

/* A group of this machine, or false where it has none for us. */
static bool real(RegionCgroup *c, char id[static REGION_ID_MAX]) {
        Budget b = small();

        cr_assert_eq(region_id_new(clock_real_usec(), id), 0);
        cr_assert_eq(region_cgroup_plan_here(id, c), 0);
        if (!c->memory || !c->pids) {
                region_cgroup_deinit(c);
                return false;
        }
        cr_assert_eq(region_cgroup_make(c, &b), 0, "%s", c->memory);
        return true;
}

static pid_t start_in(const RegionCgroup *c, void (*body)(void)) {
        int p[2];
        pid_t pid;

        cr_assert_eq(pipe2(p, O_CLOEXEC), 0);
        pid = fork();
        cr_assert_geq(pid, 0);
        if (pid == 0) {
                char b;

                if (read(p[0], &b, 1) == 1)
                        body();
                _exit(0);
        }
        cr_assert_eq(region_cgroup_attach(c, pid), 0);
        cr_assert_eq(write(p[1], "g", 1), 1);
        close(p[0]);
        close(p[1]);
        return pid;
}

static void eat(void) {
        for (;;) {
                char *m = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

                if (m == MAP_FAILED)
                        _exit(1);
                memset(m, 1, 1 << 20);
        }
}

static char read_path[PATH_MAX + 8];

/* Pages of a file fill the group to the last one, and are given back as they are asked for. */
static void read_file_twice(void) {
        static char buffer[4096];

        for (int i = 0; i < 2; i++) {
                int fd = open(read_path, O_RDONLY | O_CLOEXEC);

                posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM); /* one page at a time: more at once would not fit in the end */
                while (fd >= 0 && read(fd, buffer, sizeof(buffer)) > 0)
                        ;
                close(fd);
        }
        pause();
}

static void fork_some(void) {
        for (int i = 0; i < 20; i++)
                if (fork() == 0)
                        pause();
        pause();
}

Test(region_cgroup, memory_at_the_limit_is_told) { // I-24
        RegionCgroup c;
        char id[REGION_ID_MAX];
        uint64_t peak;
        struct pollfd p;
        pid_t pid;

        if (!real(&c, id))
                cr_skip_test("no memory and pids control group for this user");
        pid = start_in(&c, eat);
        p = (struct pollfd){.fd = c.oom, .events = c.oom_poll};
        do
                cr_assert_eq(poll(&p, 1, 60000), 1, "no event");
        while (region_cgroup_oom_count(&c) == 0);
        cr_assert_eq(region_cgroup_memory_peak(&c, &peak), 0);
        cr_assert(peak > 12 << 20 && peak <= 16 << 20, "%llu", (unsigned long long)peak);
        cr_assert(!region_cgroup_empty(&c));
        region_cgroup_kill_once(&c);
        waitpid(pid, NULL, 0);
        cr_assert(region_cgroup_empty(&c));
        cr_assert_eq(region_cgroup_remove(&c), 0);
        cr_assert_lt(access(c.memory, F_OK), 0);
        region_cgroup_deinit(&c);
}

static void eat_more(void) {
        static char m[24 << 20];

        memset(m, 1, sizeof(m));
        pause();
}

/* Memory that the overwriting takes when the limit is gone is not the region's. */
Test(region_cgroup, the_peak_is_that_of_the_region_alone) { // I-24, I-81
        const Grant grant = {.budget = small()};
        RegionBudget b;
        RegionCgroup c;
        char id[REGION_ID_MAX];
        uint64_t peak, all;
        struct pollfd p;
        pid_t pid;

        if (!real(&c, id))
                cr_skip_test("no memory and pids control group for this user");
        region_budget_init(&b, &grant, &c, &no_guard);
        region_budget_start(&b, INT_MAX, 0);
        pid = start_in(&c, eat_more);
        p = (struct pollfd){.fd = c.oom, .events = c.oom_poll};
        do
                cr_assert_eq(poll(&p, 1, 60000), 1, "no event");
        while (region_cgroup_oom_count(&c) == 0);
        region_budget_unlimit(&b);
        peak = b.peak_memory_bytes;
        cr_expect(peak > 12 << 20 && peak <= 16 << 20, "%llu", (unsigned long long)peak);
        if (!c.v2) /* version 1: the process waits at the limit, and goes on without it */
                do
                        cr_assert_eq(region_cgroup_memory_peak(&c, &all), 0);
                while (all < 24 << 20);
        region_cgroup_kill_once(&c);
        waitpid(pid, NULL, 0);
        region_budget_final(&b, 0, 0);
        cr_expect_eq(b.peak_memory_bytes, peak);
        region_budget_deinit(&b);
        cr_assert_eq(region_cgroup_remove(&c), 0);
        region_cgroup_deinit(&c);
}

#define ODD_LIMIT 12000001 /* bytes: the kernel counts pages */

/* Of no bytes: nobody has a page of it yet, so that who reads it pays for it. */
static void make_file(TempDir *t, off_t n) {
        int fd = openat(t->fd, "file", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

        cr_assert(fd >= 0 && ftruncate(fd, n) == 0);
        close(fd);
        snprintf(read_path, sizeof(read_path), "%s/file", t->path);
}

/* A group around those of regions, and its path as one of its processes would read it. */
static bool outer(RegionCgroup *c, char id[static REGION_ID_MAX], char **ret_self) {
        if (!real(c, id) || c->v2)
                return false;
        cr_assert_geq(asprintf(ret_self, "4:memory:%s\n", c->memory + strlen(CGROUP_ROOT "/memory")), 0);
        return true;
}

/* The kernel tells each group below one that has no memory left: that is no hit of their own limit, full as they may be of pages that they could give back. */
Test(region_cgroup, a_limit_of_the_group_above_is_not_its_own) { // I-24, I-63
        const Grant grant = {.budget = {.memory_bytes = 16 << 20, .processes = 4}};
        _cleanup_temp_dir_ TempDir t = TEMP_DIR_NULL;
        _cleanup_free_ char *self = NULL;
        char id[REGION_ID_MAX], inner_id[REGION_ID_MAX];
        RegionCgroup above, c;
        RegionBudget b;
        uint64_t peak;
        struct pollfd p;
        Breach r;
        pid_t hog, reader, own;
        int status;

        if (!outer(&above, id, &self))
                cr_skip_test("no memory control group of version 1 for this user");
        cr_assert_eq(temp_dir_make(&t), 0);
        make_file(&t, 24 << 20);
        cr_assert_eq(region_cgroup_limit(&above, 40 << 20, 20), 0);
        cr_assert_eq(region_id_new(clock_real_usec(), inner_id), 0);
        cr_assert_eq(region_cgroup_plan(CGROUP_ROOT, self, inner_id, &c), 0);
        cr_assert_not_null(c.memory, "%s", self);
        cr_assert_eq(region_cgroup_make(&c, &grant.budget), 0);
        region_budget_init(&b, &grant, &c, &no_guard);
        reader = start_in(&c, read_file_twice);
        do {
                usleep(1000);
                cr_assert_eq(region_cgroup_memory_peak(&c, &peak), 0);
        } while (peak < 16 << 20);
        cr_expect_eq(region_budget_memory_event(&b).outcome, OUTCOME_NONE, "pages of files were given back");

        p = (struct pollfd){.fd = c.oom, .events = c.oom_poll};
        for (int i = 0;; i++) {
                hog = start_in(&above, eat); /* sleeps at its group's limit, of which the group below is told, too */
                cr_assert_eq(poll(&p, 1, 60000), 1, "the kernel does not tell the group below");
                cr_expect_eq(region_budget_memory_event(&b).outcome, OUTCOME_NONE);
                if (c.oom_doubt) /* it is asked again while somebody sleeps above */
                        break;
                /* The hog got a page that another process gave back, and was awake at that moment: once more with another one. */
                cr_assert_lt(i, 60);
                kill(hog, SIGKILL);
                waitpid(hog, &status, 0);
        }
        kill(hog, SIGKILL);
        waitpid(hog, &status, 0);
        cr_expect_eq(region_budget_memory_event(&b).outcome, OUTCOME_NONE);
        for (int i = 0; i < 60000 && c.oom_doubt; i++) { /* the kernel takes its time with what a dead one had */
                usleep(1000);
                cr_expect_eq(region_budget_memory_event(&b).outcome, OUTCOME_NONE);
        }
        cr_expect(!c.oom_doubt);

        /* The control: its own one, afterwards. */
        cr_assert_eq(region_cgroup_limit(&above, 400 << 20, 20), 0);
        own = start_in(&c, eat);
        do {
                cr_assert_eq(poll(&p, 1, 60000), 1, "no event");
                r = region_budget_memory_event(&b);
        } while (r.outcome == OUTCOME_NONE);
        cr_expect_eq(r.outcome, OUTCOME_OUT_OF_REGION);
        cr_expect(r.used > 12 << 20 && r.used <= 16 << 20 && r.refused > 0, "%llu, %llu", (unsigned long long)r.used, (unsigned long long)r.refused);
        region_budget_deinit(&b);
        kill(reader, SIGKILL);
        kill(own, SIGKILL);
        waitpid(reader, &status, 0);
        waitpid(own, &status, 0);
        cr_assert_eq(region_cgroup_remove(&c), 0);
        region_cgroup_deinit(&c);
        cr_assert_eq(region_cgroup_remove(&above), 0);
        region_cgroup_deinit(&above);
}

/* The kernel asks for the pages; until it gets no more. From there on nothing may be new to this process, because a page that it asked for itself, of code or a
 * table, would put it to sleep at the limit: the call fails once before, and both ways out are in one page of code. */
__attribute__((aligned(512), noinline)) static void read_much(size_t n) {
        char *m = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        int fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);
        size_t at = 0;

        if (syscall(SYS_read, -1, m, 1) < 0) /* errno's page, which is shared with the parent up to here */
                errno = 0;
        while (at < n && syscall(SYS_read, fd, m + at, 4096) == 4096)
                at += 4096;
        syscall(SYS_exit_group, at < n);
}

static void read_too_much(void) {
        read_much(2 * ODD_LIMIT);
}

static void read_half(void) {
        read_much(ODD_LIMIT / 2);
}

Test(region_cgroup, a_refusal_in_a_system_call_is_seen_afterwards) { // I-24
        RegionCgroup c;
        char id[REGION_ID_MAX];
        int status;
        pid_t pid;

        if (!real(&c, id))
                cr_skip_test("no memory and pids control group for this user");
        if (c.v2) {
                region_cgroup_remove(&c);
                cr_skip_test("this kernel has no memory control group of version 1 for us: version 2 tells of it");
        }
        cr_assert_eq(region_cgroup_limit(&c, ODD_LIMIT, 4), 0);
        pid = start_in(&c, read_half);
        cr_assert(waitpid(pid, &status, 0) == pid && status == 0);
        cr_expect_eq(region_cgroup_full(&c, ODD_LIMIT), CGROUP_NOT_FULL);
        pid = start_in(&c, read_too_much);
        cr_assert(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 1);
        cr_expect_eq(region_cgroup_oom_count(&c), 0, "it is told, too");
        cr_expect_eq(region_cgroup_full(&c, ODD_LIMIT), CGROUP_FULL);
        cr_assert_eq(region_cgroup_peak_anew(&c), 0);
        cr_expect_eq(region_cgroup_full(&c, ODD_LIMIT), CGROUP_NOT_FULL);
        cr_assert_eq(region_cgroup_remove(&c), 0);
        region_cgroup_deinit(&c);
}

Test(region_cgroup, one_task_too_many_is_told_and_recovery_clears_up) { // I-60
        RegionCgroup c;
        char id[REGION_ID_MAX];
        char *text;
        pid_t pid;
        int e;

        if (!real(&c, id))
                cr_skip_test("no memory and pids control group for this user");
        cr_assert_eq(region_cgroup_pids_max_count(&c), 0);
        pid = start_in(&c, fork_some);
        for (unsigned i = 0; i < 12000 && region_cgroup_pids_max_count(&c) == 0; i++)
                usleep(10000);
        cr_assert_gt(region_cgroup_pids_max_count(&c), 0);
        text = region_cgroup_text(&c, &e);
        cr_assert_not_null(text);
        cr_assert_eq(region_cgroup_clear_text(text, id, "pools"), 0, "%s", text);
        waitpid(pid, NULL, 0);
        cr_assert_lt(access(c.pids, F_OK), 0);
        cr_assert_lt(access(c.memory, F_OK), 0);
        free(text);
        region_cgroup_deinit(&c);
}

static void open_some(void) {
        for (int i = 0; i < 20; i++)
                if (dup(0) < 0)
                        _exit(1);
        pause();
}

static int count_one(pid_t pid, void *arg) {
        unsigned *n = arg;

        return pid > 0 && ++*n > 1 ? -E2BIG : 0;
}

/* Where control groups tell all else, who is in them is looked at without a walk from parents to children: `worker` is nobody's parent here. */
Test(region_cgroup, who_is_in_it_is_looked_at) { // I-23
        const Grant grant = {.budget = {.memory_bytes = 1ULL << 40, .open_files = 10, .processes = 16, .cpu_usec = UINT64_MAX,
                                        .wall_usec = UINT64_MAX, .idle_usec = UINT64_MAX}};
        Breach breach = {.outcome = OUTCOME_NONE};
        RegionBudget b;
        RegionCgroup c;
        char id[REGION_ID_MAX];
        unsigned n = 0;
        pid_t pid;

        if (!real(&c, id))
                cr_skip_test("no memory and pids control group for this user");
        cr_assert_eq(region_cgroup_each(&c, count_one, &n), 0);
        cr_expect_eq(n, 0);
        pid = start_in(&c, open_some);
        cr_assert_eq(region_cgroup_each(&c, count_one, &n), 0);
        cr_expect_eq(n, 1);
        cr_expect_eq(region_cgroup_each(&c, count_one, &n), -E2BIG);
        region_budget_init(&b, &grant, &c, &no_guard);
        region_budget_start(&b, INT_MAX, 0);
        for (unsigned i = 0; i < 12000 && breach.outcome == OUTCOME_NONE; i++) {
                usleep(10000);
                breach = region_budget_tick(&b, clock_mono_usec());
        }
        if (c.cpu) {
                cr_expect_eq(breach.outcome, OUTCOME_DENIED);
                cr_expect_str_eq(breach.resource, "open_files");
        }
        region_budget_deinit(&b);
        region_cgroup_kill_once(&c);
        waitpid(pid, NULL, 0);
        cr_assert_eq(region_cgroup_remove(&c), 0);
        region_cgroup_deinit(&c);
}

static uint64_t memory_limit(const RegionCgroup *c) {
        char path[512], text[64] = "";
        int fd;

        snprintf(path, sizeof(path), "%s/%s", c->memory, c->v2 ? "memory.max" : "memory.limit_in_bytes");
        fd = open(path, O_RDONLY | O_CLOEXEC);
        cr_assert(fd >= 0 && read(fd, text, sizeof(text) - 1) > 0);
        close(fd);
        return strtoull(text, NULL, 10);
}

Test(region_cgroup, who_has_ended_gets_no_memory_back) { // I-23, I-24
        const Grant lender = {.budget = {.memory_bytes = 16 << 20, .processes = 8}}, other = {.budget = {.memory_bytes = 4 << 20, .processes = 2}};

        for (int over = 0; over < 2; over++) {
                RegionCgroup c, none = REGION_CGROUP_NULL;
                RegionBudget a, b;
                char id[REGION_ID_MAX];

                if (!real(&c, id))
                        cr_skip_test("no memory and pids control group for this user");
                region_budget_init(&a, &lender, &c, &no_guard);
                region_budget_init(&b, &other, &none, &no_guard);
                cr_assert_eq(region_budget_lend(&a, &b), 0);
                cr_assert_eq(memory_limit(&c), 12 << 20);
                a.over = over;
                region_budget_give_back(&b);
                cr_assert_eq(memory_limit(&c), over ? 12 << 20 : 16 << 20, "over %d", over);
                region_budget_deinit(&a);
                region_budget_deinit(&b);
                cr_assert_eq(region_cgroup_remove(&c), 0);
                region_cgroup_deinit(&c);
        }
}
