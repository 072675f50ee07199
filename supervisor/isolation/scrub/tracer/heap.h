/* Runs: guard. Memory that is zeros before it goes back to the C library: a guard that serves another region keeps nothing of the one before. Each of
 * the guard's sources sees these in place of the library's (meson.build). */
#pragma once

#include <stdlib.h>

void *heap_calloc(size_t n, size_t size);
void *heap_realloc(void *p, size_t size);
void heap_free(void *p);

#define malloc(size) heap_calloc(1, size)
#define calloc heap_calloc
#define realloc heap_realloc
#define free heap_free
