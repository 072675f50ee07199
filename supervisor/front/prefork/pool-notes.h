/* Runs: supervisor. Control groups of regions that no record names yet, in a file of the supervisor's own in the store's run/: one line of fixed
 * length each. Who finds that supervisor dead removes them. */
#pragma once

#include "base/id.h"
#include "base/util.h"
#include "store/store.h"

#include <limits.h>
#include <pthread.h>

typedef struct PoolNotes {
        int fd;
        char path[PATH_MAX];
        pthread_mutex_t lock;
        RegionId *regions; /* of each line; "": free */
        size_t n;
} PoolNotes;

int pool_notes_open(PoolNotes *n, Store *s);
int pool_notes_add(PoolNotes *n, const char *region, const char *groups);
/* One that is not there is not missed. */
void pool_notes_drop(PoolNotes *n, const char *region);
/* Nothing is noted any more: the file goes. */
void pool_notes_close(PoolNotes *n);
/* Of all supervisors that are dead. Returns 0 or -errno. */
int pool_notes_recover(Store *s);
