/* Runs: supervisor. */
#include "region/region-cgroup.h"

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

static int group_write(const char *dir, const char *file, const char *fmt, ...) _printf_(3, 4);
static int group_write(const char *dir, const char *file, const char *fmt, ...) {
        char path[PATH_MAX], text[256];
        _cleanup_close_ int fd = -1;
        va_list ap;
        int n;

        if (snprintf(path, sizeof(path), "%s/%s", dir, file) >= (int)sizeof(path))
                return -ENAMETOOLONG;
        fd = open(path, O_WRONLY | O_CLOEXEC);
        if (fd < 0)
                return -errno;
        va_start(ap, fmt);
        n = vsnprintf(text, sizeof(text), fmt, ap);
        va_end(ap);
        return write(fd, text, (size_t)n) < 0 ? -errno : 0;
}

static int group_read(const char *dir, const char *file, char *text, size_t room) {
        char path[PATH_MAX];
        _cleanup_close_ int fd = -1;
        ssize_t n;

        if (!dir)
                return -ENOENT;
        if (snprintf(path, sizeof(path), "%s/%s", dir, file) >= (int)sizeof(path))
                return -ENAMETOOLONG;
        fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd < 0)
                return -errno;
        n = read(fd, text, room - 1);
        if (n < 0)
                return -errno;
        text[n] = 0;
        return 0;
}

static int group_open(const char *dir, const char *file) {
        char path[PATH_MAX];
        int fd;

        if (snprintf(path, sizeof(path), "%s/%s", dir, file) >= (int)sizeof(path))
                return -ENAMETOOLONG;
        fd = open(path, O_RDONLY | O_CLOEXEC);
        return fd < 0 ? -errno : fd;
}

static int group_number(const char *dir, const char *file, uint64_t *ret) {
        char text[64];
        int e = group_read(dir, file, text, sizeof(text));

        if (e == 0)
                *ret = strtoull(text, NULL, 10);
        return e;
}

