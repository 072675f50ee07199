#include "base/owner.h"
#include "base/watchdog.h"
#include "store/wal.h"
#include "store/store-internal.h"
#include "store/table.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

const char *store_dir(const Store *s) {
        return s->dir;
}

const char *store_origin(const Store *s) {
        return s->origin;
}

const uint8_t *store_public_key(const Store *s) {
        return s->public_key;
}

StoreMode store_mode(const Store *s) {
        return s->mode;
}

void store_free(Store *s) {
        if (!s)
                return;
        atomic_store(&s->gate.hurry, true); /* the log keeps its records for the next process */
        wal_checkpoint_close(s);
        closep(&s->lock_fd); /* the place */
        wal_close(s);
        env_close(s);
        gate_deinit(&s->gate);
        closep(&s->alone_fd);
        key_free(s);
        closep(&s->dir_fd);
        fault_guard_remove(s);
        free(s->journal);
        free(s->anchor);
        free(s->dir);
        free(s);
}

/* Only the operator and root may write: others could sign in the operator's name, or delete (I-82). */
static int open_check_owner(Store *s, Diag *reterr) {
        static const char *const files[] = {"data.mdb", "redo", "key"};
        Diag other;
        int r = owner_check(s->dir, geteuid(), &other);

        for (size_t i = 0; r == 0 && s->dir_fd >= 0 && i < ARRAY_SIZE(files); i++) {
                char path[PATH_MAX];
                struct stat st;

                snprintf(path, sizeof(path), "%s/%s", s->dir, files[i]);
                if (fstatat(s->dir_fd, files[i], &st, AT_SYMLINK_NOFOLLOW) < 0)
                        continue;
                if (!owner_alone(&st, geteuid()))
                        r = owner_refuse(path, &st, geteuid(), &other);
                else if (S_ISREG(st.st_mode) && st.st_nlink > 1)
                        return diag(reterr, STORE_E_OWNER,
                                    "store %s: file %s has another name on the file system (%lu links), "
                                    "through which a region could see the file; fix: remove that "
                                    "name",
                                    s->dir, files[i], (unsigned long)st.st_nlink);
        }
        return r > 0 ? diag(reterr, STORE_E_OWNER, "store %s is not its operator's alone: %s", s->dir, other.text) : r;
}

