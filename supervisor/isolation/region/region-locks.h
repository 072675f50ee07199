/* Runs: supervisor. File locks of a region. Only the supervisor locks, through a copy of the examined descriptor, so no
 * thread can swap the file meanwhile. Shared files (system folders, devices, read-only grants) cannot be locked: the
 * host and other regions would see the lock.
 *
 * A lock of flock() or F_OFD_SETLK belongs to the open file description, shared by the copy: the supervisor's call
 * locks for the region. A lock of F_SETLK belongs to a process. The supervisor opens a description for the process and
 * the file, and locks the description. The description is closed when the process unlocks the whole file or ends; and,
 * when another lock of the file is refused, when the process has no descriptor of the file left. */
#pragma once

#include "base/util.h"
#include "policy/grant.h"

#include <fcntl.h>
#include <linux/seccomp.h>
#include <sys/types.h>

#define LOCK_OWNERS_MAX 256 /* pairs of process and file with locks of F_SETLK */
#define LOCK_WAITS_MAX 64   /* calls waiting for a lock */
#define LOCK_RANGES_MAX 4096

typedef struct RegionLocks RegionLocks;

/* The locks of F_SETLK of a process on a file. */
typedef struct LockOwner {
        pid_t process;
        int pidfd;
        uint64_t dev, inode;
        int fd; /* the supervisor's description */
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

struct RegionLocks {
        LockOwner owners[LOCK_OWNERS_MAX];
        size_t n_owners;
        LockWait waits[LOCK_WAITS_MAX];
        size_t n_waits;
        char *mounts;        /* mountinfo of the region's first process, owned; NULL: not read yet */
        unsigned ranges;     /* upper bound of ranges; at LOCK_RANGES_MAX the ranges are counted */
        uint64_t deadline;   /* of the next retry for waiting calls; UINT64_MAX: no call waits */
};

RegionLocks *region_locks_new(void); /* NULL: out of memory. */
void region_locks_free(RegionLocks *l); /* Drops all locks of F_SETLK and all waiting calls. */

/* Call when no process of the region runs: gives a description of a locked file, or of a waiting call, to the caller,
 * and drops the lock. -1: no description is left. */
int region_locks_take(RegionLocks *l);

typedef struct LockPlace {
        pid_t worker;         /* the region's first process */
        Tier tier;
        int scratch;          /* folder of the scratch, or -1 */
        const char *scratch_path; /* tier landlock */
        const Grant *grant;
} LockPlace;

enum {
        LOCK_REFUSED = 1, /* the file does not belong to the region: `object` names the file */
        LOCK_TOO_MANY,
        LOCK_LATER,       /* region_locks_try() answers later */
};

/* Judges a notified call. Returns 0 with the answer in *ret_error, LOCK_REFUSED, LOCK_TOO_MANY, LOCK_LATER. */
int region_locks_call(RegionLocks *l, const LockPlace *p, const struct seccomp_notif *q, int *ret_error,
                      char object[static 256]);
/* Retries waiting calls. Returns true with id and error of an answered call; false: no call can be answered now. */
bool region_locks_try(RegionLocks *l, int notify, uint64_t now_usec, uint64_t *ret_id, int *ret_error);