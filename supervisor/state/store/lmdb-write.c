/* The only begin and end of LMDB's write transactions: unused memory is overwritten (base/pages.h). */
#include "store/store-internal.h"

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

        gate_leave(&s->gate);
        return r;
}

void store_write_abort(Store *s, MDB_txn *t) {
        lmdb_write_abort(t);
        gate_leave(&s->gate);
}
