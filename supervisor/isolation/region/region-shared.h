/* Runs: supervisor. The objects of shared memory that a region made: anonymous shared mappings, and those of /dev/zero. Such an object keeps all its
 * pages while one page of it is mapped anywhere, and no process of the host can see how many it has. So it is charged with its whole length from
 * the call that makes it, and given back when no process of the region maps any of it.
 *
 * The call is seen before it is made: what comes of it is a length (`asked`) until a look at the mappings finds a new object, which then gets
 * the largest length that was asked. Several objects that one look finds form a batch: which of them has which length is not known. The first of
 * a batch that goes gives back the smallest length of the batch, so that a small object never takes a large one's charge along. */
#pragma once

#include "base/util.h"

#include <sys/types.h>

#define SHARED_ROUNDS 5       /* in which processes come, and a look counts for nothing */
#define SHARED_LOOKS 2        /* in a row without a trace, and an object is gone, or a call made none */
#define SHARED_ASKED_MAX 1024 /* calls that no look has followed; what comes beyond is charged until the end */

typedef struct SharedObject {
        uint64_t dev, inode, bytes;
        unsigned missed; /* looks in a row that did not find it */
        unsigned batch;  /* objects of one batch may have each other's length */
} SharedObject;

typedef struct SharedEnded {
        uint64_t dev, inode, bytes;
} SharedEnded;

typedef struct SharedAsked {
        uint64_t bytes;
        pid_t tid;      /* of the task that called; 0: it has called again since, so that this call is over */
        unsigned looks; /* that found no object for it */
} SharedAsked;

typedef struct RegionShared {
        SharedObject *v; /* owned */
        size_t n, room;
        SharedAsked *asked; /* owned */
        size_t n_asked, room_asked;
        unsigned batch; /* of the calls in `asked` */
        uint64_t held_bytes;       /* of all in v and asked: what is charged */
        uint64_t lost_bytes;       /* of held_bytes: charged without a row of its own, because there was no room for one */
        uint64_t largest;          /* that was ever asked */
        uint64_t made, made_bytes; /* objects that were found, and their bytes; these only grow */
        uint64_t gone_bytes;       /* of made_bytes: no longer mapped anywhere */
} RegionShared;

/* A call of the task asks for a shared mapping of so many bytes. It is charged from now on. */
void region_shared_ask(RegionShared *s, pid_t tid, uint64_t bytes);
/* The task calls again: what it asked for before is made, or will never be. */
void region_shared_called(RegionShared *s, pid_t tid);
/* There are SHARED_ASKED_MAX calls that no look has followed: SHARED_LOOKS looks make room. */
bool region_shared_is_full(const RegionShared *s);
/* There is a charge that a look could correct. */
bool region_shared_is_open(const RegionShared *s);
/* Looks through the mappings of all processes below root, then of those that came meanwhile, and corrects the charge. Nothing is given back by one look alone,
 * nor while ever more come: an object could move from a process that is yet to be looked at to a new one. at_once: after another look, with no time between
 * in which a call could end; what calls asked for that may go on is not given back. Returns 0 or -ENOMEM. */
int region_shared_look(RegionShared *s, pid_t root, bool at_once);
/* The region is over. ended: objects that were mapped at its end and were overwritten through the processes that mapped them, each with the bytes that were
 * mapped; `others` more of them were not listed, which had others_bytes together. Returns how many bytes these objects have beyond what was mapped. An object
 * that no look found has the largest length for which none was found. */
uint64_t region_shared_beyond(const RegionShared *s, const SharedEnded *ended, size_t n_ended, uint64_t others, uint64_t others_bytes);
void region_shared_deinit(RegionShared *s);
