/* Runs: supervisor, CLI. The newest folds of this process, for one head an object. The head is the hash of all entries,
 * and a fold is a function of the entries: a kept fold equals a newly read fold. Without kept folds the next action is the
 * same (O-13), only later. Memories share parts; memory_apply() changes no part in place. */
#pragma once

#include "object/memory.h"

#define KEPT_SETS 64
#define KEPT_WAYS 4 /* folds of a set; the oldest gives way */

/* For any thread. False: not kept. */
bool kept_get(const char *object, const uint8_t head[static ENTRY_HASH_BYTES], ObjectMemory *ret);
void kept_put(const ObjectMemory *m);
