/* Runs: supervisor. One lethe-guard for one region: start, orders and answers (schema/guard.h), and left evidence.
 *
 * The guards' files are in the folder guard/ of the store: `lock`, where each guard holds one byte (fcntl(2), open file
 * description locks; at an offset of the region's id) until its exit, and <region>.evidence. */
#pragma once

#include "base/diag.h"
#include "base/util.h"
#include "schema/guard.h"

#include <sys/types.h>

typedef struct Spawner Spawner;

enum {
        GUARD_E_START = 1, /* lethe-guard cannot be started: message with the fix */
        GUARD_E_GONE,      /* the guard ended, or does not answer */
};

typedef struct Guard {
        pid_t pid;             /* child of the supervisor; 0: no guard */
        int pidfd;
        int control;           /* SOCK_SEQPACKET, non-blocking; POLLIN: guard_answer(). -1: no guard, or gone */
        GuardEvidence *page;   /* mapped, written by the guard, except supervisor_looks */
        bool sent, attached;   /* ATTACH was sent; was answered without an error */
        bool done;             /* DONE was sent */
        bool lent;             /* LENT was sent */
        bool again;            /* DONE was sent with GUARD_AGAIN: guard_deinit() gives the guard to the Spawner */
        bool as_new;           /* AS_NEW was received */
        Spawner *spawner;      /* borrowed: the maker, or NULL */
        bool frozen, scrub, empty; /* frozen, empty: received, or not attached (see the page) */
        uint64_t seen, since; /* last progress, and CLOCK_MONOTONIC usec of the last change; since 0: not checked yet */
} Guard;
#define GUARD_NULL ((Guard){.pidfd = -1, .control = -1})

/* Starts a guard or takes a used one, as new. spawner NULL: executes lethe-guard. Returns 0, GUARD_E_START, -errno. */
int guard_start(Guard *ret, Spawner *spawner, Diag *reterr);
/* Sends ATTACH, does not wait. store_dir: above; spec: Spawned.memory; scratch or -1. Returns 0, GUARD_E_*, -errno. */
int guard_attach(Guard *g, const GuardOrder *order, const char *store_dir, int spec, int scratch, Diag *reterr);
/* Takes one answer and updates the flags. Returns 1, 0 at the end of the socket, -EAGAIN, -EPROTO. */
int guard_answer(Guard *g, GuardAnswer *ret);
/* Explains an answer's error to the operator. */
int guard_explain(int error, Diag *reterr);
int guard_freeze(Guard *g);
/* The namespace's first process was killed; no process is to be held. For regions of more than one process. */
int guard_freeze_at_once(Guard *g);
/* How many of the traced tasks may run. */
unsigned guard_living(const Guard *g);
/* GUARD_FACT_* so far. */
unsigned guard_facts(const Guard *g);
/* GuardEvidence.scratch_known; false during a change. A look at the scratch is valid with an equal *ret_step. */
bool guard_scratch_known(const Guard *g, uint64_t *ret_known, uint64_t *ret_step);
/* The supervisor is about to look into a socket of the region, and the guard must not meanwhile (schema/guard.h).
 * False: the guard's own look takes too long. Until guard_look_end() the guard counts data in sockets as missed. */
bool guard_look_begin(Guard *g);
void guard_look_end(Guard *g);
int guard_scrub(Guard *g);
/* The supervisor has files of the scratch open: a dead supervisor would leave their end unseen. Sent once. */
void guard_lent(Guard *g);
/* For a caller with its own loop. True: no progress for stall_usec; guard and traced processes are killed. */
bool guard_stalled(Guard *g, uint64_t stall_usec);
/* Discipline multipass: `task` waits in a notified call; the further tasks of its address space, or all tasks (flags:
 * GUARD_EVERYBODY, GUARD_EXECUTES), stand until the call ends. Answers: GUARD_PAUSED, GUARD_RESUMED. */
int guard_pause(Guard *g, pid_t task, unsigned flags, uint32_t serial);
int guard_doom(Guard *g, uint32_t serial);
int guard_resume(Guard *g, uint32_t serial);
/* All traced processes stand until guard_walk(). Returns 0, GUARD_E_GONE (also without a traced process), -errno. */
int guard_stand(Guard *g);
int guard_walk(Guard *g);
/* The guard stands all processes by itself, once, and sends GUARD_STOOD, when the machine has given out
 * (base/machine.h) `growth` bytes more than `machine`, or than the least value since. The guard looks every usec
 * microseconds. growth 0: stop watching. flags: 0 or GUARD_SPARE. Returns as guard_stand(). */
int guard_watch(Guard *g, uint64_t machine, uint64_t growth, uint32_t usec, unsigned flags);
/* Waits until all traced processes are overwritten and gone, while the guard makes progress, and stall_usec without
 * progress. Returns 0, GUARD_E_GONE (dead, or no progress: then killed with all traced processes). */
int guard_wait_empty(Guard *g, uint64_t stall_usec);
int guard_wait_frozen(Guard *g, uint64_t stall_usec);
/* The evidence so far; zeros without a guard. */
void guard_evidence(const Guard *g, GuardEvidence *ret);
/* The evidence is recorded, or no process was attached: the guard exits or serves a new region. */
void guard_done(Guard *g);
/* guard_done(), unless done before, then gives the guard to its Spawner, or reaps. */
void guard_deinit(Guard *g);
/* A number that changes with all work of the guard. */
uint64_t guard_progress(const Guard *g);
/* Closes the socket: the guard overwrites the region without time limit, and leaves its evidence to the next start. */
void guard_leave(Guard *g);
/* Ends and reaps the guard, whatever its orders. */
void guard_end(Guard *g);

/* Removes the evidence of regions unknown to known(): their end was recorded before the supervisor's death. */
void guard_sweep(const char *store_dir, bool (*known)(const char *region, void *userdata), void *userdata);
/* For a region of a dead supervisor: waits at most wait_usec for the end of the region's guard, then reads and removes
 * the evidence. Returns 0, -ENOENT (no evidence), -ETIMEDOUT (the guard still works), -errno. */
int guard_left(const char *store_dir, const char *region, uint64_t wait_usec, GuardEvidence *ret);
