#include "base/hash-blocks.h"

#ifdef __x86_64__
#include <cpuid.h>
#include <immintrin.h>
#include <stdatomic.h>

static atomic_int known = -1; /* a race writes the same value twice */

bool hash_blocks_known(void) {
        return atomic_load_explicit(&known, memory_order_relaxed) > 0;
}

bool hash_blocks_can(void) {
        int can = atomic_load_explicit(&known, memory_order_relaxed);
        unsigned a, b, c, d;

        if (can < 0) {
                can = 0;
                if (__get_cpuid(1, &a, &b, &c, &d) && (c & bit_SSSE3) && (c & bit_SSE4_1) &&
                    __get_cpuid_count(7, 0, &a, &b, &c, &d))
                        can = (b & bit_SHA) != 0;
                atomic_store_explicit(&known, can, memory_order_relaxed);
        }
        return can;
}

/* FIPS 180-4 section 4.2.2: the first 32 bits of the fractional parts of the cube roots of the first 64 primes. */
static const uint32_t constants[64] __attribute__((aligned(16))) = {
        0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
        0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
        0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
        0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
        0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
        0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
        0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
        0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

/* The instructions want the state as (a, b, e, f) and (c, d, g, h), highest word first. */
__attribute__((target("sha,ssse3,sse4.1"))) void hash_blocks(uint32_t state[static 8], const uint8_t *p,
                                                             size_t n_blocks) {
        const __m128i swap = _mm_set_epi8(12, 13, 14, 15, 8, 9, 10, 11, 4, 5, 6, 7, 0, 1, 2, 3);
        __m128i abef = _mm_set_epi32((int)state[0], (int)state[1], (int)state[4], (int)state[5]);
        __m128i cdgh = _mm_set_epi32((int)state[2], (int)state[3], (int)state[6], (int)state[7]);

        for (; n_blocks > 0; n_blocks--, p += 64) {
                const __m128i abef_before = abef, cdgh_before = cdgh;
                __m128i w[4], now;

                for (unsigned i = 0; i < 4; i++)
                        w[i] = _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)(p + 16 * i)), swap);
#pragma GCC unroll 16
                for (unsigned i = 0; i < 16; i++) { /* four rounds each; w is a ring of the last sixteen words */
                        now = _mm_add_epi32(w[i % 4], _mm_load_si128((const __m128i *)&constants[4 * i]));
                        cdgh = _mm_sha256rnds2_epu32(cdgh, abef, now);
                        abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(now, 0x0E));
                        if (i < 12) {
                                now = _mm_add_epi32(_mm_sha256msg1_epu32(w[i % 4], w[(i + 1) % 4]),
                                                    _mm_alignr_epi8(w[(i + 3) % 4], w[(i + 2) % 4], 4));
                                w[i % 4] = _mm_sha256msg2_epu32(now, w[(i + 3) % 4]);
                        }
                }
                abef = _mm_add_epi32(abef, abef_before);
                cdgh = _mm_add_epi32(cdgh, cdgh_before);
        }
        state[0] = (uint32_t)_mm_extract_epi32(abef, 3);
        state[1] = (uint32_t)_mm_extract_epi32(abef, 2);
        state[2] = (uint32_t)_mm_extract_epi32(cdgh, 3);
        state[3] = (uint32_t)_mm_extract_epi32(cdgh, 2);
        state[4] = (uint32_t)_mm_extract_epi32(abef, 1);
        state[5] = (uint32_t)_mm_extract_epi32(abef, 0);
        state[6] = (uint32_t)_mm_extract_epi32(cdgh, 1);
        state[7] = (uint32_t)_mm_extract_epi32(cdgh, 0);
}
#else
bool hash_blocks_can(void) {
        return false;
}

bool hash_blocks_known(void) {
        return false;
}

void hash_blocks(uint32_t state[static 8], const uint8_t *p, size_t n_blocks) {
        assert(!"never called where hash_blocks_can() is false");
}
#endif
