/* Runs: tests. Control groups that one region after another has: each finds them as if they were new, and what cannot be so is not used again. */
#include "base/clock.h"
#include "region/region-cgroup.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define OWNER "0123456789abcdef"

static Budget budget(uint64_t memory) {
        return (Budget){.memory_bytes = memory, .processes = 4};
}

static CgroupPool *pool(void) {
        char store[32];
        CgroupPool *p;
        int e;

        snprintf(store, sizeof(store), "test%d", (int)getpid());
        e = cgroup_pool_new(store, OWNER, &p);
        if (e == -ENOENT)
                cr_skip_test("this kernel has no control groups of version 1 for this user");
        cr_assert_eq(e, 0);
        return p;
}

static RegionCgroup take(CgroupPool *p, uint64_t memory) {
        RegionCgroup c;
        Budget b = budget(memory);

        cr_assert_eq(cgroup_pool_take(p, &c), 0);
        if (!c.memory || !c.pids) {
                region_cgroup_deinit(&c);
                cr_skip_test("no memory and pids control group for this user");
        }
        cr_assert_eq(region_cgroup_make(&c, &b), 0, "%s", c.memory);
        return c;
}

/* Something that runs in it to its end. */
static int run_in(const RegionCgroup *c, void (*body)(void)) {
        int p[2], status;
        pid_t pid;

        cr_assert_eq(pipe2(p, O_CLOEXEC), 0);
        pid = fork();
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
        cr_assert_eq(waitpid(pid, &status, 0), pid);
        return status;
}

