#include "base/hash.h"

#include "base/io.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sodium.h>
#include <string.h>
#ifdef __x86_64__
#include <cpuid.h>
#include <immintrin.h>
#include <stdatomic.h>
#endif

#define HASH_LOOK_BYTES (UINT64_C(16) << 20)

#ifdef __x86_64__
static atomic_int hash_known = -1; /* a race writes the same value twice */

/* hash_blocks_can() when the processor was asked already, else false: asking takes longer than hashing a few bytes. */
static bool hash_blocks_known(void) {
        return atomic_load_explicit(&hash_known, memory_order_relaxed) > 0;
}

bool hash_blocks_can(void) {
        int can = atomic_load_explicit(&hash_known, memory_order_relaxed);
        unsigned a, b, c, d;

        if (can < 0) {
                can = 0;
                if (__get_cpuid(1, &a, &b, &c, &d) && (c & bit_SSSE3) && (c & bit_SSE4_1) &&
                    __get_cpuid_count(7, 0, &a, &b, &c, &d))
                        can = (b & bit_SHA) != 0;
                atomic_store_explicit(&hash_known, can, memory_order_relaxed);
        }
        return can;
}

/* FIPS 180-4 section 4.2.2: the first 32 bits of the fractional parts of the cube roots of the first 64 primes. */
static const uint32_t hash_constants[64] __attribute__((aligned(16))) = {
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
                        now = _mm_add_epi32(w[i % 4], _mm_load_si128((const __m128i *)&hash_constants[4 * i]));
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

/* hash_blocks_can() when the processor was asked already, else false: asking takes longer than hashing a few bytes. */
static bool hash_blocks_known(void) {
        return false;
}

void hash_blocks(uint32_t state[static 8], const uint8_t *p, size_t n_blocks) {
        assert(!"never called where hash_blocks_can() is false");
}
#endif

static void hash_put_be32(uint8_t *out, uint32_t v) {
        for (int i = 3; i >= 0; i--, v >>= 8)
                out[i] = (uint8_t)v;
}

/* FIPS 180-4 section 5.1.1 and 5.3.3, around the processor's compression. */
static void hash_with_blocks(const uint8_t *head, size_t n_head, const uint8_t *p, size_t n, uint8_t *ret) {
        uint32_t state[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                             0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
        uint64_t bits = ((uint64_t)n_head + n) * 8;
        uint8_t block[128] = {0};
        size_t take = MIN(64 - n_head, n), rest = n_head + take;

        if (n_head > 0)
                memcpy(block, head, n_head);
        if (take > 0)
                memcpy(block + n_head, p, take);
        if (rest == 64) {
                size_t whole = (n - take) / 64;

                hash_blocks(state, block, 1);
                hash_blocks(state, p + take, whole);
                rest = n - take - whole * 64;
                memset(block, 0, sizeof(block));
                if (rest > 0)
                        memcpy(block, p + n - rest, rest);
        }
        block[rest] = 0x80;
        take = rest < 56 ? 1 : 2;
        hash_put_be32(block + take * 64 - 8, (uint32_t)(bits >> 32));
        hash_put_be32(block + take * 64 - 4, (uint32_t)bits);
        hash_blocks(state, block, take);
        for (size_t i = 0; i < 8; i++)
                hash_put_be32(ret + i * 4, state[i]);
}

void hash_two(const void *head, size_t n_head, const void *p, size_t n, uint8_t ret[static HASH_BYTES]) {
        crypto_hash_sha256_state st;

        assert(n_head < 64);
        if (hash_blocks_known()) {
                hash_with_blocks(head, n_head, p, n, ret);
                return;
        }
        crypto_hash_sha256_init(&st);
        if (n_head > 0)
                crypto_hash_sha256_update(&st, head, n_head);
        if (n > 0)
                crypto_hash_sha256_update(&st, p, n);
        crypto_hash_sha256_final(&st, ret);
}

void hash_bytes(const void *p, size_t n, uint8_t ret[static HASH_BYTES]) {
        hash_two(NULL, 0, p, n, ret);
}

void hash_many(void) {
        (void)hash_blocks_can();
}

#define FAST_FROM 16384 /* bytes; below, asking the processor costs more than the faster code saves */

/* Whole blocks go past libsodium straight into its public state; only while libsodium's buffer is empty. */
static void hash_update(crypto_hash_sha256_state *st, const unsigned char *p, size_t n) {
        size_t whole = n / 64;

        if (n >= FAST_FROM && st->count % 512 == 0 && hash_blocks_can()) {
                hash_blocks(st->state, p, whole);
                st->count += whole * 512; /* in bits */
                p += whole * 64;
                n -= whole * 64;
        }
        crypto_hash_sha256_update(st, p, n);
}

int hash_fd(int fd, uint64_t max_bytes, uint8_t ret[static HASH_BYTES], uint64_t *ret_bytes) {
        return hash_copy(fd, -1, max_bytes, ret, ret_bytes);
}

static bool hash_heeds;

void hash_heed_signals(void) {
        hash_heeds = true;
}

static bool hash_is_stopped(void) {
        sigset_t set;

        return hash_heeds && sigpending(&set) == 0 &&
               (sigismember(&set, SIGTERM) == 1 || sigismember(&set, SIGINT) == 1 || sigismember(&set, SIGHUP) == 1);
}

int hash_copy(int fd, int to, uint64_t max_bytes, uint8_t ret[static HASH_BYTES], uint64_t *ret_bytes) {
        crypto_hash_sha256_state st;
        unsigned char chunk[65536];
        uint64_t total = 0;
        int e;

        crypto_hash_sha256_init(&st);
        for (;;) {
                ssize_t n = pread(fd, chunk, sizeof(chunk), (off_t)total);

                if (n < 0 && errno == EINTR)
                        continue;
                if (n < 0)
                        return -errno;
                if (n == 0)
                        break;
                total += (uint64_t)n;
                if (total > max_bytes)
                        return -EFBIG;
                if (total % HASH_LOOK_BYTES < (uint64_t)n && hash_is_stopped())
                        return -EINTR;
                hash_update(&st, chunk, (size_t)n);
                if (to >= 0 && (e = io_write_full(to, chunk, (size_t)n)) < 0) {
                        errno = -e;
                        return 1;
                }
        }
        crypto_hash_sha256_final(&st, ret);
        if (ret_bytes)
                *ret_bytes = total;
        return 0;
}

static uint8_t siphash_key[crypto_shorthash_KEYBYTES];
static pthread_once_t siphash_once = PTHREAD_ONCE_INIT;

static void siphash_draw_key(void) {
        randombytes_buf(siphash_key, sizeof(siphash_key));
}

uint64_t siphash(uint32_t head, const void *p, size_t n) {
        uint64_t h;

        static_assert(sizeof(h) == crypto_shorthash_BYTES, "a hash is a number");
        pthread_once(&siphash_once, siphash_draw_key);
        crypto_shorthash((uint8_t *)&h, p, n, siphash_key);
        return h + head * UINT64_C(0x9E3779B97F4A7C15);
}

const char *hex_encode(const void *p, size_t n, char *out) {
        sodium_bin2hex(out, 2 * n + 1, p, n);
        return out;
}

int hex_decode(const char *text, void *out, size_t n_out) {
        size_t got;

        if (strlen(text) != 2 * n_out || sodium_hex2bin(out, n_out, text, 2 * n_out, NULL, &got, NULL) != 0 ||
            got != n_out)
                return -EINVAL;
        return 0;
}

char *base64_encode(const void *p, size_t n) {
        size_t room = sodium_base64_ENCODED_LEN(n, sodium_base64_VARIANT_ORIGINAL);
        char *s = malloc(room);

        return s ? sodium_bin2base64(s, room, p, n, sodium_base64_VARIANT_ORIGINAL) : NULL;
}

ssize_t base64_decode(const char *text, size_t n_text, void *out, size_t n_out) {
        size_t got;
        const char *end;

        /* sodium 1.0.18 accepts '+' and '/' with the high bit set as plain characters. */
        for (size_t i = 0; i < n_text; i++)
                if ((unsigned char)text[i] >= 0x80)
                        return -EINVAL;
        if (n_text % 4 != 0)
                return -EINVAL;
        errno = 0;
        if (sodium_base642bin(out, n_out, text, n_text, NULL, &got, &end, sodium_base64_VARIANT_ORIGINAL) != 0)
                return errno == ERANGE ? -ENOSPC : -EINVAL;
        if (end != text + n_text)
                return -EINVAL;
        return (ssize_t)got;
}
