/* Runs: supervisor. One lethe-guard for one region: starting it, its orders and answers (schema/guard.h), and what a dead one left.
 *
 * Its files are in the folder guard/ of the store: `lock`, of which each guard holds one byte (fcntl(2), open file description locks;
 * which byte follows from the region's id) until it exits, and <region>.evidence of a guard whose supervisor died. */
#pragma once

#include "base/diag.h"
#include "base/util.h"
#include "schema/guard.h"
#include "spawn/spawner.h"

#include <sys/types.h>

enum {
        GUARD_E_START = 1, /* lethe-guard cannot be started: message with the fix */
        GUARD_E_GONE,      /* it ended, or does not answer */
};

typedef struct Guard {
        pid_t pid;             /* our child; 0: none */
        int pidfd;
        int control;           /* SOCK_SEQPACKET, non-blocking; POLLIN: guard_answer(). -1: none, or it is gone */
        GuardEvidence *page;   /* mapped, written by the guard, but for supervisor_looks */
        bool sent, attached;   /* ATTACH was sent; was answered without an error */
        bool done;             /* DONE was sent */
        bool lent;             /* LENT was sent */
        bool again;            /* with GUARD_AGAIN: it is the Spawner's when it is given up here */
        bool as_new;           /* it said so */
        Spawner *spawner;      /* borrowed: who made it, or NULL */
        bool frozen, scrub, empty; /* frozen, empty: it said so, or that it traces nothing because it could not be attached (its page says what it did) */
        uint64_t seen, since;  /* its progress when last looked at, and CLOCK_MONOTONIC usec of the last change; since 0: not looked at */
} Guard;
#define GUARD_NULL ((Guard){.pidfd = -1, .control = -1})

/* It runs when this returns, and waits for its order. It may have served other regions before, and is as new. spawner NULL: it is executed.
 * Returns 0, GUARD_E_START, -errno. */
int guard_start(Guard *ret, Spawner *spawner, Diag *reterr);
/* Sends ATTACH. store_dir: see above; spec: Spawned.memory; scratch may be -1. Does not wait for the answer. Returns 0, GUARD_E_GONE, -errno. */
int guard_attach(Guard *g, const GuardOrder *order, const char *store_dir, int spec, int scratch, Diag *reterr);
/* Takes one answer and keeps what it says. Returns 1, 0 at the end of the socket, -EAGAIN, -EPROTO. */
int guard_answer(Guard *g, GuardAnswer *ret);
/* What an answer's error means for who reads it. */
int guard_explain(int error, Diag *reterr);
int guard_freeze(Guard *g);
/* The first process of its PID namespace was killed, and nothing is to be held. For regions of more than one process. */
int guard_freeze_at_once(Guard *g);
/* How many of the traced tasks may run. */
unsigned guard_living(const Guard *g);
/* GUARD_FACT_* so far. */
unsigned guard_facts(const Guard *g);
/* GuardEvidence.scratch_known, while nothing changes that; false while something does. To be asked again after the scratch was looked at: when it says the
 * same, what it said and what was seen belong together. */
bool guard_scratch_known(const Guard *g, uint64_t *ret_known, uint64_t *ret_step);
/* The supervisor is about to look into a socket of the region's, and the guard does not meanwhile (schema/guard.h). False: the guard is in a look that does not
 * end soon. Without guard_look_end() the guard looks into no socket any more, and counts what lies there as missed. */
bool guard_look_begin(Guard *g);
void guard_look_end(Guard *g);
int guard_scrub(Guard *g);
/* The supervisor has files of the scratch open itself, whose end nobody sees when it dies. Said once. */
void guard_lent(Guard *g);
/* For who waits in a loop of its own: it made no progress for stall_usec, and is killed, and with it all that it traces. Asked now and then. */
bool guard_stalled(Guard *g, uint64_t stall_usec);
/* Discipline multipass: `task` waits in a notified call; the others of its address space, or everybody, are to stand until it is through.
 * The answers are GUARD_PAUSED and GUARD_RESUMED. Returns as the others. */
/* flags: GUARD_EVERYBODY, GUARD_EXECUTES. */
int guard_pause(Guard *g, pid_t task, unsigned flags, uint32_t serial);
int guard_doom(Guard *g, uint32_t serial);
int guard_resume(Guard *g, uint32_t serial);
/* Everything that it traces stands from when it has read this until guard_walk(). Returns as the others; GUARD_E_GONE also when it traces nothing. */
int guard_stand(Guard *g);
int guard_walk(Guard *g);
/* The guard does the same by itself, once, and says GUARD_STOOD, when the machine has given out (base/machine.h) `growth` bytes more than `machine`, or
 * than the least since; it looks every usec microseconds. growth 0: no more. flags: 0 or GUARD_SPARE. Returns as guard_stand(). */
int guard_watch(Guard *g, uint64_t machine, uint64_t growth, uint32_t usec, unsigned flags);
/* Waits until all that it traced is overwritten and gone; as long as it makes progress, and stall_usec without. Returns 0, GUARD_E_GONE
 * (its death, or no progress: then it is killed, and with it all that it traces). */
int guard_wait_empty(Guard *g, uint64_t stall_usec);
int guard_wait_frozen(Guard *g, uint64_t stall_usec);
/* What it did so far; zeros without a guard. */
void guard_evidence(const Guard *g, GuardEvidence *ret);
/* The evidence is recorded, or nothing was attached: it exits, or serves another region. The evidence is gone then. */
void guard_done(Guard *g);
/* The same, unless that was said, and it is given to its Spawner, or reaped. */
void guard_deinit(Guard *g);
/* A number that changes with all that the guard does. */
uint64_t guard_progress(const Guard *g);
/* To it this looks as if the supervisor had died: it goes on by itself until all of the region is overwritten, however long that takes, and leaves its
 * evidence to the next start. */
void guard_leave(Guard *g);
/* It exits and is reaped, whatever was said to it. */
void guard_end(Guard *g);

/* Removes the evidence of regions that known() says are over: their end was recorded before their supervisor died. */
void guard_sweep(const char *store_dir, bool (*known)(const char *region, void *userdata), void *userdata);
/* Of a region whose supervisor died: waits at most wait_usec until no guard works on it any more, then reads and removes its file.
 * Returns 0, -ENOENT (nothing is known), -ETIMEDOUT (it works still), -errno. */
int guard_left(const char *store_dir, const char *region, uint64_t wait_usec, GuardEvidence *ret);
