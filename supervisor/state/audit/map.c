#include "audit/map.h"
#include "base/siphash.h"

#include <errno.h>
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

int map_add(Map *m, const char *key, void *value) {
        size_t i;

        if (m->n * 2 >= m->room) {
                size_t room = m->room ? m->room * 2 : 64;
                struct MapItem *items = calloc(room, sizeof(*items));

                if (!items)
                        return -ENOMEM;
                for (size_t k = 0; k < m->room; k++)
                        if (m->items[k].key)
                                items[map_place(items, room, m->items[k].key)] = m->items[k];
                free(m->items);
                m->items = items;
                m->room = room;
        }
        i = map_place(m->items, m->room, key);
        assert(!m->items[i].key);
        m->items[i].key = strdup(key);
        if (!m->items[i].key)
                return -ENOMEM;
        m->items[i].value = value;
        m->n++;
        return 0;
}

void map_deinit(Map *m) {
        for (size_t i = 0; i < m->room; i++) {
                free(m->items[i].key);
                free(m->items[i].value);
        }
        free(m->items);
        *m = (Map){0};
}
