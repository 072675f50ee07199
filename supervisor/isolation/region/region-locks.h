/* Runs: supervisor. File locks of a region. Only the supervisor makes them: on a copy of the descriptor that it has looked at, so that no thread can put
 * another file in its place meanwhile. What everybody shares (system folders, devices, read-only grants) cannot be locked, because a lock
 * there is seen by the host and by other regions.
 *
 * A lock of flock() or of F_OFD_SETLK belongs to the open file description, which the copy shares: the supervisor's call is the region's. A lock of
 * F_SETLK belongs to a process. It becomes one of an open file description that the supervisor has for that process and file; this goes when
 * the process unlocks the whole file, ends, or has no descriptor of the file left (as far as somebody else wants the lock). */
#pragma once

#include "base/util.h"
#include "policy/grant.h"

#include <fcntl.h>
#include <linux/seccomp.h>
#include <sys/types.h>

#define LOCK_OWNERS_MAX 256 /* processes and files with locks of F_SETLK, together */
#define LOCK_WAITS_MAX 64   /* calls that wait for a lock */
#define LOCK_RANGES_MAX 4096

typedef struct RegionLocks RegionLocks;

/* The locks of F_SETLK that one process has on one file. */
typedef struct LockOwner {
        pid_t process;
        int pidfd;
        uint64_t dev, inode;
        int fd; /* own description */
        bool pipe;
} LockOwner;

typedef struct LockWait {
        uint64_t id;      /* of the notification */
        pid_t tid;
        int fd;           /* copy of the descriptor, owned */
        int command;      /* of fcntl(); -1: flock() */
        int operation;    /* of flock() */
        struct flock lock;
} LockWait;

typedef struct LockMount {
        uint64_t id;
        bool usable; /* may be written, and its file system answers without anybody's help */
} LockMount;

struct RegionLocks {
        LockOwner owners[LOCK_OWNERS_MAX];
        size_t n_owners;
        LockWait waits[LOCK_WAITS_MAX];
        size_t n_waits;
        LockMount *mounts;   /* of the region's first process; owned */
        size_t n_mounts;
        bool mounts_read;
        unsigned ranges;     /* as many ranges as there can be; at LOCK_RANGES_MAX they are counted */
        uint64_t deadline;   /* of the next try for those who wait; UINT64_MAX: none waits */
};

/* NULL: out of memory. */
RegionLocks *region_locks_new(void);
/* All locks of F_SETLK go, and all who wait are forgotten. */
void region_locks_free(RegionLocks *l);

/* Nothing of the region runs any more: gives out a description of a file that a lock was made on, or that a call waited with, and forgets the lock. It is the
 * caller's. -1: there is none left. */
int region_locks_take(RegionLocks *l);

typedef struct LockPlace {
        pid_t worker;         /* the region's first process */
        Tier tier;
        int scratch;          /* folder of the scratch, or -1 */
        const char *scratch_path; /* tier landlock */
        const Grant *grant;
} LockPlace;

enum {
        LOCK_REFUSED = 1, /* the file is not the region's: object says which */
        LOCK_TOO_MANY,
        LOCK_LATER,       /* the answer comes with region_locks_try() */
};

/* Judges a notified call. Returns 0 (*ret_error is the answer), LOCK_REFUSED, LOCK_TOO_MANY, LOCK_LATER. */
int region_locks_call(RegionLocks *l, const LockPlace *p, const struct seccomp_notif *q, int *ret_error, char object[static 256]);
/* Tries again for those who wait. Takes out one who has its answer: returns true with its id and error; false: there is none now. */
bool region_locks_try(RegionLocks *l, int notify, uint64_t now_usec, uint64_t *ret_id, int *ret_error);