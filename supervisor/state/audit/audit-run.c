#include "audit/fold-state.h"
#include "engine/fold.h"
#include "base/clock.h"
#include "base/io.h"
#include "store/hooks.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int audit_fails(Audit *a, bool at_entry, const char *what, const char *found, const char *expected_fmt, ...) {
        va_list ap;

        a->report->at_entry = at_entry;
        a->report->seq = a->seq;
        snprintf(a->report->what, AUDIT_TEXT_MAX, "%s", what);
        va_start(ap, expected_fmt);
        vsnprintf(a->report->expected, AUDIT_TEXT_MAX, expected_fmt, ap);
        va_end(ap);
        diag_quote(found, strnlen(found, AUDIT_TEXT_MAX - 1), a->report->found, AUDIT_TEXT_MAX);
        return AUDIT_E_BROKEN;
}

AuditText audit_text(const char *fmt, ...) {
        AuditText text;
        va_list ap;

        va_start(ap, fmt);
        vsnprintf(text.s, sizeof(text.s), fmt, ap);
        va_end(ap);
        return text;
}

int audit_lacks(Audit *a, const char *type, const char *field) {
        return audit_differs(a, "an entry lacks a field or has it of a wrong kind", "none", "field %s of %s", field,
                             type);
}

int audit_wrong_version(Audit *a, const char *slot, uint64_t expected, uint64_t found) {
        return audit_differs(a, "a slot's versions do not follow one another", audit_text("version %" PRIu64, found).s,
                             "version %" PRIu64 " of %s", expected, slot);
}

int audit_next_body(Audit *a) {
        Bytes k;
        int r = cursor_next(a->bodies, &k, &a->body);

        if (r == -ENOENT)
                a->next_body = UINT64_MAX;
        else if (r == 0 && k.n != 8)
                r = -EUCLEAN;
        else if (r == 0)
                a->next_body = be64_get(k.p);
        return r == -ENOENT ? 0 : r;
}

static int audit_unequal_hash(Audit *a, unsigned level, uint64_t index, const MerkleHash *expected, Bytes found) {
        char hex[HASH_HEX_MAX], other[HASH_HEX_MAX];

        return audit_differs(a, "a tree hash is not the hash of the entries below it",
                             found.n == HASH_BYTES ? hex_encode(found.p, HASH_BYTES, other) : "no hash",
                             "level %u index %" PRIu64 ": %s", level, index, hex_encode(expected->b, HASH_BYTES, hex));
}

/* Compares a completed node with table hash. Most rows are of level 0, which a cursor reads in step. */
static int audit_check_node(void *ctx, unsigned level, uint64_t index, const MerkleHash *h) {
        uint8_t key[HASH_KEY_BYTES];
        Audit *a = ctx;
        Bytes k, v = {0};
        int r;

        if (level % TILE_HEIGHT != 0)
                return 0;
        a->n_hashes++;
        ledger_hash_key(level, index, key);
        if (level == 0) {
                r = cursor_next(a->hashes, &k, &v);
                if (r == 0 && (k.n != sizeof(key) || memcmp(k.p, key, sizeof(key)) != 0))
                        v.n = 0;
        } else
                r = table_get(a->txn, TABLE_HASH, BYTES(key, sizeof(key)), &v);
        if (r < 0 && r != -ENOENT)
                return r;
        if (r == -ENOENT || v.n != HASH_BYTES || memcmp(v.p, h->b, HASH_BYTES) != 0) {
                audit_unequal_hash(a, level, index, h, r == -ENOENT ? BYTES(NULL, 0) : v);
                return -EBADMSG; /* merkle_append passes only negative codes on */
        }
        return 0;
}

