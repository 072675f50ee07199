/* Runs: supervisor. Starts one worker for one region and hands it its sealed launch spec. The worker confines itself at once and then
 * waits for spawn_go(), so that region.allocated can be made durable while it works. */
#pragma once

#include "base/diag.h"
#include "base/util.h"
#include "policy/filter.h"
#include "policy/grant.h"
#include "schema/status.h"
#include "spawn/probe.h"
#include "spawn/spawner.h"

enum {
        SPAWN_E_TIER = 1,   /* this machine cannot give the grant's tier: message says what is missing and the fix */
        SPAWN_E_SOURCE,     /* something to be bound does not exist or cannot be read: message names field and path */
        SPAWN_E_WORKER,     /* lethe-worker not found */
        SPAWN_E_KERNEL,     /* clone, mount or cgroup refused: message names the call */
};

typedef struct SpawnIo {
        int std_in, std_out, std_err; /* become 0, 1, 2 of the skill; borrowed */
        int pipe_in, pipe_out;        /* become REGION_PIPE_IN_FD (skill reads) and REGION_PIPE_OUT_FD (skill writes); borrowed */
} SpawnIo;

typedef struct SpawnRequest {
        const Grant *grant;
        const Probe *probe;
        const char *region;            /* its id */
        const char *store_dir;         /* absolute; cache/ and scratch/ are made in it when needed */
        const char *cgroup;            /* NULL, or a cgroup of version 2 that the caller made for this region: the worker is born in it.
                                        * The caller removes it. Groups of version 1 are entered at spawn_groups() */
        bool memory_in_cgroup;         /* a cgroup will bound memory: else RLIMIT_DATA is set and large mappings are notified */
        bool tasks_in_cgroup;          /* a cgroup will bound tasks: else clone and fork are notified */
        SpawnIo io;
        Spawner *spawner;              /* NULL: lethe-worker is executed */
        bool later;                    /* the grant's argv and env are not known yet: spawn_words() before spawn_go(). Tier namespaces only */
} SpawnRequest;

/* What a region that waits was shown of the host: which file each path was. */
typedef struct ViewMark {
        char *path; /* owned */
        bool follow;
        uint64_t dev, inode; /* 0: it was not there */
        uint64_t below;      /* mounts_below() */
} ViewMark;
typedef struct ViewMarks {
        ViewMark *v; /* owned */
        size_t n;
} ViewMarks;
/* Each path still is the same file, with the same mounts below it. */
bool view_still_is(const ViewMarks *m);

typedef struct Spawned {
        Tier tier;
        uint32_t uid;         /* of this region on the host, taken with uids_take(); 0: none */
        uint32_t host_uid;    /* the user of its processes on the host, and whose that is: */
        const char *host_user; /* "region": its own; "template": of all regions of one template; "nobody": of all whose ids are not mapped; "lethe"; static */
        pid_t pid;            /* the worker: PID 1 of the region in tier namespaces; our child, to be reaped by the caller */
        uint64_t start_ticks; /* field 22 of /proc/PID/stat: with pid it names the process also after a crash of ours */
        int pidfd;
        int status;           /* SOCK_SEQPACKET, non-blocking; read with spawn_status(); end of file when worker and program are gone */
        int lifeline;         /* its closing makes the worker kill the region; also carries the go byte */
        char *scratch;        /* owned; tier landlock: host folder of the scratch, else NULL */
        FilterInput filter;   /* with which filter_judge() reads a notification */
        char *cgroup;         /* owned copy of the request's, or NULL */
        int memory;           /* the memory file in which the worker reads its spec */
        uint8_t *spec;        /* owned: the launch spec as it was sent, for spawn_explain() */
        size_t n_spec;
        ViewMarks view;       /* of a start with `later` */
        size_t n_words;       /* bytes that spawn_words() wrote behind it */
        bool born, ready;     /* STATUS_BORN, STATUS_READY were taken */
        bool ahead;           /* the program is an interpreter that starts before spawn_words(): with a first spawn_go(), up to a byte on the
                               * lifeline; with the second one it takes the words */
        bool told;            /* spawn_words() was called */
        Spawner *spawner;     /* borrowed */
        struct Zygote *template; /* that made it, borrowed from the Spawner until spawned_deinit(); NULL: none did */
        bool warm;            /* the program is a child of a warm interpreter (LAUNCH_WARM): pages of it that nobody wrote to are that one's */
} Spawned;

