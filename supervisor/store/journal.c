#include "store/journal.h"

#include "store/store-internal.h"

#include <errno.h>
#include <string.h>

struct Change {
        Change *before;
        Table table;
        bool was_there;
        size_t n_key, n_value;
        uint8_t bytes[]; /* key, then the value as it was */
};

int journal_note(Txn *t, Table table, Bytes key) {
        Bytes was = {0};
        int r = table_get(t, table, key, &was);

        return r < 0 && r != -ENOENT ? r : journal_note_read(t, table, key, was);
}

int journal_note_read(Txn *t, Table table, Bytes key, Bytes was) {
        Change *c = malloc(sizeof(*c) + key.n + was.n);

        if (!c)
                return -ENOMEM;
        *c = (Change){.before = t->changes, .table = table, .was_there = was.p != NULL, .n_key = key.n, .n_value = was.n};
        memcpy(c->bytes, key.p, key.n);
        if (was.n > 0)
                memcpy(c->bytes + key.n, was.p, was.n);
        t->changes = c;
        return 0;
}

void journal_drop(Txn *t) {
        Change *c = t->changes;

        t->changes = c->before;
        free(c);
}

int journal_undo(Txn *t, const Change *until) {
        int r = 0;

        for (; t->changes != until && r == 0; journal_drop(t)) {
                Change *c = t->changes;
                MDB_val k = {c->n_key, c->bytes}, v = {c->n_value, c->bytes + c->n_key};

                r = lmdb_to_errno(c->was_there ? LMDB(mdb_put(t->mdb, t->store->dbi[c->table], &k, &v, 0))
                                               : LMDB(mdb_del(t->mdb, t->store->dbi[c->table], &k, NULL)));
        }
        return r;
}

void journal_free(Txn *t) {
        while (t->changes)
                journal_drop(t);
}
