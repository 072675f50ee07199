#include "store/store-internal.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/statvfs.h>

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
        place_leave(s);
        env_close(s);
        key_free(s);
        closep(&s->dir_fd);
        fault_guard_remove();
        free(s->anchor);
        free(s->dir);
        free(s);
}

/* Where the folder is not there yet, or is there and empty. */
static int find(Store *s, bool make, Diag *reterr) {
        for (int again = 0;; again++) {
                int r;

                closep(&s->dir_fd);
                s->dir_fd = open(s->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
                if (s->dir_fd >= 0)
                        r = datafile_check(s->dir_fd, s->dir, reterr);
                else if (errno == ENOENT)
                        r = diag(reterr, STORE_E_MISSING, "store %s: there is none", s->dir);
                else if (errno == ENOTDIR)
                        return diag(reterr, STORE_E_MISSING, "store %s: not a folder", s->dir);
                else
                        r = store_refusal(s, -errno, "cannot be opened", reterr);
                if (r != STORE_E_MISSING || !make || again > 0)
                        return r;
                r = store_create(s->dir, reterr);
                if (r != 0)
                        return r;
        }
}

static int identify(Store *s, Diag *reterr) {
        Txn *t;
        Bytes v;
        int r = store_begin(s, false, &t, reterr);

        if (r != 0)
                return r;
        r = table_get(t, TABLE_META, BYTES_STR("version"), &v);
        if (r == 0 && v.n != 8)
                r = -EUCLEAN;
        if (r == 0) {
                size_t map = 0, file = (size_t)lseek(s->dir_fd, 0, SEEK_END);
                MDB_envinfo info;
                int fd;

                mdb_env_info(s->env, &info);
                map = info.me_mapsize;
                if (mdb_env_get_fd(s->env, &fd) == 0)
                        file = (size_t)lseek(fd, 0, SEEK_END);
                fault_guard_map(v.p, file, map);
                if (be64_get(v.p) > STORE_VERSION) {
                        r = diag(reterr, STORE_E_VERSION,
                                 "store %s: made by a newer Lethe (version %llu, this one knows %d)", s->dir,
                                 (unsigned long long)be64_get(v.p), STORE_VERSION);
                        store_abort(t);
                        return r;
                }
                r = table_get(t, TABLE_META, BYTES_STR("public"), &v);
                if (r == 0 && v.n != 32)
                        r = -EUCLEAN;
        }
        if (r == 0) {
                memcpy(s->public_key, v.p, 32);
                origin_of(s->public_key, s->origin);
        }
        store_abort(t);
        return store_refusal(s, r == -ENOENT ? -EUCLEAN : r, "its table meta", reterr);
}

int store_open(const char *dir, StoreMode mode, Store **ret, Diag *reterr) {
        _cleanup_store_ Store *s = calloc(1, sizeof(*s));
        size_t n = strlen(dir);
        int r;

        if (!s)
                return -ENOMEM;
        s->dir_fd = s->lock_fd = -1;
        s->mode = mode;
        while (n > 1 && dir[n - 1] == '/')
                n--;
        s->dir = strndup(dir, n);
        if (!s->dir)
                return -ENOMEM;
        fault_guard_install(s->dir);
        r = find(s, mode != STORE_READ, reterr);
        if (r == 0)
                r = env_open(s, s->dir, false, reterr);
        if (r == 0)
                r = identify(s, reterr);
        if (r == 0 && mode != STORE_READ)
                r = key_load(s, reterr);
        if (r == 0)
                r = store_hooks.opened(s, reterr);
        if (r == 0 && mode == STORE_SUPERVISE)
                r = place_take(s, reterr);
        if (r != 0)
                return r;
        *ret = TAKE_PTR(s);
        return 0;
}

int store_begin(Store *s, bool write, Txn **ret, Diag *reterr) {
        _cleanup_free_ Txn *t = calloc(1, sizeof(*t));
        int r;

        if (!t)
                return -ENOMEM;
        if (write && s->mode == STORE_READ)
                return diag(reterr, STORE_E_READ_ONLY, "store %s: opened for reading only", s->dir);
        t->store = s;
        t->write = write;
        r = lmdb_to_errno(LMDB(mdb_txn_begin(s->env, NULL, write ? 0 : MDB_RDONLY, &t->mdb)));
        if (r < 0)
                return store_refusal(s, r, write ? "cannot begin to write" : "cannot begin to read", reterr);
        *ret = TAKE_PTR(t);
        return 0;
}

/* LMDB calls a write that was cut short an EIO; mostly it is the disk that is full. */
static bool disk_is_full(const Store *s) {
        struct statvfs st;

        return fstatvfs(s->dir_fd, &st) == 0 && (uint64_t)st.f_bavail * st.f_frsize < 256 * 1024;
}

int store_commit(Txn *t, Diag *reterr) {
        Store *s = t->store;
        int r = 0;

        if (t->write && t->ledger)
                r = store_hooks.before_commit(t, reterr);
        if (r < 0) {
                store_abort(t);
                return store_refusal(s, r, "cannot sign the ledger", reterr);
        }
        r = lmdb_to_errno(LMDB(mdb_txn_commit(t->mdb)));
        if (r == 0 && t->write && t->ledger)
                store_hooks.after_commit(t);
        t->mdb = NULL;
        store_abort(t);
        if (r == -EIO && disk_is_full(s))
                r = -ENOSPC;
        return store_refusal(s, r, "cannot commit", reterr);
}

void store_abort(Txn *t) {
        if (!t)
                return;
        if (t->mdb)
                LMDB((mdb_txn_abort(t->mdb), 0));
        if (t->ledger)
                store_hooks.ended(t);
        free(t);
}

void *txn_ledger(const Txn *t) {
        return t->ledger;
}

void txn_set_ledger(Txn *t, void *state) {
        t->ledger = state;
}

Store *txn_store(const Txn *t) {
        return t->store;
}

bool txn_writes(const Txn *t) {
        return t->write;
}

int store_dir_fd(const Store *s) {
        return s->dir_fd;
}

void store_set_anchor(Store *s, char *path) {
        free(s->anchor);
        s->anchor = path;
}

const char *store_anchor(const Store *s) {
        return s->anchor;
}
