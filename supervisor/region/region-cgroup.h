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
        int pids_events; /* pids.events, or -1 */
        short oom_poll, pids_poll;
        bool made;
} RegionCgroup;

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

/* Makes the groups and sets the limits. Memory: the budget; at the limit the kernel tells us instead of killing (version 1) or kills
 * the whole group (version 2). Tasks: the budget (version 2: and one for the worker), so that the try at one more is an event. Returns 0 or -errno,
 * with nothing left behind. */
int region_cgroup_make(RegionCgroup *c, const Budget *b);
/* Sets the limits of memory and tasks anew, lower or higher. Returns 0 or -errno: memory in use may be more than the new limit (-EBUSY). */
int region_cgroup_limit(const RegionCgroup *c, uint64_t memory_bytes, uint64_t processes);
/* Moves a process into them. Returns 0 or -errno. */
int region_cgroup_attach(const RegionCgroup *c, pid_t pid);
/* The same with its children, none of which makes another meanwhile. */
int region_cgroup_attach_tree(const RegionCgroup *c, pid_t pid);
/* How often a limit was hit since the group was made (memory of version 1: since the last call). Reading makes oom and pids_events,
 * which are to be polled for oom_poll and pids_poll, wait for the next one; a first wake-up may come with 0. Linux 6.18 wakes nobody for
 * pids.events of version 1: the count is to be looked at from time to time as well. */
uint64_t region_cgroup_oom_count(const RegionCgroup *c);
uint64_t region_cgroup_pids_max_count(const RegionCgroup *c);
/* Measured values: return 0 or -errno (-ENOENT: no such controller). */
int region_cgroup_memory_now(const RegionCgroup *c, uint64_t *ret_bytes);
int region_cgroup_memory_peak(const RegionCgroup *c, uint64_t *ret_bytes);
int region_cgroup_cpu_usec(const RegionCgroup *c, uint64_t *ret_usec);
/* The region is about to be ended: its memory may be written without a limit that could stall or kill whoever overwrites it. */
void region_cgroup_unlimit(const RegionCgroup *c);
/* One round of SIGKILL, without waiting: by cgroup.kill, else to each pid that is listed now. */
void region_cgroup_kill_once(const RegionCgroup *c);
/* Kills everything in the groups: by cgroup.kill, else each pid in turn until the list is empty. Returns 0 or -errno. */
int region_cgroup_kill(const RegionCgroup *c);
/* True when no process is in them. */
bool region_cgroup_empty(const RegionCgroup *c);
/* Removes the folders; waits up to 2 s for the kernel to let go of dead tasks. Returns 0 or -errno. */
int region_cgroup_remove(RegionCgroup *c);
void region_cgroup_deinit(RegionCgroup *c);

/* For recovery: what region_cgroup_text() wrote. Kills, waits and removes. Folders that are not named as a region's are left alone.
 * Returns 0 or -errno. */
int region_cgroup_clear_text(const char *text, const char *region);
