#include "object/kept.h"

#include <pthread.h>
#include <string.h>

static struct {
        pthread_mutex_t mutex;
        ObjectMemory of[KEPT_MAX];
} kept = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static ObjectMemory *kept_place(const uint8_t head[static ENTRY_HASH_BYTES]) {
        return &kept.of[(head[0] | (unsigned)head[1] << 8) % KEPT_MAX];
}

static ObjectMemory kept_share(const ObjectMemory *m) {
        json_incref(m->intent);
        json_incref(m->context);
        json_incref(m->fold);
        return *m;
}

bool kept_get(const uint8_t head[static ENTRY_HASH_BYTES], ObjectMemory *ret) {
        const ObjectMemory *m = kept_place(head);
        bool is;

        pthread_mutex_lock(&kept.mutex);
        is = m->n > 0 && memcmp(m->head, head, ENTRY_HASH_BYTES) == 0;
        if (is)
                *ret = kept_share(m);
        pthread_mutex_unlock(&kept.mutex);
        return is;
}

void kept_put(const ObjectMemory *m) {
        ObjectMemory *place = kept_place(m->head), old;

        if (m->n == 0)
                return;
        pthread_mutex_lock(&kept.mutex);
        old = *place;
        *place = kept_share(m);
        pthread_mutex_unlock(&kept.mutex);
        memory_deinit(&old);
}
