#include "store/wal.h"
#include "store/store-internal.h"
#include "store/table.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#define DATA_NEW "data.mdb.new"

static uint64_t compact_size_at(const Store *s, const char *name) {
        struct stat st;

        return fstatat(s->dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 ? (uint64_t)st.st_size : 0;
}

/* The record of the last batch has deleted rows: the whole file is overwritten. */
static int compact_wipe_wal(const Store *s) {
        _cleanup_free_ uint8_t *zero = NULL;
        uint64_t n = compact_size_at(s, WAL_FILE);

        if (s->wal_fd < 0 || n == 0)
                return 0;
        zero = calloc(1, (size_t)n);
        if (!zero)
                return -ENOMEM;
        if (pwrite(s->wal_fd, zero, (size_t)n, 0) != (ssize_t)n)
                return -EIO;
        return fdatasync(s->wal_fd) < 0 ? -errno : 0;
}

#define COMMIT_BYTES (16U << 20)

/* Copies rows in order. Commits in parts, so a table may exceed the memory. */
static int compact_copy_table(MDB_txn *from, MDB_dbi of, const char *name, MDB_env *to) {
        MDB_cursor *c = NULL;
        MDB_txn *t = NULL;
        MDB_dbi dbi = 0;
        size_t n = 0;
        MDB_val k, v;
        int r = lmdb_write_begin(to, &t);

        if (r == 0)
                r = LMDB(mdb_dbi_open(t, name, MDB_CREATE, &dbi));
        if (r == 0)
                r = LMDB(mdb_cursor_open(from, of, &c));
        while (r == 0 && (r = LMDB(mdb_cursor_get(c, &k, &v, MDB_NEXT))) == 0) {
                r = LMDB(mdb_put(t, dbi, &k, &v, MDB_APPEND));
                n += k.mv_size + v.mv_size;
                if (r == 0 && n > COMMIT_BYTES) {
                        r = lmdb_write_commit(TAKE_PTR(t));
                        n = 0;
                        if (r == 0)
                                r = lmdb_write_begin(to, &t);
                }
        }
        if (c)
                LMDB((mdb_cursor_close(c), 0));
        if (r == MDB_NOTFOUND)
                r = lmdb_write_commit(TAKE_PTR(t));
        if (t)
                lmdb_write_abort(t);
        return r == MDB_KEYEXIST ? -EUCLEAN : lmdb_to_errno(r); /* rows out of order */
}

static int compact_copy_tables(Store *s, MDB_env *to) {
        MDB_txn *from;
        int r = lmdb_to_errno(LMDB(mdb_txn_begin(s->env, NULL, MDB_RDONLY, &from)));

        if (r < 0)
                return r;
        for (Table t = 0; t < TABLE_COUNT_ && r == 0; t++)
                if (s->dbi[t])
                        r = compact_copy_table(from, s->dbi[t], table_name(t), to);
        LMDB((mdb_txn_abort(from), 0));
        return r < 0 ? r : lmdb_to_errno(LMDB(mdb_env_sync(to, 1)));
}

/* Writes row by row into an empty file. LMDB's own copy drops free pages but keeps the branch pages, which have keys of
 * deleted rows: in the index, words of deleted records. */
static int compact_write_new(Store *s) {
        _cleanup_close_ int fd = -1;
        _cleanup_free_ char *path = NULL;
        MDB_env *to = NULL;
        int r;

        if (asprintf(&path, "%s/" DATA_NEW, s->dir) < 0) {
                path = NULL;
                return -ENOMEM;
        }
        unlinkat(s->dir_fd, DATA_NEW, 0); /* of a process that died */
        fd = openat(s->dir_fd, DATA_NEW, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (fd < 0)
                return -errno;
        r = lmdb_to_errno(mdb_env_create(&to));
        if (r < 0)
                return r;
        mdb_env_set_maxdbs(to, TABLE_COUNT_);
        mdb_env_set_mapsize(to, 2 * compact_size_at(s, "data.mdb") + 2 * COMMIT_BYTES);
        r = lmdb_to_errno(LMDB(mdb_env_open(to, path, MDB_NOSUBDIR | MDB_NOLOCK | MDB_NOSYNC, 0600)))
                ?: compact_copy_tables(s, to);
        mdb_env_close(to);
        if (r == 0 && fsync(fd) < 0)
                r = -errno;
        return r;
}

static int compact_replace(Store *s) {
        int r = compact_write_new(s);

        if (r == 0 && renameat(s->dir_fd, DATA_NEW, s->dir_fd, "data.mdb") < 0)
                r = -errno;
        if (r < 0) {
                unlinkat(s->dir_fd, DATA_NEW, 0);
                return r;
        }
        return fsync(s->dir_fd) < 0 ? -errno : 0;
}

static int compact_do_alone(Store *s, const StoreAlone *also, Diag *reterr) {
        Txn *t;
        int r = store_begin(s, false, &t, reterr);

        if (r != 0)
                return r;
        r = also->fn(t, also->userdata, reterr);
        store_abort(t);
        return r;
}

int store_compact(const char *dir, const StoreAlone *also, StoreCompacted *ret, Diag *reterr) {
        _cleanup_store_ Store *s = NULL;
        uint64_t before;
        int r = store_open(dir, STORE_WRITE, &s, reterr);

        if (r != 0)
                return r;
        r = txn_bring_in(s); /* records of a dead writer go to the tables, and so into the copy */
        if (r < 0)
                return store_refusal(s, r, "cannot be written", reterr);
        /* no process may use the old file at the rename, or be about to */
        r = store_alone(s, "the store can be compacted", reterr) ?: store_replaces(s, reterr);
        if (r == 0 && also)
                r = compact_do_alone(s, also, reterr);
        before = compact_size_at(s, "data.mdb");
        if (r == 0)
                r = compact_replace(s) ?: compact_wipe_wal(s);
        if (r == 0)
                *ret = (StoreCompacted){.bytes_before = before, .bytes_after = compact_size_at(s, "data.mdb")};
        return r < 0 ? store_refusal(s, r, "cannot be compacted", reterr) : r;
}
