/* Runs: supervisor. Files and folders of control groups. Files are opened for each use, or kept open. */
#include "region/region-cgroup-private.h"

#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Files used by each region. cgroup.procs is never kept open: a second read may give the list of a second ago. */
static const struct {
        enum { IN_MEMORY, IN_PIDS, IN_CPU, IN_QUOTA } folder;
        const char *v1, *v2;
        int flags;
} names[GROUP_FILES] = {
        [GROUP_MEMORY_LIMIT] = {IN_MEMORY, "memory.limit_in_bytes", "memory.max", O_WRONLY},
        [GROUP_SWAP_LIMIT] = {IN_MEMORY, "memory.memsw.limit_in_bytes", "memory.swap.max", O_WRONLY},
        [GROUP_MEMORY_PEAK] = {IN_MEMORY, "memory.max_usage_in_bytes", "memory.peak", O_RDWR},
        [GROUP_MEMORY_NOW] = {IN_MEMORY, "memory.usage_in_bytes", "memory.current", O_RDONLY},
        [GROUP_PIDS_MAX] = {IN_PIDS, "pids.max", "pids.max", O_WRONLY},
        [GROUP_PIDS_PEAK] = {IN_PIDS, "pids.peak", "pids.peak", O_RDONLY},
        [GROUP_CPU_USAGE] = {IN_CPU, "cpuacct.usage", "cpu.stat", O_RDONLY},
        [GROUP_MEMORY_TASKS] = {IN_MEMORY, "tasks", NULL, O_WRONLY},
        [GROUP_PIDS_TASKS] = {IN_PIDS, "tasks", NULL, O_WRONLY},
        [GROUP_CPU_TASKS] = {IN_CPU, "tasks", NULL, O_WRONLY},
        [GROUP_QUOTA_TASKS] = {IN_QUOTA, "tasks", NULL, O_WRONLY},
        [GROUP_QUOTA_STAT] = {IN_QUOTA, "cpu.stat", "cpu.stat", O_RDONLY},
};

int group_open(const char *dir, const char *file, int flags) {
        char path[PATH_MAX];
        int fd;

        if (snprintf(path, sizeof(path), "%s/%s", dir, file) >= (int)sizeof(path))
                return -ENAMETOOLONG;
        fd = open(path, flags | O_CLOEXEC);
        return fd < 0 ? -errno : fd;
}

/* fd: a descriptor, or -errno to return. */
__attribute__((format(printf, 2, 0))) static int group_write_fd(int fd, const char *fmt, va_list ap) {
        char text[256];

        if (fd < 0)
                return fd;
        return pwrite(fd, text, (size_t)vsnprintf(text, sizeof(text), fmt, ap), 0) < 0 ? -errno : 0;
}

static int group_read_fd(int fd, char *text, size_t room) {
        ssize_t n;

        if (fd < 0)
                return fd;
        n = pread(fd, text, room - 1, 0);
        if (n < 0)
                return -errno;
        text[n] = 0;
        return 0;
}

int group_write(const char *dir, const char *file, const char *fmt, ...) {
        _cleanup_close_ int fd = group_open(dir, file, O_WRONLY);
        va_list ap;
        int e;

        va_start(ap, fmt);
        e = group_write_fd(fd, fmt, ap);
        va_end(ap);
        return e;
}

int group_read(const char *dir, const char *file, char *text, size_t room) {
        _cleanup_close_ int fd = dir ? group_open(dir, file, O_RDONLY) : -ENOENT;

        return group_read_fd(fd, text, room);
}

int group_number(const char *dir, const char *file, uint64_t *ret) {
        char text[64];
        int e = group_read(dir, file, text, sizeof(text));

        if (e == 0)
                *ret = *text == 'm' ? UINT64_MAX : strtoull(text, NULL, 10);
        return e;
}

static const char *group_folder(const RegionCgroup *c, GroupFile f) {
        const char *const folders[] = {[IN_MEMORY] = c->memory, [IN_PIDS] = c->pids, [IN_CPU] = c->cpu, [IN_QUOTA] = c->quota};

        return folders[names[f].folder];
}

/* *ret_own: the descriptor when the caller has to close it, else -1. Returns the descriptor, or -errno. */
static int group_file(const RegionCgroup *c, GroupFile f, int *ret_own) {
        const int flags = c->v2 && f == GROUP_MEMORY_PEAK ? O_RDONLY : names[f].flags;
        const char *dir = group_folder(c, f);
        int fd;

        *ret_own = -1;
        if (c->files && c->files->fd[f] >= 0)
                return c->files->fd[f];
        fd = dir ? group_open(dir, c->v2 ? names[f].v2 : names[f].v1, flags) : -ENOENT;
        if (fd < 0)
                return fd;
        if (c->files)
                c->files->fd[f] = fd;
        else
                *ret_own = fd;
        return fd;
}

