/* Runs: supervisor. What a region may use and what it did use. Each limit is enforced by the kernel one step above the grant (one byte,
 * page, task or descriptor more), so that being there is the breach and standing at the limit is not. */
#pragma once

#include "policy/grant.h"
#include "region/region-cgroup.h"
#include "region/region-connected.h"
#include "region/region-hold.h"
#include "region/region-proc.h"
#include "region/region-queues.h"
#include "region/region-shared.h"
#include "region/region-state.h"

typedef struct Breach {
        Outcome outcome;      /* OUTCOME_NONE: none */
        const char *resource; /* as in lethe.json "budgets": memory, wall, cpu, processes, open_files, file_size, scratch, output; static */
        uint64_t limit;       /* bytes, usec or a count, as all that follow */
        uint64_t used;        /* as it was measured, or BREACH_UNMEASURED: nothing is recorded then */
        uint64_t lent;        /* what regions below held of the limit, and what was set aside for callbacks */
        uint64_t asked;       /* what was asked for at once, beyond `used`, and refused */
        uint64_t refused;     /* how often the kernel refused more; 0: it does not tell */
} Breach;
#define BREACH_UNMEASURED UINT64_MAX

/* What of a region's budget the regions below it hold, for as long as they live; of its memory also what is set aside for release callbacks. */
typedef struct RegionLoan {
        uint64_t memory_bytes, processes, scratch_bytes;
} RegionLoan;

typedef struct RegionBudget RegionBudget;
struct RegionBudget {
        RegionBudget *above;         /* borrowed: of the region that started this one, or NULL */
        RegionLoan lent;
        uint64_t below_cpu_usec;     /* used by all regions below, also by those that have ended */
        uint64_t charged_cpu_usec;   /* of cpu_usec: what those above were told of */
        const Grant *grant;          /* borrowed */
        RegionCgroup *cgroup;        /* borrowed */
        Guard *guard;                /* borrowed */
        pid_t worker;
        int scratch;                 /* folder of the scratch, owned; -1 when not known */
        bool scratch_on_host;        /* tier landlock: a folder of the host, whose use must be summed up */
        ProcTree tree;
        RegionShared shared;         /* what processes of the region share; charged where no control group bounds memory */
        uint64_t started_usec;       /* CLOCK_MONOTONIC */
        uint64_t wall_deadline;      /* for the loop; LOOP_NEVER before the start and after the end */
        uint64_t tick_deadline;      /* next accounting */
        uint64_t moved;              /* grows with each thing that the region was given to read, wrote or asked */
        uint64_t idle_moved, idle_cpu_usec, idle_since; /* what there was when it last did something, and when */
        uint64_t tick_usec;          /* distance of ticks */
        uint64_t look_deadline;      /* a tick before it looks only when memory has grown */
        uint64_t watch_usec;         /* distance of ticks that see whether it has; UINT64_MAX: the region cannot hold more than its budget without a call */
        uint64_t machine_look;       /* machine_given() before the look that goes on */
        uint64_t machine_bytes;      /* the same before the last one that told what is left, or the least since */
        unsigned looks;              /* at a region that was not held */
        uint64_t left_bytes;         /* of the memory budget at the last look */
        bool guard_watches;          /* the guard sees whether memory has grown, and stops the region then */
        bool spares;                 /* the region leaves one processor to others meanwhile */
        bool slice_short;            /* who looks at it was given shorter turns of the processor */
        RegionHold hold;             /* who is stopped for a look */
        uint64_t slow_deadline;      /* of what is looked at every few ticks */
        QueuesLook queues;           /* what pipes and sockets hold */
        int waiting;                 /* of waiting_open(), owned; -1: there was no look yet; less: nobody can tell */
        uint64_t waiting_bytes;      /* in connections that nobody accepted, when last looked at */
        RegionConnected connected;   /* connections that were made for the region */
        uint64_t connected_bytes;    /* in those that the region has closed, when last looked at; where no control group bounds memory */
        uint64_t datagram_bytes;     /* of UDP sockets, still to be sent, when last looked at; where a control group bounds memory */
        uint64_t scratch_now;        /* bytes in use when last looked at */
        uint64_t scratch_names;      /* memory of the kernel for files of the scratch, whatever is in them; 0 where it is a folder of the host's */
        uint64_t scratch_base;       /* use before the program started: its folders */
        uint64_t scratch_seen;       /* use when file sizes were last looked at */
        uint64_t tasks_bound;        /* no more tasks than this: last count plus every fork since */
        uint64_t opens;              /* opens since descriptors were last counted */
        uint64_t reserved;           /* bytes of the memory budget that the region's sections take in the supervisor, used or not */
        bool over;                   /* the region has ended: no limit is raised any more */
        bool full;                   /* the control group of memory was full of what cannot be given back: more was refused */
        bool full_of_files;          /* it was seen full of pages of files, which may be gone since */
        uint64_t tasks_outside;      /* how often a task was refused for a limit that is not the region's */
        uint64_t peak_memory_bytes, cpu_usec, scratch_bytes; /* measured so far */
};

