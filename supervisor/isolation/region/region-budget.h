/* Runs: supervisor. The budget of a region and its use. The kernel enforces each limit a step above the grant (a byte,
 * page, task or descriptor more): reaching the step is the breach, standing at the limit is not. */
#pragma once

#include "policy/grant.h"
#include "region/region-cgroup.h"
#include "region/region-connected.h"
#include "region/region-proc.h"
#include "region/region-queues.h"
#include "region/region-shared.h"
#include "region/region-state.h"
#include "spawn/guard.h"

typedef struct Breach {
        Outcome outcome;             /* OUTCOME_NONE: no breach */
        /* static; a budget of lethe.json: memory, wall, cpu, idle, processes, open_files, file_size, scratch, output;
         * or pipe, scratch_files, scratch_depth, mappings */
        const char *resource;
        uint64_t limit;              /* bytes, usec or a count, like the fields below */
        uint64_t used;               /* as measured, or BREACH_UNMEASURED: not recorded */
        uint64_t lent;               /* held by regions below, and set aside for callbacks */
        uint64_t asked;              /* refused request, beyond `used` */
        uint64_t refused;            /* number of refusals by the kernel; 0: unknown */
} Breach;
#define BREACH_UNMEASURED UINT64_MAX

/* The share of the budget held by living regions below, and the memory set aside for release callbacks. */
typedef struct RegionLoan {
        uint64_t memory_bytes, processes, scratch_bytes;
} RegionLoan;

/* A region held still during a look. Sixty processes that write at once leave the look no processor, and hold more
 * memory at its end than at its beginning. */
typedef struct RegionHold {
        bool held;
        unsigned times;              /* number of holds */
        uint64_t since_usec;         /* CLOCK_MONOTONIC */
        Guard *guard;                /* the guard that stopped the processes; NULL: this process */
        pid_t *v;                    /* the stopped processes, parents first; owned */
        size_t n;
} RegionHold;

#define LISTED_MAX 32 /* Unix sockets at which a region listens at once, in the host's network namespace */
typedef struct ListedSocket {
        uint32_t inode;  /* of the socket, not of its file */
        uint64_t cookie; /* SO_COOKIE */
} ListedSocket;

typedef struct RegionBudget RegionBudget;
struct RegionBudget {
        RegionBudget *above;         /* borrowed: the parent region's budget, or NULL */
        RegionLoan lent;
        uint64_t below_cpu_usec;     /* of all regions below, also of ended regions */
        uint64_t throttled_usec;     /* with a share of processors: time without a processor for that reason */
        uint64_t charged_cpu_usec;   /* part of cpu_usec already charged to regions above */
        const Grant *grant;          /* borrowed */
        RegionCgroup *cgroup;        /* borrowed */
        Guard *guard;                /* borrowed */
        pid_t worker;
        int scratch;                 /* folder of the scratch, owned; -1: unknown */
        bool scratch_on_host;        /* tier landlock: a host folder, counted file by file */
        ProcTree tree;
        RegionShared shared;         /* shared memory; charged without a control group for memory */
        uint64_t started_usec;       /* CLOCK_MONOTONIC */
        uint64_t wall_deadline;      /* for the loop; UINT64_MAX before the start and after the end */
        uint64_t tick_deadline;      /* next accounting */
        uint64_t moved;              /* grows with each read, write and question of the region */
        uint64_t idle_moved, idle_cpu_usec, idle_since; /* values at the last activity, and its time */
        uint64_t tick_usec;          /* interval of ticks */
        uint64_t look_deadline;      /* an earlier tick looks only after growth of memory */
        uint64_t watch_usec;         /* interval of growth checks; UINT64_MAX: only a call can pass the budget */
        uint64_t machine_look;       /* machine_given() before the present look */
        uint64_t machine_bytes;      /* the same at the last complete look, or the least since */
        unsigned looks;              /* looks at a region not held */
        uint64_t left_bytes;         /* of the memory budget at the last look */
        uint64_t grown_bytes;        /* growth of the region between the last two looks */
        uint64_t alarm_bytes;        /* growth of the machine that led to the present hold */
        unsigned false_alarms;       /* successive holds after growth of others */
        uint64_t calm_until;         /* CLOCK_MONOTONIC usec: until then, growth of the machine leads to no hold */
        bool guard_watches;          /* the guard checks growth, and stops the region then */
        bool spares;                 /* the region leaves a processor free meanwhile */
        bool slice_short;            /* the looking thread has shorter time slices */
        RegionHold hold;             /* processes stopped for a look */
        uint64_t slow_deadline;      /* next slow look, every few ticks */
        QueuesLook queues;           /* bytes in pipes and sockets */
        ListedSocket listed[LISTED_MAX]; /* networks connect and host: Unix sockets of which the supervisor made the listen */
        size_t n_listed;
        int waiting;                 /* netlink socket, owned; -1: no look yet; below -1: not available */
        uint64_t waiting_bytes;      /* in waiting connections, at the last look */
        RegionConnected connected;   /* connections made for the region */
        uint64_t connected_bytes;    /* in connections closed by the region, at the last look; without a memory group */
        uint64_t datagram_bytes;     /* unsent by UDP sockets, at the last look; with a memory group */
        uint64_t scratch_now;        /* bytes in use at the last look */
        uint64_t scratch_names; /* kernel memory for files of the scratch, whatever the content; 0 for a host folder */
        uint64_t scratch_base;       /* use before the program's start: folders */
        uint64_t scratch_seen;       /* use at the last look at file sizes */
        uint64_t tasks_bound;        /* upper bound of tasks: last count plus every fork since */
        uint64_t opens;              /* opens since the last count of descriptors */
        uint64_t reserved;           /* bytes of the memory budget for sections in the supervisor */
        uint64_t cancel_bound_usec;  /* raised for many mappings (admit_mapped()); 0: as granted */
        bool peak_known;             /* the group's peak was read, before memory that is taken to overwrite */
        bool over;                   /* the region has ended: limits are never raised again */
        bool full;                   /* the memory group was full of unreclaimable memory: the kernel refused more */
        bool full_of_files;          /* the group was seen full of pages of files, perhaps freed since */
        uint64_t tasks_outside;      /* tasks refused by a limit outside of the region */
        uint64_t peak_memory_bytes, cpu_usec, scratch_bytes; /* measured so far */
};

