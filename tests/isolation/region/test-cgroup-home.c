/* Runs: tests. Where version 2 lets a supervisor make groups: the judgement on a made-up hierarchy, the leaf in a real one. */
#include "region/region-cgroup-home.h"
#include "region/region-cgroup.h"
#include "tests/support/child.h"
#include "tests/support/temp.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#define SESSION "/user.slice/user-7.slice/session-3.scope"
#define APP "/user.slice/user-7.slice/user@7.service/app.slice/"

/* A group, as systemd and somebody else left it. */
static const struct {
        const char *name, *path;
        uid_t uid;
        int delegated;          /* said by the user's manager; -1: not asked */
        bool marked, memory_max;
        const char *controllers;
        HomeWay way;
        const char *why, *manager, *slice;
} rows[] = {
        {"the root of all", "/", 0, -1, false, false, NULL, HOME_READY, "", NULL, ""},
        {"no unit: a container", "/box", 7, -1, false, false, "cpu memory pids", HOME_LEAF, "", NULL, ""},
        {"no unit, no controllers", "/box", 7, -1, false, false, "cpu pids", HOME_NONE, "memory and pids do not reach", NULL, ""},
        {"already in the leaf", "/box/" CGROUP_LEAF, 7, -1, false, false, "", HOME_READY, "", NULL, ""},
        {"a login session", SESSION, 7, -1, false, false, "memory pids", HOME_SCOPE, "not delegated", "user", ""},
        {"root's login session", SESSION, 0, -1, false, false, "memory pids", HOME_SCOPE, "not delegated", "system", "user-7.slice"},
        {"a session with a limit stays in it", SESSION, 0, -1, false, true, "memory pids", HOME_NONE, "memory.max", "system", ""},
        {"a user's unit is asked for", APP "x.service", 7, -1, false, false, "memory pids", HOME_ASK, "", "user", ""},
        {"a user's service that is delegated", APP "x.service", 7, 1, false, false, "memory pids", HOME_LEAF, "", "user", ""},
        {"a user's service that is not", APP "x.service", 7, 0, false, false, "memory pids", HOME_NONE, "not delegated the control group of the unit x.service", "user", ""},
        {"a user's scope that is not", APP "x.scope", 7, 0, false, false, "memory pids", HOME_SCOPE, "not delegated", "user", "app.slice"},
        {"a scope that Lethe asked for", APP "lethe-1-2.scope", 7, -1, false, false, "memory pids", HOME_LEAF, "", "user", ""},
        {"a system service that is delegated", "/system.slice/x.service", 0, -1, true, false, "memory pids", HOME_LEAF, "", "system", ""},
        {"a group below it", "/system.slice/x.service/inner", 0, -1, true, false, "memory pids", HOME_LEAF, "", "system", ""},
        {"a system service that is not", "/system.slice/x.service", 0, -1, false, false, "memory pids", HOME_NONE, "not delegated the control group of the unit x.service",
         "system", ""},
        {"another user's session, as root", "/user.slice/user-9.slice/user@9.service/app.slice/x.scope", 0, -1, false, false, "memory pids", HOME_SCOPE, "not delegated",
         "system", ""},
};

static void home_put(const char *dir, const char *name, const char *text) {
        char path[PATH_MAX];
        FILE *f;

        snprintf(path, sizeof(path), "%s/%s", dir, name);
        f = fopen(path, "w");
        cr_assert(f && fputs(text, f) >= 0 && fclose(f) == 0, "%s", path);
}

/* Makes root + path; the unit is the last component that is one. */
static void home_make(const char *root, const char *path, char unit[static PATH_MAX], char dir[static PATH_MAX]) {
        char *save = NULL, copy[512];

        snprintf(copy, sizeof(copy), "%s", path);
        snprintf(dir, PATH_MAX, "%s", root);
        *unit = 0;
        for (char *p = strtok_r(copy, "/", &save); p; p = strtok_r(NULL, "/", &save)) {
                const size_t n = strlen(dir);

                snprintf(dir + n, PATH_MAX - n, "/%s", p);
                cr_assert(mkdir(dir, 0755) == 0, "%s", dir);
                if (strstr(p, ".scope") || strstr(p, ".service"))
                        snprintf(unit, PATH_MAX, "%s", dir);
        }
}