/* Everything up to the worker that confines itself. Returns 0, SPAWN_E_*, -errno; nothing is left behind on failure. The calling thread
 * must live as long as the region: its end kills the region (PR_SET_PDEATHSIG), unless the Spawner's thread made it. */
int spawn_start(const SpawnRequest *r, Spawned *ret, Diag *reterr);

/* Takes one record. ret_notify and ret_scratch (a folder, for fstatfs and clean-up) are -1 unless they came with it; they are the
 * caller's then. Returns 1 with a record, 0 at the end of the stream, -EAGAIN when there is none now, -EPROTO for a malformed packet. */
int spawn_status(Spawned *s, StatusRecord *ret, int *ret_notify, int *ret_scratch);
/* For STATUS_STEP_FAILED: fills in which step failed, why, and the fix where there is one. Returns SPAWN_E_TIER when this machine cannot
 * give the tier, else SPAWN_E_KERNEL. */
int spawn_explain(const Spawned *s, const StatusRecord *failed, Diag *reterr);
/* Adds to a failure of one of these the AppArmor profile that confines this process, if one does: it can be the cause. */
void spawn_add_profile(Diag *d);
const char *spawn_step_name(int step); /* "pivot"; "unknown" beyond the list */

/* Once, at any time before spawn_go(), also with none: before it says STATUS_READY the program's process enters the cgroups of version 1
 * whose files `tasks` these are, open for writing (at most LAUNCH_GROUPS_MAX, borrowed), by itself. That costs microseconds, while moving it from outside
 * costs 10 to 20 ms. The worker stays outside: only the program and what it starts are counted. Returns 0, -EPIPE when the worker is
 * gone (its status says why), -errno. */
int spawn_groups(Spawned *s, const int *tasks, size_t n);
/* Of a start with `later`: what the program is started with. Returns 0, -EFBIG when it is more than fits, -errno. */
int spawn_words(Spawned *s, const Grant *g, const char *region);
/* After STATUS_READY: lets the worker start the program; with `ahead` twice, before and after spawn_words(). Returns 0 or -errno. */
int spawn_go(Spawned *s);
/* Ends the region now: SIGKILL to the worker by pidfd, and cgroup.kill. In tier landlock the lifeline is closed and all descendants are
 * killed, so that the worker ends by itself when none is left; a second call kills the worker too. Returns 0 or -errno. */
int spawn_kill(Spawned *s);
/* After the worker was reaped: proves that nothing of the region runs (PID namespace gone with its init; cgroup empty; tier landlock: no
 * descendant left, any that is found is killed and reaped). guard: the pid of the region's own one, 0: none; what another guard holds is
 * another region's. Returns 0, or SPAWN_E_KERNEL with the pids in the message. */
int spawn_prove_empty(Spawned *s, pid_t guard, Diag *reterr);
/* Removes all that is in the folder, following no link; fn (may be NULL) is called with each name that is no folder before it goes.
 * Returns 0 or -errno. */
typedef void (*SpawnScratchFn)(int dir, const char *name, void *arg);
int spawn_scratch_empty(int top, SpawnScratchFn fn, void *arg);
/* Tier landlock: removes the scratch folder and all below it, following no link. 0 also when it is not there. Returns 0 or -errno. */
int spawn_scratch_remove(const char *path);
/* Overwrites the launch spec, arguments and environment in it, where the worker reads it: the program must have been executed or be dead. */
void spawn_wipe_spec(Spawned *s);
/* The kernel does not let it die: nobody waits for it any more. */
void spawned_leave(Spawned *s);
void spawned_deinit(Spawned *s);
#define _cleanup_spawned_ _cleanup_(spawned_deinit)
#define SPAWNED_NULL ((Spawned){.pidfd = -1, .status = -1, .lifeline = -1, .memory = -1})
