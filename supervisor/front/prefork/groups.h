/* Runs: supervisor. The pool of control groups of a daemon. The daemon notes the pool's places in run/<lock>.g of the
 * store, so that a later supervisor finds the places of a dead daemon. */
#pragma once

#include "region/region-cgroup.h"
#include "spawn/spawner.h"
#include "store/store.h"
#include "base/id.h"
#include "base/util.h"

#include <limits.h>
#include <pthread.h>

/* A pool, or NULL where no pool can be made or noted: then each region has control groups of its own. */
CgroupPool *groups_open(Store *s);
/* For the Spawner: each template has a group of the pool, with limits during its start. */
void groups_of_templates(CgroupPool *p, TemplateGroups *ret);
/* The caller has ended all users of the pool: regions and templates. */
void groups_close(Store *s, CgroupPool *p);
/* The common part of the names of the store's pools (CGROUP_POOL_NAME). */
const char *groups_name(const Store *s);
/* Removes the pools of dead supervisors. Returns 0 or -errno. */
int groups_clear_left(Store *s);

/* Notes of control groups whose region has no record yet: a file of the supervisor in the store's run/, with lines of
 * fixed length. A later start removes the control groups of a dead supervisor. */
typedef struct PoolNotes {
        int fd;
        char path[PATH_MAX];
        pthread_mutex_t lock;
        RegionId *regions; /* of each line; "": free */
        size_t n;
} PoolNotes;

int pool_notes_open(PoolNotes *n, Store *s);
int pool_notes_add(PoolNotes *n, const char *region, const char *groups);
/* An unknown region is no error. */
void pool_notes_drop(PoolNotes *n, const char *region);
/* Removes the file: no note is left. */
void pool_notes_close(PoolNotes *n);
/* Removes the control groups of all dead supervisors. Returns 0 or -errno. */
int pool_notes_recover(Store *s);
