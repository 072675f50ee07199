/* Runs: supervisor. One region: everything that one invocation holds outside its own memory, and what is known of how it ended. Creation by
 * invoke/run.c, taken down by scrub/teardown.c. */
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
#include "region/region-section.h"
#include "region/region-state.h"
#include "spawn/guard.h"
#include "spawn/spawn.h"

typedef struct Region {
        RegionState state;
        char id[REGION_ID_MAX];
        const Grant *grant;      /* borrowed */

        char parent[REGION_ID_MAX]; /* of the region that this one stands below; empty: none */
        const json_t *given;     /* borrowed while it is allocated: what of shared belief its input holds, as dispatch_record_given() takes it; or NULL */
        const char *start;       /* "cold", "pool", "warm": static */
        const char *callback;    /* borrowed: it is the parent's release callback of this entry; NULL: it is not */
        json_t *callbacks;       /* what became of its own ones: array of {entry, region, outcome, exit_code, usec}; NULL: it has none */

        Tier tier;               /* once there is a worker */
        Spawned spawned;
        uint32_t host_uid;       /* of its processes on the host, */
        const char *host_user;   /* and whose that user is, as in Spawned; static; NULL: there was no worker yet */
        bool has_worker;         /* spawned holds a worker that was not reaped yet */
        bool killed;             /* SIGKILL was sent to all of it */
        ProcWait wait;           /* of all that is left of it, in the kernel */
        unsigned left;           /* tasks that the kernel does not let die, and that nobody waits for any more; 0: none */
        Guard guard;             /* none with discipline none */
        bool hold;               /* the program's process is held at its exit stop until its callbacks have run and its handles are unbound */
        bool freezing;           /* the guard was told to hold it */
        uint64_t scratch_sum;    /* when it was killed: what the scratch held, and GuardEvidence.scratch_known */
        bool stands_first;       /* killed where it has no memory left: overwritten when all of it stands, and its limit is lifted only then */
        Conn pipe;               /* our ends of the skill's pipe */
        int region_pipe_in, region_pipe_out; /* the region's ends, closed once the worker has them */
        RegionIo io;
        CgroupPool *groups;      /* borrowed, set before region_open(); NULL: its control groups are made for it alone */
        RegionCgroup cgroup;
        RegionBudget budget;
        RegionNotify notify;
        Denials denials;
        Vault *vault;            /* key, sections, handles; NULL before region_vault_open() */
        const Vault *vault_parent; /* borrowed: of the region that started this one, set before region_vault_open(); NULL: none did */

        /* How it ended; set once, by region_end(). */
        Outcome outcome;
        int status;              /* exit code, or signal of SIGNALED and CANCELLED, or the exit code to use for SETUP_FAILED */
        Breach breach;           /* of which budget, with its numbers; resource NULL when none */
        uint64_t oom_before;     /* without a group of its own: processes of our unit that the kernel's out-of-memory killer had ended when it began */
        bool outside;            /* what ended it is nothing of Lethe's and nothing of the region's: memory was short around it */
        char reason[1024];       /* one sentence for people, may be empty */

        /* What the worker said of the program; 0 before STATUS_ENDED. */
        uint64_t program_cpu_usec, program_max_rss;

        uint64_t declared_usec, go_usec, ended_usec, stopped_usec; /* CLOCK_MONOTONIC; 0: not yet */
        bool recorded_start;     /* region.allocated is durable */
        bool ahead;              /* it was, or is to be, recorded before an invocation has it */
        bool begun_ahead;        /* its interpreter was started before an invocation had it */
        bool discards;           /* known when it began: nothing of it is kept. A region above had broken its budget, or owner_failed */
        bool callback_again;     /* of a callback: it did not run before, and its region's storage is given back by now */
        bool owner_failed;       /* of a callback: what its region proposed is kept for exit code 0 alone, and it did not end so (I-78) */
        char discarded[96];      /* recorded with its end: why nothing of it was kept, where the outcome does not say so; "" */
        uint64_t seq_allocated, seq_released, seq_ended;
} Region;

/* A fresh region with an id of its own (I-1, I-53). Returns 0 or -errno. */
int region_init(Region *r, const Grant *g);
/* Makes the pipes (feed, streams: as region_io_open) and plans the control groups; nothing outlives region_deinit(). Returns 0 or -errno. */
int region_open(Region *r, const RegionFeed *feed_or_null, const int *streams_or_null);
/* Makes the key and the sections that the grant declares, within the region's memory budget. Returns 0, SECTION_E_BAD with a message, -errno. */
int region_vault_open(Region *r, Diag *reterr);
/* What the region's gates read (I-50): object slot -> value, or NULL. Returns as region_vault_open(). */
int region_add_evidence(Region *r, const json_t *evidence, Diag *reterr);
/* A region that was prepared is from here on this grant's, which allows the same; its life begins now. */
void region_bind(Region *r, const Grant *g, const int *streams_or_null);
/* Of teardown (I-13): unbinds every handle, overwrites key and sections as the grant's discipline wants, gives them back. */
void region_sections_wipe(Region *r, VaultWiped *ret);
/* spawn_start() succeeded: the region's ends of all pipes are closed here. */
void region_started(Region *r, Spawned *s);
/* Makes the move and checks the invariant of the new state; a move that the table lacks is our own mistake. */
void region_move(Region *r, RegionState to);
/* Tells how it ended and moves to ENDED. The first end counts: later ones return false and change nothing. */
bool region_end(Region *r, Outcome o, int status, const char *reason_fmt, ...) _printf_(4, 5);
bool region_end_breach(Region *r, const Breach *b);
/* All processes are gone: a breach that was found only now replaces an end that the program chose. Returns true when it did. */
bool region_end_late(Region *r, const Breach *b);
/* Before it begins: for region_explain_outside(). */
void region_watch_outside(Region *r);
/* ENDED, and nothing of it runs any more: which of the paths outside of the region were denials. With on_denial "end" one of them makes the outcome of a
 * region that ended by itself `denied`: to end it at once would tell the region what the host has. */
void region_explain_denials(Region *r);
/* ENDED or STOPPED, with its control groups: an end by SIGKILL that the kernel's out-of-memory killer brought about, for a limit that is not the region's
 * (I-63), is named as that; and so are tasks that such a limit refused. */
void region_explain_outside(Region *r);
/* A sentence on a breach: "memory: limit 128 MiB, used 131 MiB", with what else was measured. Returns out. */
#define REGION_BREACH_TEXT_MAX 224
const char *region_breach_text(const Breach *b, char out[static REGION_BREACH_TEXT_MAX]);
/* What the process exits with (DESIGN: command line). */
int region_exit_code(const Region *r);
/* The same where Lethe could not record, or pass on, what became of it: 125 says that nothing ran. */
int region_trouble_code(const Region *r);
/* Checks what must hold in the present state; asserts. */
void region_check(const Region *r);
/* Frees memory and closes what is left; the region must be at an end, or never have been allocated. */
void region_deinit(Region *r);
