/* Runs: supervisor, CLI. Small files in <store>/cache with results that cost time and can be computed again. Each file
 * has a hash of its name and content: a changed, shortened or renamed file counts as missing. A user who can write to
 * the store can write the cache: the cache is trusted no further than the store's owner. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Opens the folder, or makes the folder in a store; other folders stay untouched. Returns a descriptor or -errno. */
int cache_open(const char *store_dir);
/* *ret: owned, the content, at most max bytes. Returns 0, or negative when no usable file exists. */
int cache_get(int dir, const char *name, size_t max, uint8_t **ret, size_t *ret_n);
/* Errors are ignored: a cache that cannot be written only costs time. */
void cache_put(int dir, const char *name, const void *p, size_t n);
