#include "base/scatter.h"

#include <pthread.h>
#include <string.h>
#include <sys/random.h>

/* Multilinear hashing: any two keys meet in any bits of the result as often as chance has it, whoever chose them without knowing these
 * (Lemire and Kaser, Strongly universal string hashing is fast, 2014). */
static uint64_t keys[2 + SCATTER_BYTES_MAX / 4];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void draw(void) {
        ssize_t n = getrandom(keys, sizeof(keys), 0);

        assert(n == (ssize_t)sizeof(keys)); /* getrandom(2): up to 256 bytes are always given, and whole */
}
static_assert(sizeof(keys) <= 256, "in one piece");

uint32_t scatter(uint32_t head, const void *p, size_t n) {
        const uint8_t *at = p;
        uint64_t h;
        size_t i = 2;

        assert(n <= SCATTER_BYTES_MAX);
        pthread_once(&once, draw);
        h = keys[0] + keys[1] * (head << 8 | (uint32_t)n);
        for (; n >= 4; n -= 4, at += 4) {
                uint32_t v;

                memcpy(&v, at, 4);
                h += keys[i++] * v;
        }
        if (n > 0) {
                uint32_t v = 0;

                memcpy(&v, at, n);
                h += keys[i] * v;
        }
        return (uint32_t)(h >> 32);
}
