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

int store_scratch(const Store *beside, Store **ret, Diag *reterr) {
        const char *tmp = getenv("TMPDIR"), *const places[] = {beside->dir, tmp && *tmp == '/' ? tmp : "/tmp"};
        _cleanup_store_ Store *s = calloc(1, sizeof(*s));
        char path[PATH_MAX] = "";
        int r = -EACCES;

        if (!s)
                return -ENOMEM;
        s->dir_fd = s->lock_fd = s->redo_fd = s->alone_fd = -1;
        s->turn = TURN_NULL;
        s->settle_due = UINT64_MAX;
        s->mode = STORE_WRITE;
        s->checked = true; /* it is made here, and has no name to be found by */
        for (size_t i = 0; i < ARRAY_SIZE(places) && r < 0; i++)
                if (snprintf(path, sizeof(path), "%s/.scratch.XXXXXX", places[i]) < (int)sizeof(path))
                        r = mkdtemp(path) ? 0 : -errno;
        if (r < 0)
                return diag(reterr, STORE_E_READ_ONLY, "no folder for a copy of the tables: neither in %s nor in %s (%s)", beside->dir, places[1], strerror(-r));
        s->dir = strdup(path);
        s->dir_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        r = !s->dir ? -ENOMEM : s->dir_fd < 0 ? -errno : env_open(s, path, true, reterr);
        forget_names(path);
        if (r == 0)
                *ret = TAKE_PTR(s);
        return r;
}
