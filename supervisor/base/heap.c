/* Runs: lethe, lethe-serve. Memory of the heap is overwritten when freed: arguments, environments, lines of pipes,
 * JSON, copies of values, freed by our code or by libraries. So no caller can forget to overwrite. Pages kept by LMDB
 * are the task of pages.h.
 *
 * Where the C library is shared, these functions replace its functions for the whole process. In a static program
 * (HEAP_WRAPPED) the linker leads every call here (--wrap). Programs with sanitizers have an allocator of their own,
 * without these functions. */
#include "base/pages.h"

#include <malloc.h>
#include <string.h>
#include <sys/mman.h>

#define HEAP_PAGE 4096U
#define HEAP_PAGES 256 /* pages of one mincore() call */
#define HEAP_LARGE (16 * HEAP_PAGE)

#ifdef HEAP_WRAPPED
#define HEAP(name) __wrap_##name
#define HEAP_LIBC(name) __real_##name
#else
#define HEAP(name) name
#define HEAP_LIBC(name) __libc_##name
#endif

void *HEAP_LIBC(malloc)(size_t n);
void HEAP_LIBC(free)(void *p);
void *HEAP(malloc)(size_t n);
void HEAP(free)(void *p);
void *HEAP(realloc)(void *p, size_t n);

void *HEAP(malloc)(size_t n) {
        void *p;

        if (n != PAGES_BYTES || pages_depth == 0)
                return HEAP_LIBC(malloc)(n);
        p = HEAP_LIBC(malloc)(PAGES_BYTES + PAGES_TAIL);
        if (p)
                pages_note(p);
        return p;
}

/* A large block may be only partly written: a page appears at its first write, and a missing page needs no wiping. */
static void heap_wipe_large(char *p, size_t n) {
        unsigned char there[HEAP_PAGES];
        char *end = p + n;

        while (p < end) {
                char *page = (char *)((uintptr_t)p & ~(uintptr_t)(HEAP_PAGE - 1));
                size_t most = MIN((size_t)(end - page), sizeof(there) * HEAP_PAGE);
                bool known = mincore(page, most, there) == 0;

                for (size_t i = 0; i * HEAP_PAGE < most; i++) {
                        char *from = MAX(p, page + i * HEAP_PAGE), *to = MIN(end, page + (i + 1) * HEAP_PAGE);

                        if (!known || (there[i] & 1))
                                explicit_bzero(from, (size_t)(to - from));
                }
                p = page + most;
        }
}

static void heap_wipe(void *p, size_t n) {
        if (n < HEAP_LARGE)
                explicit_bzero(p, n);
        else
                heap_wipe_large(p, n);
}

void HEAP(free)(void *p) {
        size_t n;

        if (!p)
                return;
        n = malloc_usable_size(p);
        pages_forget(p, n);
        heap_wipe(p, n);
        HEAP_LIBC(free)(p);
}

/* A block that moves leaves no copy behind, and a cut-off end is overwritten. */
void *HEAP(realloc)(void *p, size_t n) {
        size_t had = p ? malloc_usable_size(p) : 0;
        void *q;

        if (p && n == 0) {
                HEAP(free)(p);
                return NULL;
        }
        if (p && n <= had && n > had / 2) {
                pages_forget(p, had);
                heap_wipe((char *)p + n, had - n);
                return p;
        }
        q = HEAP(malloc)(n);
        if (p && q) {
                memcpy(q, p, MIN(had, n));
                HEAP(free)(p);
        }
        return q;
}
