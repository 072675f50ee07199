/* Runs: supervisor. Looks at the process tree of a region from outside, through /proc of the host: what the kernel says about it and
 * nothing that the region says about itself. */
#pragma once

#include "base/proc.h"

#define PROC_TREE_MAX 8192 /* processes looked at in one walk: more than any processes budget allows */

/* One process as it was last seen. */
typedef struct ProcEntry {
        pid_t pid;
        uint64_t start_ticks;
        uint64_t cpu_usec;        /* own, user + system */
        uint64_t waited_cpu_usec; /* of children that it has waited for */
        bool alive;               /* seen in the last walk */
} ProcEntry;

typedef struct ProcTree {
        ProcEntry *v; /* of the last walk and the one before; owned */
        size_t n, room;
        /* Of the last walk: */
        uint64_t tasks;          /* processes and threads below the root */
        uint64_t resident_bytes; /* anonymous and shared memory of all, without file pages */
        uint64_t most_data_bytes;/* largest VmData of one process */
        uint64_t most_fds;       /* most descriptors open in one process */
        /* Of all walks: */
        uint64_t cpu_usec;       /* of the whole tree, never falling */
        uint64_t gone_cpu_usec;  /* of processes that are no more */
        uint64_t peak_resident_bytes;
} ProcTree;

typedef enum ProcLook {
        PROC_LOOK_TASKS = 1,
        PROC_LOOK_CPU = 2,
        PROC_LOOK_MEMORY = 4,
        PROC_LOOK_FDS = 8,
        PROC_LOOK_SHARED = 16, /* with MEMORY: a page that several processes share counts once, which costs a walk of every page table */
} ProcLook;

/* Walks everything below `root` (the worker; not counted itself). Returns 0 or -errno; a process that goes away meanwhile is no error. */
int proc_tree_walk(ProcTree *t, pid_t root, unsigned look);
void proc_tree_deinit(ProcTree *t);

/* Number of descriptors that the process has open, 0 when unknown. */
uint64_t proc_fd_count(pid_t pid);
/* VmData of the process in bytes, 0 when unknown. */
uint64_t proc_data_bytes(pid_t pid);
/* SIGKILL to everything below root, not to root itself. Returns how many there were. */
size_t proc_kill_below(pid_t root);
/* SIGKILL to every process whose environment names this region and that is confined as a region's are: for a region without a PID
 * namespace whose first process has died. Only the environment that a process was started with is looked at. Returns how many. */
size_t proc_kill_by_region(const char *region);
