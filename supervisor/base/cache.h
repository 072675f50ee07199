/* Runs: supervisor, CLI. What costs time to make and can be made again: small files in <store>/cache, each with a hash
 * of its name and content, so that what was changed, cut short or renamed is as good as not there. Who can write to the
 * store can write the cache: nothing is believed here that the store's owner could not have said anyway. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* The folder, made in a store that has none yet; nothing is put into a folder that is not a store. Returns a descriptor
 * or -errno. */
int cache_open(const char *store_dir);
/* *ret: owned, the content, at most max bytes. Returns 0, or negative when there is nothing to be used. */
int cache_get(int dir, const char *name, size_t max, uint8_t **ret, size_t *ret_n);
/* A cache that cannot be written costs time, nothing else. */
void cache_put(int dir, const char *name, const void *p, size_t n);
