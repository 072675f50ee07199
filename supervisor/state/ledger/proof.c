#include "ledger/proof.h"

#include "store/hooks.h"

#include <errno.h>
#include <inttypes.h>
#include <sodium.h>
#include <string.h>

#define HEAD "c2sp.org/tlog-proof@v1\n"

int proof_build(Txn *t, uint64_t seq, Buf *ret, Diag *reterr) {
        MerkleHash path[MERKLE_LEVELS];
        LedgerTree tree;
        unsigned n;
        Bytes note;
        int r = ledger_tree_read(t, &tree);

        if (r < 0)
                return r;
        if (seq >= tree.edge.size)
                return diag(reterr, PROOF_E_NO_ENTRY, "the ledger has no entry %" PRIu64 ": it has %" PRIu64, seq,
                            tree.edge.size);
        r = merkle_prove_inclusion(tree.edge.size, seq, ledger_node, t, path, &n)
                ?: ledger_checkpoint(t, &note)
                ?: buf_printf(ret, HEAD "index %" PRIu64 "\n", seq);
        for (unsigned i = 0; r == 0 && i < n; i++) {
                char b64[64];

                sodium_bin2base64(b64, sizeof(b64), path[i].b, sizeof(path[i].b), sodium_base64_VARIANT_ORIGINAL);
                r = buf_printf(ret, "%s\n", b64);
        }
        if (r == 0)
                r = buf_add(ret, "\n", 1) ?: buf_add(ret, note.p, note.n);
        return r == -ENOENT ? -EUCLEAN : r;
}

int proof_check(const char *text, size_t n, const void *entry, size_t n_entry, const uint8_t public_key[static 32],
                uint64_t *ret_index, Checkpoint *ret, Diag *reterr) {
        const char *p, *l;
        MerkleHash path[MERKLE_LEVELS], leaf;
        uint64_t index = 0;
        Checkpoint c;
        unsigned n_path = 0;
        bool more;
        size_t k;

        if (n > PROOF_MAX || n < strlen(HEAD) || memcmp(text, HEAD, strlen(HEAD)) != 0)
                return diag(reterr, PROOF_E_FORM, "line 1 is not c2sp.org/tlog-proof@v1");
        p = text + strlen(HEAD);
        n -= strlen(HEAD);
        more = note_line(&p, &n, &l, &k);
        if (more && k > 6 && memcmp(l, "extra ", 6) == 0)
                more = note_line(&p, &n, &l, &k);
        if (!more || k < 7 || memcmp(l, "index ", 6) != 0)
                return diag(reterr, PROOF_E_FORM, "there is no line with the index");
        if (!note_number(l + 6, k - 6, &index))
                return diag(reterr, PROOF_E_FORM, "the index is not a number");
        while ((more = note_line(&p, &n, &l, &k)) && k > 0) {
                if (n_path == MERKLE_LEVELS || base64_decode(l, k, path[n_path].b, HASH_BYTES) != HASH_BYTES)
                        return diag(reterr, PROOF_E_FORM, "hash %u of the path is no hash", n_path);
                n_path++;
        }
        if (!more)
                return diag(reterr, PROOF_E_FORM, "the file ends before the checkpoint");
        if (note_open(p, n, public_key, &c, reterr) != 0)
                return PROOF_E_WRONG;
        merkle_leaf(entry, n_entry, &leaf);
        if (!merkle_verify_inclusion(c.size, &c.root, index, &leaf, path, n_path))
                return diag(reterr, PROOF_E_WRONG,
                            "the path does not lead from this entry at %" PRIu64 " to the root of size %" PRIu64, index,
                            c.size);
        *ret_index = index;
        *ret = c;
        return 0;
}

int proof_entry(Txn *t, uint64_t seq, Bytes entry, Diag *reterr) {
        _cleanup_buf_ Buf proof = {0};
        uint64_t index;
        Checkpoint c;
        int r = proof_build(t, seq, &proof, NULL);

        if (r < 0)
                return r;
        if (r > 0 ||
            proof_check(proof.data, proof.n, entry.p, entry.n, store_public_key(txn_store(t)), &index, &c, NULL) != 0)
                return diag(reterr, PROOF_E_WRONG,
                            "entry %" PRIu64 " is not the entry under the signed checkpoint; `lethe audit` tells more",
                            seq);
        return 0;
}
