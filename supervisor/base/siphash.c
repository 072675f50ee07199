#include "base/siphash.h"

#include <pthread.h>
#include <sodium.h>

static uint8_t key[crypto_shorthash_KEYBYTES];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void siphash_draw_key(void) {
        randombytes_buf(key, sizeof(key));
}

uint64_t siphash(uint32_t head, const void *p, size_t n) {
        uint64_t h;

        static_assert(sizeof(h) == crypto_shorthash_BYTES, "a hash is a number");
        pthread_once(&once, siphash_draw_key);
        crypto_shorthash((uint8_t *)&h, p, n, key);
        return h + head * UINT64_C(0x9E3779B97F4A7C15);
}
