#include "store/store-internal.h"
#include "base/hash.h"
#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <string.h>
#include <sys/stat.h>

/* File key: the 32-byte seed of RFC 8032. In memory: locked pages, left out of core dumps (sodium_malloc). */

void origin_of(const uint8_t public_key[static 32], char ret[static ORIGIN_MAX]) {
        uint8_t hash[HASH_BYTES];

        hash_bytes(public_key, 32, hash);
        strcpy(ret, "lethe/");
        hex_encode(hash, 8, ret + 6);
}

int key_make(int dir_fd, uint8_t ret_public[static 32], Diag *reterr) {
        uint8_t *secret, *seed;
        int r;

        if (sodium_init() < 0)
                return -EIO;
        secret = sodium_malloc(64 + 32);
        if (!secret)
                return -ENOMEM;
        seed = secret + 64;
        randombytes_buf(seed, 32);
        crypto_sign_seed_keypair(ret_public, secret, seed);
        r = io_write_file(dir_fd, "key", seed, 32, 0600, true);
        sodium_free(secret);
        return r;
}

int key_load(Store *s, Diag *reterr) {
        _cleanup_close_ int fd = openat(s->dir_fd, "key", O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
        uint8_t public_key[32], *seed;
        struct stat st;
        int r = 0;

        if (fd < 0)
                return diag(reterr, STORE_E_KEY, "store %s: the signing key (file key) cannot be opened: %s", s->dir,
                            strerror(errno));
        if (fstat(fd, &st) < 0)
                return -errno;
        if (!S_ISREG(st.st_mode) || st.st_size != 32)
                return diag(reterr, STORE_E_KEY, "store %s: file key has %lld bytes: a signing key has 32", s->dir,
                            (long long)st.st_size);
        if (st.st_mode & 077)
                return diag(reterr, STORE_E_KEY,
                            "store %s: file key has mode %04o, other users may read the key: chmod 600, and "
                            "find out who did",
                            s->dir, st.st_mode & 07777);
        if (sodium_init() < 0)
                return -EIO;
        s->secret = sodium_malloc(64 + 32); /* one allocation: a second would cost more than the rest */
        if (!s->secret)
                return -ENOMEM;
        seed = s->secret + 64;
        if (read(fd, seed, 32) != 32)
                r = errno ? -errno : -EIO;
        else {
                crypto_sign_seed_keypair(public_key, s->secret, seed);
                if (memcmp(public_key, s->public_key, 32) != 0)
                        r = diag(reterr, STORE_E_KEY, "store %s: file key is not the key of this ledger (%s)", s->dir,
                                 s->origin);
        }
        sodium_memzero(seed, 32);
        sodium_mprotect_readonly(s->secret);
        if (r != 0)
                key_free(s);
        return r;
}

void key_free(Store *s) {
        sodium_free(s->secret);
        s->secret = NULL;
}

int store_need_key(Store *s, Diag *reterr) {
        return s->secret ? 0 : key_load(s, reterr);
}

int store_sign(const Store *s, const void *msg, size_t n, uint8_t ret[static 64]) {
        if (!s->secret)
                return -ENOKEY;
        crypto_sign_detached(ret, NULL, msg, n, s->secret);
        return 0;
}
