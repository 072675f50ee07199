#include "store/journal.h"
#include "store/store-internal.h"
#include "store/table.h"

#include <errno.h>
#include <string.h>

static const char *const names[TABLE_COUNT_] = {
        [TABLE_META] = "meta",     [TABLE_EVENT] = "event",         [TABLE_BODY] = "body", [TABLE_HASH] = "hash",
        [TABLE_SLOT] = "slot",     [TABLE_HIST] = "hist",           [TABLE_HELD] = "held", [TABLE_REGION] = "region",
        [TABLE_SKILL] = "skill",   [TABLE_SCOPE] = "scope",         [TABLE_REC] = "rec",   [TABLE_CHANGE] = "change",
        [TABLE_REF] = "ref",       [TABLE_RREF] = "rref",           [TABLE_TERM] = "term", [TABLE_DOC] = "doc",
        [TABLE_WAIT] = "wait",     [TABLE_UNAPPLIED] = "unapplied", [TABLE_RUN] = "run",   [TABLE_NOTE] = "note",
        [TABLE_GATHER] = "gather", [TABLE_VERDICT] = "verdict",
        [TABLE_OBJECT] = "object", [TABLE_DUE] = "due",       [TABLE_WAKE] = "wake",
        [TABLE_CLAIM] = "claim",   [TABLE_COMMITS] = "commits", [TABLE_ROUND] = "round",
};

const char *table_name(Table t) {
        return names[t];
}

struct Cursor {
        MDB_cursor *mdb;
        Txn *txn;
        Table table;
        bool moved;
        size_t n_from, n_prefix;
        uint8_t from[512];
};

/* Without LMDB's lock file, writers reuse the snapshot's pages from the second commit on. */
static int table_check_snapshot(Txn *t) {
        MDB_envinfo info;

        if (!t->store->no_lock)
                return 0;
        mdb_env_info(t->store->env, &info);
        return info.me_last_txnid > mdb_txn_id(t->mdb) + 1 ? -ESTALE : 0;
}

int table_get(Txn *t, Table table, Bytes key, Bytes *ret) {
        MDB_val k = {key.n, (void *)key.p}, v;
        int r;

        if (!t->store->dbi[table])
                return -ENOENT;
        r = txn_result(t, lmdb_to_errno(LMDB(mdb_get(t->mdb, t->store->dbi[table], &k, &v))));

        if (t->store->no_lock && table_check_snapshot(t) < 0)
                return -ESTALE;
        if (r == 0)
                *ret = BYTES(v.mv_data, v.mv_size);
        return r;
}

/* A later writer of a batch must be able to undo its own changes. */
static bool table_keeps_journal(const Txn *t) {
        return !t->leads || t->saves;
}

static int table_prepare_write(Txn *t, Table table, Bytes key) {
        Bytes was = {0};
        int r;

        assert(t->write);
        if (!t->store->dbi[table])
                return -EROFS; /* an older store, opened without the right to write */
        if (!table_keeps_journal(t))
                return 0;
        r = table_get(t, table, key, &was);
        return r < 0 && r != -ENOENT ? r : journal_note(t, table, key, was);
}

/* r: of the write. */
static int table_written(Txn *t, Table table, Bytes key, int r) {
        if (r == 0)
                txn_wrote(t, table, key);
        else if (table_keeps_journal(t))
                journal_drop(t);
        return r;
}

static int table_put_flags(Txn *t, Table table, Bytes key, Bytes value, unsigned flags) {
        MDB_val k = {key.n, (void *)key.p}, v = {value.n, (void *)value.p};
        int r = table_prepare_write(t, table, key);

        if (r < 0)
                return r;
        r = txn_result(t, lmdb_to_errno(LMDB(mdb_put(t->mdb, t->store->dbi[table], &k, &v, flags))));
        return table_written(t, table, key, r);
}

int table_put(Txn *t, Table table, Bytes key, Bytes value) {
        return table_put_flags(t, table, key, value, 0);
}

int table_add(Txn *t, Table table, Bytes key, Bytes value) {
        return table_put_flags(t, table, key, value, MDB_NOOVERWRITE);
}

int table_del(Txn *t, Table table, Bytes key) {
        MDB_val k = {key.n, (void *)key.p};
        int r = table_prepare_write(t, table, key);

        if (r < 0)
                return r;
        r = txn_result(t, lmdb_to_errno(LMDB(mdb_del(t->mdb, t->store->dbi[table], &k, NULL))));
        return table_written(t, table, key, r);
}

