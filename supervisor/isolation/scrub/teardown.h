/* Runs: supervisor. Takes a region down, in the same order for every kind of end (I-12, I-13, I-14):
 *
 *   teardown_stop   kills the whole tree, overwrites the memory of each process at its exit stop (by the guard), reaps
 *                   the worker, asks the kernel for proof that no process of the region runs. Where release callbacks
 *                   or handles come first (Region.hold): each process is killed and stands at its exit stop, not
 *                   overwritten yet (then the caller judges the rest in the skill's pipe, runs the callbacks and
 *                   unbinds the handles)
 *   teardown_clear  overwrites, reaps and proves the held processes gone; then overwrites the scratch and the launch
 *                   spec, removes the scratch, closes descriptors, removes control groups, completes the evidence
 *
 * Both are synchronous. Only after teardown_clear may region.released be recorded (I-15). */
#pragma once

#include "base/diag.h"
#include "region/region.h"
#include "scrub/evidence.h"

enum {
        TEARDOWN_E_ALIVE = 1, /* a process of the region could not be killed: message has the pids */
};

/* Start the work of teardown_stop() and teardown_clear() ahead, so that the event loop can serve other regions
 * during the wait. Calling them again changes nothing. */
void teardown_begin_stop(Region *r);
void teardown_begin_clear(Region *r);
/* Overwrites processes killed at their memory limit, once all stand. Called after an answer of the guard. */
void teardown_go_on(Region *r);
/* The work started ahead is done: teardown_stop(), then teardown_clear(), will not wait. */
bool teardown_is_ready(Region *r);
/* The work is not done: called every TEARDOWN_AGAIN_USEC until then. Returns false when waiting is useless. */
#define TEARDOWN_AGAIN_USEC 100000
bool teardown_again(Region *r, uint64_t since_usec);

/* ENDED -> STOPPED. Takes the rest in the region's output pipes. Returns 0, TEARDOWN_E_ALIVE, -errno. */
int teardown_stop(Region *r, Diag *reterr);
/* STOPPED -> CLEARED. Names a folder or group that cannot be removed in *reterr, and goes on: returns 0 or -errno.
 * Returns TEARDOWN_E_ALIVE, and the region stays STOPPED, when a held process does not die. */
int teardown_clear(Region *r, TeardownEvidence *ret, Diag *reterr);
/* Of a region with Region.left: the evidence so far, at most partial. The guard goes on by itself. The next
 * supervisor to start finds the region dead and records the rest. */
void teardown_leave(Region *r, TeardownEvidence *ret);
/* Sends SIGKILL to the whole region. May be called before teardown_stop, which then waits. */
void teardown_kill(Region *r);
/* Of a region refused after its worker was made: no skill code ran, no record exists. Returns as teardown_stop. */
int teardown_drop(Region *r, Diag *reterr);
