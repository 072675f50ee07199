/* supervisor/base/heap.c is linked into this program, as into lethe: malloc(), free() and realloc() are ours. */
#include "base/pages.h"

#include <criterion/criterion.h>
#include <malloc.h>
#include <string.h>

#define MARK 0x5a
#define SPARE_BYTES 4136 /* of a block that malloc() gives out whole for a page: what is left over is too small for a block */
#define TRIES 64

static char *page_made(void) {
        char *p;

        pages_depth++;
        p = malloc(PAGES_BYTES);
        pages_depth--;
        cr_assert(p);
        memset(p, 1, PAGES_BYTES);
        return p;
}

/* A page in a block that is larger than was asked for. Blocks between keep free ones apart. */
static char *page_made_in_a_larger_block(void) {
        char *spare[TRIES];

        for (size_t i = 0; i < TRIES; i++) {
                spare[i] = malloc(SPARE_BYTES);
                cr_assert(spare[i] && malloc(2000));
        }
        for (size_t i = 0; i < TRIES; i += 2)
                free(spare[i]);
        for (size_t i = 0; i < TRIES; i++) {
                char *p = page_made();

                if (malloc_usable_size(p) == SPARE_BYTES)
                        return p;
        }
        return NULL;
}

/* The block that the heap gives out next at the place of p belongs to somebody else. */
static void is_left_alone(char *p, size_t n) {
        free(p);
        for (size_t i = 0; i < TRIES; i++) {
                char *q = malloc(n);

                cr_assert(q);
                if (q != p)
                        continue;
                memset(q, MARK, n);
                pages_begin();
                pages_end();
                for (size_t k = 0; k < n; k++)
                        cr_assert(q[k] == MARK, "byte %zu of %zu was overwritten", k, n);
                return;
        }
        cr_assert_fail("the heap never gave the block out again");
}

Test(heap, a_page_is_overwritten_when_no_transaction_is_open) {
        char *p = page_made();

        pages_begin();
        cr_assert(p[PAGES_BYTES - 1] == 1);
        pages_end();
        cr_assert(p[0] == 1 && p[PAGES_BYTES - 1] == 0);
        is_left_alone(p, malloc_usable_size(p));
}

Test(heap, a_page_in_a_larger_block_is_forgotten_when_it_is_freed) {
        char *p = page_made_in_a_larger_block();

        cr_assert(p, "malloc() gave no page a larger block");
        is_left_alone(p, SPARE_BYTES);
}

Test(heap, a_page_that_realloc_keeps_in_place_is_no_page) {
        char *p = page_made();
        const size_t n = malloc_usable_size(p);
        const char *before = p;

        p = realloc(p, PAGES_BYTES - 96);
        cr_assert(p == before);
        memset(p, MARK, PAGES_BYTES - 96);
        pages_begin();
        pages_end();
        cr_assert(p[PAGES_BYTES - 97] == MARK);
        is_left_alone(p, n);
}
