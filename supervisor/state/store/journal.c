#include "store/journal.h"
#include "store/store-internal.h"

#include <errno.h>
#include <string.h>

struct Change {
        Change *before;
        Table table;
        bool was_there;
        size_t n_key, n_value;
        uint8_t bytes[]; /* key, then the old value */
};

/* Drops go from the newest note: most notes lie in one block, as a stack. Larger notes are on the heap. The block goes
 * from member to member, overwritten: a new block for each costs the allocator more than the notes. */
#define STACK_BYTES (32 * 1024)

static Change *journal_make(Txn *t, size_t n) {
        Change *c;

        n = (n + 7) & ~(size_t)7;
        if (!t->journal && n <= STACK_BYTES)
                t->journal = t->store->journal ? TAKE_PTR(t->store->journal) : malloc(STACK_BYTES);
        if (!t->journal || n > STACK_BYTES - t->n_journal)
                return malloc(n);
        c = (Change *)(t->journal + t->n_journal);
        t->n_journal += n;
        return c;
}

int journal_note(Txn *t, Table table, Bytes key, Bytes was) {
        Change *c = journal_make(t, sizeof(*c) + key.n + was.n);

        if (!c)
                return -ENOMEM;
        *c = (Change){
                .before = t->changes, .table = table, .was_there = was.p != NULL, .n_key = key.n, .n_value = was.n};
        memcpy(c->bytes, key.p, key.n);
        if (was.n > 0)
                memcpy(c->bytes + key.n, was.p, was.n);
        t->changes = c;
        return 0;
}

void journal_drop(Txn *t) {
        Change *c = t->changes;

        t->changes = c->before;
        if (t->journal && (uint8_t *)c >= t->journal && (uint8_t *)c < t->journal + STACK_BYTES) {
                t->n_journal = (size_t)((uint8_t *)c - t->journal);
                explicit_bzero(c, sizeof(*c) + c->n_key + c->n_value);
        } else
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

void journal_end(Txn *t) {
        while (t->changes)
                journal_drop(t);
        if (!t->store->journal)
                t->store->journal = TAKE_PTR(t->journal);
}

void journal_free(Txn *t) {
        while (t->changes)
                journal_drop(t);
        free(TAKE_PTR(t->journal));
}
