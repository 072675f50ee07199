/* Runs: supervisor. Starts one worker for one region with a sealed launch spec. The worker confines itself at once and
 * then waits for spawn_go(), so that region.allocated becomes durable meanwhile. */
#pragma once

#include "base/diag.h"
#include "base/util.h"
#include "policy/filter.h"
#include "policy/grant.h"
#include "schema/limits.h"
#include "schema/status.h"
#include "spawn/probe.h"

typedef struct Spawner Spawner;

enum {
        SPAWN_E_TIER = 1, /* this machine cannot give the grant's tier: the message has the missing part and the fix */
        SPAWN_E_SOURCE,     /* a source of a bind does not exist or cannot be read: the message has field and path */
        SPAWN_E_WORKER,     /* lethe-worker not found */
        SPAWN_E_KERNEL,     /* clone, mount or cgroup refused: the message has the call */
};

typedef struct SpawnIo {
        int std_in, std_out, std_err; /* become 0, 1, 2 of the skill; borrowed */
        int pipe_in, pipe_out; /* become REGION_PIPE_IN_FD (to the skill) and REGION_PIPE_OUT_FD; borrowed */
} SpawnIo;

typedef struct SpawnRequest {
        const Grant *grant;
        const Probe *probe;
        const char *region;            /* the region's id */
        const char *store_dir;         /* absolute; has cache/ and scratch/, made when needed */
        bool memory_in_cgroup; /* a cgroup will bound memory: else RLIMIT_DATA is set and large mappings are notified */
        bool tasks_in_cgroup;          /* a cgroup will bound tasks: else clone and fork are notified */
        SpawnIo io;
        Spawner *spawner;              /* NULL: lethe-worker is executed */
        bool tell;  /* STATUS_EXECUTED is wanted */
        bool later; /* argv and env are not known yet: spawn_words() before spawn_go(). Tier namespaces only */
} SpawnRequest;

/* A path of the host in a waiting region's view, and the file at the path. */
typedef struct ViewMark {
        char *path; /* owned */
        bool follow;
        uint64_t dev, inode; /* 0: no file */
        uint64_t below;      /* mounts_below() */
} ViewMark;
typedef struct ViewMarks {
        ViewMark *v; /* owned */
        size_t n;
} ViewMarks;
/* True: each path still has the same file, with the same mounts below. */
bool view_still_is(const ViewMarks *m);

typedef struct Spawned {
        Tier tier;
        uint32_t uid;         /* of this region on the host, from uids_take(); 0: none */
        uint32_t host_uid;    /* the host user of the region's processes */
        const char *host_user; /* static: "region", "template" or "nobody" (shared), "lethe" */
        pid_t pid; /* the worker: PID 1 of the region in tier namespaces; reaped by the caller */
        uint64_t start_ticks; /* field 22 of /proc/PID/stat: with pid, an identity beyond a crash */
        int pidfd;
        int status; /* SOCK_SEQPACKET, non-blocking; for spawn_status(); end of file when worker and program are gone */
        int lifeline;         /* carries the go byte; when closed, the worker kills the region */
        char *scratch;        /* owned; tier landlock: host folder of the scratch, else NULL */
        FilterInput filter;   /* for filter_judge() of a notification */
        int memory;           /* the memory file with the worker's spec */
        uint8_t *spec;        /* owned: the sent launch spec, for spawn_explain() */
        size_t n_spec;
        ViewMarks view;       /* of a start with `later` */
        size_t n_words;       /* bytes of spawn_words() behind the spec */
        bool born, ready;     /* STATUS_BORN, STATUS_READY were taken */
        bool awaits_terminal; /* STATUS_TERMINAL has to come before STATUS_BORN */
        int terminal;         /* the master of STATUS_TERMINAL, checked, for the caller to take; -1: none */
        int listeners[LISTEN_MAX]; /* by the place in Grant.listen; -1: not there, or taken by spawn_listener() */
        int sockets;          /* the socket of STATUS_SOCKETS, for lethe-proxy (schema/proxy.h); -1: none */
        bool has_early;       /* spawn_take_born() took another record, which spawn_status() returns next */
        int early_result;
        StatusRecord early;
        /* the program is an interpreter that starts before spawn_words(): the first spawn_go() starts the interpreter,
         * up to a byte on the lifeline; the second makes the interpreter take the words */
        bool ahead;
        bool told;            /* spawn_words() was called */
        Spawner *spawner;     /* borrowed */
        struct Zygote *template; /* its maker, borrowed from the Spawner until spawned_deinit(); NULL: no template */
        bool warm; /* the program is a child of a warm interpreter (LAUNCH_WARM) and shares all unwritten pages */
} Spawned;

