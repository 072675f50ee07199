/* Runs: supervisor, CLI. Folds that this process had last, by the hash of the head. The head is the hash of all entries,
 * and a fold is a function of them: a kept fold equals the fold that reading gives. Without it the next action is the same
 * (O-13), only later. A memory shares its parts, and memory_apply() changes none of them in place. */
#pragma once

#include "object/memory.h"

#define KEPT_MAX 256 /* folds; one takes the place of another by its hash */

/* Any thread. False: not kept. */
bool kept_get(const uint8_t head[static ENTRY_HASH_BYTES], ObjectMemory *ret);
/* Keeps the memory as long as no other one takes its place. */
void kept_put(const ObjectMemory *m);
