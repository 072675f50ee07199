/* Runs: supervisor. */
#include "region/region-cgroup-private.h"

#include "base/io.h"
#include "region/region-cgroup-home.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>

char *group_of_self(const char *self, const char *controller) {
        for (const char *line = self; line && *line; line = strchr(line, '\n'), line = line ? line + 1 : NULL) {
                const char *a = strchr(line, ':'), *b = a ? strchr(a + 1, ':') : NULL, *end = strchrnul(line, '\n');
                size_t n = strlen(controller);

                if (!b || b > end)
                        continue;
                for (const char *w = a + 1; w <= b; w += strcspn(w, ",:") + 1)
                        if (strcspn(w, ",:") == n && strncmp(w, controller, n) == 0)
                                return strndup(b + 1, (size_t)(end - b - 1));
        }
        return NULL;
}

/* The folder of a new group `name` below our own, when that can be made; *ret stays NULL when not. */
static int plan_one(const char *root, const char *hierarchy, const char *self, const char *controller, const char *region, char **ret) {
        _cleanup_free_ char *own = group_of_self(self, controller), *dir = NULL;

        if (!own)
                return 0;
        if (asprintf(&dir, "%s%s%s", root, hierarchy, own[0] == '/' && own[1] ? own : "") < 0) {
                dir = NULL;
                return -ENOMEM;
        }
        if (group_is_leaf(dir))
                *strrchr(dir, '/') = 0;
        if (access(dir, W_OK) < 0)
                return 0;
        return asprintf(ret, "%s/" CGROUP_NAME "%s", dir, region) < 0 ? -ENOMEM : 0;
}

static bool has_word(const char *text, const char *word) {
        size_t n = strlen(word);

        for (const char *p = text; (p = strstr(p, word)); p += n)
                if ((p == text || p[-1] == ' ') && (p[n] == ' ' || p[n] == '\n' || p[n] == 0))
                        return true;
        return false;
}

bool group_is_leaf(const char *dir) {
        const char *name = strrchr(dir, '/');

        return name && strcmp(name + 1, CGROUP_LEAF) == 0;
}

bool group_has_controllers(const char *dir) {
        char have[512];

        return group_read(dir, "cgroup.controllers", have, sizeof(have)) == 0 && has_word(have, "memory") && has_word(have, "pids");
}

/* Version 2: our own group hands its controllers to its children already, or lets itself be told to. It refuses while processes are in
 * it, unless it is the root: home_settle() moved us out of it. */
static bool v2_can(const char *own_dir) {
        char given[512];

        if (!group_has_controllers(own_dir))
                return false;
        if (group_read(own_dir, "cgroup.subtree_control", given, sizeof(given)) == 0 && has_word(given, "memory") &&
            has_word(given, "pids"))
                return true;
        return group_write(own_dir, "cgroup.subtree_control", "+memory +pids") == 0;
}

int region_cgroup_plan(const char *root, const char *self, const char *region, RegionCgroup *ret) {
        _cleanup_free_ char *dir = NULL;
        char path[PATH_MAX];
        int e;

        *ret = REGION_CGROUP_NULL;
        snprintf(path, sizeof(path), "%s/cgroup.controllers", root);
        if (access(path, F_OK) == 0) {
                e = plan_one(root, "", self, "", region, &dir);
                if (e < 0 || !dir)
                        return e;
                *strrchr(dir, '/') = 0;
                if (!v2_can(dir))
                        return 0;
                dir[strlen(dir)] = '/';
                ret->v2 = true;
                ret->memory = strdup(dir);
                ret->pids = strdup(dir);
                ret->cpu = strdup(dir);
                if (ret->memory && ret->pids && ret->cpu)
                        return 0;
                region_cgroup_deinit(ret);
                return -ENOMEM;
        }
        if ((e = plan_one(root, "/memory", self, "memory", region, &ret->memory)) < 0 ||
            (e = plan_one(root, "/pids", self, "pids", region, &ret->pids)) < 0 ||
            (e = plan_one(root, "/cpuacct", self, "cpuacct", region, &ret->cpu)) < 0)
                region_cgroup_deinit(ret);
        return e;
}

