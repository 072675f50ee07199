/* Runs: supervisor, CLI. The ledger's part in a store's life: first entry, checkpoint of each commit, and anchor. */
#include "base/clock.h"
#include "base/io.h"
#include "base/json.h"
#include "ledger/anchor.h"
#include "ledger/ledger-batch.h"
#include "store/hooks.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* The first transaction of a new store: appends ledger.created and writes the file vkey. */
static int hooks_created(Txn *t, Diag *reterr) {
        _cleanup_json_ json_t *e = NULL;
        _cleanup_free_ char *entry = NULL;
        const Store *s = txn_store(t);
        uint64_t now = clock_real_usec();
        char vkey[VKEY_MAX], time[CLOCK_TEXT_MAX], who[32];
        size_t n;
        int r;

        note_vkey(store_origin(s), store_public_key(s), vkey);
        snprintf(who, sizeof(who), "uid:%u", (unsigned)getuid());
        e = json_pack("{s:s, s:s, s:s, s:s, s:s, s:i}", "type", "ledger.created", "time", clock_format(now, time),
                      "origin", store_origin(s), "vkey", vkey, "who", who, "version", 1);
        if (!e)
                return -ENOMEM;
        r = json_canonical(e, &entry, &n) ?: ledger_append(t, entry, n, now, NULL);
        if (r < 0)
                return r;
        n = strlen(vkey);
        vkey[n++] = '\n';
        return io_write_file(store_dir_fd(s), "vkey", vkey, n, 0644, true);
}

static int hooks_write_tree(Txn *t, const LedgerTree *tree) {
        uint8_t row[16 + sizeof(tree->edge.node)];
        size_t n = tree->edge.n * sizeof(MerkleHash);

        be64_put(row, tree->edge.size);
        be64_put(row + 8, tree->last_usec);
        memcpy(row + 16, tree->edge.node, n);
        return table_put(t, TABLE_META, BYTES_STR("tree"), BYTES(row, 16 + n));
}

static int hooks_before_commit(Txn *t) {
        LedgerBatch *s = txn_ledger(t);
        Store *store = txn_store(t);
        Checkpoint c = {.size = s->tree.edge.size};
        char text[NOTE_MAX];
        uint8_t signature[64];
        size_t n;
        int r;

        if (s->tree.edge.size == s->begun)
                return 0;
        merkle_edge_root(&s->tree.edge, &c.root);
        strcpy(c.origin, store_origin(store));
        n = note_text(&c, text);
        r = store_sign(store, text, n, signature);
        if (r < 0)
                return r;
        s->n_note = note_build(&c, store_public_key(store), signature, s->note);
        return hooks_write_tree(t, &s->tree)
                ?: table_put(t, TABLE_META, BYTES_STR("checkpoint"), BYTES(s->note, s->n_note));
}

static void hooks_after_commit(Txn *t, bool more) {
        LedgerBatch *s = txn_ledger(t);

        ledger_mark_seen(t, &s->tree);
        if ((s->anchor || more) && s->n_note > 0)
                anchor_write(txn_store(t), s->note, s->n_note);
}

static void hooks_brought_in(Store *store) {
        _cleanup_txn_ Txn *t = NULL;
        Diag d = {};
        Checkpoint c;
        LedgerTree tree;
        Bytes note;

        if (!store_anchor(store) || store_begin_at_once(store, &t, &d) != 0 || ledger_checkpoint(t, &note) != 0 ||
            ledger_tree_read(t, &tree) < 0)
                return;
        /* The checkpoint is a row of the tables. A row of a different or older tree must not roll the anchor back. */
        if (note_open((const char *)note.p, note.n, store_public_key(store), &c, &d) == 0 && c.size == tree.edge.size &&
            ledger_is_behind(t, &tree) == 0)
                anchor_write(store, note.p, note.n);
}

static void hooks_ended(Txn *t) {
        free(txn_ledger(t));
        txn_set_ledger(t, NULL);
}

const StoreHooks store_hooks = {
        .created = hooks_created,
        .opened = anchor_check,
        .before_commit = hooks_before_commit,
        .after_commit = hooks_after_commit,
        .brought_in = hooks_brought_in,
        .ended = hooks_ended,
};
