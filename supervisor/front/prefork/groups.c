/* Runs: supervisor. Opens, notes and clears a supervisor's pool of control groups. */
#include "prefork/groups.h"

#include "base/io.h"
#include "base/lock.h"
#include "base/log.h"
#include "schema/zygote.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PLACES_SUFFIX ".g"
#define PIDS_UNLIMITED 4194304 /* all pids of a kernel */
#define PLACES_MAX 16384
#define NOTES_SUFFIX ".groups"
#define NOTES_LINE 2048

/* "lethe/" and 16 hexadecimal digits. */
const char *groups_name(const Store *s) {
        return strchr(store_origin(s), '/') + 1;
}

static void groups_path(const Store *s, uint64_t lock, char ret[static PATH_MAX]) {
        snprintf(ret, PATH_MAX, "%s/run/%016" PRIx64 PLACES_SUFFIX, store_dir(s), lock);
}

CgroupPool *groups_open(Store *s) {
        char path[PATH_MAX], owner[17];
        CgroupPool *p;
        int e;

        snprintf(owner, sizeof(owner), "%016" PRIx64, store_own_lock(s));
        if (cgroup_pool_new(groups_name(s), owner, &p) < 0)
                return NULL;
        groups_path(s, store_own_lock(s), path);
        e = io_write_file(AT_FDCWD, path, cgroup_pool_places(p), strlen(cgroup_pool_places(p)), 0600, false);
        if (e == 0)
                return p;
        log_warning("%s: cannot be written: %s; each region makes its own control groups", path, strerror(-e));
        cgroup_pool_free(p);
        return NULL;
}

static void groups_leave(void *userdata, void *group) {
        RegionCgroup *c = group;

        (void)userdata;
        region_cgroup_remove(c);
        region_cgroup_deinit(c);
        free(c);
}

static int groups_enter(void *userdata, int lifeline, void **ret) {
        /* and the worker, and the worker's first process */
        static const Budget loading = {.memory_bytes = TEMPLATE_GROUP_BYTES, .processes = TEMPLATE_TASKS + 2};
        RegionCgroup *c = calloc(1, sizeof(*c));
        CgroupTasks t = {0};
        int e;

        if (!c)
                return -ENOMEM;
        e = cgroup_pool_take(userdata, c);
        if (e < 0) {
                free(c);
                return e;
        }
        e = region_cgroup_make(c, &loading)
                        ?: region_cgroup_kills(c)
                        ?: region_cgroup_tasks(c, &t)
                        ?: io_send_fds(lifeline, "c", 1, t.fd, t.n);
        region_cgroup_tasks_close(&t);
        if (e < 0)
                groups_leave(userdata, c);
        else
                *ret = c;
        return e;
}

static void groups_serves(void *userdata, void *group) {
        (void)userdata;
        region_cgroup_limit(group, TEMPLATE_GROUP_BYTES, PIDS_UNLIMITED);
        region_cgroup_unlimit(group);
}

void groups_of_templates(CgroupPool *p, TemplateGroups *ret) {
        *ret = (TemplateGroups){groups_enter, groups_serves, groups_leave, p};
}

void groups_close(Store *s, CgroupPool *p) {
        char path[PATH_MAX];

        if (!p)
                return;
        cgroup_pool_free(p);
        groups_path(s, store_own_lock(s), path);
        unlink(path);
}

static int groups_clear_file(void *userdata, int folder, const char *name, uint64_t lock) {
        _cleanup_free_ char *places = NULL;
        const Store *s = userdata;
        char owner[17];
        size_t n;
        int e = io_read_file(folder, name, PLACES_MAX, &places, &n);

        if (e < 0)
                return e == -ENOENT ? 0 : e; /* another start was faster */
        snprintf(owner, sizeof(owner), "%016" PRIx64, lock);
        e = cgroup_pool_clear(places, groups_name(s), owner);
        if (e == 0)
                unlinkat(folder, name, 0);
        return e;
}

int groups_clear_left(Store *s) {
        return store_each_dead(s, PLACES_SUFFIX, groups_clear_file, s);
}

int pool_notes_open(PoolNotes *n, Store *s) {
        *n = (PoolNotes){.fd = -1};
        pthread_mutex_init(&n->lock, NULL);
        if (snprintf(n->path, sizeof(n->path), "%s/run/%016" PRIx64 NOTES_SUFFIX, store_dir(s), store_own_lock(s)) >=
            (int)sizeof(n->path))
                return -ENAMETOOLONG;
        n->fd = open(n->path, O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
        return n->fd < 0 ? -errno : 0;
}

static int notes_write_line(PoolNotes *n, size_t at, const char *region, const char *groups) {
        char line[NOTES_LINE] = {0};

        if (snprintf(line, sizeof(line), "%s %s", region, groups) >= NOTES_LINE)
                return -ENAMETOOLONG;
        return pwrite(n->fd, line, NOTES_LINE, (off_t)(at * NOTES_LINE)) == NOTES_LINE ? 0 : -EIO;
}

int pool_notes_add(PoolNotes *n, const char *region, const char *groups) {
        _cleanup_unlock_ pthread_mutex_t *held = lock_take(&n->lock);
        size_t at = 0;
        int e;

        while (at < n->n && n->regions[at][0])
                at++;
        if (at == n->n && !GROW(n->regions, n->n))
                return -ENOMEM;
        n->n = MAX(n->n, at + 1);
        e = notes_write_line(n, at, region, groups);
        snprintf(n->regions[at], REGION_ID_MAX, "%s", e == 0 ? region : "");
        return e;
}

void pool_notes_drop(PoolNotes *n, const char *region) {
        _cleanup_unlock_ pthread_mutex_t *held = lock_take(&n->lock);

        for (size_t at = 0; at < n->n; at++)
                if (strcmp(n->regions[at], region) == 0) {
                        notes_write_line(n, at, "", ""); /* a stale line would cause a vain search */
                        n->regions[at][0] = 0;
                        break;
                }
}

void pool_notes_close(PoolNotes *n) {
        if (n->fd >= 0)
                unlink(n->path);
        closep(&n->fd);
        free(n->regions);
        pthread_mutex_destroy(&n->lock);
}

static int notes_recover_file(void *userdata, int folder, const char *name, uint64_t lock) {
        const Store *s = userdata;
        _cleanup_close_ int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        char line[NOTES_LINE];
        int e = 0;

        (void)lock;
        if (fd < 0)
                return errno == ENOENT ? 0 : -errno;
        for (off_t at = 0; pread(fd, line, NOTES_LINE, at) == NOTES_LINE; at += NOTES_LINE) {
                char *space;
                int r;

                line[NOTES_LINE - 1] = 0;
                space = strchr(line, ' ');
                if (!space || space == line)
                        continue;
                *space = 0;
                r = region_cgroup_clear_text(space + 1, line, groups_name(s));
                e = e < 0 ? e : r;
        }
        if (e == 0 && unlinkat(folder, name, 0) < 0 && errno != ENOENT)
                e = -errno;
        return e;
}

int pool_notes_recover(Store *s) {
        return store_each_dead(s, NOTES_SUFFIX, notes_recover_file, s);
}