void region_budget_init(RegionBudget *b, const Grant *g, RegionCgroup *c, Guard *guard);
/* Takes over the descriptor of the scratch, or -1. */
void region_budget_scratch(RegionBudget *b, int fd, bool on_host);
uint64_t region_budget_scratch_used(const RegionBudget *b); /* Bytes held by the scratch; 0 for a host folder. */
/* The worker was let go: starts the clocks. */
void region_budget_start(RegionBudget *b, pid_t worker, uint64_t now_usec);
/* The guard stopped the region at that time after growth of the machine's memory (GUARD_STOOD): a tick is due. */
void region_budget_stood(RegionBudget *b, uint64_t since_usec);
Breach region_budget_tick(RegionBudget *b, uint64_t now_usec); /* Looks at all budgets; moves tick_deadline on. */
/* Call after an event of a control group, for memory or tasks. */
Breach region_budget_memory_event(RegionBudget *b);
Breach region_budget_tasks_event(RegionBudget *b);
/* Call after an end by SIGXFSZ or SIGXCPU: measures `used` where possible. told_usec: CPU time, told by the worker. */
Breach region_budget_file_signal(RegionBudget *b);
Breach region_budget_cpu_signal(RegionBudget *b, uint64_t told_usec);
/* The largest budget for a region below. Three quarters of the memory, tasks and scratch left, because the present
 * region goes on. All wall and CPU time left; the same open files and file size. Output: UINT64_MAX. */
Budget region_budget_left(RegionBudget *b, uint64_t now_usec);
/* Sets the limits of existing control groups to the program's share. Returns 0 or -errno: -EBUSY with more in use. */
int region_budget_limit(RegionBudget *b);
/* Gives `b`, of a new region, its budget from the lender's. The lender cannot use lent memory, tasks and scratch; CPU
 * time of b counts for all regions above. Returns 0 or -errno, with no loan. */
int region_budget_lend(RegionBudget *lender, RegionBudget *b);
/* Charges CPU time of a callback of b's region to all regions above. */
void region_budget_charge(RegionBudget *b, uint64_t cpu_usec);
void region_budget_give_back(RegionBudget *b); /* The region of b has gone: returns all but the time. */
/* Before an action of the region: `bytes` more private memory in pid; a further task; a further open by pid; a change
 * of files. A change may remove files of the scratch. */
Breach region_budget_ask_memory(RegionBudget *b, pid_t pid, uint64_t bytes);
/* Before a mapping of `bytes` that may make an object of shared memory. */
Breach region_budget_ask_shared(RegionBudget *b, pid_t tid, uint64_t bytes);
Breach region_budget_ask_task(RegionBudget *b);
Breach region_budget_ask_open(RegionBudget *b, pid_t pid);
Breach region_budget_ask_change(RegionBudget *b);
/* The region has ended. killed: about to be killed: looks now, because no use can be measured later. Else ended by
 * itself, before any overwriting is charged to the group. */
void region_budget_over(RegionBudget *b, bool killed);
/* Call when no process of the region runs any more: the overwriting may take memory beyond the limit, and the peak of
 * the region stays without that memory. */
void region_budget_unlimit(RegionBudget *b);
/* Call when all processes are gone, with the control groups still there: breaches reached at the very end.
 * worker_cpu_usec and worker_max_rss: the worker's report about the program, used without a better measurement. */
Breach region_budget_final(RegionBudget *b, uint64_t worker_cpu_usec, uint64_t worker_max_rss);
/* For a program that ended by itself: a breach when memory was refused during a system call, not reported by the kernel
 * for version 1. A program that ended well (0) had enough memory: the full group may have given pages back in time.
 * CRASHED: killed by the kernel for a failed write to memory. */
typedef enum BudgetEnd { BUDGET_END_WELL, BUDGET_END_FAILED, BUDGET_END_CRASHED } BudgetEnd;
Breach region_budget_refused(const RegionBudget *b, BudgetEnd end);
/* True when the memory group has next to no room left. */
bool region_budget_is_full(const RegionBudget *b);
/* Whether there is room for a further listed socket. */
bool region_budget_may_list(RegionBudget *b);
/* Adds a socket that listens. */
void region_budget_list(RegionBudget *b, uint32_t inode, uint64_t cookie);
/* Whether a Unix socket of the region listens at the file with these numbers, as in sock_diag(7): in network loopback
 * any of the region's own network namespace, else a listed one. False when the kernel cannot tell. */
bool region_budget_listens(RegionBudget *b, uint32_t device, uint32_t inode);
void region_budget_deinit(RegionBudget *b);

/* Stops all processes below the worker. The guard stops its traced processes, invisibly for the region. Without a guard
 * (NULL, or no traced process) SIGSTOP stops each running process, parents first: a stopped parent makes no children
 * and sees no stopped child. A process may run for moments after the call. */
void region_hold(RegionHold *h, pid_t worker, Guard *guard);
void region_hold_end(RegionHold *h); /* Lets the stopped processes go on, children first. */
void region_hold_forget(RegionHold *h); /* Leaves the processes stopped, for a kill by the caller. */
