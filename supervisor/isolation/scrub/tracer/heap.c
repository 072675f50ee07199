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

typedef union Head {
        size_t size; /* of what follows */
        max_align_t align;
} Head;

/* The smallest ones, of which each region needs some, stay here: the library would give their pages back and ask for new ones. By one thread only:
 * the others that there are (wipe.c) take no memory. */
#define SMALL 256
#define SPARE 16
static Head *spare[SPARE]; /* zeros but for the size */

static Head *take_spare(size_t size) {
        for (size_t i = 0; size <= SMALL && i < SPARE; i++)
                if (spare[i] && spare[i]->size == size) {
                        Head *h = spare[i];

                        spare[i] = NULL;
                        return h;
                }
        return NULL;
}

static bool keep_spare(Head *h) {
        for (size_t i = 0; h->size <= SMALL && i < SPARE; i++)
                if (!spare[i]) {
                        spare[i] = h;
                        return true;
                }
        return false;
}

void *heap_calloc(size_t n, size_t size) {
        size_t all;
        Head *h;

        if (__builtin_mul_overflow(n, size, &size) || __builtin_add_overflow(size, sizeof(Head), &all)) {
                errno = ENOMEM;
                return NULL;
        }
        h = take_spare(size) ?: calloc(1, all);
        if (!h)
                return NULL;
        h->size = size;
        return h + 1;
}

void heap_free(void *p) {
        Head *h = p ? (Head *)p - 1 : NULL;

        if (!h)
                return;
        explicit_bzero(p, h->size);
        if (!keep_spare(h))
                free(h);
}

void *heap_realloc(void *p, size_t size) {
        void *fresh = heap_calloc(1, size);

        if (fresh && p) {
                size_t old = ((Head *)p - 1)->size;

                memcpy(fresh, p, old < size ? old : size);
                heap_free(p);
        }
        return fresh;
}
