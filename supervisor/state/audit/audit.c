#include "audit/audit-internal.h"
#include "engine/fold.h"

#include "base/clock.h"
#include "base/io.h"
#include "store/hooks.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int broken(Audit *a, bool at, const char *what, const char *expected_fmt, ...) {
        va_list ap;

        a->report->at_entry = at;
        a->report->seq = a->seq;
        snprintf(a->report->what, AUDIT_TEXT_MAX, "%s", what);
        va_start(ap, expected_fmt);
        vsnprintf(a->report->expected, AUDIT_TEXT_MAX, expected_fmt, ap);
        va_end(ap);
        return AUDIT_E_BROKEN;
}

int broken_found(Audit *a, const char *fmt, ...) {
        char text[AUDIT_TEXT_MAX];
        va_list ap;

        va_start(ap, fmt);
        vsnprintf(text, sizeof(text), fmt, ap);
        va_end(ap);
        diag_quote(text, strlen(text), a->report->found, AUDIT_TEXT_MAX);
        return AUDIT_E_BROKEN;
}

int body_step(Audit *a) {
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

static int unequal_hash(Audit *a, unsigned level, uint64_t index, const MerkleHash *expected, Bytes found) {
        char hex[HASH_HEX_MAX];

        broken(a, true, "a tree hash is not the hash of the entries below it", "level %u index %" PRIu64 ": %s", level,
               index, hex_encode(expected->b, HASH_BYTES, hex));
        return found.n == HASH_BYTES ? broken_found(a, "%s", hex_encode(found.p, HASH_BYTES, hex))
                                     : broken_found(a, "no hash");
}

/* A node that the entry at hand completed, against table hash. Level 0 is read in step: most rows are of it. */
static int check_node(void *ctx, unsigned level, uint64_t index, const MerkleHash *h) {
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
                unequal_hash(a, level, index, h, r == -ENOENT ? BYTES(NULL, 0) : v);
                return -EBADMSG; /* merkle_append passes only negative codes on */
        }
        return 0;
}

static int walk(Audit *a, uint64_t size) {
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
                if (r == -EUCLEAN) {
                        broken(a, true, "an entry is missing", "entry %" PRIu64, w.next);
                        return broken_found(a, "another number");
                }
                if (r < 0)
                        return r;
                if (seq >= size) {
                        broken(a, true, "there are more entries than the tree counts", "%" PRIu64, size);
                        return broken_found(a, "entry %" PRIu64, seq);
                }
                merkle_leaf(e.p, e.n, &leaf);
                r = merkle_append(&a->edge, &leaf, check_node, a);
                if (r < 0)
                        return r == -EBADMSG ? AUDIT_E_BROKEN : r;
                r = json_parse_plain(e.p, e.n, JSON_DEPTH_DEFAULT, &o);
                plain = r == 0;
                if (r > 0)
                        r = json_parse(e.p, e.n, LEDGER_ENTRY_MAX, JSON_DEPTH_DEFAULT, &o, &d);
                if (r > 0 || (r == 0 && !json_is_object(o))) {
                        broken(a, true, "an entry is not JSON", "an object");
                        return broken_found(a, "%s", r > 0 ? d.text : "another value");
                }
                if (r == 0)
                        r = fold_entry(a, o, e, plain);
                if (r == 0)
                        a->report->entries++;
        }
        return r == -ENOENT ? 0 : r;
}

/* The end of the tree against meta, the checkpoint against both. */
static int check_checkpoint(Audit *a, const LedgerTree *tree) {
        const Store *s = txn_store(a->txn);
        MerkleHash root;
        Checkpoint c;
        uint64_t usec, rows;
        Bytes note;
        Diag d = {0};
        int r;

        if (a->edge.size != tree->edge.size) {
                broken(a, false, "the tree counts other entries than there are", "%" PRIu64, tree->edge.size);
                return broken_found(a, "%" PRIu64, a->edge.size);
        }
        if (memcmp(a->edge.node, tree->edge.node, a->edge.n * sizeof(MerkleHash)) != 0) {
                broken(a, false, "the tree's edge (meta, row tree) is not that of the entries", "the recomputed edge");
                return broken_found(a, "another");
        }
        if (clock_parse(a->last_time, &usec) < 0 || usec != tree->last_usec) {
                broken(a, false, "the time of the last entry (meta, row tree) is another", "%s", a->last_time);
                return broken_found(a, "%" PRIu64 " usec", tree->last_usec);
        }
        r = table_rows(a->txn, TABLE_HASH, &rows);
        if (r < 0)
                return r;
        if (rows != a->n_hashes) {
                broken(a, false, "table hash has another number of rows than the tree", "%" PRIu64, a->n_hashes);
                return broken_found(a, "%" PRIu64, rows);
        }
        merkle_edge_root(&a->edge, &root);
        hex_encode(root.b, HASH_BYTES, a->report->root);
        r = ledger_checkpoint(a->txn, &note);
        if (r < 0)
                return r == -ENOENT ? -EUCLEAN : r;
        if (note_open(note.p, note.n, store_public_key(s), &c, &d) != 0) {
                broken(a, false, "the checkpoint does not verify", "a note signed by %s", store_origin(s));
                return broken_found(a, "%s", d.text);
        }
        if (strcmp(c.origin, store_origin(s)) != 0 || c.size != a->edge.size ||
            memcmp(&c.root, &root, sizeof(root)) != 0) {
                char hex[HASH_HEX_MAX];

                broken(a, false, "the checkpoint is of another tree", "%s, %" PRIu64 " entries, root %s",
                       store_origin(s), a->edge.size, a->report->root);
                return broken_found(a, "%s, %" PRIu64 " entries, root %s", c.origin, c.size,
                                    hex_encode(c.root.b, HASH_BYTES, hex));
        }
        return 0;
}

