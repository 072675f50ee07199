/* Runs: supervisor (daemon). Caches facts about the machine for the start of regions. Thread-safe. */
#pragma once

#include "base/util.h"
#include "policy/filter.h"
#include "spawn/probe.h"

typedef struct SpawnCache SpawnCache;

SpawnCache *spawn_cache_new(void); /* NULL: out of memory */
void spawn_cache_free(SpawnCache *k);
/* As probe_quick(). Facts fixed for a process's life are read once; the state of /bin, /lib … again when the root
 * folder changes; the permission of user namespaces each time. k NULL: no cache, here and below. */
void spawn_cache_probe(SpawnCache *k, Probe *ret);
/* As find_shims(), cached while the folder is the same. Owned. */
char *spawn_cache_shims(SpawnCache *k);
/* As filter_cached(). */
int spawn_cache_filter(SpawnCache *k, const FilterInput *in, const char *store, struct sock_filter **ret,
                       size_t *ret_n);