/* Starts the worker, up to its confinement. Returns 0, SPAWN_E_*, -errno; a failure leaves no trace. The calling thread
 * must live as long as the region (PR_SET_PDEATHSIG), except with a Spawner. */
int spawn_start(const SpawnRequest *r, Spawned *ret, Diag *reterr);

/* Takes one record. ret_notify and ret_scratch (a folder, for fstatfs and clean-up): the record's descriptors, for the
 * caller, or -1. Returns 1, 0 at the end of the stream, -EAGAIN without a record, -EPROTO for a malformed packet. */
int spawn_status(Spawned *s, StatusRecord *ret, int *ret_notify, int *ret_scratch);
/* As spawn_status(), for STATUS_BORN alone; another record is left to spawn_status(). Returns 0, -EAGAIN without a
 * record, -EPROTO after another record or the end. */
int spawn_take_born(Spawned *s, int *ret_scratch);
/* Hands over the socket that listens at 127.0.0.1:`port` of the region's own network, one of Grant.listen; nonblocking,
 * with a backlog of 128. The worker sends the sockets before STATUS_BORN: they are there once `born` is set, and so
 * before the environment of the program is final and before any code of the skill. The caller owns the descriptor,
 * which stays good after the region's end and keeps the network namespace until it is closed. -1: no such socket, or
 * handed over already. spawned_deinit() closes the rest. */
int spawn_listener(Spawned *s, const Grant *g, uint16_t port);
/* For STATUS_STEP_FAILED: step, reason, fix. Returns SPAWN_E_TIER (the tier is impossible here) or SPAWN_E_KERNEL. */
int spawn_explain(const Spawned *s, const StatusRecord *failed, Diag *reterr);
/* Adds this process's AppArmor profile, if any, to a failed start's message: a possible cause. */
void spawn_add_profile(Diag *d);
const char *spawn_step_name(int step); /* "pivot"; "unknown" beyond the list */

/* Called once before spawn_go(), also with n 0: before STATUS_READY the program's process enters the cgroups of version
 * 1 by their open `tasks` files (at most LAUNCH_GROUPS_MAX, borrowed). Entering from inside costs microseconds; a move
 * from outside costs 10 to 20 ms. The worker stays outside: only the program and its children are counted. Returns 0,
 * -EPIPE when the worker is gone (its status has the reason), -errno. */
int spawn_groups(Spawned *s, const int *tasks, size_t n);
/* For a start with `later`: sends argv and env. Returns 0, -EFBIG when too long, -errno. */
int spawn_words(Spawned *s, const Grant *g, const char *region);
/* After STATUS_READY: starts the program; with `ahead` called before and after spawn_words(). Returns 0 or -errno. */
int spawn_go(Spawned *s);
/* Ends the region now: SIGKILL to the worker by pidfd. In tier landlock the lifeline is closed and all descendants are
 * killed; the worker then ends by itself. A second call kills the worker too. Returns 0 or -errno. */
int spawn_kill(Spawned *s);
/* SIGTERM to the processes below the region's first. Returns their number. */
unsigned spawn_terminate(const Spawned *s);
/* After the worker's reap: proves that no process of the region runs (PID namespace gone with its init; tier
 * landlock: descendants are killed and reaped until no descendant is left). guard: the pid of the region's own
 * guard, 0: no guard; a process of a foreign guard is of its region. Returns 0, or SPAWN_E_KERNEL with the pids. */
int spawn_prove_empty(Spawned *s, pid_t guard, Diag *reterr);
#define LEND_SUFFIX ".copy" /* of the folder beside a scratch with lent copies of skill and program */
/* Tier landlock: removes the scratch folder, following no link. Returns 0 (also for a missing folder) or -errno. */
int spawn_scratch_remove(const char *path);
/* Overwrites the launch spec and its words in the worker's memory file: the program must run already, or be dead. */
void spawn_wipe_spec(Spawned *s);
/* The kernel does not let the worker die: the caller stops waiting. */
void spawned_leave(Spawned *s);
void spawned_deinit(Spawned *s);
#define _cleanup_spawned_ _cleanup_(spawned_deinit)
#define SPAWNED_NULL ((Spawned){.pidfd = -1, .status = -1, .lifeline = -1, .memory = -1, .terminal = -1, .listeners = {-1, -1}, .sockets = -1})
