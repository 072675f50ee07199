#include "audit/map.h"
#include "base/hash.h"

#include <string.h>

static size_t map_place(const struct MapItem *items, size_t room, const char *key) {
        size_t i;

        for (i = siphash(0, key, strlen(key)) & (room - 1); items[i].key && strcmp(items[i].key, key) != 0;)
                i = (i + 1) & (room - 1);
        return i;
}

void *map_get(const Map *m, const char *key) {
        return m->room ? m->items[map_place(m->items, m->room, key)].value : NULL;
}

static bool map_make_room(Map *m) {
        size_t room = m->room ? m->room * 2 : 64;
        struct MapItem *items;

        if (m->n * 2 < m->room)
                return true;
        items = calloc(room, sizeof(*items));
        if (!items)
                return false;
        for (size_t k = 0; k < m->room; k++)
                if (m->items[k].key)
                        items[map_place(items, room, m->items[k].key)] = m->items[k];
        free(m->items);
        m->items = items;
        m->room = room;
        return true;
}

void *map_add(Map *m, const char *key, size_t n) {
        _cleanup_free_ char *copy = strdup(key);
        _cleanup_free_ void *value = calloc(1, n);
        struct MapItem *item;

        if (!copy || !value || !map_make_room(m))
                return NULL;
        item = &m->items[map_place(m->items, m->room, key)];
        assert(!item->key);
        m->n++;
        *item = (struct MapItem){TAKE_PTR(copy), TAKE_PTR(value)};
        return item->value;
}

void map_deinit(Map *m) {
        for (size_t i = 0; i < m->room; i++) {
                free(m->items[i].key);
                free(m->items[i].value);
        }
        free(m->items);
        *m = (Map){0};
}
