#include "ledger/merkle.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#define MOST 64

/* The definitions of RFC 6962 section 2.1, word for word: slow, recursive, and sharing nothing with merkle.c but
 * SHA-256. */
static void mth(const MerkleHash *leaves, uint64_t n, MerkleHash *ret) {
        uint8_t both[1 + 2 * HASH_BYTES] = {1};
        MerkleHash left, right;
        uint64_t k = 1;

        if (n == 0) {
                hash_bytes("", 0, ret->b);
                return;
        }
        if (n == 1) {
                *ret = leaves[0];
                return;
        }
        while (k * 2 < n)
                k *= 2;
        mth(leaves, k, &left);
        mth(leaves + k, n - k, &right);
        memcpy(both + 1, left.b, HASH_BYTES);
        memcpy(both + 1 + HASH_BYTES, right.b, HASH_BYTES);
        hash_bytes(both, sizeof(both), ret->b);
}

static MerkleHash leaves[MOST];

static void make_leaves(void) {
        for (unsigned i = 0; i < MOST; i++) {
                char text[16];

                merkle_leaf(text, (size_t)snprintf(text, sizeof(text), "entry %u", i), &leaves[i]);
        }
}

static int read_node(void *ctx, unsigned level, uint64_t index, MerkleHash *ret) {
        cr_assert_leq((index + 1) << level, *(uint64_t *)ctx, "node %u/%lu is not complete", level,
                      (unsigned long)index);
        mth(leaves + (index << level), UINT64_C(1) << level, ret);
        return 0;
}

// Vectors of RFC 6962's reference implementation: the empty tree, one empty leaf.
Test(merkle, known_hashes) {
        MerkleEdge e = {0};
        MerkleHash h;
        char hex[HASH_HEX_MAX];

        merkle_edge_root(&e, &h);
        cr_assert_str_eq(hex_encode(h.b, HASH_BYTES, hex),
                         "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
        merkle_leaf("", 0, &h);
        cr_assert_str_eq(hex_encode(h.b, HASH_BYTES, hex),
                         "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d");
}

Test(merkle, an_edge_and_stored_nodes_give_the_root) {
        MerkleEdge e = {0};

        make_leaves();
        for (uint64_t n = 0; n <= MOST; n++) {
                MerkleHash expected, edge, nodes;

                mth(leaves, n, &expected);
                merkle_edge_root(&e, &edge);
                cr_assert_eq(merkle_root(n, read_node, &n, &nodes), 0);
                cr_assert(memcmp(&edge, &expected, sizeof(edge)) == 0, "edge of %lu", (unsigned long)n);
                cr_assert(memcmp(&nodes, &expected, sizeof(nodes)) == 0, "nodes of %lu", (unsigned long)n);
                if (n < MOST)
                        cr_assert_eq(merkle_append(&e, &leaves[n], NULL, NULL), 0);
        }
}

// Law: for all n up to 64 and each leaf, the proof proves that leaf there and nothing else.
Test(merkle, inclusion_proofs_hold) {
        make_leaves();
        for (uint64_t n = 1; n <= MOST; n++)
                for (uint64_t i = 0; i < n; i++) {
                        MerkleHash root, proof[MERKLE_LEVELS], bad;
                        unsigned k;

                        mth(leaves, n, &root);
                        cr_assert_eq(merkle_prove_inclusion(n, i, read_node, &n, proof, &k), 0);
                        cr_assert(merkle_verify_inclusion(n, &root, i, &leaves[i], proof, k), "%lu of %lu",
                                  (unsigned long)i, (unsigned long)n);
                        for (uint64_t j = 0; j < n; j++)
                                cr_assert(j == i || !merkle_verify_inclusion(n, &root, j, &leaves[i], proof, k),
                                          "%lu as %lu of %lu", (unsigned long)i, (unsigned long)j, (unsigned long)n);
                        cr_assert(k == 0 || !merkle_verify_inclusion(n, &root, i, &leaves[i], proof, k - 1));
                        bad = leaves[i];
                        bad.b[31] ^= 1;
                        cr_assert(!merkle_verify_inclusion(n, &root, i, &bad, proof, k));
                        for (unsigned j = 0; j < k; j++) {
                                proof[j].b[0] ^= 0x80;
                                cr_assert(!merkle_verify_inclusion(n, &root, i, &leaves[i], proof, k));
                                proof[j].b[0] ^= 0x80;
                        }
                }
        cr_assert_eq(merkle_prove_inclusion(3, 3, read_node, &(uint64_t){3}, leaves, &(unsigned){0}), -34); /* ERANGE */
}
