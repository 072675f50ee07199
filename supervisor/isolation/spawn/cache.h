/* Runs: supervisor. What a supervisor that lives long asks its machine for with each region, kept as long as it holds. Thread-safe. */
#pragma once

#include "base/util.h"
#include "policy/filter.h"
#include "spawn/probe.h"

typedef struct SpawnCache SpawnCache;

SpawnCache *spawn_cache_new(void); /* NULL: out of memory */
void spawn_cache_free(SpawnCache *k);
/* As probe_quick(). What a process cannot have change in its life is asked once; how the host has /bin, /lib …, while the root folder stays as it is;
 * whether an ordinary user may have a user namespace, each time. k NULL: everything each time, here and below. */
void spawn_cache_probe(SpawnCache *k, Probe *ret);
/* As find_shims(): while that is the same folder. Owned. */
char *spawn_cache_shims(SpawnCache *k);
/* As filter_cached(). */
int spawn_cache_filter(SpawnCache *k, const FilterInput *in, const char *store_dir, struct sock_filter **ret, size_t *ret_n);
