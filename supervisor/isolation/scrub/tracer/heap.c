#include "scrub/tracer/heap.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#undef malloc
#undef calloc
#undef realloc
#undef free

typedef union HeapBlock {
        size_t size; /* of the memory behind */
        max_align_t align;
} HeapBlock;

/* The smallest blocks, needed by each region, stay here: the library would give their pages back and ask for new
 * ones. Used by one thread only: the threads of wipe.c allocate no memory. */
#define SMALL 256
#define SPARE 16
static HeapBlock *spare[SPARE]; /* zeros but for the size */

static HeapBlock *heap_take_spare(size_t size) {
        for (size_t i = 0; size <= SMALL && i < SPARE; i++)
                if (spare[i] && spare[i]->size == size) {
                        HeapBlock *h = spare[i];

                        spare[i] = NULL;
                        return h;
                }
        return NULL;
}

static bool heap_keep_spare(HeapBlock *h) {
        for (size_t i = 0; h->size <= SMALL && i < SPARE; i++)
                if (!spare[i]) {
                        spare[i] = h;
                        return true;
                }
        return false;
}

void *heap_calloc(size_t n, size_t size) {
        size_t all;
        HeapBlock *h;

        if (__builtin_mul_overflow(n, size, &size) || __builtin_add_overflow(size, sizeof(HeapBlock), &all)) {
                errno = ENOMEM;
                return NULL;
        }
        h = heap_take_spare(size) ?: calloc(1, all);
        if (!h)
                return NULL;
        h->size = size;
        return h + 1;
}

void heap_free(void *p) {
        HeapBlock *h = p ? (HeapBlock *)p - 1 : NULL;

        if (!h)
                return;
        explicit_bzero(p, h->size);
        if (!heap_keep_spare(h))
                free(h);
}

void *heap_realloc(void *p, size_t size) {
        void *fresh = heap_calloc(1, size);

        if (fresh && p) {
                size_t old = ((HeapBlock *)p - 1)->size;

                memcpy(fresh, p, old < size ? old : size);
                heap_free(p);
        }
        return fresh;
}
