/* Runs: supervisor. Starts one worker for one region and hands it its sealed launch spec. The worker confines itself and waits for
 * spawn_go(), so that region.allocated can be made durable while it works. */
#pragma once

#include "base/diag.h"
#include "base/util.h"
#include "policy/grant.h"
#include "schema/status.h"
#include "spawn/probe.h"

enum {
        SPAWN_E_TIER = 1,   /* this machine cannot give the grant's min_tier: message says what is missing and the fix */
        SPAWN_E_SOURCE,     /* something to be bound does not exist or cannot be read: message names field and path */
        SPAWN_E_WORKER,     /* lethe-worker not found */
        SPAWN_E_KERNEL,     /* clone, mount or cgroup refused: message names the call */
};

typedef struct SpawnIo {
        int std_in, std_out, std_err; /* become 0, 1, 2 of the skill; borrowed */
        int pipe_in, pipe_out;        /* become REGION_PIPE_IN_FD (skill reads) and REGION_PIPE_OUT_FD (skill writes); borrowed */
} SpawnIo;

typedef struct Spawned {
        Tier tier;
        pid_t pid;       /* the worker: PID 1 of the region in tier namespaces; our child, to be reaped by the caller */
        uint64_t start_ticks;
        int pidfd;
        int status;      /* SOCK_SEQPACKET; one StatusRecord a packet (schema/status.h); closed by the worker's death */
        int lifeline;    /* its closing makes the worker kill the region; also carries the go byte */
        char *cgroup;    /* owned; the region's memory cgroup, NULL when none could be had */
        char *scratch;   /* owned; tier landlock: host folder of the scratch, else NULL */
} Spawned;

/* Everything up to the waiting worker. `cgroup` may be NULL. Returns 0, SPAWN_E_*, -errno; nothing is left behind on failure. */
int spawn_start(const Grant *g, const Probe *p, const char *region, const char *store_dir, const char *cgroup_or_null,
                const SpawnIo *io, Spawned *ret, Diag *reterr);
/* Lets the worker confine itself and start the program. Returns 0 or -errno. */
int spawn_go(Spawned *s);
/* SIGKILL to the worker by pidfd; in tier landlock to every descendant too. Returns 0 or -errno. */
int spawn_kill(Spawned *s);
/* After the worker was reaped: proves that nothing of the region runs (PID namespace gone with its init; cgroup empty; tier landlock: no
 * descendant left). Returns 0, or SPAWN_E_KERNEL with the pids in the message. */
int spawn_prove_empty(Spawned *s, Diag *reterr);
void spawned_deinit(Spawned *s);
