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
/* The key must be new. Takes the value. Returns 0 or -ENOMEM (the value is not taken). */
int map_add(Map *m, const char *key, void *value);
void map_deinit(Map *m);
