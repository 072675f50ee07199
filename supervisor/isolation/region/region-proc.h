/* Runs: supervisor. Looks at the process tree of a region from outside, through /proc of the host: what the kernel says about it and
 * nothing that the region says about itself. */
#pragma once

#include "base/proc.h"

#define PROC_BLOCKED_USEC 2000000 /* a region whose last tasks have waited in the kernel for so long is left behind */
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
        uint64_t resident_bytes; /* anonymous memory, swapped out or not, and page tables of all; shared memory is RegionShared's and the scratch's */
        uint64_t processes;      /* that hold memory of their own */
        uint64_t table_bytes;    /* of resident_bytes: page tables, which nobody shares */
        uint64_t most_anon_bytes;/* of resident_bytes: anonymous memory of the process with the most of it */
        uint64_t shmem_bytes;    /* shared memory that is mapped and was touched, once for each process that did */
        uint64_t all_data_bytes; /* VmData of all processes, and what their stacks may grow to: what they can touch without another call */
        uint64_t most_fds;       /* most descriptors open in one process */
        uint64_t all_fds;        /* in all processes, and in tables that threads have for themselves */
        uint64_t areas_bytes;    /* of the last walk with AREAS: what the kernel has for areas of address space, of processes with many */
        /* Asked before each process is looked at, or NULL. true: a walk without CPU ends with -EAGAIN. */
        bool (*before_each)(void *arg);
        void *arg;
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
        PROC_LOOK_AREAS = 32,  /* the areas of address space are counted */
} ProcLook;

/* Walks everything below `root` (the worker; not counted itself). Returns 0 or -errno; a process that goes away meanwhile is no error. */
int proc_tree_walk(ProcTree *t, pid_t root, unsigned look);
void proc_tree_deinit(ProcTree *t);
/* The processes below root, parents first. *ret is owned. Returns 0 or -errno. */
int proc_tree_list(pid_t root, pid_t **ret, size_t *ret_n);
/* The same, with fn called for each one before its children are looked for. The list ends where there is no memory for more of it. */
void proc_tree_each(pid_t root, void (*fn)(pid_t pid, void *arg), void *arg);

/* Of what is below root: a task that waits in the kernel for something else, and takes no signal meanwhile, is blocked. A task that is dead, or that its tracer
 * holds, is neither. */
typedef struct ProcBlocked {
        unsigned blocked, running;
        uint64_t switches; /* context switches of the blocked ones: a task that was woken and blocked again has more */
} ProcBlocked;
/* Returns 0 or -errno. */
int proc_blocked(pid_t root, ProcBlocked *ret);
/* A task that exits is blocked for moments as well. Only several looks tell how long all that is left has been in one wait; null before
 * the first look. */
typedef struct ProcWait {
        uint64_t since; /* monotonic; 0: the last look found no blocked task, or a running one */
        uint64_t seen;  /* the number of the last look */
} ProcWait;
/* Looks at time `now`. progress: a number that changes when anything moved on. Returns whether the wait is `usec` old. */
bool proc_wait_look(ProcWait *w, const ProcBlocked *b, uint64_t progress, uint64_t now, uint64_t usec);
/* The process itself is blocked. */
bool proc_is_blocked(pid_t pid);

/* Number of descriptors that the process has open, 0 when unknown. */
uint64_t proc_fd_count(pid_t pid);
/* VmData of the process in bytes, 0 when unknown. */
uint64_t proc_data_bytes(pid_t pid);
/* SIGKILL to everything below root, not to root itself. Returns how many there were. */
size_t proc_kill_below(pid_t root);
/* SIGKILL to every process whose environment names this region and that is confined as a region's are: for a region without a PID
 * namespace whose first process has died. Only the environment that a process was started with is looked at. Returns how many. */
size_t proc_kill_by_region(const char *region);
/* The same of those processes as proc_blocked() has of what is below a root. */
void proc_region_blocked(const char *region, ProcBlocked *ret);
