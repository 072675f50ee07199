/* Runs: tests. Planning on a made-up hierarchy; the rest on this machine's own, where it lets us. */
#include "base/id.h"
#include "base/clock.h"
#include "region/region-cgroup.h"
#include "tests/support/child.h"
#include "tests/support/temp.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

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
        snprintf(text, sizeof(text), "%.2000s/precious:%.2000s/lethe-other:%.2000s/lethe-r1:/no/such/lethe-r1", t.path, t.path, t.path);
        cr_assert_eq(region_cgroup_clear_text(text, "r1"), 0);
        cr_assert_eq(fstatat(t.fd, "precious", &st, 0), 0);
        cr_assert_eq(fstatat(t.fd, "lethe-other", &st, 0), 0);
        cr_assert_lt(fstatat(t.fd, "lethe-r1", &st, 0), 0);
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
                cr_assert_eq(poll(&p, 1, 10000), 1, "no event");
        while (region_cgroup_oom_count(&c) == 0);
        cr_assert_eq(region_cgroup_memory_peak(&c, &peak), 0);
        cr_assert(peak > 12 << 20 && peak <= 16 << 20, "%llu", (unsigned long long)peak);
        cr_assert(!region_cgroup_empty(&c));
        cr_assert_eq(region_cgroup_kill(&c), 0);
        waitpid(pid, NULL, 0);
        cr_assert(region_cgroup_empty(&c));
        cr_assert_eq(region_cgroup_remove(&c), 0);
        cr_assert_lt(access(c.memory, F_OK), 0);
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
        for (unsigned i = 0; i < 1000 && region_cgroup_pids_max_count(&c) == 0; i++)
                usleep(10000);
        cr_assert_gt(region_cgroup_pids_max_count(&c), 0);
        text = region_cgroup_text(&c, &e);
        cr_assert_not_null(text);
        cr_assert_eq(region_cgroup_clear_text(text, id), 0, "%s", text);
        waitpid(pid, NULL, 0);
        cr_assert_lt(access(c.pids, F_OK), 0);
        cr_assert_lt(access(c.memory, F_OK), 0);
        free(text);
        region_cgroup_deinit(&c);
}