int group_file_write(const RegionCgroup *c, GroupFile f, const char *fmt, ...) {
        _cleanup_close_ int own = -1;
        va_list ap;
        int e;

        va_start(ap, fmt);
        e = group_write_fd(group_file(c, f, &own), fmt, ap);
        va_end(ap);
        return e;
}

int group_file_read(const RegionCgroup *c, GroupFile f, char *text, size_t room) {
        _cleanup_close_ int own = -1;

        return group_read_fd(group_file(c, f, &own), text, room);
}

int group_file_number(const RegionCgroup *c, GroupFile f, uint64_t *ret) {
        char text[64];
        int e = group_file_read(c, f, text, sizeof(text));

        if (e == 0)
                *ret = strtoull(text, NULL, 10);
        return e;
}

bool group_has_own_quota(const RegionCgroup *c) {
        return c->quota && !c->v2 && (!c->cpu || strcmp(c->quota, c->cpu) != 0);
}

int region_cgroup_tasks(const RegionCgroup *c, CgroupTasks *ret) {
        static const GroupFile files[REGION_CGROUPS_MAX] = {GROUP_MEMORY_TASKS, GROUP_PIDS_TASKS, GROUP_CPU_TASKS,
                                                            GROUP_QUOTA_TASKS};

        *ret = (CgroupTasks){0};
        for (size_t i = 0; c->made && !c->v2 && i < REGION_CGROUPS_MAX; i++) {
                int fd;

                if (!group_folder(c, files[i]) || (files[i] == GROUP_QUOTA_TASKS && !group_has_own_quota(c)))
                        continue;
                ret->own[ret->n] = -1;
                fd = group_file(c, files[i], &ret->own[ret->n]);
                if (fd < 0) {
                        region_cgroup_tasks_close(ret);
                        return fd;
                }
                ret->fd[ret->n++] = fd;
        }
        return 0;
}

void region_cgroup_tasks_close(CgroupTasks *t) {
        while (t->n > 0)
                closep(&t->own[--t->n]);
}

void group_keep_files(RegionCgroup *c, atomic_uint *kept) {
        c->files = malloc(sizeof(*c->files));
        if (!c->files)
                return;
        c->files->kept = kept;
        for (size_t i = 0; i < GROUP_FILES; i++)
                c->files->fd[i] = -1;
        atomic_fetch_add(kept, 1);
}

void group_close_files(RegionCgroup *c) {
        for (size_t i = 0; c->files && i < GROUP_FILES; i++)
                closep(&c->files->fd[i]);
        if (c->files)
                atomic_fetch_sub(c->files->kept, 1);
        free(c->files);
        c->files = NULL;
        closep(&c->oom);
        closep(&c->oom_above);
        closep(&c->pids_events);
}

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

bool group_has_word(const char *text, const char *word) {
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

        return group_read(dir, "cgroup.controllers", have, sizeof(have)) == 0 && group_has_word(have, "memory") &&
               group_has_word(have, "pids");
}

void region_cgroup_list(const RegionCgroup *c, const char *ret[static REGION_CGROUPS_MAX + 1]) {
        const char *dirs[REGION_CGROUPS_MAX] = {c->memory, c->v2 ? NULL : c->pids, c->v2 ? NULL : c->cpu,
                                                  group_has_own_quota(c) ? c->quota : NULL};
        size_t n = 0;

        for (size_t i = 0; i < ARRAY_SIZE(dirs); i++)
                if (dirs[i])
                        ret[n++] = dirs[i];
        ret[n] = NULL;
}

void region_cgroup_deinit(RegionCgroup *c) {
        group_close_files(c);
        free(c->memory);
        free(c->pids);
        free(c->cpu);
        free(c->quota);
        *c = REGION_CGROUP_NULL;
}

int group_each_listed(const char *dir, int (*f)(pid_t pid, void *arg), void *arg) {
        _cleanup_free_ char *text = NULL, *path = text_printf("%s/cgroup.procs", dir);
        size_t n;
        int e, count = 0;

        if (!path)
                return -ENOMEM;
        e = io_read_file(AT_FDCWD, path, 1 << 20, &text, &n);
        if (e < 0)
                return e == -ENOENT || e == -ENODEV ? 0 : e;
        for (char *p = text; *p;) {
                char *end;
                long pid = strtol(p, &end, 10);

                if (end == p)
                        break;
                e = f((pid_t)pid, arg);
                if (e < 0)
                        return e;
                count++;
                p = *end ? end + 1 : end;
        }
        return count;
}

char *group_join(const RegionCgroup *c, bool parents) {
        const char *dirs[REGION_CGROUPS_MAX + 1];
        char *s = NULL;

        region_cgroup_list(c, dirs);
        for (size_t i = 0; dirs[i]; i++) {
                const int n = (int)(parents ? (size_t)(strrchr(dirs[i], '/') - dirs[i]) : strlen(dirs[i]));
                _cleanup_free_ char *before = s;

                if (!(s = text_printf("%s%s%.*s", before ?: "", before ? ":" : "", n, dirs[i])))
                        return NULL;
        }
        return s;
}
