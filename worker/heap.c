/* The few small blocks of a worker, in a row: the C library's own heap would touch a page for each size, at a cost
 * for each region. One thread; a freed block is reused only when it was the last. */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define ARENA (32 * 1024)
#define LARGE (8 * 1024) /* larger blocks are mapped */

typedef union HeapBlock {
        size_t size; /* of the memory behind: a multiple of sizeof(HeapBlock) */
        max_align_t align;
} HeapBlock;

static HeapBlock arena[ARENA / sizeof(HeapBlock)];
static size_t used; /* elements */

/* Returns zeroed memory. */
static void *heap_take(size_t size) {
        size_t n;
        HeapBlock *h;

        if (size > PTRDIFF_MAX - 2 * sizeof(HeapBlock)) {
                errno = ENOMEM;
                return NULL;
        }
        n = (size + 2 * sizeof(HeapBlock) - 1) / sizeof(HeapBlock);
        if (size >= LARGE || n > sizeof(arena) / sizeof(arena[0]) - used) {
                h = mmap(NULL, n * sizeof(HeapBlock), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
                if (h == MAP_FAILED)
                        return NULL;
        } else {
                h = &arena[used];
                used += n;
        }
        h->size = (n - 1) * sizeof(HeapBlock);
        return h + 1;
}

void free(void *p) {
        HeapBlock *h = p ? (HeapBlock *)p - 1 : NULL;
        int e = errno;

        if (!h)
                return;
        if (h < arena || h >= arena + sizeof(arena) / sizeof(arena[0]))
                munmap(h, h->size + sizeof(HeapBlock));
        else {
                size_t n = h->size / sizeof(HeapBlock) + 1;

                if (h + n == &arena[used]) {
                        memset(h, 0, n * sizeof(HeapBlock));
                        used -= n;
                }
        }
        errno = e;
}

void *malloc(size_t size) {
        return heap_take(size);
}

void *calloc(size_t n, size_t size) {
        if (__builtin_mul_overflow(n, size, &size)) {
                errno = ENOMEM;
                return NULL;
        }
        return heap_take(size);
}

void *realloc(void *p, size_t size) {
        void *fresh = heap_take(size);

        if (fresh && p) {
                size_t old = ((HeapBlock *)p - 1)->size;

                memcpy(fresh, p, old < size ? old : size);
                free(p);
        }
        return fresh;
}
