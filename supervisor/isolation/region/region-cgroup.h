/* Runs: supervisor. Control groups of a region: memory, number of tasks and CPU time of the whole tree, where possible.
 * Version 2 when the unified hierarchy has the controllers and the supervisor's group may have children; version 1 in
 * the standard places below /sys/fs/cgroup. Without groups, RLIMIT_DATA and accounting bound a region
 * (region-budget.h). */
#pragma once

#include "base/util.h"
#include "policy/grant.h"

#define CGROUP_ROOT "/sys/fs/cgroup"
#define CGROUP_LEAF "lethe-supervisor" /* version 2: a supervisor's leaf, beside the groups of its regions */
#define CGROUP_NAME "lethe-" /* + region id: names the owner of a group for the operator */

typedef struct RegionCgroup {
        bool v2;
        char *memory;    /* folders; the same folder in version 2; NULL without the controller */
        char *pids;
        char *cpu;
        char *quota;     /* of a region with a share of processors: the folder of its bound; perhaps the same as cpu */
        int oom;         /* version 1: eventfd; version 2: memory.events; or -1 */
        int oom_above;   /* version 1: eventfd of the parent group; -1 without permission */
        bool oom_doubt;  /* version 1: a group above was at its limit; this group's own state is not known yet */
        int pids_events; /* pids.events, or -1 */
        short oom_poll, pids_poll;
        bool made;

        struct CgroupFiles *files; /* owned: kept open from region to region; NULL: opened for each use */
        struct CgroupPool *pool; /* borrowed: the pool of the group; NULL: made for a single region */
        bool sockets;            /* version 1: bytes of sockets are limited and counted, apart from memory */
        bool counted;            /* a limit was hit: the counters are no longer new */
        uint64_t cpu_before;     /* usec used by earlier regions in the group */
        uint64_t tasks_before;   /* the highest number of tasks of an earlier region */
        uint64_t idle_since;     /* CLOCK_MONOTONIC usec, when in the pool */
} RegionCgroup;
#define REGION_CGROUP_NULL (RegionCgroup){.oom = -1, .oom_above = -1, .pids_events = -1}

/* Names the groups of a region, without making them. root: CGROUP_ROOT, except in tests; self: the text of
 * /proc/self/cgroup. Returns 0 (all members may be NULL) or -ENOMEM. */
int region_cgroup_plan(const char *root, const char *self, const char *region, RegionCgroup *ret);
/* The same with /proc/self/cgroup of this process. */
int region_cgroup_plan_here(const char *region, RegionCgroup *ret);
/* Adds the folder for a bound of processors (Budget.cpus_milli) to planned groups: version 2 where controller cpu can be
 * had, version 1 in CGROUP_ROOT/cpu. c->quota stays NULL without one. Returns 0 or -ENOMEM. */
int region_cgroup_plan_quota(const char *root, const char *self, const char *region, RegionCgroup *c);
int region_cgroup_plan_quota_here(const char *region, RegionCgroup *c);
#define REGION_CGROUPS_MAX 4
/* The folders, NULL-terminated, without duplicates. */
void region_cgroup_list(const RegionCgroup *c, const char *ret[static REGION_CGROUPS_MAX + 1]);
bool region_cgroup_any(const RegionCgroup *c);
/* All folders joined by ':' for the region's row, NULL without groups. Owned. */
char *region_cgroup_text(const RegionCgroup *c, int *reterr);

/* Makes missing groups and sets the limits. Memory: the budget; at the limit the kernel notifies the supervisor
 * (version 1) or kills the whole group (version 2). Tasks: the budget (version 2: plus the worker), so a try at a
 * further task is an event. Returns 0 or -errno, with no group left behind. */
int region_cgroup_make(RegionCgroup *c, const Budget *b);
/* Version 1: lets the kernel kill at the memory limit. The group leaves its pool. Returns 0 or -errno. */
int region_cgroup_kills(RegionCgroup *c);
/* Changes the limits of memory and tasks. Returns 0 or -errno: -EBUSY with more memory in use than the new limit. */
int region_cgroup_limit(const RegionCgroup *c, uint64_t memory_bytes, uint64_t processes);
/* Version 1: opens the files a process writes "0" to, to enter the groups; empty before the groups are made. Close with
 * region_cgroup_tasks_close(). Returns 0 or -errno. */
typedef struct CgroupTasks {
        int fd[REGION_CGROUPS_MAX];
        size_t n;
        int own[REGION_CGROUPS_MAX]; /* descriptors to close, or -1 for kept files */
} CgroupTasks;
int region_cgroup_tasks(const RegionCgroup *c, CgroupTasks *ret);
void region_cgroup_tasks_close(CgroupTasks *t);
/* Moves a process into the groups. Returns 0 or -errno. */
int region_cgroup_attach(const RegionCgroup *c, pid_t pid);
/* Moves a process with its children; no child makes children meanwhile. */
int region_cgroup_attach_tree(const RegionCgroup *c, pid_t pid);
/* Hits of a limit since the group was made (memory of version 1: since the last call). The call re-arms oom and
 * pids_events, polled for oom_poll and pids_poll; the first event may come with count 0. Linux 6.18 sends no event for
 * pids.events of version 1: read the count from time to time.
 * Memory: only hits of the group's own limit. In version 1 the kernel also notifies all groups below a full group, so
 * an event of the group above cancels the count. During such doubt (oom_doubt) call again.
 * Tasks: refusals in the group. Version 1, and version 2 before Linux 6.11, count refusals by a limit above, too
 * (region_cgroup_pids_outside()). */