Test(cgroup_home, a_group_is_divided_only_where_it_was_delegated) {
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                _cleanup_temp_dir_ TempDir t = TEMP_DIR_NULL;
                char self[600], unit[PATH_MAX], dir[PATH_MAX];
                Home h;

                cr_assert_eq(temp_dir_make(&t), 0);
                home_put(t.path, "cgroup.controllers", "cpu memory pids\n");
                home_make(t.path, rows[i].path, unit, dir);
                if (rows[i].controllers) {
                        home_put(dir, "cgroup.controllers", rows[i].controllers);
                        home_put(dir, "cgroup.type", "domain\n");
                        home_put(dir, "memory.max", rows[i].memory_max ? "67108864\n" : "max\n");
                        home_put(dir, "cpu.max", "max 100000\n");
                        home_put(dir, "pids.max", "4915\n");
                }
                if (rows[i].marked && setxattr(unit, "user.delegate", "1", 1, 0) < 0) {
                        cr_assert_eq(errno, EOPNOTSUPP, "%s", rows[i].name);
                        continue;
                }
                snprintf(self, sizeof(self), "0::%s\n", rows[i].path);
                home_find(t.path, self, rows[i].uid, rows[i].delegated, &h);
                cr_assert_eq(h.way, rows[i].way, "%s: way %d: %s", rows[i].name, (int)h.way, h.why);
                cr_assert(strstr(h.why, rows[i].why), "%s: %s", rows[i].name, h.why);
                cr_assert((!h.manager && !rows[i].manager) || (h.manager && rows[i].manager && strcmp(h.manager, rows[i].manager) == 0), "%s: %s", rows[i].name,
                          h.manager ?: "none");
                if (h.way == HOME_SCOPE) {
                        cr_assert_str_eq(h.slice, rows[i].slice, "%s", rows[i].name);
                        cr_assert_eq(h.tasks_max, 4915, "%s", rows[i].name);
                }
                if (h.way == HOME_NONE)
                        cr_assert(h.fix && *h.fix, "%s", rows[i].name);
        }
}

/* Groups of regions stand beside the leaf, not in it. */
Test(cgroup_home, regions_are_planned_beside_the_leaf) {
        _cleanup_temp_dir_ TempDir t = TEMP_DIR_NULL;
        char unit[PATH_MAX], dir[PATH_MAX];
        RegionCgroup c;

        cr_assert_eq(temp_dir_make(&t), 0);
        home_put(t.path, "cgroup.controllers", "memory pids\n");
        home_make(t.path, "/box/" CGROUP_LEAF, unit, dir);
        *strrchr(dir, '/') = 0;
        home_put(dir, "cgroup.controllers", "memory pids\n");
        home_put(dir, "cgroup.subtree_control", "memory pids\n");
        cr_assert_eq(region_cgroup_plan(t.path, "0::/box/" CGROUP_LEAF "\n", "r1", &c), 0);
        cr_assert(c.v2 && strncmp(c.memory, dir, strlen(dir)) == 0 && strcmp(c.memory + strlen(dir), "/lethe-r1") == 0, "%s", c.memory);
        region_cgroup_deinit(&c);
}

static bool home_write(const char *dir, const char *name, const char *text) {
        char path[PATH_MAX];
        int fd, e;

        snprintf(path, sizeof(path), "%s/%s", dir, name);
        fd = open(path, O_WRONLY | O_CLOEXEC);
        e = fd < 0 || write(fd, text, strlen(text)) < 0;
        if (fd >= 0)
                close(fd);
        return !e;
}

static bool home_has(const char *dir, const char *name, const char *word) {
        char path[PATH_MAX], text[4096];
        ssize_t n;
        int fd;

        snprintf(path, sizeof(path), "%s/%s", dir, name);
        fd = open(path, O_RDONLY | O_CLOEXEC);
        n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
        if (fd >= 0)
                close(fd);
        text[n < 0 ? 0 : n] = 0;
        return n >= 0 && strstr(text, word) != NULL;
}

