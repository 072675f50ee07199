#include "base/hash.h"

#include "base/hash-blocks.h"
#include "base/io.h"

#include <errno.h>
#include <signal.h>
#include <sodium.h>
#include <string.h>

#define HASH_LOOK_BYTES (UINT64_C(16) << 20)

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
        crypto_hash_sha256_update(&st, head, n_head);
        crypto_hash_sha256_update(&st, p, n);
        crypto_hash_sha256_final(&st, ret);
}

void hash_bytes(const void *p, size_t n, uint8_t ret[static HASH_BYTES]) {
        if (hash_blocks_known())
                hash_with_blocks(NULL, 0, p, n, ret);
        else
                crypto_hash_sha256(ret, p, n);
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