static int audit_walk(Audit *a, uint64_t size) {
        _cleanup_walk_ LedgerWalk w = {0};
        int r = ledger_walk(a->txn, 0, &w);

        while (r == 0) {
                _cleanup_json_ json_t *o = NULL;
                MerkleHash leaf;
                uint64_t seq;
                Diag d = {0};
                bool plain;
                Bytes e;

                r = ledger_next(&w, &seq, &e);
                a->seq = r == 0 ? seq : w.next;
                if (r == -ENOENT)
                        break;
                if (r == -EUCLEAN)
                        return audit_differs(a, "an entry is missing", "another number", "entry %" PRIu64, w.next);
                if (r < 0)
                        return r;
                if (seq >= size)
                        return audit_differs(a, "there are more entries than the tree counts",
                                             audit_text("entry %" PRIu64, seq).s, "%" PRIu64, size);
                merkle_leaf(e.p, e.n, &leaf);
                r = merkle_append(&a->edge, &leaf, audit_check_node, a);
                if (r < 0)
                        return r == -EBADMSG ? AUDIT_E_BROKEN : r;
                r = json_parse_plain(e.p, e.n, JSON_DEPTH_DEFAULT, &o);
                plain = r == 0;
                if (r > 0)
                        r = json_parse(e.p, e.n, LEDGER_ENTRY_MAX, JSON_DEPTH_DEFAULT, &o, &d);
                if (r > 0 || (r == 0 && !json_is_object(o)))
                        return audit_differs(a, "an entry is not JSON", r > 0 ? d.text : "another value", "an object");
                if (r == 0)
                        r = fold_entry(a, o, e, plain);
                if (r == 0)
                        a->report->entries++;
        }
        return r == -ENOENT ? 0 : r;
}

/* The end of the tree against meta, the checkpoint against both. */
static int audit_check_checkpoint(Audit *a, const LedgerTree *tree) {
        const Store *s = txn_store(a->txn);
        MerkleHash root;
        Checkpoint c;
        uint64_t usec, rows;
        Bytes note;
        Diag d = {0};
        int r;

        if (a->edge.size != tree->edge.size)
                return audit_store_differs(a, "the tree's number of entries differs from the entries present",
                                           audit_text("%" PRIu64, a->edge.size).s, "%" PRIu64, tree->edge.size);
        if (memcmp(a->edge.node, tree->edge.node, a->edge.n * sizeof(MerkleHash)) != 0)
                return audit_store_differs(a, "the tree's edge (meta, row tree) differs from the entries' edge",
                                           "another", "the recomputed edge");
        if (clock_parse(a->last_time, &usec) < 0 || usec != tree->last_usec)
                return audit_store_differs(a, "the time in meta (row tree) differs from the last entry's time",
                                           audit_text("%" PRIu64 " usec", tree->last_usec).s, "%s", a->last_time);
        r = table_rows(a->txn, TABLE_HASH, &rows);
        if (r < 0)
                return r;
        if (rows != a->n_hashes)
                return audit_store_differs(a, "the number of rows in table hash differs from the tree's",
                                           audit_text("%" PRIu64, rows).s, "%" PRIu64, a->n_hashes);
        merkle_edge_root(&a->edge, &root);
        hex_encode(root.b, HASH_BYTES, a->report->root);
        r = ledger_checkpoint(a->txn, &note);
        if (r < 0)
                return r == -ENOENT ? -EUCLEAN : r;
        if (note_open(note.p, note.n, store_public_key(s), &c, &d) != 0)
                return audit_store_differs(a, "the checkpoint does not verify", d.text, "a note signed by %s",
                                           store_origin(s));
        if (strcmp(c.origin, store_origin(s)) != 0 || c.size != a->edge.size ||
            memcmp(&c.root, &root, sizeof(root)) != 0) {
                char hex[HASH_HEX_MAX];

                return audit_store_differs(a, "the checkpoint is of a different tree",
                                           audit_text("%s, %" PRIu64 " entries, root %s", c.origin, c.size,
                                                      hex_encode(c.root.b, HASH_BYTES, hex)).s,
                                           "%s, %" PRIu64 " entries, root %s", store_origin(s), a->edge.size,
                                           a->report->root);
        }
        return 0;
}

static int audit_check_vkey(Audit *a) {
        const Store *s = txn_store(a->txn);
        _cleanup_free_ char *text = NULL;
        char vkey[VKEY_MAX + 1];
        size_t n;
        int r = io_read_file(store_dir_fd(s), "vkey", VKEY_MAX, &text, &n);

        note_vkey(store_origin(s), store_public_key(s), vkey);
        strcat(vkey, "\n");
        if (r < 0 && r != -ENOENT && r != -ELOOP && r != -EISDIR && r != -EFBIG) /* vkey could not be read */
                return r;
        if (r == 0 && strcmp(text, vkey) == 0)
                return 0;
        return audit_store_differs(a, "file vkey is not the ledger's", r < 0 ? strerror(-r) : text, "%.*s",
                                   (int)strlen(vkey) - 1, vkey);
}

