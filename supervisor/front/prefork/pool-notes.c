/* Runs: supervisor. */
#include "prefork/pool-notes.h"

#include "prefork/groups.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define SUFFIX ".groups"
#define LINE 2048

int pool_notes_open(PoolNotes *n, Store *s) {
        *n = (PoolNotes){.fd = -1};
        pthread_mutex_init(&n->lock, NULL);
        if (snprintf(n->path, sizeof(n->path), "%s/run/%016" PRIx64 SUFFIX, store_dir(s), store_own_lock(s)) >= (int)sizeof(n->path))
                return -ENAMETOOLONG;
        n->fd = open(n->path, O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
        return n->fd < 0 ? -errno : 0;
}

static int put(PoolNotes *n, size_t at, const char *region, const char *groups) {
        char line[LINE] = {0};

        if (snprintf(line, sizeof(line), "%s %s", region, groups) >= LINE)
                return -ENAMETOOLONG;
        return pwrite(n->fd, line, LINE, (off_t)(at * LINE)) == LINE ? 0 : -EIO;
}

int pool_notes_add(PoolNotes *n, const char *region, const char *groups) {
        size_t at = 0;
        int e = 0;

        pthread_mutex_lock(&n->lock);
        while (at < n->n && n->regions[at][0])
                at++;
        if (at == n->n) {
                RegionId *more = reallocarray(n->regions, n->n + 1, sizeof(*more));

                if (more) {
                        n->regions = more;
                        n->n++;
                } else
                        e = -ENOMEM;
        }
        if (e == 0)
                e = put(n, at, region, groups);
        if (e == 0)
                snprintf(n->regions[at], REGION_ID_MAX, "%s", region);
        else if (at < n->n)
                n->regions[at][0] = 0;
        pthread_mutex_unlock(&n->lock);
        return e;
}

void pool_notes_drop(PoolNotes *n, const char *region) {
        pthread_mutex_lock(&n->lock);
        for (size_t at = 0; at < n->n; at++)
                if (strcmp(n->regions[at], region) == 0) {
                        put(n, at, "", ""); /* a line that stays would only be looked for in vain */
                        n->regions[at][0] = 0;
                        break;
                }
        pthread_mutex_unlock(&n->lock);
}

void pool_notes_close(PoolNotes *n) {
        if (n->fd >= 0)
                unlink(n->path);
        closep(&n->fd);
        free(n->regions);
        pthread_mutex_destroy(&n->lock);
}

static int recover_file(void *userdata, int folder, const char *name, uint64_t lock) {
        const Store *s = userdata;
        _cleanup_close_ int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        char line[LINE];
        int e = 0;

        (void)lock;
        if (fd < 0)
                return errno == ENOENT ? 0 : -errno;
        for (off_t at = 0; pread(fd, line, LINE, at) == LINE; at += LINE) {
                char *space;
                int r;

                line[LINE - 1] = 0;
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
        return store_each_dead(s, SUFFIX, recover_file, s);
}
