#include "store/store-internal.h"
#include "store/table.h"
#include "base/clock.h"
#include "base/log.h"
#include "store/write-lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/statvfs.h>

#define MAP_BYTES (64UL << 30) /* address space, not memory */
#define MAP_BYTES_LEAST (256UL << 20)
#define READERS 1022
#define LOCK_WAIT_USEC 3000000U
#define LOCK_STEP_USEC 5000U

static int env_open_once(Store *s, const char *path, unsigned flags, size_t map) {
        int r = lmdb_to_errno(mdb_env_create(&s->env));

        if (r < 0)
                return r;
        mdb_env_set_maxdbs(s->env, 32);
        mdb_env_set_maxreaders(s->env, READERS);
        mdb_env_set_mapsize(s->env, map);
        r = lmdb_to_errno(LMDB(mdb_env_open(s->env, path, flags | MDB_NOTLS, 0600)));
        if (r < 0) {
                mdb_env_close(s->env);
                s->env = NULL;
        }
        return r;
}

/* Every opener holds a shared flock(2) on the folder while LMDB opens the files. store_replaces() takes the exclusive
 * one: no process can wait inside LMDB's open, keep the lock file's number of the last commit, and then read it
 * together with another data.mdb. The maker of a store has the exclusive lock already (create.c), and keeps it. */
static bool env_may_open(const Store *s, bool create) {
        return create || flock(s->dir_fd, LOCK_SH | LOCK_NB) == 0 || errno != EWOULDBLOCK;
}

static void env_opened(const Store *s, bool create) {
        if (!create)
                flock(s->dir_fd, LOCK_UN);
}

/* LMDB would wait for ever for a process with an exclusive lock on the lock file; LMDB itself needs such a lock only
 * for a moment, at the open. The file is opened and closed here, before LMDB opens it: a later close would drop LMDB's
 * locks. Returns with the folder's shared lock. */
static int env_wait_for_lock(Store *s, bool create, Diag *reterr) {
        _cleanup_close_ int fd = openat(s->dir_fd, "lock.mdb", O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

        const uint64_t began = clock_mono_usec();
        bool said = false;

        for (;;) {
                const uint64_t waited = clock_mono_usec() - began;
                struct flock l = {.l_type = F_RDLCK, .l_whence = SEEK_SET, .l_start = 0, .l_len = 1};
                char who[32] = "another process";
                const char *held = "the folder"; /* the lock of env_may_open() names nobody */

                if ((fd < 0 || fcntl(fd, F_GETLK, &l) < 0 || l.l_type == F_UNLCK) && env_may_open(s, create))
                        break;
                if (l.l_pid > 0) {
                        snprintf(who, sizeof(who), "process %d", l.l_pid);
                        held = "lock.mdb";
                }
                if (waited >= LOCK_WAIT_USEC)
                        return diag(reterr, STORE_E_LOCKED, "store %s: %s holds %s for itself alone, for %u s now",
                                    s->dir, who, held, LOCK_WAIT_USEC / 1000000);
                if (gate_wait_is_over(waited))
                        return diag(reterr, STORE_E_LOCKED,
                                    "store %s: the wait for %s, which holds %s for itself alone, was ended", s->dir,
                                    who, held);
                if (!said && waited >= GATE_SAY_USEC) {
                        log_warning("store %s: waiting for %s, which holds %s for itself alone", s->dir, who, held);
                        said = true;
                }
                usleep(LOCK_STEP_USEC);
        }
        return 0;
}

/* Each process with the environment open holds a shared lock on byte 0 of lock.mdb (LMDB's rule). store_alone() takes
 * the lock exclusively: no other process has the environment open, and new users wait for a while. */

static int env_lock_alone(const Store *s, short type) {
        struct flock l = {.l_type = type, .l_whence = SEEK_SET, .l_start = 0, .l_len = 1};

        return fcntl(s->alone_fd, F_SETLK, &l) < 0 ? -errno : 0;
}

int store_alone(Store *s, const char *why, Diag *reterr) {
        struct flock l = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 0, .l_len = 1};
        int r;

        if (s->alone_fd < 0) /* closed with the store: an earlier close would drop LMDB's own locks, too */
                s->alone_fd = openat(s->dir_fd, "lock.mdb", O_RDWR | O_CLOEXEC | O_NOFOLLOW);
        r = s->alone_fd < 0 ? -errno : env_lock_alone(s, F_WRLCK);
        if (r != -EAGAIN && r != -EACCES)
                return r;
        if (fcntl(s->alone_fd, F_GETLK, &l) < 0 || l.l_type == F_UNLCK)
                return diag(reterr, STORE_E_LOCKED, "store %s: another process has it open: try again", s->dir);
        return diag(reterr, STORE_E_LOCKED, "store %s: process %d has it open: %s when nobody else has", s->dir,
                    (int)l.l_pid, why);
}