int region_cgroup_plan_here(const char *region, RegionCgroup *ret) {
        _cleanup_free_ char *self = NULL;
        size_t n;

        *ret = REGION_CGROUP_NULL;
        home_settle(NULL);
        if (io_read_file(AT_FDCWD, "/proc/self/cgroup", 65536, &self, &n) < 0)
                return 0;
        return region_cgroup_plan(CGROUP_ROOT, self, region, ret);
}

bool region_cgroup_any(const RegionCgroup *c) {
        return c->memory || c->pids || c->cpu;
}

char *region_cgroup_text(const RegionCgroup *c, int *reterr) {
        char *s = NULL;

        *reterr = 0;
        if (!region_cgroup_any(c))
                return NULL;
        if (c->v2)
                s = strdup(c->memory);
        else if (asprintf(&s, "%s%s%s%s%s", c->memory ? c->memory : "", c->memory && c->pids ? ":" : "", c->pids ? c->pids : "",
                          (c->memory || c->pids) && c->cpu ? ":" : "", c->cpu ? c->cpu : "") < 0)
                s = NULL;
        if (!s)
                *reterr = -ENOMEM;
        return s;
}

static int group_arm_v1(const char *dir, int *ret) {
        _cleanup_close_ int control = group_open(dir, "memory.oom_control", O_RDONLY), fd = -1;
        int e;

        if (control < 0)
                return control;
        if ((fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) < 0)
                return -errno;
        e = group_write(dir, "cgroup.event_control", "%d %d", fd, control);
        if (e == 0)
                *ret = TAKE_FD(fd);
        return e;
}

/* The one who asks for the page waits and we are told: no SIGKILL that could be mistaken for another, and no reaper that frees pages before anyone
 * has seen them. */
static int arm_memory_v1(RegionCgroup *c) {
        char above[PATH_MAX];
        int e = group_arm_v1(c->memory, &c->oom);

        c->oom_poll = POLLIN;
        if (e == 0 && group_above(c->memory, above))
                group_arm_v1(above, &c->oom_above); /* it may not be ours to ask */
        return e;
}

static int arm_tasks(RegionCgroup *c) {
        c->pids_events = group_open(c->pids, "pids.events", O_RDONLY);
        if (c->pids_events < 0)
                return c->pids_events;
        c->pids_poll = POLLPRI;
        region_cgroup_pids_max_count(c); /* the first read is what arms it */
        return 0;
}

static int make_memory_v1(RegionCgroup *c, const Budget *b) {
        int e;

        e = group_file_write(c, GROUP_MEMORY_LIMIT, "%llu", (unsigned long long)b->memory_bytes);
        if (e < 0)
                return e;
        /* With swap accounting the same limit holds for memory and swap together; the file is absent without it. */
        e = group_file_write(c, GROUP_SWAP_LIMIT, "%llu", (unsigned long long)b->memory_bytes);
        if (e < 0 && e != -ENOENT && e != -EACCES)
                return e;
        e = group_write(c->memory, "memory.oom_control", "1");
        return e < 0 ? e : arm_memory_v1(c);
}

static int make_memory_v2(RegionCgroup *c, const Budget *b) {
        int e;

        if ((e = group_file_write(c, GROUP_MEMORY_LIMIT, "%llu", (unsigned long long)b->memory_bytes)) < 0)
                return e;
        e = group_file_write(c, GROUP_SWAP_LIMIT, "0");
        if (e < 0 && e != -ENOENT)
                return e;
        e = group_write(c->memory, "memory.oom.group", "1");
        if (e < 0 && e != -ENOENT)
                return e;
        c->oom = group_open(c->memory, "memory.events", O_RDONLY);
        c->oom_poll = POLLPRI;
        return c->oom < 0 ? c->oom : 0;
}

/* A group that regions had before: limits and counters as a new one has them. */
static int make_again(RegionCgroup *c, const Budget *b) {
        int e = region_cgroup_limit(c, b->memory_bytes, b->processes);
        uint64_t before = 0;

        if (e == 0 && c->memory)
                e = region_cgroup_peak_anew(c);
        if (e == 0 && c->memory && c->oom < 0)
                e = arm_memory_v1(c);
        group_told(c->oom); /* what befell a group above while nobody was in this one */
        group_told(c->oom_above);
        c->oom_doubt = false;
        if (e == 0 && c->pids && c->pids_events < 0)
                e = arm_tasks(c);
        c->tasks_before = 0;
        if (e == 0 && c->pids)
                group_file_number(c, GROUP_PIDS_PEAK, &c->tasks_before); /* no kernel starts it anew, and one before 6.11 has none */
        c->cpu_before = 0;
        if (e == 0 && c->cpu)
                e = region_cgroup_cpu_usec(c, &before);
        c->cpu_before = before;
        return e;
}

