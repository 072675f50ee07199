#include "store/store-internal.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* The files lose their names once LMDB has both open: no process finds the files, and they end with this process. */
static void scratch_unlink(const char *path) {
        static const char *const files[] = {"data.mdb", "lock.mdb"};
        char file[PATH_MAX];

        for (size_t i = 0; i < ARRAY_SIZE(files); i++)
                if (snprintf(file, sizeof(file), "%s/%s", path, files[i]) < (int)sizeof(file))
                        unlink(file);
        rmdir(path);
}

/* The most room needed, estimated by the size of the tables themselves. */
static uint64_t scratch_size(const Store *beside) {
        struct stat st;

        return fstatat(beside->dir_fd, "data.mdb", &st, 0) == 0 && st.st_size > 0 ? (uint64_t)st.st_size : 1;
}

static int scratch_open_in(const char *place, Store *s, Diag *reterr) {
        char path[PATH_MAX];
        int r;

        if (snprintf(path, sizeof(path), "%s/.scratch.XXXXXX", place) >= (int)sizeof(path))
                return -ENAMETOOLONG;
        if (!mkdtemp(path))
                return -errno;
        s->dir = strdup(path);
        s->dir_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        r = !s->dir ? -ENOMEM : s->dir_fd < 0 ? -errno : env_open(s, path, true, reterr);
        scratch_unlink(path);
        return r;
}

static Store *scratch_new(const Store *beside) {
        Store *s = store_new(STORE_WRITE);

        if (!s)
                return NULL;
        s->gate.none = true;
        s->checked = true; /* new, and without a name */
        s->copy_of = scratch_size(beside);
        return s;
}

int store_scratch(const Store *beside, Store **ret, Diag *reterr) {
        const char *tmp = getenv("TMPDIR"), *const places[] = {beside->dir, tmp && *tmp == '/' ? tmp : "/tmp"};
        int r = -EACCES, first = 0;

        for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
                _cleanup_store_ Store *s = scratch_new(beside);

                r = s ? scratch_open_in(places[i], s, reterr) : -ENOMEM;
                if (r == 0) {
                        *ret = TAKE_PTR(s);
                        return 0;
                }
                first = first == 0 || first == -EACCES || first == -EROFS ? r : first;
        }
        if (first == STORE_E_FULL || first == -ENOSPC || first == -EDQUOT)
                return diag(reterr, STORE_E_FULL,
                            "no room for a copy of the tables, neither in %s nor in %s: up to %llu KiB are needed; "
                            "fix: make room, or name a folder with room in TMPDIR",
                            places[0], places[1], (unsigned long long)scratch_size(beside) / 1024);
        return r > 0 ? r
                     : diag(reterr, STORE_E_READ_ONLY,
                            "no folder for a copy of the tables: neither in %s nor in %s (%s)", beside->dir, places[1],
                            strerror(-r));
}