void region_budget_init(RegionBudget *b, const Grant *g, RegionCgroup *c, Guard *guard);
/* The scratch is there: a descriptor, which is taken over; or -1. */
void region_budget_scratch(RegionBudget *b, int fd, bool on_host);
/* Bytes that the scratch holds; 0 where it is a folder of the host's. */
uint64_t region_budget_scratch_used(const RegionBudget *b);
/* The worker was let go: clocks start. */
void region_budget_start(RegionBudget *b, pid_t worker, uint64_t now_usec);
/* The guard stopped the region, because the machine's memory has grown (GUARD_STOOD): a tick is due. */
void region_budget_stood(RegionBudget *b);
/* Periodic accounting; moves tick_deadline on. */
Breach region_budget_tick(RegionBudget *b, uint64_t now_usec);
/* A control group has news: memory or tasks. */
Breach region_budget_memory_event(RegionBudget *b);
Breach region_budget_tasks_event(RegionBudget *b);
/* The kernel ended the program with SIGXFSZ, or SIGXCPU: used is what can be measured of it, else unmeasured. told_usec: of the program, by who waited. */
Breach region_budget_file_signal(RegionBudget *b);
Breach region_budget_cpu_signal(RegionBudget *b, uint64_t told_usec);
/* What a region below this one may have at most: three quarters of the memory, tasks and scratch that are left, because this region goes on
 * meanwhile; all of the wall and CPU time that is left; as many open files in a process, and as large a file, as this one. Output: UINT64_MAX. */
Budget region_budget_left(RegionBudget *b, uint64_t now_usec);
/* Sets the limits of the control groups, where they are made, to what is left for the program. Returns 0 or -errno: more may be in use (-EBUSY). */
int region_budget_limit(RegionBudget *b);
/* Gives `b`, of a new region, its budget out of the lender's: what is lent the lender cannot use, and CPU time that b uses counts for all
 * above. Returns 0 or -errno, with nothing lent. */
int region_budget_lend(RegionBudget *lender, RegionBudget *b);
/* CPU time that a callback of b's region used counts for all above that region. */
void region_budget_charge(RegionBudget *b, uint64_t cpu_usec);
/* The region of b is no more: all but the time goes back. */
void region_budget_give_back(RegionBudget *b);
/* Before something in the region: `bytes` more of private memory in pid; one more task; one more open by pid; a change of files,
 * which may remove what the scratch holds now. */
Breach region_budget_ask_memory(RegionBudget *b, pid_t pid, uint64_t bytes);
/* A mapping of so many bytes is about to be made that may make an object of shared memory. */
Breach region_budget_ask_shared(RegionBudget *b, pid_t tid, uint64_t bytes);
Breach region_budget_ask_task(RegionBudget *b);
Breach region_budget_ask_open(RegionBudget *b, pid_t pid);
Breach region_budget_ask_change(RegionBudget *b);
/* The region has ended. killed: it is about to be: what it uses is looked at while it is there, because nobody tells it afterwards. Else: it ended
 * by itself, and nothing is overwritten yet that its group would be charged for. */
void region_budget_over(RegionBudget *b, bool killed);
/* All processes are gone: what was only reached at the very end. The control groups must still be there.
 * worker_cpu_usec and worker_max_rss are what the worker told of the program, used where nothing better is known. */
Breach region_budget_final(RegionBudget *b, uint64_t worker_cpu_usec, uint64_t worker_max_rss);
/* The same, of a program that ended by itself: it had been refused memory in a system call, of which the kernel of a group of version 1 tells nobody. One
 * that ended well (0) got along with what it had: then a full group may just as well have been one that gave pages back in time. CRASHED: the kernel ended it
 * because it could not write into its memory. */
typedef enum BudgetEnd { BUDGET_END_WELL, BUDGET_END_FAILED, BUDGET_END_CRASHED } BudgetEnd;
Breach region_budget_refused(const RegionBudget *b, BudgetEnd end);
/* The control group of memory has next to no room left. */
bool region_budget_is_full(const RegionBudget *b);
void region_budget_deinit(RegionBudget *b);
