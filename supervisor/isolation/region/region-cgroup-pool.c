/* Runs: supervisor. */
#include "region/region-cgroup-private.h"

#include "base/clock.h"
#include "base/dirents.h"
#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define IDLE_MAX 64
#define KEPT_MAX 32 /* groups with files kept open: a dozen descriptors each */
/* Charge left in an empty group: shares of processors, kernel objects. More is pages of files. */
#define CHARGED_MAX (1024 * 1024)

struct CgroupPool {
        pthread_mutex_t lock;
        char *name;   /* prefix of the groups' names */
        char *self;   /* from /proc/self/cgroup */
        char *places;
        RegionCgroup idle[IDLE_MAX];
        size_t n_idle;
        uint64_t n_made;
        atomic_uint kept; /* groups with files kept open */
};

static int pool_plan(CgroupPool *p, uint64_t n, RegionCgroup *ret) {
        char name[128];

        snprintf(name, sizeof(name), "%s%llu", p->name + strlen(CGROUP_NAME), (unsigned long long)n);
        return region_cgroup_plan(CGROUP_ROOT, p->self, name, ret);
}

int cgroup_pool_new(const char *store, const char *owner, CgroupPool **ret) {
        CgroupPool *p = calloc(1, sizeof(*p));
        RegionCgroup c = REGION_CGROUP_NULL;
        size_t n;
        int e;

        if (!p)
                return -ENOMEM;
        pthread_mutex_init(&p->lock, NULL);
        e = (p->name = text_printf(CGROUP_POOL_NAME, store, owner)) ? 0 : -ENOMEM;
        e = e ?: io_read_file(AT_FDCWD, "/proc/self/cgroup", 65536, &p->self, &n);
        e = e ?: pool_plan(p, 0, &c);
        if (e == 0 && (c.v2 || !region_cgroup_any(&c)))
                e = -ENOENT;
        if (e == 0)
                e = (p->places = group_join(&c, true)) ? 0 : -ENOMEM;
        region_cgroup_deinit(&c);
        if (e < 0) {
                cgroup_pool_free(p);
                return e;
        }
        *ret = p;
        return 0;
}

const char *cgroup_pool_places(const CgroupPool *p) {
        return p->places;
}

int cgroup_pool_take(CgroupPool *p, RegionCgroup *ret) {
        uint64_t n = 0;
        bool found;
        int e;

        pthread_mutex_lock(&p->lock);
        found = p->n_idle > 0;
        if (found)
                *ret = p->idle[--p->n_idle];
        else
                n = p->n_made++;
        pthread_mutex_unlock(&p->lock);
        e = found ? 0 : pool_plan(p, n, ret);
        if (e < 0)
                return e;
        ret->pool = p;
        if (!ret->files && atomic_load(&p->kept) < KEPT_MAX) /* races may add a few more */
                group_keep_files(ret, &p->kept);
        return 0;
}

/* True when no process is in any group. Reuse would not notice a process, unlike removal. */
static bool pool_all_empty(const RegionCgroup *c) {
        const char *dirs[REGION_CGROUPS_MAX + 1];
        char text[64];

        region_cgroup_list(c, dirs);
        for (size_t i = 0; dirs[i]; i++)
                if (group_read(dirs[i], "cgroup.procs", text, sizeof(text)) < 0 || *text)
                        return false;
        return true;
}

bool cgroup_pool_give(CgroupPool *p, RegionCgroup *c) {
        uint64_t charged = 0;
        bool taken;

        if (!c->made || c->v2 || region_cgroup_oom_count(c) > 0 || region_cgroup_pids_max_count(c) > 0 || c->counted ||
            c->sockets || region_cgroup_oom_kills(c) > 0 || !pool_all_empty(c))
                return false;
        if (c->memory && (region_cgroup_memory_now(c, &charged) < 0 || charged > CHARGED_MAX))
                return false;
        if (!c->files)
                group_close_files(c);
        c->idle_since = clock_mono_usec();
        pthread_mutex_lock(&p->lock);
        taken = p->n_idle < IDLE_MAX;
        if (taken)
                p->idle[p->n_idle++] = *c;
        pthread_mutex_unlock(&p->lock);
        if (taken)
                *c = REGION_CGROUP_NULL;
        return taken;
}

int region_cgroup_remove(RegionCgroup *c) {
        return c->pool && cgroup_pool_give(c->pool, c) ? 0 : group_remove(c);
}

static void pool_drop(RegionCgroup *c) {
        group_remove(c);
        region_cgroup_deinit(c);
}

/* Groups used last are taken first, so the first entries are unused for longest. */
void cgroup_pool_trim(CgroupPool *p, uint64_t before) {
        for (;;) {
                RegionCgroup c = REGION_CGROUP_NULL;
                bool found;

                pthread_mutex_lock(&p->lock);
                found = p->n_idle > 0 && p->idle[0].idle_since < before;
                if (found) {
                        c = p->idle[0];
                        memmove(p->idle, p->idle + 1, --p->n_idle * sizeof(p->idle[0]));
                }
                pthread_mutex_unlock(&p->lock);
                if (!found)
                        return;
                pool_drop(&c);
        }
}

void cgroup_pool_free(CgroupPool *p) {
        if (!p)
                return;
        for (size_t i = 0; i < p->n_idle; i++)
                pool_drop(&p->idle[i]);
        pthread_mutex_destroy(&p->lock);
        free(p->name);
        free(p->self);
        free(p->places);
        free(p);
}

static int pool_clear_place(const char *place, const char *name) {
        _cleanup_closedir_ DIR *d = opendir(place);
        struct dirent *entry;
        int e = 0;

        if (!d)
                return errno == ENOENT ? 0 : -errno;
        while ((entry = readdir(d))) {
                _cleanup_free_ char *dir = NULL;
                int r;

                if (strncmp(entry->d_name, name, strlen(name)) != 0)
                        continue;
                if (!(dir = text_printf("%s/%s", place, entry->d_name)))
                        return -ENOMEM;
                r = group_clear(dir);
                e = e < 0 ? e : r;
        }
        return e;
}

int cgroup_pool_clear(const char *places, const char *store, const char *owner) {
        _cleanup_free_ char *copy = strdup(places), *name = text_printf(CGROUP_POOL_NAME, store, owner);
        char *save = NULL;
        int e = 0;

        if (!copy || !name)
                return -ENOMEM;
        for (char *place = strtok_r(copy, ":", &save); place; place = strtok_r(NULL, ":", &save)) {
                int r = strncmp(place, CGROUP_ROOT "/", strlen(CGROUP_ROOT) + 1) == 0 ? pool_clear_place(place, name)
                                                                                      : 0;

                e = e < 0 ? e : r;
        }
        return e;
}