/* A program of its own: its process is nobody's who could be taken along. */
static pid_t home_stranger(void) {
        pid_t pid = fork();

        if (pid == 0) {
                execl("/bin/sleep", "sleep", "1000", NULL);
                _exit(1);
        }
        return pid;
}

static bool home_is_sleep(pid_t pid) {
        char path[64], to[PATH_MAX] = "";

        snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
        for (int i = 0; i < 10000 && !strstr(to, "sleep") && !strstr(to, "coreutils") && !strstr(to, "busybox"); i++) {
                ssize_t n = readlink(path, to, sizeof(to) - 1);

                to[n < 0 ? 0 : n] = 0;
                usleep(1000);
        }
        return *to;
}

typedef struct Place {
        const char *root, *controller;
} Place;

/* One of our own program, which does nothing. */
static pid_t home_sibling(void) {
        pid_t pid = fork();

        if (pid == 0)
                for (;;)
                        pause();
        return pid;
}

/* In the group: with a stranger nothing changes, for others of our program neither; without, we are in the leaf, and what is beside it gets the controller. */
static int home_in_group(void *arg) {
        const Place *p = arg;
        char word[64], dir[256], leaf[300], pid_text[32], sibling_text[32], before[300];
        Home h = {.way = HOME_LEAF};
        pid_t stranger, sibling;

        snprintf(word, sizeof(word), "+%s", p->controller);
        snprintf(dir, sizeof(dir), "%s/lethe-test-%d", p->root, (int)getpid());
        snprintf(leaf, sizeof(leaf), "%s/" CGROUP_LEAF, dir);
        snprintf(before, sizeof(before), "%s/cgroup.procs", p->root);
        child_check(mkdir(dir, 0755) == 0);
        snprintf(h.dir, sizeof(h.dir), "%s", dir);
        snprintf(pid_text, sizeof(pid_text), "%d", (int)getpid());
        child_check(home_write(dir, "cgroup.procs", pid_text));
        stranger = home_stranger();
        sibling = home_sibling();
        child_check(stranger > 0 && sibling > 0 && home_is_sleep(stranger));
        child_check(home_enter(&h, word) == -EBUSY);
        snprintf(sibling_text, sizeof(sibling_text), "%d\n", (int)sibling);
        child_check(home_has(dir, "cgroup.procs", sibling_text));
        child_check(home_has("/proc/self", "cgroup", dir + strlen(p->root)) && !home_has("/proc/self", "cgroup", CGROUP_LEAF) && access(leaf, F_OK) < 0);
        kill(stranger, SIGKILL);
        child_check(waitpid(stranger, NULL, 0) == stranger);
        child_check(home_enter(&h, word) == 0);
        child_check(home_has("/proc/self", "cgroup", CGROUP_LEAF) && home_has(dir, "cgroup.subtree_control", p->controller));
        child_check(home_has(leaf, "cgroup.procs", sibling_text));
        kill(sibling, SIGKILL);
        child_check(waitpid(sibling, NULL, 0) == sibling);
        child_check(home_write(p->root, "cgroup.procs", pid_text));
        child_check(rmdir(leaf) == 0 && rmdir(dir) == 0);
        return 0;
}

Test(cgroup_home, who_is_alone_moves_into_a_leaf) {
        static const Place places[] = {{"/sys/fs/cgroup", "pids"}, {"/sys/fs/cgroup/unified", "hugetlb"}};

        for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
                char word[64];
                bool had;
                int alone;

                if (geteuid() != 0 || !home_has(places[i].root, "cgroup.controllers", places[i].controller))
                        continue;
                /* Who else runs this test would take the controller away from us, or find it as we left it. */
                alone = open(places[i].root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
                cr_assert(alone >= 0 && flock(alone, LOCK_EX) == 0);
                had = home_has(places[i].root, "cgroup.subtree_control", places[i].controller);
                snprintf(word, sizeof(word), "+%s", places[i].controller);
                if (home_write(places[i].root, "cgroup.subtree_control", word)) { /* else it is not the root of all */
                        child_assert_ok(home_in_group, (void *)&places[i]);
                        *word = '-';
                        if (!had)
                                home_write(places[i].root, "cgroup.subtree_control", word);
                }
                close(alone);
        }
}