/* Finds the store, or makes a store in a missing or empty folder. */
static int open_find(Store *s, bool make, Diag *reterr) {
        for (int again = 0;; again++) {
                int r, e;

                closep(&s->dir_fd);
                s->dir_fd = open(s->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
                e = s->dir_fd < 0 ? errno : 0;
                if (make && (e == 0 || e == ENOENT) && (r = open_check_owner(s, reterr)) != 0)
                        return r < 0 ? store_refusal(s, r, "the folders cannot be examined", reterr) : r;
                if (s->dir_fd >= 0)
                        r = datafile_check(s->dir_fd, s->dir, reterr);
                else if (e == ENOENT)
                        r = diag(reterr, STORE_E_MISSING, "store %s: there is none", s->dir);
                else if (e == ENOTDIR)
                        return diag(reterr, STORE_E_MISSING, "store %s: not a folder", s->dir);
                else
                        r = store_refusal(s, -e, "cannot be opened", reterr);
                if (r != STORE_E_MISSING || !make || again > 0)
                        return r;
                r = store_create(s->dir, reterr);
                if (r != 0)
                        return r;
        }
}

/* A row of table meta with n bytes. Returns 0, -EUCLEAN, -errno. */
static int open_meta(Txn *t, const char *name, size_t n, Bytes *ret) {
        int r = table_get(t, TABLE_META, BYTES_STR(name), ret);

        return r == -ENOENT || (r == 0 && ret->n != n) ? -EUCLEAN : r;
}

static int open_identify(Store *s, Diag *reterr) {
        Txn *t;
        Bytes v;
        int r = store_begin_at_once(s, &t, reterr);

        if (r != 0)
                return r;
        r = open_meta(t, "version", 8, &v);
        if (r == 0) {
                MDB_envinfo info;
                struct stat st;
                int fd;

                mdb_env_info(s->env, &info);
                if (mdb_env_get_fd(s->env, &fd) == 0 && fstat(fd, &st) == 0)
                        fault_guard_map(s, v.p, (size_t)st.st_size, info.me_mapsize);
                r = open_meta(t, "public", 32, &v);
        }
        if (r == 0) {
                memcpy(s->public_key, v.p, 32);
                origin_of(s->public_key, s->origin);
        }
        store_abort(t);
        /* A snapshot is read from memory: there LMDB's EIO means an earlier broken page in the same transaction. */
        return store_refusal(s, r == -EIO ? -EUCLEAN : r, "table meta", reterr);
}

int store_is_newest(Txn *t, bool *ret) {
        Bytes v;
        int r = open_meta(t, "version", 8, &v);

        if (r == 0)
                *ret = be64_get(v.p) == STORE_VERSION;
        return r;
}

int store_made_newest(Txn *t) {
        uint8_t version[8];

        be64_put(version, STORE_VERSION);
        return table_put(t, TABLE_META, BYTES_STR("version"), BYTES(version, sizeof(version)));
}

static int open_upgrade(Store *s) {
        /* Records in the log follow exactly the present state. */
        int r = s->lacks_tables && s->may_write ? txn_bring_in(s) : 0;

        return r < 0 ? r : env_upgrade(s);
}

Store *store_new(StoreMode mode) {
        Store *s = malloc(sizeof(*s));

        if (s)
                *s = (Store){.mode = mode, .dir_fd = -1, .lock_fd = -1, .wal_fd = -1, .alone_fd = -1,
                             .ticket = TICKET_NULL, .checkpoint_due = UINT64_MAX};
        return s;
}

int store_open(const char *dir, StoreMode mode, Store **ret, Diag *reterr) {
        _cleanup_store_ Store *s = store_new(mode);
        size_t n = strlen(dir);
        int r;

        if (!s)
                return -ENOMEM;
        while (n > 1 && dir[n - 1] == '/')
                n--;
        s->dir = strndup(dir, n);
        if (!s->dir)
                return -ENOMEM;
        _cleanup_watchdog_ WatchdogWait w = watchdog_wait("the store", s->dir);
        r = fault_guard_install(s)
                ?: open_find(s, mode != STORE_READ, reterr)
                ?: env_open(s, s->dir, false, reterr)
                ?: open_identify(s, reterr)
                ?: wal_open(s, reterr);
        if (r == 0 && mode != STORE_READ)
                r = key_load(s, reterr);
        if (r == 0 && mode != STORE_READ)
                r = store_refusal(s, open_upgrade(s), "the new tables cannot be made", reterr);
        if (r == 0)
                r = store_hooks.opened(s, reterr);
        if (r == 0 && mode == STORE_SUPERVISE)
                r = place_take(s, reterr);
        if (r != 0)
                return r;
        *ret = TAKE_PTR(s);
        return 0;
}

void store_keep_ahead(Store *s, unsigned n) {
        s->keeps = n;
}

const uint64_t *store_keep_ahead_in_loop(Store *s, unsigned n) {
        s->keeps = n;
        s->in_loop = true;
        return &s->checkpoint_due;
}

const uint64_t *store_wal_checkpoint_due(const Store *s) {
        return s->in_loop ? &s->checkpoint_due : NULL;
}

int store_dir_fd(const Store *s) {
        return s->dir_fd;
}

void store_set_anchor(Store *s, char *path) {
        free(s->anchor);
        s->anchor = path;
}

StoreSeen *store_seen(Store *s) {
        return &s->seen;
}

const char *store_anchor(const Store *s) {
        return s->anchor;
}
