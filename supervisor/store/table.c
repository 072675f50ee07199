#include "store/store-internal.h"

#include <errno.h>
#include <string.h>

static const char *const names[TABLE_COUNT_] = {
        [TABLE_META] = "meta", [TABLE_EVENT] = "event",   [TABLE_BODY] = "body",
        [TABLE_HASH] = "hash", [TABLE_SLOT] = "slot",     [TABLE_HIST] = "hist",
        [TABLE_HELD] = "held", [TABLE_REGION] = "region", [TABLE_SKILL] = "skill",
};

const char *table_name(Table t) {
        return names[t];
}

struct Cursor {
        MDB_cursor *mdb;
        Txn *txn;
        bool moved;
        size_t n_from;
        uint8_t from[512];
};

/* Without LMDB's lock file writers do not know of us, and reuse the pages of our snapshot from the second commit after
 * it on. */
static int still_there(Txn *t) {
        MDB_envinfo info;

        if (!t->store->no_lock)
                return 0;
        mdb_env_info(t->store->env, &info);
        return info.me_last_txnid > mdb_txn_id(t->mdb) + 1 ? -ESTALE : 0;
}

int table_get(Txn *t, Table table, Bytes key, Bytes *ret) {
        MDB_val k = {key.n, (void *)key.p}, v;
        int r = lmdb_to_errno(LMDB(mdb_get(t->mdb, t->store->dbi[table], &k, &v)));

        if (t->store->no_lock && still_there(t) < 0)
                return -ESTALE;
        if (r == 0)
                *ret = BYTES(v.mv_data, v.mv_size);
        return r;
}

static int put(Txn *t, Table table, Bytes key, Bytes value, unsigned flags) {
        MDB_val k = {key.n, (void *)key.p}, v = {value.n, (void *)value.p};

        assert(t->write);
        return lmdb_to_errno(LMDB(mdb_put(t->mdb, t->store->dbi[table], &k, &v, flags)));
}

int table_put(Txn *t, Table table, Bytes key, Bytes value) {
        return put(t, table, key, value, 0);
}

int table_add(Txn *t, Table table, Bytes key, Bytes value) {
        return put(t, table, key, value, MDB_NOOVERWRITE);
}

int table_del(Txn *t, Table table, Bytes key) {
        MDB_val k = {key.n, (void *)key.p};

        assert(t->write);
        return lmdb_to_errno(LMDB(mdb_del(t->mdb, t->store->dbi[table], &k, NULL)));
}

int table_rows(Txn *t, Table table, uint64_t *ret) {
        MDB_stat st;
        int r = lmdb_to_errno(LMDB(mdb_stat(t->mdb, t->store->dbi[table], &st)));

        if (r == 0)
                *ret = st.ms_entries;
        return r;
}

int cursor_open(Txn *t, Table table, Bytes from, Cursor **ret) {
        _cleanup_cursor_ Cursor *c = calloc(1, sizeof(*c));
        int r;

        assert(from.n <= sizeof(c->from));
        if (!c)
                return -ENOMEM;
        c->txn = t;
        c->n_from = from.n;
        if (from.n)
                memcpy(c->from, from.p, from.n);
        r = lmdb_to_errno(LMDB(mdb_cursor_open(t->mdb, t->store->dbi[table], &c->mdb)));
        if (r < 0)
                return r;
        *ret = TAKE_PTR(c);
        return 0;
}

int cursor_next(Cursor *c, Bytes *ret_key, Bytes *ret_value) {
        MDB_val k = {c->n_from, c->from}, v;
        int r;

        r = lmdb_to_errno(LMDB(mdb_cursor_get(c->mdb, &k, &v,
                                              c->moved    ? MDB_NEXT
                                              : c->n_from ? MDB_SET_RANGE
                                                          : MDB_FIRST)));
        c->moved = true;
        if (still_there(c->txn) < 0)
                return -ESTALE;
        if (r < 0)
                return r;
        *ret_key = BYTES(k.mv_data, k.mv_size);
        *ret_value = BYTES(v.mv_data, v.mv_size);
        return 0;
}

int cursor_last(Txn *t, Table table, Bytes *ret_key, Bytes *ret_value) {
        MDB_cursor *c;
        MDB_val k, v;
        int r = lmdb_to_errno(LMDB(mdb_cursor_open(t->mdb, t->store->dbi[table], &c)));

        if (r < 0)
                return r;
        r = lmdb_to_errno(LMDB(mdb_cursor_get(c, &k, &v, MDB_LAST)));
        mdb_cursor_close(c);
        if (still_there(t) < 0)
                return -ESTALE;
        if (r < 0)
                return r;
        *ret_key = BYTES(k.mv_data, k.mv_size);
        *ret_value = BYTES(v.mv_data, v.mv_size);
        return 0;
}

void cursor_free(Cursor *c) {
        if (!c)
                return;
        if (c->mdb)
                mdb_cursor_close(c->mdb);
        free(c);
}
