/* Runs: supervisor. */
#pragma once

#include "spawn/helper.h"

typedef struct Binder {
        pthread_mutex_t lock; /* of what follows */
        Helper helper;        /* made with the first request */
        uint64_t mounts;      /* mounts_below("/") when it was made */
} Binder;

void binder_init(Binder *b);
/* Returns as spawner_bind(). */
int binder_mount(Binder *b, Spawner *s, const Probe *probe, const char *source, bool write);
void binder_deinit(Binder *b);
