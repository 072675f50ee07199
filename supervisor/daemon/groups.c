/* Runs: supervisor. */
#include "daemon/groups.h"

#include "base/io.h"
#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SUFFIX ".g"
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
