/* Runs: supervisor. */
#include "region/region-cgroup-private.h"

#include "base/clock.h"
#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <time.h>

#define FULL_FILES_MAX (1 << 20)

/* The number in the line "key N". */
static uint64_t keyed(const char *text, const char *key) {
        size_t n = strlen(key);

        for (const char *line = text; line; line = strchr(line, '\n'), line += line != NULL)
                if (strncmp(line, key, n) == 0 && line[n] == ' ')
                        return strtoull(line + n + 1, NULL, 10);
        return 0;
}

/* The path of our own group in the hierarchy of `controller` ("" for version 2), from lines "ID:controllers:path". Owned or NULL. */
static char *own_group(const char *self, const char *controller) {
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
        _cleanup_free_ char *own = own_group(self, controller), *dir = NULL;

        if (!own)
                return 0;
        if (asprintf(&dir, "%s%s%s", root, hierarchy, own[0] == '/' && own[1] ? own : "") < 0) {
                dir = NULL;
                return -ENOMEM;
        }
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

/* Version 2: our own group hands its controllers to its children already, or lets itself be told to. It refuses while processes are in
 * it, unless it is the root: then the operator delegates a group (systemd: Delegate=yes) whose children get them. */
static bool v2_can(const char *own_dir) {
        char have[512], given[512];

        if (group_read(own_dir, "cgroup.controllers", have, sizeof(have)) < 0 || !has_word(have, "memory") || !has_word(have, "pids"))
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

        *ret = (RegionCgroup){.oom = -1, .pids_events = -1};
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

        *ret = (RegionCgroup){.oom = -1, .pids_events = -1};
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

/* The one who asks for the page waits and we are told: no SIGKILL that could be mistaken for another, and no reaper that frees pages before anyone
 * has seen them. */
static int arm_memory_v1(RegionCgroup *c) {
        _cleanup_close_ int control = group_open(c->memory, "memory.oom_control", O_RDONLY);

        if (control < 0)
                return control;
        if ((c->oom = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) < 0)
                return -errno;
        c->oom_poll = POLLIN;
        return group_write(c->memory, "cgroup.event_control", "%d %d", c->oom, control);
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
        if (e == 0 && c->pids && c->pids_events < 0)
                e = arm_tasks(c);
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
                c->cpu_before = 0;
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

/* Reads an events file through the descriptor that is polled: that is what makes the next poll(2) wait again. */
static size_t events_read(int fd, char *text, size_t room) {
        ssize_t n = fd < 0 ? -1 : pread(fd, text, room - 1, 0);

        text[MAX(n, 0)] = 0;
        return (size_t)MAX(n, 0);
}

uint64_t region_cgroup_oom_count(RegionCgroup *c) {
        char text[1024];
        uint64_t n = 0;

        if (c->oom < 0)
                return 0;
        if (!c->v2) {
                n = read(c->oom, &n, sizeof(n)) == (ssize_t)sizeof(n) ? n : 0;
                c->counted |= n > 0;
                return n;
        }
        if (events_read(c->oom, text, sizeof(text)))
                n = keyed(text, "oom");
        return n;
}

uint64_t region_cgroup_pids_max_count(RegionCgroup *c) {
        char text[256];
        uint64_t n = events_read(c->pids_events, text, sizeof(text)) ? keyed(text, "max") : 0;

        c->counted |= n > 0;
        return n;
}

int region_cgroup_memory_now(const RegionCgroup *c, uint64_t *ret) {
        return group_file_number(c, GROUP_MEMORY_NOW, ret);
}

int region_cgroup_memory_peak(const RegionCgroup *c, uint64_t *ret) {
        return group_file_number(c, GROUP_MEMORY_PEAK, ret);
}

int region_cgroup_peak_anew(const RegionCgroup *c) {
        return group_file_write(c, GROUP_MEMORY_PEAK, "0");
}

CgroupFull region_cgroup_full(const RegionCgroup *c, uint64_t limit_bytes) {
        uint64_t peak, files;
        char text[4096];

        if (!c->made || c->v2 || region_cgroup_memory_peak(c, &peak) < 0 || peak < (limit_bytes & ~UINT64_C(4095)))
                return CGROUP_NOT_FULL;
        if (group_read(c->memory, "memory.stat", text, sizeof(text)) < 0)
                return CGROUP_NOT_FULL;
        files = keyed(text, "total_inactive_file");
        files += keyed(text, "total_active_file");
        return files < FULL_FILES_MAX ? CGROUP_FULL : CGROUP_FULL_OF_FILES;
}

int region_cgroup_cpu_usec(const RegionCgroup *c, uint64_t *ret) {
        int e;

        if (c->v2) {
                char text[1024];

                e = group_file_read(c, GROUP_CPU_USAGE, text, sizeof(text));
                if (e == 0)
                        *ret = keyed(text, "usage_usec");
                return e;
        }
        e = group_file_number(c, GROUP_CPU_USAGE, ret);
        if (e == 0)
                *ret = *ret / 1000 > c->cpu_before ? *ret / 1000 - c->cpu_before : 0;
        return e;
}
