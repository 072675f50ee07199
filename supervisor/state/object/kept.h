/* Runs: supervisor, CLI. Folds that this process had last, one an object, for its newest head. The head is the hash of all
 * entries, and a fold is a function of them: a kept fold equals the fold that reading gives. Without it the next action is
 * the same (O-13), only later. A memory shares its parts, and memory_apply() changes none of them in place. */
#pragma once

#include "object/memory.h"

#define KEPT_SETS 64
#define KEPT_WAYS 4 /* folds of a set; the oldest gives way */

/* Any thread. False: not kept. */
bool kept_get(const char *object, const uint8_t head[static ENTRY_HASH_BYTES], ObjectMemory *ret);
void kept_put(const ObjectMemory *m);
