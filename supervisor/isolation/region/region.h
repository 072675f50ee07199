/* Runs: supervisor. One region: all resources an invocation holds outside its own memory, and the record of its end.
 * invoke/run.c creates a region, scrub/teardown.c takes a region down. */
#pragma once

#include "base/id.h"
#include "base/conn.h"
#include "policy/grant.h"
#include "region/region-budget.h"
#include "region/region-cgroup.h"
#include "region/region-denial.h"
#include "region/region-io.h"
#include "region/region-notify.h"
#include "region/region-proc.h"
#include "region/region-proxy.h"
#include "region/region-section.h"
#include "region/region-state.h"
#include "spawn/guard.h"
#include "spawn/spawn.h"

typedef struct Region {
        RegionState state;
        char id[REGION_ID_MAX];
        const Grant *grant;      /* borrowed */

        char parent[REGION_ID_MAX]; /* the parent region's id; empty: no parent */
        const json_t *given;     /* borrowed: shared belief in the input, for dispatch_record_given(); or NULL */
        const char *start;       /* "cold", "pool", "warm": static */
        const char *session;     /* borrowed: the region is a turn of this session, its parent; NULL: no turn */
        uint64_t turn;           /* its number, with the record */
        const char *callback;    /* borrowed: the parent's callback entry this region runs; NULL: no release callback */
        json_t *callbacks;       /* own callbacks: [{entry, region, outcome, exit_code, usec}]; or NULL */

        Tier tier;               /* set when the worker exists */
        Spawned spawned;
        uint32_t host_uid;       /* user of the processes on the host */
        const char *host_user;   /* the owner of host_uid, as in Spawned; static; NULL before the worker exists */
        bool has_worker;         /* spawned holds a worker not yet reaped */
        bool killed;             /* SIGKILL was sent to the whole region */
        ProcWait wait;           /* for the tasks left in the kernel */
        unsigned left;           /* tasks the kernel cannot end and the supervisor no longer waits for */
        Guard guard;             /* not set with discipline none */
        bool hold; /* the program's process is held at the exit stop until callbacks have run and handles are unbound */
        bool freezing;           /* the guard was told to hold the region */
        uint64_t scratch_sum;    /* at the kill: bytes in the scratch plus GuardEvidence.scratch_known */
        bool stands_first;       /* killed at the limit: overwritten when all processes stand, unlimited only then */
        Conn pipe;               /* the supervisor's ends of the skill's pipe */
        int region_pipe_in, region_pipe_out; /* the region's ends, closed when the worker has them */
        RegionIo io;
        CgroupPool *groups;      /* borrowed, set before region_open(); NULL: control groups for this region alone */
        RegionCgroup cgroup;
        RegionBudget budget;
        RegionNotify notify;
        RegionProxy proxy;
        Denials denials;
        Vault *vault;            /* key, sections, handles; NULL before region_vault_open() */
        const Vault *vault_parent; /* borrowed: the parent's vault, set before region_vault_open(); or NULL */

        /* The end of the region; set once, by region_end(). */
        Outcome outcome;
        int status;              /* exit code; signal of SIGNALED and CANCELLED; exit code to use for SETUP_FAILED */
        Breach breach;           /* the broken budget with its numbers; resource NULL: no breach */
        uint64_t oom_before;     /* without a control group: the unit's out-of-memory kills when the region began */
        bool outside;            /* the end came from outside: memory was short around the region */
        char reason[1024];       /* a sentence for the operator, may be empty */
        /* The end that was asked for with SIGTERM: takes the place of the program's own end within the grace. */
        struct RegionAsked {
                Outcome outcome; /* NONE: not asked */
                int status;
                Breach breach;
                char reason[256];
                uint64_t since_usec, usec; /* CLOCK_MONOTONIC of the signal; from the signal to the end */
                bool itself;     /* the program ended before the kill */
        } asked;
        char here[256];          /* a file that --here would have given, for the operator; "" */

        /* Reported by the worker about the program; 0 before STATUS_ENDED. */
        uint64_t program_cpu_usec, program_max_rss;

        size_t layer_paths; /* paths of its kept layer (FileGrant.overlay) */
        uint64_t declared_usec, go_usec, ended_usec, stopped_usec; /* CLOCK_MONOTONIC; 0: not yet */
        bool recorded_start;     /* region.allocated is durable */
        bool ahead;              /* recorded, or to be recorded, before an invocation has the region */
        bool begun_ahead;        /* the interpreter was started before an invocation had the region */
        bool discards;           /* all proposals are discarded: an ancestor broke its budget, or owner_failed */
        bool callback_again;     /* a callback that did not run before; its region's storage is already given back */
        bool owner_failed; /* a callback: its region needed exit code 0 for proposals, and ended otherwise (I-78) */
        char discarded[96];      /* the recorded reason for the discard, unless the outcome is the reason; "" */
        uint64_t seq_allocated, seq_released, seq_ended;
} Region;

