/* Runs: supervisor. Takes a region down, in an order that is the same for every way in which it ended (I-12, I-13, I-14):
 *
 *   teardown_stop   kill the whole tree, overwrite the memory of each process at its exit stop (by the guard), reap the worker, ask the
 *                   kernel for proof that nothing of the region runs. Where release callbacks or handles come first (Region.hold): each
 *                   process is killed and stands at its exit stop, not overwritten yet
 *                   (then the caller judges what is still in the skill's pipe, runs the callbacks and unbinds the handles)
 *   teardown_clear  what was held is overwritten, reaped and proved gone; then the scratch and the launch spec are overwritten, the
 *                   scratch is gone, descriptors closed, control groups removed, evidence complete
 *
 * Both are synchronous: when they return, it is done. Only after teardown_clear may region.released be recorded (I-15). */
#pragma once

#include "base/diag.h"
#include "region/region.h"
#include "scrub/evidence.h"

enum {
        TEARDOWN_E_ALIVE = 1, /* something of the region could not be killed: message has the pids */
};

/* What each of the two waits for is set going before, so that the wait can be another's: a loop that serves other regions meanwhile. Called again,
 * they change nothing. */
void teardown_begin_stop(Region *r);
void teardown_begin_clear(Region *r);
/* Overwrites what was killed at its limit of memory, once all of it stands. To be called when the guard has answered. */
void teardown_go_on(Region *r);
/* What was set going is done: teardown_stop(), then teardown_clear(), will not wait. */
bool teardown_is_ready(Region *r);
/* What was set going is not done yet. Every TEARDOWN_AGAIN_USEC until it is. Returns false when it is no use to wait on. */
#define TEARDOWN_AGAIN_USEC 100000
bool teardown_again(Region *r, uint64_t since_usec);

/* ENDED -> STOPPED. Takes what the region's output pipes still hold. Returns 0, TEARDOWN_E_ALIVE, -errno. */
int teardown_stop(Region *r, Diag *reterr);
/* STOPPED -> CLEARED. A folder or group that cannot be removed is named in *reterr, and teardown goes on: returns 0 or -errno. Returns
 * TEARDOWN_E_ALIVE, and the region stays STOPPED, when what was held does not die. */
int teardown_clear(Region *r, Evidence *ret, Diag *reterr);
/* Of a region with Region.left: the evidence so far, which is never more than partial. Its guard goes on by itself, and the start of a supervisor that
 * finds the region dead records the rest. */
void teardown_leave(Region *r, Evidence *ret);
/* Sends the region SIGKILL, all of it; may be called before teardown_stop, which waits for what this began. */
void teardown_kill(Region *r);
/* Of a region that was refused after its worker was made: nothing of a skill ran, nothing was recorded. Returns as teardown_stop. */
int teardown_drop(Region *r, Diag *reterr);
