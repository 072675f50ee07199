#include "ledger/merkle.h"

#include <errno.h>
#include <string.h>

void merkle_leaf(const void *entry, size_t n, MerkleHash *ret) {
        hash_two((const uint8_t[]){0}, 1, entry, n, ret->b);
}

/* SHA256(01 || left || right) */
static void merkle_node(const MerkleHash *left, const MerkleHash *right, MerkleHash *ret) {
        uint8_t both[1 + 2 * HASH_BYTES] = {1};

        memcpy(both + 1, left->b, HASH_BYTES);
        memcpy(both + 1 + HASH_BYTES, right->b, HASH_BYTES);
        hash_bytes(both, sizeof(both), ret->b);
}

int merkle_append(MerkleEdge *e, const MerkleHash *leaf,
                  int (*done)(void *ctx, unsigned level, uint64_t index, const MerkleHash *h), void *ctx) {
        MerkleHash h = *leaf;
        uint64_t index = e->size;
        unsigned level = 0, n = e->n;

        for (;; level++, index >>= 1) {
                int r = done ? done(ctx, level, index, &h) : 0;

                if (r < 0)
                        return r;
                if (!(index & 1))
                        break;
                merkle_node(&e->node[--n], &h, &h);
        }
        e->node[n] = h;
        e->n = n + 1;
        e->size++;
        return 0;
}

void merkle_edge_root(const MerkleEdge *e, MerkleHash *ret) {
        unsigned n = e->n;

        if (n == 0) {
                hash_bytes("", 0, ret->b);
                return;
        }
        *ret = e->node[--n];
        while (n > 0)
                merkle_node(&e->node[--n], ret, ret);
}

/* The largest power of two below n (n > 1). */
static unsigned merkle_split_level(uint64_t n) {
        return 63U - (unsigned)__builtin_clzll(n - 1);
}

/* The hash of the leaves [from, from + n): MTH of RFC 6962. `from` is a multiple of the smallest power of two ≥ n. */
static int merkle_range(uint64_t from, uint64_t n, MerkleRead rd, void *ctx, MerkleHash *ret) {
        MerkleHash left, right;
        unsigned level;
        int r;

        if ((n & (n - 1)) == 0) {
                level = (unsigned)__builtin_ctzll(n);
                return rd(ctx, level, from >> level, ret);
        }
        level = merkle_split_level(n);
        r = rd(ctx, level, from >> level, &left)
                ?: merkle_range(from + (UINT64_C(1) << level), n - (UINT64_C(1) << level), rd, ctx, &right);
        if (r == 0)
                merkle_node(&left, &right, ret);
        return r;
}

int merkle_root(uint64_t size, MerkleRead rd, void *ctx, MerkleHash *ret) {
        if (size == 0) {
                hash_bytes("", 0, ret->b);
                return 0;
        }
        return merkle_range(0, size, rd, ctx, ret);
}

int merkle_prove_inclusion(uint64_t size, uint64_t index, MerkleRead rd, void *ctx, MerkleHash *ret, unsigned *ret_n) {
        uint64_t from = 0, n = size;
        unsigned k = 0;

        if (index >= size)
                return -ERANGE;
        /* PATH(m, D[n]) goes down from the root; the proof lists the siblings from the leaf up. */
        while (n > 1) {
                uint64_t half = UINT64_C(1) << merkle_split_level(n);
                int r;

                if (index - from < half) {
                        r = merkle_range(from + half, n - half, rd, ctx, &ret[k++]);
                        n = half;
                } else {
                        r = merkle_range(from, half, rd, ctx, &ret[k++]);
                        from += half;
                        n -= half;
                }
                if (r < 0)
                        return r;
        }
        for (unsigned i = 0; i < k / 2; i++) {
                MerkleHash h = ret[i];

                ret[i] = ret[k - 1 - i];
                ret[k - 1 - i] = h;
        }
        *ret_n = k;
        return 0;
}

/* Verification after RFC 9162 section 2.1.3.2 (the same trees as RFC 6962). */
bool merkle_verify_inclusion(uint64_t size, const MerkleHash *root, uint64_t index, const MerkleHash *leaf,
                             const MerkleHash *proof, unsigned n) {
        uint64_t fn = index, sn = size - 1;
        MerkleHash h = *leaf;

        if (index >= size)
                return false;
        for (unsigned i = 0; i < n; i++) {
                if (sn == 0)
                        return false;
                if ((fn & 1) || fn == sn) {
                        merkle_node(&proof[i], &h, &h);
                        while (!(fn & 1) && fn != 0) {
                                fn >>= 1;
                                sn >>= 1;
                        }
                } else
                        merkle_node(&h, &proof[i], &h);
                fn >>= 1;
                sn >>= 1;
        }
        return sn == 0 && memcmp(&h, root, sizeof(h)) == 0;
}