int store_replaces(Store *s, Diag *reterr) {
        if (flock(s->dir_fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK)
                return 0;
        return diag(reterr, STORE_E_LOCKED, "store %s: another process has it open: try again", s->dir);
}

void store_not_alone(Store *s) {
        env_lock_alone(s, F_RDLCK);
}

/* The missing tables of an older store count as empty (dbi 0) until env_upgrade(). */
static int env_open_tables(Store *s, MDB_txn *txn, bool create) {
        for (Table t = 0; t < TABLE_COUNT_; t++) {
                int r = lmdb_to_errno(LMDB(mdb_dbi_open(txn, table_name(t), create ? MDB_CREATE : 0, &s->dbi[t])));

                if (r == -ENOENT && t > TABLE_OLDEST_LAST) {
                        s->dbi[t] = 0;
                        s->lacks_tables = true;
                } else if (r < 0)
                        return r;
        }
        return 0;
}

/* Version 1 had no records: new records have the newest form. */
static int env_raise_version(Store *s, MDB_txn *txn) {
        uint8_t version[8];
        MDB_val k = {7, "version"}, v;
        int r = lmdb_to_errno(LMDB(mdb_get(txn, s->dbi[TABLE_META], &k, &v)));

        if (r < 0 || v.mv_size != 8 || be64_get(v.mv_data) != 1)
                return r;
        be64_put(version, STORE_VERSION);
        v = (MDB_val){8, version};
        return lmdb_to_errno(LMDB(mdb_put(txn, s->dbi[TABLE_META], &k, &v, 0)));
}

int env_upgrade(Store *s) {
        MDB_txn *txn;
        int r;

        if (!s->lacks_tables || !s->may_write)
                return 0;
        r = store_write_begin(s, &txn);
        if (r < 0)
                return r;
        r = env_open_tables(s, txn, true) ?: env_raise_version(s, txn);
        if (r < 0) {
                store_write_abort(s, txn);
                return r;
        }
        s->lacks_tables = false;
        return store_write_commit(s, txn);
}

int env_open(Store *s, const char *path, bool create, Diag *reterr) {
        /* Scratch tables need no lock. A page of a mapped lock file without room on the disk would be a fault. */
        /* readers take LMDB's lock, too, where permitted: to apply records of a dead writer from the log */
        unsigned flags = s->copy_of > 0 ? MDB_NOLOCK : 0;
        size_t map = MAP_BYTES;
        MDB_txn *txn = NULL;
        struct statvfs st;
        int r, fd;

        r = env_wait_for_lock(s, create, reterr);
        if (r != 0)
                return r;
        for (;;) {
                r = env_open_once(s, path, flags, map);
                if (r == -ENOMEM && map > MAP_BYTES_LEAST)
                        map /= 2; /* little address space (RLIMIT_AS): stores are rarely so large */
                else if ((r == -EACCES || r == -EROFS || r == -EPERM) && s->mode == STORE_READ && !(flags & MDB_NOLOCK))
                        /* a reader of the data may lack the right to write the lock file */
                        flags |= flags & MDB_RDONLY ? MDB_NOLOCK : MDB_RDONLY;
                else
                        break;
        }
        env_opened(s, create);
        if (r < 0)
                return store_refusal(s, r, "cannot be opened", reterr);
        s->no_lock = flags & MDB_NOLOCK && s->copy_of == 0;
        s->may_write = !(flags & MDB_RDONLY);
        if (mdb_env_get_fd(s->env, &fd) == 0) {
                fcntl(fd, F_SETFD, FD_CLOEXEC);
                /* Here LMDB silently skips the lock file; the folder may be writable by another mount. */
                if (fstatvfs(fd, &st) == 0 && (st.f_flag & ST_RDONLY))
                        s->no_lock = true;
        }
        if (!(flags & MDB_RDONLY)) {
                int dead;

                LMDB(mdb_reader_check(s->env, &dead)); /* a killed reader would make the file grow for ever */
        }
        r = lmdb_to_errno(create ? lmdb_write_begin(s->env, &txn)
                                 : LMDB(mdb_txn_begin(s->env, NULL, MDB_RDONLY, &txn)))
                ?: env_open_tables(s, txn, create);
        if (r < 0) {
                if (txn && create)
                        lmdb_write_abort(txn);
                else if (txn)
                        LMDB((mdb_txn_abort(txn), 0));
                if (r == -ENOENT)
                        return diag(reterr, STORE_E_DAMAGED,
                                    "store %s: data.mdb lacks a table: damaged or foreign", s->dir);
                return store_refusal(s, r, "cannot be read", reterr);
        }
        r = lmdb_to_errno(create ? lmdb_write_commit(txn) : LMDB(mdb_txn_commit(txn)));
        if (r < 0)
                return store_refusal(s, r, "cannot be opened", reterr);
        return 0;
}

void env_close(Store *s) {
        if (s->env)
                mdb_env_close(s->env);
        s->env = NULL;
}
