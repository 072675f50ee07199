#include "base/hash.h"

#include "base/hash-blocks.h"

#include <errno.h>
#include <sodium.h>
#include <string.h>

void hash_bytes(const void *p, size_t n, uint8_t ret[static HASH_BYTES]) {
        crypto_hash_sha256(ret, p, n);
}

#define FAST_FROM 16384 /* bytes; below, asking the processor costs more than it gives */

/* Whole blocks go past libsodium straight into its state, which is public; only between whole blocks, when its buffer is empty. */
static void update(crypto_hash_sha256_state *st, const unsigned char *p, size_t n) {
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
        crypto_hash_sha256_state st;
        unsigned char chunk[65536];
        uint64_t total = 0;

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
                update(&st, chunk, (size_t)n);
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

        if (strlen(text) != 2 * n_out || sodium_hex2bin(out, n_out, text, 2 * n_out, NULL, &got, NULL) != 0 || got != n_out)
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

        /* sodium 1.0.18 takes '+' and '/' with the high bit set for the plain ones. */
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
