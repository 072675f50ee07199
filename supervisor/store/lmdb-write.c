/* Every write transaction of LMDB begins and ends here: what it leaves in LMDB's own list of unused pages is overwritten (base/pages.h). */
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
