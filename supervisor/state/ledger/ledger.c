#include "ledger/ledger-batch.h"

#include "base/log.h"
#include "store/hooks.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Lower levels sort last, so that the busy end of the table is its end, where LMDB fills pages whole. */
void ledger_hash_key(unsigned level, uint64_t index, uint8_t ret[static HASH_KEY_BYTES]) {
        ret[0] = (uint8_t)(255 - level);
        be64_put(ret + 1, index);
}

/* Row "tree" of meta: size, time of the last entry, then the edge's nodes. */
int ledger_tree_read(Txn *t, LedgerTree *ret) {
        LedgerTree tree = {0};
        Bytes v;
        int r = table_get(t, TABLE_META, BYTES_STR("tree"), &v);

        if (r == -ENOENT) {
                *ret = tree;
                return 0;
        }
        if (r < 0 || v.n < 16)
                return r < 0 ? r : -EUCLEAN;
        tree.edge.size = be64_get(v.p);
        tree.last_usec = be64_get((const uint8_t *)v.p + 8);
        tree.edge.n = (unsigned)__builtin_popcountll(tree.edge.size);
        if (v.n != 16 + tree.edge.n * sizeof(MerkleHash))
                return -EUCLEAN;
        memcpy(tree.edge.node, (const uint8_t *)v.p + 16, v.n - 16);
        *ret = tree;
        return 0;
}

static_assert(sizeof(((StoreSeen *)NULL)->edge) >= sizeof(((MerkleEdge *)NULL)->node), "all of it");

/* The newest tree that this process has seen. */
void ledger_mark_seen(Txn *t, const LedgerTree *tree) {
        StoreSeen *seen = store_seen(txn_store(t));

        seen->size = tree->edge.size;
        memcpy(seen->edge, tree->edge.node, tree->edge.n * sizeof(MerkleHash));
}

/* A process with an open store continues from the tables' state. An older copy of the store, put in its place, must be
 * neither continued nor written to the anchor. Returns 0, or -EUCLEAN with a line in the log. */
int ledger_is_behind(Txn *t, const LedgerTree *tree) {
        const StoreSeen *seen = store_seen(txn_store(t));

        if (tree->edge.size > seen->size ||
            (tree->edge.size == seen->size &&
             memcmp(tree->edge.node, seen->edge, tree->edge.n * sizeof(MerkleHash)) == 0))
                return 0;
        log_error("store %s: the ledger has %" PRIu64 " entries, and had %" PRIu64
                  " when this process looked last: an older copy was put in its place",
                  store_dir(txn_store(t)), tree->edge.size, seen->size);
        return -EUCLEAN;
}

/* The state of transaction t; the first call reads the tree. Returns 0, -EUCLEAN for an older copy, -errno. */
int ledger_batch(Txn *t, LedgerBatch **ret) {
        LedgerBatch *s = txn_ledger(t);

        if (!s) {
                const LedgerBatch *before = txn_ledger_before(t);
                int r;

                s = calloc(1, sizeof(*s));
                if (!s)
                        return -ENOMEM;
                if (before) /* the batch's tree is not in the table yet: the table is written once, before the commit */
                        *s = *before;
                else {
                        r = ledger_tree_read(t, &s->tree);
                        if (r == 0)
                                r = ledger_is_behind(t, &s->tree);
                        if (r < 0) {
                                free(s);
                                return r;
                        }
                        ledger_mark_seen(t, &s->tree);
                        s->begun = s->tree.edge.size;
                }
                txn_set_ledger(t, s);
        }
        *ret = s;
        return 0;
}

static int ledger_keep_node(void *ctx, unsigned level, uint64_t index, const MerkleHash *h) {
        uint8_t key[HASH_KEY_BYTES];

        if (level % TILE_HEIGHT != 0)
                return 0;
        ledger_hash_key(level, index, key);
        return table_add(ctx, TABLE_HASH, BYTES(key, sizeof(key)), BYTES(h->b, sizeof(h->b)));
}

int ledger_append(Txn *t, const char *entry, size_t n, uint64_t time_usec, uint64_t *ret_seq) {
        MerkleHash leaf;
        uint8_t key[8];
        LedgerBatch *s;
        int r;

        if (n > LEDGER_ENTRY_MAX)
                return -EMSGSIZE;
        r = ledger_batch(t, &s);
        if (r < 0)
                return r;
        r = table_add(t, TABLE_EVENT, seq_key(s->tree.edge.size, key), BYTES(entry, n));
        if (r < 0)
                return r == -EEXIST ? -EUCLEAN : r;
        merkle_leaf(entry, n, &leaf);
        if (ret_seq)
                *ret_seq = s->tree.edge.size;
        s->tree.last_usec = MAX(s->tree.last_usec, time_usec);
        r = merkle_append(&s->tree.edge, &leaf, ledger_keep_node, t);
        return r == -EEXIST ? -EUCLEAN : r;
}

int ledger_state(Txn *t, uint64_t *ret_size, uint64_t *ret_last_usec) {
        LedgerBatch *s;
        LedgerTree tree;
        int r = txn_writes(t) ? ledger_batch(t, &s) : ledger_tree_read(t, &tree);

        if (r < 0)
                return r;
        if (txn_writes(t))
                tree = s->tree;
        *ret_size = tree.edge.size;
        if (ret_last_usec)
                *ret_last_usec = tree.last_usec;
        return 0;
}

int ledger_get(Txn *t, uint64_t seq, Bytes *ret) {
        uint8_t key[8];

        return table_get(t, TABLE_EVENT, seq_key(seq, key), ret);
}

int ledger_want_anchor(Txn *t) {
        LedgerBatch *s;
        int r = ledger_batch(t, &s);

        if (r == 0)
                s->anchor = true;
        return r;
}

int ledger_checkpoint(Txn *t, Bytes *ret) {
        return table_get(t, TABLE_META, BYTES_STR("checkpoint"), ret);
}

int ledger_node(void *ctx, unsigned level, uint64_t index, MerkleHash *ret) {
        unsigned stored = level - level % TILE_HEIGHT, above = level - stored;
        uint64_t n = UINT64_C(1) << above;
        MerkleEdge e = {0};

        for (uint64_t i = 0; i < n; i++) {
                uint8_t key[HASH_KEY_BYTES];
                MerkleHash h;
                Bytes v;
                int r;

                ledger_hash_key(stored, (index << above) + i, key);
                r = table_get(ctx, TABLE_HASH, BYTES(key, sizeof(key)), &v);
                if (r < 0)
                        return r == -ENOENT ? -EUCLEAN : r;
                if (v.n != sizeof(h.b))
                        return -EUCLEAN;
                memcpy(h.b, v.p, sizeof(h.b));
                merkle_append(&e, &h, NULL, NULL);
        }
        merkle_edge_root(&e, ret);
        return 0;
}

int ledger_walk(Txn *t, uint64_t from, LedgerWalk *ret) {
        uint8_t key[8];

        *ret = (LedgerWalk){.next = from};
        return cursor_open(t, TABLE_EVENT, seq_key(from, key), &ret->cursor);
}

int ledger_next(LedgerWalk *w, uint64_t *ret_seq, Bytes *ret) {
        Bytes k, v;
        int r = cursor_next(w->cursor, &k, &v);

        if (r < 0)
                return r;
        if (k.n != 8 || be64_get(k.p) != w->next)
                return -EUCLEAN;
        *ret_seq = w->next++;
        *ret = v;
        return 0;
}

void ledger_walk_deinit(LedgerWalk *w) {
        cursor_free(w->cursor);
        w->cursor = NULL;
}
