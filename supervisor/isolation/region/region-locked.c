#include "region/region-locked.h"

#include <errno.h>
#include <sodium.h>
#include <string.h>
#include <sys/mman.h>

#define SEED_BYTES randombytes_SEEDBYTES
#define CHUNK 4096

/* A compiler barrier: stores are not delayed beyond this point, and later reads read the memory again. */
static void locked_barrier(void *p) {
        __asm__ volatile("" : : "r"(p) : "memory");
}

int locked_new(size_t n, Locked *ret) {
        size_t page = (size_t)sysconf(_SC_PAGESIZE), room = (MAX(n, (size_t)1) + page - 1) / page * page;
        uint8_t *p;

        if (n > SIZE_MAX / 2)
                return -ENOMEM;
        p = mmap(NULL, room + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (p == MAP_FAILED)
                return -errno;
        if (mprotect(p + page, room, PROT_READ | PROT_WRITE) < 0 || madvise(p + page, room, MADV_DONTDUMP) < 0 ||
            madvise(p + page, room, MADV_DONTFORK) < 0) {
                int e = -errno;

                munmap(p, room + 2 * page);
                return e;
        }
        *ret = (Locked){.p = p + page, .n = room, .resident = mlock(p + page, room) == 0};
        return 0;
}

/* Writes the pattern of the pass, or with `compare` counts the matching bytes. */
static size_t locked_pattern(Locked *l, unsigned pass, const uint8_t seed[static SEED_BYTES], bool compare) {
        uint8_t chunk[CHUNK], piece[SEED_BYTES];
        size_t same = 0;

        if (pass % 3 != 2)
                memset(chunk, pass % 3 == 1 ? 0xFF : 0x00, sizeof(chunk));
        memcpy(piece, seed, sizeof(piece));
        locked_barrier(l->p);
        for (size_t i = 0; i < l->n; i += CHUNK) {
                size_t n = MIN((size_t)CHUNK, l->n - i);

                if (pass % 3 == 2) {
                        for (size_t k = 0; k < sizeof(i); k++) /* random bytes differ for each piece */
                                piece[k] = seed[k] ^ (uint8_t)(i >> (8 * k));
                        randombytes_buf_deterministic(chunk, sizeof(chunk), piece);
                }
                if (!compare)
                        memcpy(l->p + i, chunk, n);
                else if (memcmp(l->p + i, chunk, n) == 0)
                        same += n;
                else
                        for (size_t k = 0; k < n; k++)
                                same += l->p[i + k] == chunk[k];
        }
        locked_barrier(l->p);
        return same;
}

size_t locked_wipe(Locked *l, unsigned passes) {
        uint8_t seed[SEED_BYTES];

        if (!l->p)
                return 0;
        passes = MAX(passes, 1U);
        randombytes_buf(seed, sizeof(seed));
        for (unsigned i = 0; i < passes; i++)
                locked_pattern(l, i, seed, false);
        return locked_pattern(l, passes - 1, seed, true);
}

void locked_free(Locked *l) {
        size_t page = (size_t)sysconf(_SC_PAGESIZE);

        if (!l->p)
                return;
        sodium_memzero(l->p, l->n);
        munlock(l->p, l->n);
        munmap(l->p - page, l->n + 2 * page);
        *l = (Locked){0};
}
