/* Runs: supervisor. Control groups of one region: memory, number of tasks and CPU time of the whole tree, where this machine lets us.
 * Version 2 when the unified hierarchy has the controllers and our own group may have children; version 1 in the standard places
 * below /sys/fs/cgroup. Without either a region runs by RLIMIT_DATA and accounting (region-budget.h). */
#pragma once

#include "base/util.h"
#include "policy/grant.h"

#define CGROUP_ROOT "/sys/fs/cgroup"
#define CGROUP_NAME "lethe-" /* + region id: how a person tells what a group is */

typedef struct RegionCgroup {
        bool v2;
        char *memory;    /* folders; all the same one in version 2; NULL where the controller cannot be had */
        char *pids;
        char *cpu;
        int oom;         /* version 1: eventfd; version 2: memory.events; -1 when none */
        int oom_above;   /* version 1: eventfd of the group in which this one stands; -1 when that cannot be asked */
        bool oom_doubt;  /* version 1: a group above was at its limit, and it is not known yet whether this one is, too */
        int pids_events; /* pids.events, or -1 */
        short oom_poll, pids_poll;
        bool made;

        struct CgroupFiles *files; /* owned: kept open from one region to the next; NULL: opened for each use */
        struct CgroupPool *pool; /* borrowed: where it came from and may go back to; NULL: made for one region */
        bool sockets;            /* version 1: what sockets hold is limited and counted, apart from memory */
        bool counted;            /* a limit was hit: its counters are not those of a new group any more */
        uint64_t cpu_before;     /* usec that regions before this one used in it */
        uint64_t tasks_before;   /* the most tasks that one of them had */
        uint64_t idle_since;     /* CLOCK_MONOTONIC usec, in the pool */
} RegionCgroup;
#define REGION_CGROUP_NULL (RegionCgroup){.oom = -1, .oom_above = -1, .pids_events = -1}

/* Finds where groups of this region could be made and names them; makes nothing. root is CGROUP_ROOT but in tests, self is the text of
 * /proc/self/cgroup. Returns 0 (all members may be NULL) or -ENOMEM. */
int region_cgroup_plan(const char *root, const char *self, const char *region, RegionCgroup *ret);
/* The same from /proc/self/cgroup. */
int region_cgroup_plan_here(const char *region, RegionCgroup *ret);
#define REGION_CGROUPS_MAX 3
/* The folders, NULL-terminated; each once. */
void region_cgroup_list(const RegionCgroup *c, const char *ret[static REGION_CGROUPS_MAX + 1]);
bool region_cgroup_any(const RegionCgroup *c);
/* All folders joined by ':' for the region's row, NULL when there are none. Owned. */
char *region_cgroup_text(const RegionCgroup *c, int *reterr);

/* Makes the groups, when they are not there yet, and sets the limits. Memory: the budget; at the limit the kernel tells us instead of
 * killing (version 1) or kills the whole group (version 2). Tasks: the budget (version 2: and one for the worker), so that the try at
 * one more is an event. Returns 0 or -errno, with nothing left behind. */
int region_cgroup_make(RegionCgroup *c, const Budget *b);
/* Version 1: at the limit of memory the kernel ends a process in it, as nobody is there to be told. Such a group goes back to no pool. Returns 0 or -errno. */
int region_cgroup_kills(RegionCgroup *c);
/* Sets the limits of memory and tasks anew, lower or higher. Returns 0 or -errno: memory in use may be more than the new limit (-EBUSY). */
int region_cgroup_limit(const RegionCgroup *c, uint64_t memory_bytes, uint64_t processes);
/* Version 1: files to which a process writes "0" to enter them; without any when none are made. To be closed. Returns 0 or -errno. */
typedef struct CgroupTasks {
        int fd[REGION_CGROUPS_MAX];
        size_t n;
        int own[REGION_CGROUPS_MAX]; /* those that are not kept open anyway, or -1 */
} CgroupTasks;
int region_cgroup_tasks(const RegionCgroup *c, CgroupTasks *ret);
void region_cgroup_tasks_close(CgroupTasks *t);
/* Moves a process into them. Returns 0 or -errno. */
int region_cgroup_attach(const RegionCgroup *c, pid_t pid);
/* The same with its children, none of which makes another meanwhile. */
int region_cgroup_attach_tree(const RegionCgroup *c, pid_t pid);
/* How often a limit was hit since the group was made (memory of version 1: since the last call). Reading makes oom and pids_events,
 * which are to be polled for oom_poll and pids_poll, wait for the next one; a first wake-up may come with 0. Linux 6.18 wakes nobody for
 * pids.events of version 1: the count is to be looked at from time to time as well.
 * Memory: hits of the group's own limit alone. In version 1 the kernel tells every group below one that has no memory left: what the group above is told
 * as well does not count, and while it stands at its limit region_cgroup_oom_count() is to be asked again (oom_doubt).
 * Tasks: refusals in this group, of whatever limit; version 1, and version 2 before Linux 6.11, count a limit above, too (region_cgroup_pids_outside()). */
