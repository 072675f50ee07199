/* Runs: supervisor, CLI. Version 2: the group in which the groups of our regions are made. A group with processes hands no controllers to its children (the
 * kernel's cgroup-v2.rst, "No Internal Process Constraint"): the supervisor moves itself into a leaf, and the regions' groups stand beside that. A-60 */
#pragma once

#include "base/util.h"

#include <limits.h>

#define CGROUP_LEAF "lethe-supervisor"

typedef enum HomeWay {
        HOME_READY, /* groups can be made as things stand; or there is no version 2 */
        HOME_ASK,   /* a unit of the user's manager, which marks none: is it delegated? */
        HOME_LEAF,  /* our own group is ours to divide: after home_enter() */
        HOME_SCOPE, /* it is not, or others are in it: systemd may give us one */
        HOME_NONE,  /* neither: why, and fix */
} HomeWay;

typedef struct Home {
        HomeWay way;
        char dir[PATH_MAX];   /* our own group */
        const char *manager;  /* HOME_ASK, HOME_SCOPE: who is to be asked: "user" or "system" */
        char slice[256];      /* HOME_SCOPE: the slice of that manager in which it stands, so that no limit of the slice is left; "": the manager's own */
        uint64_t tasks_max;   /* HOME_SCOPE: the limit of our own group, UINT64_MAX: none */
        char why[512];
        const char *fix;
} Home;

/* root: CGROUP_ROOT but in tests; self: the text of /proc/self/cgroup; uid: ours; delegated: what was said after HOME_ASK, -1: not asked yet. Changes nothing.
 * Only a group that systemd delegated is divided, or one that is of no unit: systemd takes the controllers of others away again. PID 1 marks what it delegates
 * (xattrs user.delegate, trusted.delegate). */
void home_find(const char *root, const char *self, uid_t uid, int delegated, Home *ret);
/* HOME_LEAF: moves this process, and others of the same program in the group, into the leaf, and turns the controllers on (HOME_CONTROLLERS but in
 * tests). Returns 0, -EBUSY: others are in the group, -errno. All is as before then. */
#define HOME_CONTROLLERS "+memory +pids"
int home_enter(const Home *h, const char *controllers);
/* All of it for this process, once; it should have no children yet. NULL: groups can be had, or this machine has none of version 2. Else why not, borrowed for
 * ever; *ret_fix (may be NULL) what helps. */
const char *home_settle(const char **ret_fix);

/* The unit of systemd in whose group this process is, and what befell that group. */
typedef struct HomeUnit {
        char name[256];      /* "": none, or no version 2 */
        uint64_t oom_kills;  /* of memory.events: processes that the kernel's out-of-memory killer ended in it or below */
        uint64_t limit;      /* memory.max in bytes, UINT64_MAX: none */
} HomeUnit;
void home_unit(HomeUnit *ret);