static void eat_8m(void) {
        char *m = mmap(NULL, 8 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        memset(m, 1, 8 << 20);
        for (volatile unsigned i = 0; i < 50000000; i++) /* and some processor time */
                ;
}

/* All of them at once: none ends before the last one was tried. */
static void fork_five(void) {
        pid_t pids[5];

        for (int i = 0; i < 5; i++) {
                pids[i] = fork();
                if (pids[i] == 0) {
                        pause();
                        _exit(0);
                }
        }
        for (int i = 0; i < 5; i++)
                if (pids[i] > 0)
                        kill(pids[i], SIGKILL);
        while (wait(NULL) > 0)
                ;
}

static void remove_group(RegionCgroup *c) {
        c->pool = NULL;
        cr_expect_eq(region_cgroup_remove(c), 0);
        region_cgroup_deinit(c);
}

static uint64_t limit_of(const RegionCgroup *c) {
        char path[512], text[64] = {0};
        int fd;

        snprintf(path, sizeof(path), "%s/memory.limit_in_bytes", c->memory);
        fd = open(path, O_RDONLY | O_CLOEXEC);
        cr_assert(fd >= 0 && read(fd, text, sizeof(text) - 1) > 0);
        close(fd);
        return strtoull(text, NULL, 10);
}

Test(cgroup_pool, the_next_one_finds_it_as_new) { // I-1, I-3, I-5
        CgroupPool *p = pool();
        RegionCgroup c = take(p, 16 << 20);
        uint64_t cpu, peak;
        char name[512];

        snprintf(name, sizeof(name), "%s", c.memory);
        run_in(&c, eat_8m);
        cr_assert_eq(region_cgroup_cpu_usec(&c, &cpu), 0);
        cr_assert_eq(region_cgroup_memory_peak(&c, &peak), 0);
        cr_assert(cpu > 1000 && peak >= 8 << 20, "%llu usec, %llu bytes: there is nothing to be left behind", (unsigned long long)cpu, (unsigned long long)peak);
        region_cgroup_unlimit(&c);
        cr_assert_eq(region_cgroup_remove(&c), 0);
        cr_assert(!region_cgroup_any(&c) && access(name, F_OK) == 0, "it did not go back");

        c = take(p, 32 << 20);
        cr_assert_str_eq(c.memory, name);
        cr_expect_eq(limit_of(&c), 32 << 20);
        cr_expect_eq(region_cgroup_oom_count(&c), 0);
        cr_expect_eq(region_cgroup_pids_max_count(&c), 0);
        cr_assert_eq(region_cgroup_cpu_usec(&c, &cpu), 0);
        cr_assert_eq(region_cgroup_memory_peak(&c, &peak), 0);
        cr_expect_lt(cpu, 1000, "%llu", (unsigned long long)cpu);
        cr_expect_lt(peak, 2 << 20);
        remove_group(&c);
        cgroup_pool_free(p);
}

/* The limit still stops it, and is told, the second time as the first. */
Test(cgroup_pool, limits_hold_again) { // I-24
        CgroupPool *p = pool();

        for (int round = 0; round < 3; round++) {
                RegionCgroup c = take(p, 4 << 20);
                struct pollfd event = {.fd = c.oom, .events = c.oom_poll};
                char name[512];
                pid_t pid = fork();

                snprintf(name, sizeof(name), "%s", c.memory);
                if (pid == 0) {
                        region_cgroup_attach(&c, getpid());
                        eat_8m();
                        _exit(0);
                }
                do
                        cr_assert_eq(poll(&event, 1, 60000), 1, "round %d: no event", round);
                while (region_cgroup_oom_count(&c) == 0);
                region_cgroup_kill_once(&c);
                waitpid(pid, NULL, 0);
                /* Its counters are not a new one's any more. */
                cr_assert_eq(region_cgroup_remove(&c), 0);
                cr_assert_lt(access(name, F_OK), 0, "round %d: used again after its limit was hit", round);
                region_cgroup_deinit(&c);
                c = take(p, 4 << 20); /* and one that goes back, for the next round */
                run_in(&c, fflush(NULL) == 0 ? (void (*)(void))getpid : NULL);
                cr_assert_eq(region_cgroup_remove(&c), 0);
                region_cgroup_deinit(&c);
        }
        cgroup_pool_free(p);
}

Test(cgroup_pool, too_many_tasks_spoil_it) {
        CgroupPool *p = pool();
        RegionCgroup c = take(p, 16 << 20);
        char name[512];

        snprintf(name, sizeof(name), "%s", c.pids);
        run_in(&c, fork_five);
        cr_assert_eq(region_cgroup_remove(&c), 0);
        cr_expect_lt(access(name, F_OK), 0);
        region_cgroup_deinit(&c);
        cgroup_pool_free(p);
}

Test(cgroup_pool, nothing_goes_back_that_is_not_empty) { // I-21
        CgroupPool *p = pool();
        RegionCgroup c = take(p, 16 << 20);
        pid_t pid = fork();

        if (pid == 0)
                for (;;)
                        pause();
        cr_assert_eq(region_cgroup_attach(&c, pid), 0);
        cr_expect(!cgroup_pool_give(p, &c));
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
        cr_expect(cgroup_pool_give(p, &c));
        cgroup_pool_free(p);
}

/* A smaller budget than what is still charged to it. */
Test(cgroup_pool, a_small_budget_gets_a_new_one) {
        CgroupPool *p = pool();
        RegionCgroup c = take(p, 16 << 20);

        run_in(&c, eat_8m);
        cr_assert_eq(region_cgroup_remove(&c), 0);
        c = take(p, 4096);
        cr_expect_eq(limit_of(&c), 4096);
        remove_group(&c);
        cgroup_pool_free(p);
}

static void write_tasks(const RegionCgroup *c) {
        CgroupTasks t;

        cr_assert_eq(region_cgroup_tasks(c, &t), 0);
        cr_assert_geq(t.n, 2);
        for (size_t i = 0; i < t.n; i++)
                cr_expect_eq(write(t.fd[i], "0", 1), 1, "%zu: %s", i, strerror(errno));
        region_cgroup_tasks_close(&t);
}

/* Its files stay open; what they lead to is gone, and something else has its name. */
Test(cgroup_pool, one_that_was_replaced_is_made_anew) {
        CgroupPool *p = pool();
        RegionCgroup c = take(p, 16 << 20);
        const char *dirs[REGION_CGROUPS_MAX + 1];
        char name[REGION_CGROUPS_MAX][512] = {};
        int status;
        pid_t pid;

        region_cgroup_list(&c, dirs);
        for (size_t i = 0; dirs[i]; i++)
                snprintf(name[i], sizeof(name[i]), "%s", dirs[i]);
        cr_assert_eq(region_cgroup_remove(&c), 0);
        for (size_t i = 0; i < REGION_CGROUPS_MAX && *name[i]; i++)
                cr_assert(rmdir(name[i]) == 0 && mkdir(name[i], 0755) == 0);
        c = take(p, 8 << 20);
        cr_assert_str_eq(c.memory, name[0]);
        cr_expect_eq(limit_of(&c), 8 << 20);
        pid = fork();
        if (pid == 0) {
                write_tasks(&c);
                _exit(region_cgroup_empty(&c)); /* one is in it */
        }
        cr_assert_eq(waitpid(pid, &status, 0), pid);
        cr_expect_eq(status, 0);
        remove_group(&c);
        cgroup_pool_free(p);
}

static unsigned open_files(void) {
        unsigned n = 0;

        for (int fd = 0; fd < 1024; fd++)
                n += fcntl(fd, F_GETFD) >= 0;
        return n;
}

/* Those of some groups stay open while these lie idle, not those of all, and none when all is over. */
Test(cgroup_pool, files_that_stay_open_are_few_and_are_closed) {
        enum { N = 48 };
        CgroupPool *p = pool();
        unsigned before = open_files(), all;
        RegionCgroup c[N];

        for (int i = 0; i < N; i++)
                c[i] = take(p, 16 << 20);
        cr_assert_eq(region_cgroup_remove(&c[0]), 0);
        c[0] = take(p, 16 << 20);
        cr_assert_eq(region_cgroup_remove(&c[0]), 0);
        for (int i = 1; i < N; i++)
                cr_assert_eq(region_cgroup_remove(&c[i]), 0);
        all = open_files();
        cr_expect_lt(all, before + N * 7, "%u, %u", before, all);
        cr_expect_gt(all, before);
        cgroup_pool_free(p);
        cr_expect_eq(open_files(), before);
}

Test(cgroup_pool, what_lies_idle_goes_and_all_goes_in_the_end) {
        uint64_t before = clock_mono_usec();
        CgroupPool *p = pool();
        RegionCgroup c[4];
        char name[4][512];

        for (int i = 0; i < 4; i++) {
                c[i] = take(p, 16 << 20);
                snprintf(name[i], sizeof(name[i]), "%s", c[i].memory);
        }
        for (int i = 0; i < 4; i++)
                cr_assert_eq(region_cgroup_remove(&c[i]), 0);
        cgroup_pool_trim(p, before);
        cr_expect_eq(access(name[0], F_OK), 0);
        c[0] = take(p, 16 << 20);
        before = clock_mono_usec() + 1;
        while (clock_mono_usec() < before)
                ;
        cr_assert_eq(region_cgroup_remove(&c[0]), 0); /* used since */
        cgroup_pool_trim(p, before);
        for (int i = 0; i < 4; i++)
                cr_expect_eq(access(name[i], F_OK), i == 3 ? 0 : -1, "%d", i);
        cgroup_pool_free(p);
        cr_expect_lt(access(name[3], F_OK), 0);
}

/* Of a supervisor that died: all of its own, with what runs in them, and nobody else's. */
Test(cgroup_pool, what_a_dead_one_left_is_removed) { // I-60
        CgroupPool *p = pool(), *other;
        RegionCgroup c = take(p, 16 << 20), theirs;
        char store[32], name[512], places[4096];
        pid_t pid = fork();

        if (pid == 0)
                for (;;)
                        pause();
        cr_assert_eq(region_cgroup_attach(&c, pid), 0);
        snprintf(store, sizeof(store), "test%d", (int)getpid());
        snprintf(name, sizeof(name), "%s", c.memory);
        snprintf(places, sizeof(places), "%.3000s:/tmp:/no/such", cgroup_pool_places(p));
        cr_assert_eq(cgroup_pool_new(store, "fedcba9876543210", &other), 0);
        theirs = take(other, 16 << 20);
        cr_assert_eq(cgroup_pool_clear(places, store, OWNER), 0);
        cr_expect_eq(waitpid(pid, NULL, 0), pid);
        cr_expect_lt(access(name, F_OK), 0);
        cr_expect_eq(access(theirs.memory, F_OK), 0);
        remove_group(&theirs);
        c.made = false;
        region_cgroup_deinit(&c);
        cgroup_pool_free(other);
        cgroup_pool_free(p);
}