int region_cgroup_make(RegionCgroup *c, const Budget *b) {
        const char *dirs[] = {c->memory, c->v2 ? NULL : c->pids, c->v2 ? NULL : c->cpu};
        int e = 0;

        if (c->made && make_again(c, b) == 0)
                return 0;
        if (c->made) { /* what is still charged to it may be more than this region's budget: a new one at the same place */
                CgroupPool *pool = TAKE_PTR(c->pool);

                e = region_cgroup_remove(c);
                c->pool = pool;
                c->cpu_before = c->tasks_before = 0;
        }
        for (size_t i = 0; i < ARRAY_SIZE(dirs) && e == 0; i++)
                if (dirs[i] && mkdir(dirs[i], 0755) < 0)
                        e = -errno;
        c->made = true;
        if (e == 0 && c->memory)
                e = c->v2 ? make_memory_v2(c, b) : make_memory_v1(c, b);
        if (e == 0 && c->pids) {
                e = group_file_write(c, GROUP_PIDS_MAX, "%llu", (unsigned long long)b->processes + (c->v2 ? 1 : 0));
                if (e == 0)
                        e = arm_tasks(c);
        }
        if (e < 0)
                region_cgroup_remove(c);
        return e;
}

int region_cgroup_kills(RegionCgroup *c) {
        c->counted = true;
        return c->memory && !c->v2 ? group_write(c->memory, "memory.oom_control", "0") : 0;
}

int region_cgroup_limit(const RegionCgroup *c, uint64_t memory, uint64_t processes) {
        int e = 0;

        if (!c->made)
                return 0;
        if (c->memory && (e = group_file_write(c, GROUP_MEMORY_LIMIT, "%llu", (unsigned long long)memory)) < 0 && e != -EINVAL)
                return e;
        /* Version 1: memory with swap, which may be absent, is never to be below memory: on the way up it goes first. */
        if (c->memory && !c->v2 && e == -EINVAL)
                group_file_write(c, GROUP_SWAP_LIMIT, "%llu", (unsigned long long)memory);
        if (c->memory && e == -EINVAL)
                e = group_file_write(c, GROUP_MEMORY_LIMIT, "%llu", (unsigned long long)memory);
        else if (c->memory && !c->v2)
                group_file_write(c, GROUP_SWAP_LIMIT, "%llu", (unsigned long long)memory);
        if (c->pids && e == 0)
                e = group_file_write(c, GROUP_PIDS_MAX, "%llu", (unsigned long long)processes + (c->v2 ? 1 : 0));
        return e;
}

void region_cgroup_list(const RegionCgroup *c, const char *ret[static REGION_CGROUPS_MAX + 1]) {
        const char *dirs[REGION_CGROUPS_MAX] = {c->memory, c->v2 ? NULL : c->pids, c->v2 ? NULL : c->cpu};
        size_t n = 0;

        for (size_t i = 0; i < ARRAY_SIZE(dirs); i++)
                if (dirs[i])
                        ret[n++] = dirs[i];
        ret[n] = NULL;
}

int region_cgroup_attach(const RegionCgroup *c, pid_t pid) {
        const char *dirs[] = {c->memory, c->v2 ? NULL : c->pids, c->v2 ? NULL : c->cpu};
        int e = 0;

        for (size_t i = 0; i < ARRAY_SIZE(dirs) && e == 0; i++)
                if (dirs[i])
                        e = group_write(dirs[i], "cgroup.procs", "%d", (int)pid);
        return e;
}

int region_cgroup_attach_tree(const RegionCgroup *c, pid_t pid) {
        char path[64], text[256], *p = text, *end;
        int e = region_cgroup_attach(c, pid);

        snprintf(path, sizeof(path), "/proc/%d/task/%d", (int)pid, (int)pid);
        if (e == 0)
                e = group_read(path, "children", text, sizeof(text));
        while (e == 0) {
                long child = strtol(p, &end, 10);

                if (end == p)
                        break;
                e = region_cgroup_attach(c, (pid_t)child);
                p = end;
        }
        return e;
}