int cursor_update(Cursor *cursor, Bytes key, int (*change)(void *user, Bytes was, Bytes *ret), void *user) {
        MDB_cursor *c = cursor->mdb;
        Table table = cursor->table;
        Txn *t = cursor->txn;
        MDB_val k = {key.n, (void *)key.p}, v;
        Bytes was = {0}, now = {0};
        bool there;
        int r;

        assert(t->write);
        if (!c)
                return -EROFS;
        r = txn_result(t, lmdb_to_errno(LMDB(mdb_cursor_get(c, &k, &v, MDB_SET_KEY))));
        if (r < 0 && r != -ENOENT)
                return r;
        there = r == 0;
        if (there)
                was = BYTES(v.mv_data, v.mv_size);
        r = change(user, was, &now);
        if (r < 0 || (r == 0 && !there))
                return r;
        if (table_keeps_journal(t)) {
                int noted = journal_note(t, table, key, was);

                if (noted < 0)
                        return noted;
        }
        k = (MDB_val){key.n, (void *)key.p};
        v = (MDB_val){now.n, (void *)now.p};
        r = r == 0 ? LMDB(mdb_cursor_del(c, 0)) : LMDB(mdb_cursor_put(c, &k, &v, there ? MDB_CURRENT : 0));
        return table_written(t, table, key, txn_result(t, lmdb_to_errno(r)));
}

int table_rows(Txn *t, Table table, uint64_t *ret) {
        MDB_stat st = {0};
        int r = t->store->dbi[table] ? lmdb_to_errno(LMDB(mdb_stat(t->mdb, t->store->dbi[table], &st))) : 0;

        if (r == 0)
                *ret = st.ms_entries;
        return r;
}

void cursor_seek(Cursor *c, Bytes from) {
        assert(from.n <= sizeof(c->from));
        c->moved = false;
        c->n_from = from.n;
        c->n_prefix = 0;
        if (from.n)
                memcpy(c->from, from.p, from.n);
}

int cursor_open_within(Txn *t, Table table, Bytes from, size_t n_prefix, Cursor **ret) {
        _cleanup_cursor_ Cursor *c = malloc(sizeof(*c));
        int r;

        if (!c)
                return -ENOMEM;
        c->mdb = NULL; /* not calloc: there is room for a long key */
        c->txn = t;
        c->table = table;
        cursor_seek(c, from);
        c->n_prefix = n_prefix;
        if (t->store->dbi[table]) {
                r = txn_result(t, lmdb_to_errno(LMDB(mdb_cursor_open(t->mdb, t->store->dbi[table], &c->mdb))));
                if (r < 0)
                        return r;
        }
        *ret = TAKE_PTR(c);
        return 0;
}

int cursor_open(Txn *t, Table table, Bytes from, Cursor **ret) {
        return cursor_open_within(t, table, from, 0, ret);
}

int cursor_next(Cursor *c, Bytes *ret_key, Bytes *ret_value) {
        MDB_val k = {c->n_from, c->from}, v;
        int r;

        if (!c->mdb)
                return -ENOENT;
        r = txn_result(c->txn, lmdb_to_errno(LMDB(mdb_cursor_get(c->mdb, &k, &v,
                                                                 c->moved    ? MDB_NEXT
                                                                 : c->n_from ? MDB_SET_RANGE
                                                                             : MDB_FIRST))));
        c->moved = true;
        if (table_check_snapshot(c->txn) < 0)
                return -ESTALE;
        if (r < 0)
                return r;
        *ret_key = BYTES(k.mv_data, k.mv_size);
        if (!bytes_begin(*ret_key, BYTES(c->from, c->n_prefix)))
                return -ENOENT;
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

bool bytes_begin(Bytes b, Bytes prefix) {
        return b.n >= prefix.n && (prefix.n == 0 || memcmp(b.p, prefix.p, prefix.n) == 0);
}

int table_del_prefix(Txn *t, Table table, Bytes prefix) {
        for (;;) {
                _cleanup_cursor_ Cursor *c = NULL;
                uint8_t key[512];
                Bytes k, v;
                int r = cursor_open_within(t, table, prefix, prefix.n, &c) ?: cursor_next(c, &k, &v);

                if (r < 0)
                        return r == -ENOENT ? 0 : r;
                assert(k.n <= sizeof(key));
                memcpy(key, k.p, k.n); /* the delete may move LMDB's page */
                r = table_del(t, table, BYTES(key, k.n));
                if (r < 0)
                        return r;
        }
}

void table_save(Txn *t, Save *ret) {
        *ret = (Save){.at = t->changes};
        t->saves++;
}

int table_restore(Txn *t, const Save *save) {
        assert(t->saves > 0);
        t->saves--;
        return journal_undo(t, save->at);
}

void table_keep(Txn *t, const Save *save) {
        assert(t->saves > 0);
        t->saves--;
        if (t->leads && !t->saves)
                while (t->changes != save->at)
                        journal_drop(t);
}
