/* Runs: tests. Hashing of files: the processor's instructions and libsodium agree on every length around their joints. */
#include "base/hash.h"
#include "base/io.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <signal.h>
#include <sodium.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define MOST (3 * 65536 + 200)

static uint8_t *bytes(void) {
        uint8_t *p = malloc(MOST);
        uint32_t x = 1;

        for (size_t i = 0; i < MOST; i++)
                p[i] = (uint8_t)((x = x * 1664525 + 1013904223) >> 24);
        return p;
}

Test(hash, files_of_every_length_around_the_joints) {
        static const size_t around[] = {0, 64, 16384, 65536, 65536 + 16384, 2 * 65536, 3 * 65536};
        _cleanup_free_ uint8_t *p = bytes();
        uint8_t want[HASH_BYTES], got[HASH_BYTES];

        for (size_t i = 0; i < ARRAY_SIZE(around); i++)
                for (size_t n = around[i] < 70 ? 0 : around[i] - 70; n <= around[i] + 70; n++) {
                        _cleanup_close_ int fd = memfd_create("hash", MFD_CLOEXEC);
                        uint64_t said;

                        cr_assert_eq(io_write_full(fd, p, n), 0);
                        crypto_hash_sha256(want, p, n);
                        cr_assert_eq(hash_fd(fd, MOST, got, &said), 0);
                        cr_expect_eq(said, n);
                        cr_expect_arr_eq(got, want, HASH_BYTES, "%zu bytes", n);
                }
}

/* Short texts in two parts, by libsodium and, once it is known to be there, by the processor. */
Test(hash, of_two_parts) {
        _cleanup_free_ uint8_t *p = bytes();
        uint8_t want[HASH_BYTES], got[HASH_BYTES];

        for (int many = 0; many < 2; many++) {
                if (many)
                        hash_many();
                for (size_t n = 0; n < 300; n++)
                        for (size_t head = 0; head < MIN(n + 1, 64UL); head += head < 2 ? 1 : 5) {
                                crypto_hash_sha256(want, p, n);
                                hash_two(p, head, p + head, n - head, got);
                                cr_assert_arr_eq(got, want, HASH_BYTES, "%zu of %zu bytes in front", head, n);
                                hash_bytes(p, n, got);
                                cr_assert_arr_eq(got, want, HASH_BYTES, "%zu bytes", n);
                        }
        }
}

/* FIPS 180-4's own example of a long message: a million times "a". */
Test(hash, a_million_letters) {
        static const char want[] = "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0";
        _cleanup_close_ int fd = memfd_create("hash", MFD_CLOEXEC);
        uint8_t hash[HASH_BYTES];
        char hex[HASH_HEX_MAX], letters[1000];

        memset(letters, 'a', sizeof(letters));
        for (int i = 0; i < 1000; i++)
                cr_assert_eq(io_write_full(fd, letters, sizeof(letters)), 0);
        cr_assert_eq(hash_fd(fd, 1000000, hash, NULL), 0);
        cr_expect_str_eq(hex_encode(hash, sizeof(hash), hex), want);
}

/* Block by block from the same state: the two compression functions are one. */
Test(hash, blocks) {
        _cleanup_free_ uint8_t *p = bytes();
        crypto_hash_sha256_state a, b;

        if (!hash_blocks_can()) /* then no file goes that way, as the test above shows */
                return;
        crypto_hash_sha256_init(&a);
        crypto_hash_sha256_init(&b);
        for (size_t n = 0; n < 40; n++) {
                crypto_hash_sha256_update(&a, p, n * 64);
                hash_blocks(b.state, p, n);
                cr_expect_arr_eq(b.state, a.state, sizeof(a.state), "%zu blocks", n);
        }
}

/* A signal that is to be taken ends the work of a process that said so, and of no other: to a daemon SIGHUP is no end. */
Test(hash, heeds_signals_when_told) {
        static const int signals[] = {SIGTERM, SIGINT, SIGHUP};
        _cleanup_close_ int fd = memfd_create("hash", MFD_CLOEXEC);
        uint8_t got[HASH_BYTES];
        sigset_t set;

        cr_assert_eq(ftruncate(fd, 20 << 20), 0);
        for (int heeds = 0; heeds < 2; heeds++) {
                if (heeds)
                        hash_heed_signals();
                cr_assert_eq(hash_fd(fd, UINT64_MAX, got, NULL), 0);
                for (size_t i = 0; i < ARRAY_SIZE(signals); i++) {
                        int taken;

                        sigemptyset(&set);
                        sigaddset(&set, signals[i]);
                        cr_assert_eq(sigprocmask(SIG_BLOCK, &set, NULL), 0);
                        cr_assert_eq(raise(signals[i]), 0);
                        cr_expect_eq(hash_fd(fd, UINT64_MAX, got, NULL), heeds ? -EINTR : 0, "signal %d", signals[i]);
                        cr_assert_eq(sigwait(&set, &taken), 0);
                }
        }
}