static int check_vkey(Audit *a) {
        const Store *s = txn_store(a->txn);
        _cleanup_free_ char *text = NULL;
        char vkey[VKEY_MAX + 1];
        size_t n;
        int r = io_read_file(store_dir_fd(s), "vkey", VKEY_MAX, &text, &n);

        note_vkey(store_origin(s), store_public_key(s), vkey);
        strcat(vkey, "\n");
        if (r < 0 && r != -ENOENT && r != -ELOOP && r != -EISDIR && r != -EFBIG) /* nobody could look */
                return r;
        if (r == 0 && strcmp(text, vkey) == 0)
                return 0;
        broken(a, false, "file vkey is not this ledger's", "%.*s", (int)strlen(vkey) - 1, vkey);
        return broken_found(a, "%s", r < 0 ? strerror(-r) : text);
}

/* A transaction whose pages hold together. */
static int begin(Store *s, AuditReport *ret, Txn **ret_txn) {
        for (int again = 0;; again++) {
                _cleanup_txn_ Txn *t = NULL;
                Diag d = {0};
                int r = store_begin(s, false, &t, &d);

                if (r != 0)
                        return r < 0 ? r : -EIO;
                r = store_check_pages(t, &d);
                if (r == 0 ||
                    (r == -EAGAIN && again == 20)) { /* a busy store: what follows reads it through LMDB all the same */
                        *ret_txn = TAKE_PTR(t);
                        return 0;
                }
                if (r > 0) {
                        snprintf(ret->what, AUDIT_TEXT_MAX, "the data file's pages do not hold together");
                        snprintf(ret->expected, AUDIT_TEXT_MAX, "pages that LMDB wrote");
                        diag_quote(d.text, strlen(d.text), ret->found, AUDIT_TEXT_MAX);
                        return AUDIT_E_BROKEN;
                }
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
        r = begin(s, ret, &t);
        if (r != 0)
                return r;
        a.txn = t;
        ledger_hash_key(0, 0, from);
        r = ledger_tree_read(t, &tree);
        if (r == 0)
                r = cursor_open(t, TABLE_HASH, BYTES(from, sizeof(from)), &a.hashes);
        if (r == 0)
                r = cursor_open(t, TABLE_BODY, BYTES(NULL, 0), &a.bodies);
        if (r == 0)
                r = body_step(&a);
        if (r == 0)
                r = walk(&a, tree.edge.size);
        if (r == 0)
                r = check_checkpoint(&a, &tree);
        if (r == 0 && a.next_body != UINT64_MAX) {
                broken(&a, false, "table body has a payload that no entry commits to", "no row %" PRIu64, a.next_body);
                r = broken_found(&a, "one");
        }
        if (r == 0)
                r = erased_check(&a);
        if (r == 0)
                r = check_vkey(&a);
        if (r == 0)
                r = tables_check(&a);
        if (r == -EUCLEAN || r == -ENOENT) {
                broken(&a, a.edge.size < tree.edge.size, "the store's pages or rows are damaged",
                       "rows that can be read");
                r = broken_found(&a, "%s", store_strerror(-EUCLEAN));
        }
        for (size_t i = 0; i < a.regions.room; i++)
                if (a.regions.items[i].value)
                        free(((FoldedRegion *)a.regions.items[i].value)->held);
        map_deinit(&a.regions);
        map_deinit(&a.slots);
        map_deinit(&a.skills);
        map_deinit(&a.arbiters);
        map_deinit(&a.payloads);
        cursor_free(a.hashes);
        cursor_free(a.bodies);
        return r;
}

int audit_fold(Store *s, AuditReport *ret, Diag *reterr) {
        _cleanup_txn_ Txn *t = NULL;
        bool newest = true;
        FoldResult f;
        int r = store_begin(s, false, &t, reterr);

        if (r == 0)
                r = engine_fold_compare(t, &f, reterr);
        if (r == 0)
                r = store_is_newest(t, &newest);
        /* The index of an older Lethe is of another form, and no damage. */
        if (r != 0 || !f.how || (!newest && (f.table == TABLE_TERM || f.table == TABLE_DOC)))
                return r;
        snprintf(ret->what, AUDIT_TEXT_MAX, "table %s, key %.200s: the row is %s beside the fold of the ledger", table_name(f.table), f.key,
                 strcmp(f.how, "differs") == 0 ? "another one" : f.how);
        snprintf(ret->expected, AUDIT_TEXT_MAX, "the rows that the ledger gives: `lethe rebuild` makes them");
        snprintf(ret->found, AUDIT_TEXT_MAX, "%" PRIu64 " such rows", f.differ);
        return AUDIT_E_BROKEN;
}
