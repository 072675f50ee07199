#include "store/store-internal.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The files have no name once LMDB has them open: nobody finds them, and they go with this process. */
static void forget_names(const char *path) {
        static const char *const files[] = {"data.mdb", "lock.mdb"};
        char file[PATH_MAX];

        for (size_t i = 0; i < ARRAY_SIZE(files); i++)
                if (snprintf(file, sizeof(file), "%s/%s", path, files[i]) < (int)sizeof(file))
                        unlink(file);
        rmdir(path);
}

/* The most room that it can need, as the tables beside a fold of them take it: as much as they do themselves. */
static uint64_t size_of(const Store *beside) {
        struct stat st;

        return fstatat(beside->dir_fd, "data.mdb", &st, 0) == 0 && st.st_size > 0 ? (uint64_t)st.st_size : 1;
}

static int open_in(const char *place, Store *s, Diag *reterr) {
        char path[PATH_MAX];
        int r;

        if (snprintf(path, sizeof(path), "%s/.scratch.XXXXXX", place) >= (int)sizeof(path))
                return -ENAMETOOLONG;
        if (!mkdtemp(path))
                return -errno;
        s->dir = strdup(path);
        s->dir_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        r = !s->dir ? -ENOMEM : s->dir_fd < 0 ? -errno : env_open(s, path, true, reterr);
        forget_names(path);
        return r;
}

static Store *new_scratch(const Store *beside) {
        Store *s = calloc(1, sizeof(*s));

        if (!s)
                return NULL;
        s->dir_fd = s->lock_fd = s->wal_fd = s->alone_fd = -1;
        s->turn = TURN_NULL;
        s->settle_due = UINT64_MAX;
        s->mode = STORE_WRITE;
        s->gate.none = true;
        s->checked = true; /* it is made here, and has no name to be found by */
        s->copy_of = size_of(beside);
        return s;
}

int store_scratch(const Store *beside, Store **ret, Diag *reterr) {
        const char *tmp = getenv("TMPDIR"), *const places[] = {beside->dir, tmp && *tmp == '/' ? tmp : "/tmp"};
        int r = -EACCES, first = 0;

        for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
                _cleanup_store_ Store *s = new_scratch(beside);

                r = s ? open_in(places[i], s, reterr) : -ENOMEM;
                if (r == 0) {
                        *ret = TAKE_PTR(s);
                        return 0;
                }
                first = first == 0 || first == -EACCES || first == -EROFS ? r : first;
        }
        if (first == STORE_E_FULL || first == -ENOSPC || first == -EDQUOT)
                return diag(reterr, STORE_E_FULL, "no room for a copy of the tables, neither in %s nor in %s: up to %llu KiB are needed; fix: make room, or name a "
                            "folder with room in TMPDIR", places[0], places[1], (unsigned long long)size_of(beside) / 1024);
        return r > 0 ? r : diag(reterr, STORE_E_READ_ONLY, "no folder for a copy of the tables: neither in %s nor in %s (%s)", beside->dir, places[1], strerror(-r));
}