uint64_t region_cgroup_oom_count(RegionCgroup *c);
uint64_t region_cgroup_pids_max_count(RegionCgroup *c);
/* True when a limit above refused tasks, below the group's own limit (in tasks, as set). */
bool region_cgroup_pids_outside(const RegionCgroup *c, uint64_t limit);
/* Tasks killed by the kernel's out-of-memory killer. In version 1 never for the group's own limit. */
uint64_t region_cgroup_oom_kills(const RegionCgroup *c);
/* Measured values: return 0 or -errno (-ENOENT without the controller). */
int region_cgroup_memory_now(const RegionCgroup *c, uint64_t *ret_bytes);
int region_cgroup_memory_peak(const RegionCgroup *c, uint64_t *ret_bytes);
/* Without the pages of files: the kernel gives these back at need. Returns 0 or -errno. */
int region_cgroup_memory_kept(const RegionCgroup *c, uint64_t *ret_bytes);
/* Version 1 counts bytes of sockets (TCP, UDP) apart from memory, and only under a limit: sets the limit. */
void region_cgroup_limit_sockets(RegionCgroup *c, uint64_t bytes);
/* Bytes of sockets and region_cgroup_memory_kept() together. Returns 0 or -errno, -ENOENT without separate sockets. */
int region_cgroup_with_sockets(const RegionCgroup *c, uint64_t *ret_bytes);
int region_cgroup_cpu_usec(const RegionCgroup *c, uint64_t *ret_usec);
/* Time in which tasks stood still because the share of processors was used up. */
int region_cgroup_throttled_usec(const RegionCgroup *c, uint64_t *ret_usec);
/* The highest number of tasks of the region, or the present number: before Linux 6.11, or after an earlier region in
 * the group had more. The worker, counted in version 2, is subtracted. */
int region_cgroup_tasks_seen(const RegionCgroup *c, uint64_t *ret_tasks);
int region_cgroup_peak_anew(const RegionCgroup *c); /* Version 1: restarts the peak from the present charge. */
/* Version 1: the charge against the limit. FULL: next to no memory can be given back, so the kernel refused memory,
 * without an event during a system call. FULL_OF_FILES: the kernel gives pages of files back on demand. */
typedef enum CgroupFull { CGROUP_NOT_FULL, CGROUP_FULL_OF_FILES, CGROUP_FULL } CgroupFull;
CgroupFull region_cgroup_full(const RegionCgroup *c, uint64_t limit_bytes);
/* Calls f with each process in the groups, 0 without a pid here. Returns 0, a negative result of f, or -errno. */
int region_cgroup_each(const RegionCgroup *c, int (*f)(pid_t pid, void *arg), void *arg);
/* At the end of the region: a task without its share of processors can neither stop nor die. */
void region_cgroup_unthrottle(const RegionCgroup *c);
/* Before the end of the region: lifts the limit, so no write to the region's memory stalls or is killed. */
void region_cgroup_unlimit(const RegionCgroup *c);
/* Sends SIGKILL once, without waiting: by cgroup.kill, else to each listed pid. */
void region_cgroup_kill_once(const RegionCgroup *c);
bool region_cgroup_empty(const RegionCgroup *c); /* True when the groups have no process. */
/* Returns the groups to the pool, or removes the folders; waits up to 2 s for dead tasks. Returns 0 or -errno. */
int region_cgroup_remove(RegionCgroup *c);
void region_cgroup_deinit(RegionCgroup *c);

/* For recovery from the text of region_cgroup_text(): kills, waits and removes. Only folders named for this region, or
 * for a pool with the prefix `pools` (the store's part of CGROUP_POOL_NAME), are touched. Returns 0 or -errno. */
int region_cgroup_clear_text(const char *text, const char *region, const char *pools);

/* Groups of version 1 for a series of regions, in a supervisor with a long life. Making and removing three groups costs
 * about as much as the rest of a small region's start. A group returns when empty, with no limit hit and next to no
 * charge. Version 2 cannot reset the peak of memory, so each region gets a new group there. Thread-safe. */
typedef struct CgroupPool CgroupPool;
#define CGROUP_POOL_NAME CGROUP_NAME "%s-%s-" /* store, owner; then a number */

/* store, owner: letters and digits. Returns 0, -ENOENT without groups of version 1, -errno. */
int cgroup_pool_new(const char *store, const char *owner, CgroupPool **ret);
const char *cgroup_pool_places(const CgroupPool *p); /* The folders around the pool's groups, joined by ':'. */
/* Fills in *ret like region_cgroup_plan_here(). Returns 0 or -ENOMEM. */
int cgroup_pool_take(CgroupPool *p, RegionCgroup *ret);
bool cgroup_pool_give(CgroupPool *p, RegionCgroup *c); /* Takes c's content when reusable. Returns true when taken. */
/* Removes groups last used before the time (CLOCK_MONOTONIC, usec). */
void cgroup_pool_trim(CgroupPool *p, uint64_t before);
void cgroup_pool_free(CgroupPool *p); /* Removes idle groups. No group of the pool may be in use. NULL: no effect. */
/* After a dead supervisor: kills and removes all groups of the owner's pool in these places. Returns 0 or -errno. */
int cgroup_pool_clear(const char *places, const char *store, const char *owner);
