/* Runs: supervisor. */
#include "prefork/groups.h"

#include "base/io.h"
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

#define SUFFIX ".g"
#define PIDS_UNLIMITED 4194304 /* as many as the kernel can name */
#define PLACES_MAX 16384

/* "lethe/" and 16 hexadecimal digits. */
const char *groups_name(const Store *s) {
        return strchr(store_origin(s), '/') + 1;
}

static void file_of(const Store *s, uint64_t lock, char ret[static PATH_MAX]) {
        snprintf(ret, PATH_MAX, "%s/run/%016" PRIx64 SUFFIX, store_dir(s), lock);
}

static void owner_of(uint64_t lock, char ret[static 17]) {
        snprintf(ret, 17, "%016" PRIx64, lock);
}

CgroupPool *groups_open(Store *s) {
        char path[PATH_MAX], owner[17];
        CgroupPool *p;
        int e;

        owner_of(store_own_lock(s), owner);
        if (cgroup_pool_new(groups_name(s), owner, &p) < 0)
                return NULL;
        file_of(s, store_own_lock(s), path);
        e = io_write_file(AT_FDCWD, path, cgroup_pool_places(p), strlen(cgroup_pool_places(p)), 0600, false);
        if (e == 0)
                return p;
        log_warning("%s: cannot be written: %s; control groups are made for each region", path, strerror(-e));
        cgroup_pool_free(p);
        return NULL;
}

static int groups_enter(void *userdata, int lifeline, void **ret) {
        static const Budget loading = {.memory_bytes = TEMPLATE_GROUP_BYTES, .processes = TEMPLATE_TASKS + 2}; /* and the worker, and its first process */
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
        e = region_cgroup_make(c, &loading);
        if (e == 0)
                e = region_cgroup_kills(c);
        if (e == 0)
                e = region_cgroup_tasks(c, &t);
        if (e == 0)
                e = io_send_fds(lifeline, "c", 1, t.fd, t.n);
        region_cgroup_tasks_close(&t);
        if (e < 0) {
                region_cgroup_remove(c);
                region_cgroup_deinit(c);
                free(c);
                return e;
        }
        *ret = c;
        return 0;
}

static void groups_serves(void *userdata, void *group) {
        (void)userdata;
        region_cgroup_limit(group, TEMPLATE_GROUP_BYTES, PIDS_UNLIMITED);
        region_cgroup_unlimit(group);
}

static void groups_leave(void *userdata, void *group) {
        RegionCgroup *c = group;

        (void)userdata;
        region_cgroup_remove(c);
        region_cgroup_deinit(c);
        free(c);
}

void groups_of_templates(CgroupPool *p, TemplateGroups *ret) {
        *ret = (TemplateGroups){groups_enter, groups_serves, groups_leave, p};
}

void groups_close(Store *s, CgroupPool *p) {
        char path[PATH_MAX];

        if (!p)
                return;
        cgroup_pool_free(p);
        file_of(s, store_own_lock(s), path);
        unlink(path);
}

static int clear_one(void *userdata, int folder, const char *name, uint64_t lock) {
        _cleanup_free_ char *places = NULL;
        const Store *s = userdata;
        char owner[17];
        size_t n;
        int e = io_read_file(folder, name, PLACES_MAX, &places, &n);

        if (e < 0)
                return e == -ENOENT ? 0 : e; /* somebody else was faster */
        owner_of(lock, owner);
        e = cgroup_pool_clear(places, groups_name(s), owner);
        if (e == 0)
                unlinkat(folder, name, 0);
        return e;
}

int groups_clear_left(Store *s) {
        return store_each_dead(s, SUFFIX, clear_one, s);
}