uint64_t region_cgroup_oom_count(RegionCgroup *c);
uint64_t region_cgroup_pids_max_count(RegionCgroup *c);
/* Tasks were refused in the group, whose own limit (in tasks, as it was set) is not what they reached: that of a group above is. */
bool region_cgroup_pids_outside(const RegionCgroup *c, uint64_t limit);
/* How many of the group's tasks the kernel's out-of-memory killer ended. In version 1 that is never for the group's own limit. */
uint64_t region_cgroup_oom_kills(const RegionCgroup *c);
/* Measured values: return 0 or -errno (-ENOENT: no such controller). */
int region_cgroup_memory_now(const RegionCgroup *c, uint64_t *ret_bytes);
int region_cgroup_memory_peak(const RegionCgroup *c, uint64_t *ret_bytes);
/* Without the pages of files, which the kernel gives back at need. Returns 0 or -errno. */
int region_cgroup_memory_kept(const RegionCgroup *c, uint64_t *ret_bytes);
/* Version 1 counts what sockets hold (TCP, UDP) apart from memory, and only when it is to be limited: from now on, at most that many bytes. */
void region_cgroup_limit_sockets(RegionCgroup *c, uint64_t bytes);
/* These and region_cgroup_memory_kept() together: what cannot be given back. Returns 0 or -errno, -ENOENT
 * where sockets are counted with memory, or hold nothing. */
int region_cgroup_with_sockets(const RegionCgroup *c, uint64_t *ret_bytes);
int region_cgroup_cpu_usec(const RegionCgroup *c, uint64_t *ret_usec);
/* Tasks: the most that this region had, or those that it has now where the kernel does not tell (before Linux 6.11) or a region before it in the group had
 * more. The worker, which version 2 counts, is none. */
int region_cgroup_tasks_seen(const RegionCgroup *c, uint64_t *ret_tasks);
/* Version 1: the peak begins anew, with what is charged now. */
int region_cgroup_peak_anew(const RegionCgroup *c);
/* Version 1: has what is charged reached the limit? FULL: next to nothing of it can be given back, so that more was refused. That is no event where the
 * kernel asked in the middle of a system call, and not the program. FULL_OF_FILES: pages of files can, and are, when more is asked for. */
typedef enum CgroupFull { CGROUP_NOT_FULL, CGROUP_FULL_OF_FILES, CGROUP_FULL } CgroupFull;
CgroupFull region_cgroup_full(const RegionCgroup *c, uint64_t limit_bytes);
/* Calls back with each process that is in them now, 0 for one that has no pid here. Returns 0, what f returned when that is negative, -errno. */
int region_cgroup_each(const RegionCgroup *c, int (*f)(pid_t pid, void *arg), void *arg);
/* The region is about to be ended: its memory may be written without a limit that could stall or kill whoever overwrites it. */
void region_cgroup_unlimit(const RegionCgroup *c);
/* One round of SIGKILL, without waiting: by cgroup.kill, else to each pid that is listed now. */
void region_cgroup_kill_once(const RegionCgroup *c);
/* True when no process is in them. */
bool region_cgroup_empty(const RegionCgroup *c);
/* Gives them back to the pool, or removes the folders; waits up to 2 s for the kernel to let go of dead tasks. Returns 0 or -errno. */
int region_cgroup_remove(RegionCgroup *c);
void region_cgroup_deinit(RegionCgroup *c);

/* For recovery: what region_cgroup_text() wrote. Kills, waits and removes. Folders that are named neither as this region's nor as one of a pool of
 * `pools` (the part of CGROUP_POOL_NAME that the store's pools have in common) are left alone. Returns 0 or -errno. */
int region_cgroup_clear_text(const char *text, const char *region, const char *pools);

/* Groups of version 1 for one region after another, of a supervisor that lives long: making three and removing them costs about as much as all else
 * that a small region's start does. One goes back when nothing is in it, no limit was hit and next to no memory is charged to it; version 2 cannot
 * start its peak of memory anew, there each region has a group of its own. Thread-safe. */
typedef struct CgroupPool CgroupPool;
#define CGROUP_POOL_NAME CGROUP_NAME "%s-%s-" /* of all pools of a store, of this one; then a number */

/* store, owner: of letters and digits. Returns 0, -ENOENT where there are no groups of version 1 to be had, -errno. */
int cgroup_pool_new(const char *store, const char *owner, CgroupPool **ret);
/* The folders in which its groups are, joined by ':'. */
const char *cgroup_pool_places(const CgroupPool *p);
/* Fills in *ret as region_cgroup_plan_here() does. Returns 0 or -ENOMEM. */
int cgroup_pool_take(CgroupPool *p, RegionCgroup *ret);
/* Takes c's content when it can be used again: true. */
bool cgroup_pool_give(CgroupPool *p, RegionCgroup *c);
/* Removes what was used last before that time (CLOCK_MONOTONIC, usec). */
void cgroup_pool_trim(CgroupPool *p, uint64_t before);
/* Removes what lies idle. None of its groups is used any more. NULL: nothing. */
void cgroup_pool_free(CgroupPool *p);
/* For what a dead supervisor left: kills and removes all groups of that owner's pool in these places. Returns 0 or -errno. */
int cgroup_pool_clear(const char *places, const char *store, const char *owner);
