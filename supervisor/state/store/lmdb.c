#include "store/store-internal.h"

#include <errno.h>
#include <string.h>

int lmdb_to_errno(int rc) {
        if (rc >= 0)
                return -rc;
        switch (rc) {
        case MDB_NOTFOUND:
                return -ENOENT;
        case MDB_KEYEXIST:
                return -EEXIST;
        case MDB_MAP_FULL:
        case MDB_TXN_FULL:
                return -ENOSPC;
        case MDB_READERS_FULL:
                return -EBUSY;
        case MDB_MAP_RESIZED:
                return -EAGAIN;
        case MDB_VERSION_MISMATCH:
                return -EPROTONOSUPPORT;
        case MDB_PANIC:   /* a write of the meta page failed earlier: the environment must be opened anew */
        case MDB_BAD_TXN: /* an earlier call in this transaction failed */
                return -EIO;
        case MDB_BAD_VALSIZE:
                return -EINVAL;
        default: /* page missing, page full, cursor too deep, wrong kind of table, not an LMDB file … */
                return -EUCLEAN;
        }
}

const char *store_strerror(int r) {
        switch (-r) {
        case EUCLEAN:
                return "the store is damaged: its pages do not hold together";
        case ENOSPC:
        case EDQUOT:
        case EFBIG:
                return "no space is left for the store";
        case EIO:
                return "the disk refused a write of the store, now or before";
        case EPROTONOSUPPORT:
                return "the store's file format is of another LMDB";
        case ENOKEY:
                return "the store was opened for reading only";
        case ECANCELED:
        case ETIME:
                return *gate_why() ? gate_why() : strerror(-r);
        default:
                return strerror(-r);
        }
}

int store_refusal(const Store *s, int r, const char *what, Diag *reterr) {
        const char *dir = s ? s->dir : "?";

        switch (-r) {
        case 0:
                return 0;
        case EUCLEAN:
                return diag(reterr, STORE_E_DAMAGED,
                            "store %s: %s: data.mdb is damaged: its pages do not hold together", dir, what);
        case ENOSPC:
        case EDQUOT:
        case EFBIG:
                if (s && s->copy_of > 0)
                        return diag(reterr, STORE_E_FULL,
                                    "no room for a copy of the tables in %.*s: up to %llu KiB are needed; fix: make "
                                    "room, or name a folder with room in TMPDIR",
                                    (int)(strrchr(dir, '/') ? strrchr(dir, '/') - dir : 1), dir,
                                    (unsigned long long)s->copy_of / 1024);
                return diag(reterr, STORE_E_FULL, "store %s: %s: %s", dir, what, strerror(-r));
        case EROFS:
        case EACCES:
        case EPERM:
                return diag(reterr, STORE_E_READ_ONLY, "store %s: %s: %s", dir, what, strerror(-r));
        case EPROTONOSUPPORT:
                return diag(reterr, STORE_E_VERSION, "store %s: %s: the file format is of another LMDB", dir, what);
        case EBUSY:
                return diag(reterr, STORE_E_LOCKED, "store %s: %s: too many processes read it at once", dir, what);
        case ECANCELED:
        case ETIME:
                return diag(reterr, STORE_E_LOCKED, "store %s: %s: %s", dir, what, gate_why());
        case EAGAIN:
                return diag(reterr, STORE_E_LOCKED,
                            "store %s: %s: another process made it larger than this one can map: start again", dir,
                            what);
        default:
                diag(reterr, 0, "store %s: %s: %s", dir, what, store_strerror(r));
                return r;
        }
}

/* The only begin and end of LMDB's write transactions: unused memory is overwritten (base/pages.h). */

int lmdb_write_begin(MDB_env *env, MDB_txn **ret) {
        int r;

        pages_begin();
        r = LMDB(mdb_txn_begin(env, NULL, 0, ret));
        if (r != 0)
                pages_end();
        return r;
}

int lmdb_write_commit(MDB_txn *t) {
        int r = LMDB(mdb_txn_commit(t));

        pages_end();
        return r;
}

void lmdb_write_abort(MDB_txn *t) {
        LMDB((mdb_txn_abort(t), 0));
        pages_end();
}

int store_write_begin(Store *s, MDB_txn **ret) {
        int r = gate_take(&s->gate, s->dir_fd, s->dir);

        if (r < 0)
                return r;
        r = lmdb_to_errno(lmdb_write_begin(s->env, ret));
        if (r < 0)
                gate_leave(&s->gate);
        return r;
}

int store_write_commit(Store *s, MDB_txn *t) {
        int r = lmdb_to_errno(lmdb_write_commit(t));

        if (r == 0)
                page_check_committed(s);
        gate_leave(&s->gate);
        return r;
}

void store_write_abort(Store *s, MDB_txn *t) {
        lmdb_write_abort(t);
        gate_leave(&s->gate);
}