int region_init(Region *r, const Grant *g); /* Gives a fresh region a new id (I-1, I-53). Returns 0 or -errno. */
/* Makes the pipes (feed, streams: as region_io_open) and plans the control groups. region_deinit() releases all.
 * Returns 0 or -errno. */
int region_open(Region *r, const RegionFeed *feed_or_null, const int *streams_or_null);
/* Makes key and sections within the region's memory budget. Returns 0, SECTION_E_BAD with a message, -errno. */
int region_vault_open(Region *r, Diag *reterr);
/* Adds evidence for the region's gates (I-50): object slot -> value, or NULL. Returns as region_vault_open(). */
int region_add_evidence(Region *r, const json_t *evidence, Diag *reterr);
/* Binds a prepared region to grant g, with the same permissions as before. The region's life begins now. */
void region_bind(Region *r, const Grant *g, const int *streams_or_null);
/* For teardown (I-13): unbinds handles, overwrites key and sections by the grant's discipline, frees the memory. */
void region_sections_wipe(Region *r, VaultWiped *ret);
/* Call after spawn_start(): closes the region's ends of all pipes in the supervisor. */
void region_started(Region *r, Spawned *s);
/* Makes the move and checks the invariant of the new state. A move outside the table is a mistake of the supervisor. */
void region_move(Region *r, RegionState to);
/* Sets the end and moves to ENDED. The first end counts: later ones return false and change nothing. */
bool region_end(Region *r, Outcome o, int status, const char *reason_fmt, ...) _printf_(4, 5);
bool region_end_breach(Region *r, const Breach *b);
/* Sends SIGTERM to the processes of a running region whose grant has a grace: the region has until then. False: no
 * grace, asked before, or no process to be told; the caller ends the region. b: a broken budget, or NULL. */
bool region_ask_end(Region *r, Outcome o, int status, const Breach *b, const char *reason);
/* The kill after SIGTERM: ends a region with `asked`. */
bool region_end_asked(Region *r);
/* Call when all processes are gone. A late breach replaces an end chosen by the program. Returns true when replaced. */
bool region_end_late(Region *r, const Breach *b);
/* Call before the region begins: saves the counts for region_explain_outside(). */
void region_watch_outside(Region *r);
/* Call in ENDED when no process runs: decides which paths outside of the region were denials. With on_denial "end", a
 * denial changes a region's own end to `denied`. An earlier end would reveal the host's files to the region. */
void region_explain_denials(Region *r);
/* Call before region_explain_denials(): sets `here`. */
void region_find_here(Region *r);
/* Call in ENDED or STOPPED, with the control groups. Explains a SIGKILL by the kernel's out-of-memory killer for a
 * limit above the region's own (I-63), and tasks refused by such a limit. */
void region_explain_outside(Region *r);
int region_exit_code(const Region *r); /* The exit code of the process (DESIGN: command line). */
/* The exit code when Lethe could not record or deliver the result. 125: the program never ran. */
int region_trouble_code(const Region *r);
/* Frees memory and closes descriptors. The region must be at an end, or never allocated. */
void region_deinit(Region *r);