/* A transaction whose pages hold together. */
static int audit_begin(Store *s, Audit *a, Txn **ret_txn) {
        for (int again = 0;; again++) {
                _cleanup_txn_ Txn *t = NULL;
                Diag d = {0};
                int r = store_begin(s, false, &t, &d);

                if (r != 0)
                        return r < 0 ? r : -EIO;
                r = store_check_pages(t, &d);
                if (r == 0 ||
                    (r == -EAGAIN && again == 20)) { /* a busy store: from here on all reads go through LMDB */
                        *ret_txn = TAKE_PTR(t);
                        return 0;
                }
                if (r > 0)
                        return audit_store_differs(a, "the data file's pages do not hold together", d.text,
                                                   "pages as written by LMDB");
                if (r != -EAGAIN)
                        return r;
        }
}

int audit_run(Store *s, AuditReport *ret) {
        _cleanup_txn_ Txn *t = NULL;
        Audit a = {.report = ret};
        uint8_t from[HASH_KEY_BYTES];
        LedgerTree tree;
        int r;

        *ret = (AuditReport){0};
        hash_many();
        snprintf(ret->origin, sizeof(ret->origin), "%s", store_origin(s));
        r = audit_begin(s, &a, &t);
        if (r != 0)
                return r;
        a.txn = t;
        ledger_hash_key(0, 0, from);
        r = ledger_tree_read(t, &tree)
                ?: cursor_open(t, TABLE_HASH, BYTES(from, sizeof(from)), &a.hashes)
                ?: cursor_open(t, TABLE_BODY, BYTES(NULL, 0), &a.bodies)
                ?: audit_next_body(&a)
                ?: audit_walk(&a, tree.edge.size)
                ?: audit_check_checkpoint(&a, &tree);
        if (r == 0 && a.next_body != UINT64_MAX)
                r = audit_store_differs(&a, "table body has a payload without an entry", "one", "no row %" PRIu64,
                                        a.next_body);
        if (r == 0)
                r = erased_check(&a) ?: audit_check_vkey(&a) ?: tables_check(&a);
        if (r == -EUCLEAN || r == -ENOENT)
                r = audit_fails(&a, a.edge.size < tree.edge.size, "the store's pages or rows are damaged",
                                store_strerror(-EUCLEAN), "readable rows");
        for (size_t i = 0; i < a.regions.room; i++)
                if (a.regions.items[i].value)
                        free(((FoldedRegion *)a.regions.items[i].value)->held);
        map_deinit(&a.regions);
        map_deinit(&a.slots);
        map_deinit(&a.skills);
        map_deinit(&a.arbiters);
        map_deinit(&a.payloads);
        map_deinit(&a.objects);
        map_deinit(&a.sessions);
        cursor_free(a.hashes);
        cursor_free(a.bodies);
        return r;
}

int audit_fold(Store *s, AuditReport *ret, Diag *reterr) {
        _cleanup_txn_ Txn *t = NULL;
        bool newest = true;
        FoldResult f;
        int r = store_begin(s, false, &t, reterr) ?: engine_fold_compare(t, &f, reterr) ?: store_is_newest(t, &newest);

        /* The older form of an index by an older Lethe is no damage. */
        if (r != 0 || !f.how || (!newest && (f.table == TABLE_TERM || f.table == TABLE_DOC)))
                return r;
        return audit_store_differs(&(Audit){.report = ret},
                                   audit_text("table %s, key %.200s: the row is %s beside the fold of the ledger",
                                              table_name(f.table), f.key,
                                              strcmp(f.how, "differs") == 0 ? "another one" : f.how).s,
                                   audit_text("%" PRIu64 " such rows", f.differ).s, "%s",
                                   "the rows from the fold of the ledger: `lethe rebuild` makes them");
}