/* The number in the line "key N". */
static uint64_t keyed(char *text, const char *key) {
        char *save = NULL;
        size_t n = strlen(key);

        for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
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

static int make_memory_v1(RegionCgroup *c, const Budget *b) {
        _cleanup_close_ int control = -1;
        int e;

        e = group_write(c->memory, "memory.limit_in_bytes", "%llu", (unsigned long long)b->memory_bytes);
        if (e < 0)
                return e;
        /* With swap accounting the same limit holds for memory and swap together; the file is absent without it. */
        e = group_write(c->memory, "memory.memsw.limit_in_bytes", "%llu", (unsigned long long)b->memory_bytes);
        if (e < 0 && e != -ENOENT && e != -EACCES)
                return e;
        /* The one who asks for the page waits and we are told: no SIGKILL that could be mistaken for another, and no reaper that
         * frees pages before anyone has seen them. */
        if ((e = group_write(c->memory, "memory.oom_control", "1")) < 0)
                return e;
        if ((control = group_open(c->memory, "memory.oom_control")) < 0)
                return control;
        if ((c->oom = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) < 0)
                return -errno;
        c->oom_poll = POLLIN;
        return group_write(c->memory, "cgroup.event_control", "%d %d", c->oom, control);
}

static int make_memory_v2(RegionCgroup *c, const Budget *b) {
        int e;

        if ((e = group_write(c->memory, "memory.max", "%llu", (unsigned long long)b->memory_bytes)) < 0)
                return e;
        e = group_write(c->memory, "memory.swap.max", "0");
        if (e < 0 && e != -ENOENT)
                return e;
        e = group_write(c->memory, "memory.oom.group", "1");
        if (e < 0 && e != -ENOENT)
                return e;
        c->oom = group_open(c->memory, "memory.events");
        c->oom_poll = POLLPRI;
        return c->oom < 0 ? c->oom : 0;
}

int region_cgroup_make(RegionCgroup *c, const Budget *b) {
        const char *dirs[] = {c->memory, c->v2 ? NULL : c->pids, c->v2 ? NULL : c->cpu};
        int e = 0;

        for (size_t i = 0; i < ARRAY_SIZE(dirs) && e == 0; i++)
                if (dirs[i] && mkdir(dirs[i], 0755) < 0)
                        e = -errno;
        c->made = true;
        if (e == 0 && c->memory)
                e = c->v2 ? make_memory_v2(c, b) : make_memory_v1(c, b);
        if (e == 0 && c->pids) {
                e = group_write(c->pids, "pids.max", "%llu", (unsigned long long)b->processes + (c->v2 ? 1 : 0));
                if (e == 0 && (c->pids_events = group_open(c->pids, "pids.events")) < 0)
                        e = c->pids_events;
                c->pids_poll = POLLPRI;
                if (e == 0)
                        region_cgroup_pids_max_count(c); /* the first read is what arms it */
        }
        if (e < 0)
                region_cgroup_remove(c);
        return e;
}

int region_cgroup_limit(const RegionCgroup *c, uint64_t memory, uint64_t processes) {
        int e = 0;

        if (!c->made)
                return 0;
        /* Version 1: memory with swap is never to be below memory, on the way up nor on the way down. */
        if (c->memory && !c->v2)
                group_write(c->memory, "memory.memsw.limit_in_bytes", "%llu", (unsigned long long)memory);
        if (c->memory)
                e = group_write(c->memory, c->v2 ? "memory.max" : "memory.limit_in_bytes", "%llu", (unsigned long long)memory);
        if (c->memory && !c->v2 && e == 0)
                group_write(c->memory, "memory.memsw.limit_in_bytes", "%llu", (unsigned long long)memory);
        if (c->pids && e == 0)
                e = group_write(c->pids, "pids.max", "%llu", (unsigned long long)processes + (c->v2 ? 1 : 0));
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

uint64_t region_cgroup_oom_count(const RegionCgroup *c) {
        char text[1024];
        uint64_t n = 0;

        if (c->oom < 0)
                return 0;
        if (!c->v2)
                return read(c->oom, &n, sizeof(n)) == (ssize_t)sizeof(n) ? n : 0;
        if (events_read(c->oom, text, sizeof(text)))
                n = keyed(text, "oom");
        return n;
}

uint64_t region_cgroup_pids_max_count(const RegionCgroup *c) {
        char text[256];

        return events_read(c->pids_events, text, sizeof(text)) ? keyed(text, "max") : 0;
}

int region_cgroup_memory_now(const RegionCgroup *c, uint64_t *ret) {
        return group_number(c->memory, c->v2 ? "memory.current" : "memory.usage_in_bytes", ret);
}

int region_cgroup_memory_peak(const RegionCgroup *c, uint64_t *ret) {
        return group_number(c->memory, c->v2 ? "memory.peak" : "memory.max_usage_in_bytes", ret);
}

int region_cgroup_cpu_usec(const RegionCgroup *c, uint64_t *ret) {
        int e;

        if (c->v2) {
                char text[1024];

                e = group_read(c->cpu, "cpu.stat", text, sizeof(text));
                if (e == 0)
                        *ret = keyed(text, "usage_usec");
                return e;
        }
        e = group_number(c->cpu, "cpuacct.usage", ret);
        if (e == 0)
                *ret /= 1000;
        return e;
}

/* Sends SIGKILL to each process that a group lists. Returns how many there were, or -errno. */
static int kill_listed(const char *dir) {
        _cleanup_free_ char *text = NULL, *path = NULL;
        size_t n;
        int e, count = 0;

        if (asprintf(&path, "%s/cgroup.procs", dir) < 0) {
                path = NULL;
                return -ENOMEM;
        }
        e = io_read_file(AT_FDCWD, path, 1 << 20, &text, &n);
        if (e < 0)
                return e == -ENOENT || e == -ENODEV ? 0 : e;
        for (char *p = text; *p;) {
                char *end;
                long pid = strtol(p, &end, 10);

                if (end == p)
                        break;
                /* 0: a process of another PID namespace that we cannot name; 1 would be everything. */
                if (pid > 1 && kill((pid_t)pid, SIGKILL) < 0 && errno == EPERM)
                        return -EPERM;
                count++;
                p = *end ? end + 1 : end;
        }
        return count;
}

static int kill_dir(const char *dir) {
        struct timespec pause = {0, 1000000};
        uint64_t until = clock_mono_usec() + 2000000;
        int n;

        if (group_write(dir, "cgroup.kill", "1") == 0)
                return 0;
        while ((n = kill_listed(dir)) > 0 && clock_mono_usec() < until)
                nanosleep(&pause, NULL);
        return n > 0 ? -EBUSY : n;
}

void region_cgroup_kill_once(const RegionCgroup *c) {
        const char *dir = c->memory ? c->memory : c->pids ? c->pids : c->cpu;

        if (c->made && dir && group_write(dir, "cgroup.kill", "1") < 0)
                kill_listed(dir);
}

int region_cgroup_kill(const RegionCgroup *c) {
        const char *dir = c->memory ? c->memory : c->pids ? c->pids : c->cpu;

        return c->made && dir ? kill_dir(dir) : 0;
}

/* The groups are entered together: what is in one is in all of them. That the others are empty their removal proves again. */
bool region_cgroup_empty(const RegionCgroup *c) {
        const char *dir = c->memory ? c->memory : c->pids ? c->pids : c->cpu;
        char text[64];

        return !dir || group_read(dir, "cgroup.procs", text, sizeof(text)) < 0 || !*text;
}

/* A group stays busy for a moment after its last process was reaped. Once recorded as released nobody would look for it again, so a
 * passing lack of memory is not taken for an answer either. */
static int remove_dir(const char *dir) {
        struct timespec pause = {0, 200000};
        uint64_t until = clock_mono_usec() + 2000000;

        for (unsigned tries = 1; rmdir(dir) < 0; tries++) {
                int e = errno;

                if (e == ENOENT)
                        return 0;
                if ((e != EBUSY && tries >= 3) || clock_mono_usec() > until)
                        return -e;
                nanosleep(&pause, NULL);
        }
        return 0;
}

/* At its limit a write to a page that is shared since a fork waits for memory, and the kernel's reaper frees after two seconds, with all
 * bytes in it, what an out-of-memory kill has picked. */
void region_cgroup_unlimit(const RegionCgroup *c) {
        if (!c->made || !c->memory)
                return;
        if (c->v2) {
                group_write(c->memory, "memory.max", "max");
                return;
        }
        group_write(c->memory, "memory.memsw.limit_in_bytes", "-1"); /* first: it must not be below the other */
        group_write(c->memory, "memory.limit_in_bytes", "-1");
}

int region_cgroup_remove(RegionCgroup *c) {
        const char *dirs[] = {c->memory, c->v2 ? NULL : c->pids, c->v2 ? NULL : c->cpu};
        int e = 0;

        closep(&c->oom);
        closep(&c->pids_events);
        for (size_t i = 0; c->made && i < ARRAY_SIZE(dirs); i++)
                if (dirs[i]) {
                        int r = remove_dir(dirs[i]);

                        e = e < 0 ? e : r;
                }
        if (e == 0)
                c->made = false;
        return e;
}

void region_cgroup_deinit(RegionCgroup *c) {
        closep(&c->oom);
        closep(&c->pids_events);
        free(c->memory);
        free(c->pids);
        free(c->cpu);
        *c = (RegionCgroup){.oom = -1, .pids_events = -1};
}

int region_cgroup_clear_text(const char *text, const char *region) {
        _cleanup_free_ char *copy = strdup(text);
        char *save = NULL;
        int e = 0;

        if (!copy)
                return -ENOMEM;
        for (char *dir = strtok_r(copy, ":", &save); dir; dir = strtok_r(NULL, ":", &save)) {
                const char *name = strrchr(dir, '/');
                int r;

                if (!name || strncmp(name + 1, CGROUP_NAME, strlen(CGROUP_NAME)) != 0 ||
                    strcmp(name + 1 + strlen(CGROUP_NAME), region) != 0)
                        continue;
                if (access(dir, F_OK) < 0)
                        continue;
                r = kill_dir(dir);
                if (r == 0)
                        r = remove_dir(dir);
                e = e < 0 ? e : r;
        }
        return e;
}
