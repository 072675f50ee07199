/* Runs: supervisor, CLI. Merkle trees of RFC 6962 section 2.1 with SHA-256; pure. A node (level, index) is the perfect
 * subtree over the leaves [index << level, (index + 1) << level). */
#pragma once

#include "base/hash.h"
#include "base/util.h"

#define MERKLE_LEVELS 64

typedef struct MerkleHash {
        uint8_t b[HASH_BYTES];
} MerkleHash;

/* The right edge of a growing tree: the roots of its perfect subtrees, widest first, as many as `size` has 1 bits. */
typedef struct MerkleEdge {
        uint64_t size;
        unsigned n;
        MerkleHash node[MERKLE_LEVELS];
} MerkleEdge;

void merkle_leaf(const void *entry, size_t n, MerkleHash *ret); /* SHA256(00 || entry) */

/* Adds a leaf. `done` (may be NULL) is called for each completed node, the leaf first; returns 0 or -errno. */
int merkle_append(MerkleEdge *e, const MerkleHash *leaf,
                  int (*done)(void *ctx, unsigned level, uint64_t index, const MerkleHash *h), void *ctx);
void merkle_edge_root(const MerkleEdge *e, MerkleHash *ret); /* without leaves: SHA256("") */

/* Gives the hash of a complete node. Returns 0 or -errno; the caller passes the error on. */
typedef int (*MerkleRead)(void *ctx, unsigned level, uint64_t index, MerkleHash *ret);

int merkle_root(uint64_t size, MerkleRead rd, void *ctx, MerkleHash *ret);
/* Proofs have at most MERKLE_LEVELS hashes. -ERANGE: no such leaf. */
int merkle_prove_inclusion(uint64_t size, uint64_t index, MerkleRead rd, void *ctx, MerkleHash *ret, unsigned *ret_n);

bool merkle_verify_inclusion(uint64_t size, const MerkleHash *root, uint64_t index, const MerkleHash *leaf,
                             const MerkleHash *proof, unsigned n);
