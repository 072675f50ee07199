/* Runs: guard. Memory is zeroed before the C library gets it back, so that a guard keeps no data from region to region.
 * Each of the guard's sources uses these functions in place of the library's (meson.build). */
#pragma once

#include <stdlib.h>

void *heap_calloc(size_t n, size_t size);
void *heap_realloc(void *p, size_t size);
void heap_free(void *p);

#define malloc(size) heap_calloc(1, size)
#define calloc heap_calloc
#define realloc heap_realloc
#define free heap_free
