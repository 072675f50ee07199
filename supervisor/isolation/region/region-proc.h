/* Runs: supervisor. Looks at the process tree of a region from outside, through /proc: never asks the region itself. */
#pragma once

#include "base/proc.h"

#define PROC_BLOCKED_USEC 2000000 /* a region is left behind after its last tasks waited in the kernel for so long */
#define PROC_PAGE 4096 /* bytes */
#define PROC_TREE_MAX 8192 /* processes looked at in a walk: more than any processes budget allows */

/* A process as last seen. */
typedef struct ProcEntry {
        pid_t pid;
        uint64_t start_ticks;
        uint64_t cpu_usec;        /* own, user + system */
        uint64_t waited_cpu_usec; /* of children the process has waited for */
        bool alive;               /* seen in the last walk */
} ProcEntry;

typedef struct ProcTree {
        ProcEntry *v; /* from the last two walks; owned */
        size_t n;
        /* From the last walk: */
        uint64_t tasks;          /* processes and threads below the root */
        uint64_t resident_bytes; /* anonymous memory, also swapped out, and page tables; without shared memory */
        uint64_t processes;      /* processes with memory of their own */
        uint64_t table_bytes;    /* part of resident_bytes: page tables, never shared */
        uint64_t most_anon_bytes;/* part of resident_bytes: the most anonymous memory of a single process */
        uint64_t shmem_bytes;    /* touched pages of shared memory, counted for each process */
        uint64_t mapped_bytes;   /* anonymous and shared memory, counted for each process that maps it */
        uint64_t all_data_bytes; /* VmData and largest stacks of all processes: memory to touch without a call */
        uint64_t most_fds;       /* most descriptors open in one process */
        uint64_t all_fds;        /* in all processes, and in separate tables of threads */
        uint64_t areas_bytes;    /* from the last walk with AREAS: kernel memory for many areas of address space */
        bool (*before_each)(void *arg); /* before each process, or NULL; true ends a walk without CPU with -EAGAIN */
        void *arg;
        /* From all walks: */
        uint64_t cpu_usec;       /* of the whole tree, never falling */
        uint64_t gone_cpu_usec;  /* of processes that have gone */
        uint64_t peak_resident_bytes;
} ProcTree;

typedef enum ProcLook {
        PROC_LOOK_TASKS = 1,
        PROC_LOOK_CPU = 2,
        PROC_LOOK_MEMORY = 4,
        PROC_LOOK_FDS = 8,
        PROC_LOOK_SHARED = 16, /* with MEMORY: a shared page counts once; walks all page tables */
        PROC_LOOK_AREAS = 32,  /* counts areas of address space */
} ProcLook;

/* Walks all processes below `root` (the worker; not counted). Returns 0 or -errno; a process may go meanwhile. */
int proc_tree_walk(ProcTree *t, pid_t root, unsigned look);
void proc_tree_deinit(ProcTree *t);
/* The processes below root, parents first. *ret is owned. Returns 0 or -errno: then *ret has those found before. */
int proc_tree_list(pid_t root, pid_t **ret, size_t *ret_n);
/* Calls fn for each process below root, before the search for its children. Returns 0 or -errno: some are missing. */
int proc_tree_each(pid_t root, void (*fn)(pid_t pid, void *arg), void *arg);

/* Tasks below root. Blocked: waits in the kernel and takes no signal. Dead and traced tasks are neither. */
typedef struct ProcBlocked {
        unsigned blocked, running;
        uint64_t switches; /* context switches of blocked tasks: a task that woke up meanwhile has more */
} ProcBlocked;
int proc_blocked(pid_t root, ProcBlocked *ret); /* Returns 0 or -errno. */
/* An exiting task is blocked for moments, so a wait takes several looks. Null before the first look. */
typedef struct ProcWait {
        uint64_t since; /* monotonic; 0: no blocked task, or a running task, at the last look */
        uint64_t seen;  /* the number from the last look */
} ProcWait;
/* Looks at time `now`. progress: a number that changes with any progress. Returns true when the wait is `usec` old. */
bool proc_wait_look(ProcWait *w, const ProcBlocked *b, uint64_t progress, uint64_t now, uint64_t usec);
bool proc_is_blocked(pid_t pid); /* True when the process itself is blocked. */

uint64_t proc_fd_count(pid_t pid); /* Number of open descriptors of the process, 0 when unknown. */
/* Reads a link of /proc, NUL-terminated. Returns its length, 0 for an unreadable link. */
size_t proc_link(const char *path, char *ret, size_t room);
uint64_t proc_mapped_bytes(pid_t pid); /* Mapped anonymous and shared memory, 0 when unknown. */
uint64_t proc_data_bytes(pid_t pid); /* VmData of the process in bytes, 0 when unknown. */
/* Sends SIGKILL to all processes below root, not to root. Returns the number of processes. */
size_t proc_kill_below(pid_t root);
/* Sends SIGKILL to every process confined like a region's and with the region in its start environment. For a region
 * without a PID namespace, after the death of its first process. Returns the number of processes. */
size_t proc_kill_by_region(const char *region);
/* Like proc_blocked(), for the processes found by proc_kill_by_region(). */
void proc_region_blocked(const char *region, ProcBlocked *ret);
