/* Runs: supervisor, CLI. Version 2: the group around the groups of the regions. A group with processes hands no
 * controllers to its children (the kernel's cgroup-v2.rst, "No Internal Process Constraint"). So the supervisor moves
 * into a leaf, and the regions' groups stand beside the leaf. A-60 */
#pragma once

#include "base/util.h"

#include <limits.h>

typedef enum HomeWay {
        HOME_READY, /* groups can be made now; or there is no version 2 */
        HOME_ASK,   /* a unit of the user's manager, without marks: ask for the delegation */
        HOME_LEAF,  /* Lethe may divide its group: after home_enter() */
        HOME_SCOPE, /* the group is not delegated, or not Lethe's alone: ask systemd for a scope */
        HOME_NONE,  /* no way: see why and fix */
} HomeWay;

typedef struct Home {
        HomeWay way;
        char dir[PATH_MAX];   /* the group of this process */
        const char *manager;  /* HOME_ASK, HOME_SCOPE: the manager to ask: "user" or "system" */
        char slice[256]; /* HOME_SCOPE: slice of the unit, to stay below the slice's limits; "": the manager's own */
        uint64_t tasks_max;   /* HOME_SCOPE: task limit of the group, UINT64_MAX: no limit */
        char why[512];
        const char *fix;
} Home;

/* root: CGROUP_ROOT, except in tests; self: the text of /proc/self/cgroup; delegated: the answer after HOME_ASK, -1:
 * not asked yet. Changes no group. Only delegated groups, and groups of no unit, may be divided: systemd takes
 * controllers of other groups away. PID 1 marks delegated groups (xattrs user.delegate, trusted.delegate). */
void home_find(const char *root, const char *self, uid_t uid, int delegated, Home *ret);
/* For HOME_LEAF: moves all processes of this program into the leaf, and turns the controllers on. Returns 0, -EBUSY
 * with other processes in the group, -errno. After an error all is as before. */
#define HOME_CONTROLLERS "+memory +pids" /* fewer in tests */
int home_enter(const Home *h, const char *controllers);
/* Finds or makes the home of this process, once; the process should have no children yet. Returns NULL when groups can
 * be made, or without version 2. Else the reason, static; *ret_fix (may be NULL): the remedy. */
const char *home_settle(const char **ret_fix);

/* The systemd unit of this process, with figures of its group. */
typedef struct HomeUnit {
        char name[256];      /* "": no unit, or no version 2 */
        uint64_t oom_kills;  /* of memory.events: out-of-memory kills in the group and below */
        uint64_t limit;      /* memory.max in bytes, UINT64_MAX: no limit */
} HomeUnit;
void home_unit(HomeUnit *ret);
