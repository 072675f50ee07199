/* Runs: supervisor, CLI. Inside of audit/: a map from names to values, with open addressing. */
#pragma once

#include "base/util.h"

typedef struct Map {
        struct MapItem {
                char *key;   /* a copy, owned */
                void *value; /* owned: free() */
        } *items;
        size_t n, room;
} Map;

void *map_get(const Map *m, const char *key);
/* Adds a value of n zeros; the key must be new. NULL: no memory. */
void *map_add(Map *m, const char *key, size_t n);
/* The value, added when there is none. NULL: no memory. */
static inline void *map_have(Map *m, const char *key, size_t n) {
        return map_get(m, key) ?: map_add(m, key, n);
}
void map_deinit(Map *m);
