#include "object/kept.h"

#include <pthread.h>
#include <string.h>

typedef struct Kept {
        ObjectMemory memory; /* n 0: none */
        uint64_t stamp;      /* of the last use */
} Kept;

static struct {
        pthread_mutex_t mutex;
        uint64_t uses;
        Kept of[KEPT_SETS][KEPT_WAYS];
} kept = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static Kept *kept_set(const char *object) {
        uint32_t h = 2166136261; /* FNV-1a */

        for (; *object; object++)
                h = (h ^ (uint8_t)*object) * 16777619;
        return kept.of[h % KEPT_SETS];
}

/* The place of the object; else the place that was used longest ago. */
static Kept *kept_place(const char *object) {
        Kept *set = kept_set(object), *oldest = set;

        for (Kept *k = set; k < set + KEPT_WAYS; k++) {
                if (strcmp(k->memory.object, object) == 0)
                        return k;
                if (k->stamp < oldest->stamp)
                        oldest = k;
        }
        return oldest;
}

static ObjectMemory kept_share(const ObjectMemory *m) {
        json_incref(m->intent);
        json_incref(m->context);
        json_incref(m->fold);
        return *m;
}

bool kept_get(const char *object, const uint8_t head[static ENTRY_HASH_BYTES], ObjectMemory *ret) {
        Kept *k;
        bool is;

        pthread_mutex_lock(&kept.mutex);
        k = kept_place(object);
        is = k->memory.n > 0 && strcmp(k->memory.object, object) == 0 &&
             memcmp(k->memory.head, head, ENTRY_HASH_BYTES) == 0;
        if (is) {
                *ret = kept_share(&k->memory);
                k->stamp = ++kept.uses;
        }
        pthread_mutex_unlock(&kept.mutex);
        return is;
}

void kept_put(const ObjectMemory *m) {
        ObjectMemory old;
        Kept *k;

        if (m->n == 0)
                return;
        pthread_mutex_lock(&kept.mutex);
        k = kept_place(m->object);
        old = k->memory;
        *k = (Kept){kept_share(m), ++kept.uses};
        pthread_mutex_unlock(&kept.mutex);
        memory_deinit(&old);
}
