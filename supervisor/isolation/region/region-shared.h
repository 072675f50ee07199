/* Runs: supervisor. The charge for objects of shared memory made by a region: anonymous shared mappings, and /dev/zero.
 * An object keeps all pages while a single page is mapped anywhere, and no process of the host can count the pages. So
 * the whole length is charged from the call on, until no process of the region maps any page of the object.
 *
 * The supervisor sees a call before the object exists. The call leaves a length (`asked`). A later look at the mappings
 * finds the new object and gives the object the largest length in `asked`. Objects found by the same look form a batch:
 * the length of each is unknown. The first object of a batch to go gives back the smallest length of the batch, so a
 * small object never takes a large charge along. */
#pragma once

#include "base/util.h"

#include <sys/types.h>

#define SHARED_ROUNDS 5       /* rounds with new processes; beyond, a look counts for nothing */
#define SHARED_LOOKS 2        /* misses in a row until an object, or a call without object, is dropped */
#define SHARED_ASKED_MAX 1024 /* calls without a look since; further calls stay charged until the end */

typedef struct SharedObject {
        uint64_t dev, inode, bytes;
        unsigned missed; /* looks in a row without the object */
        unsigned batch;  /* objects of the same batch may have exchanged lengths */
} SharedObject;

typedef struct SharedEnded {
        uint64_t dev, inode, bytes;
} SharedEnded;

typedef struct SharedAsked {
        uint64_t bytes;
        pid_t tid;      /* the calling task; 0: the task has called again, so the call is over */
        unsigned looks; /* looks without an object for the call */
} SharedAsked;

typedef struct RegionShared {
        SharedObject *v; /* owned */
        size_t n;
        SharedAsked *asked; /* owned */
        size_t n_asked;
        unsigned batch; /* for the calls in `asked` */
        uint64_t held_bytes;       /* of all in v and asked: the charge */
        uint64_t lost_bytes;       /* part of held_bytes: charged without a row, for lack of room */
        uint64_t largest;          /* largest length ever asked */
        uint64_t made, made_bytes; /* objects found, and bytes; these only grow */
        uint64_t gone_bytes;       /* part of made_bytes: no longer mapped anywhere */
} RegionShared;

/* Charges a call of task tid for a shared mapping of `bytes`. */
void region_shared_ask(RegionShared *s, pid_t tid, uint64_t bytes);
/* Marks the task's earlier calls as over: each object exists by now, or never will. */
void region_shared_called(RegionShared *s, pid_t tid);
/* True when SHARED_ASKED_MAX calls wait for a look: SHARED_LOOKS looks make room. */
bool region_shared_is_full(const RegionShared *s);
/* Looks at the mappings of all processes below root, then of new processes, and corrects the charge. A single look
 * gives nothing back, nor does a look with ever more new processes: objects could move to an unseen process. at_once:
 * no call ended since the previous look; lengths of unfinished calls stay charged. Returns 0 or -ENOMEM. */
int region_shared_look(RegionShared *s, pid_t root, bool at_once);
/* For the end of the region. ended: objects mapped at the end and overwritten through the processes, with the mapped
 * bytes; `others` more objects are not listed, others_bytes together. Returns the bytes of all these objects beyond the
 * mapped bytes. An object never found by a look counts with the largest open length. */
uint64_t region_shared_beyond(const RegionShared *s, const SharedEnded *ended, size_t n_ended, uint64_t others,
                              uint64_t others_bytes);
void region_shared_deinit(RegionShared *s);
