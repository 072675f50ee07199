/* Runs: supervisor. Discipline multipass: what a region gives back while it runs is overwritten before the kernel has it (I-30).
 *
 * The filter notifies every call that gives something back. The caller waits; its pages, or the bytes of its file, are overwritten and read
 * back; then the call goes on. Only what the call takes from its last user is written:
 *   memory   present private pages in the range that no other process maps. A page that another one still maps is that one's: whoever ends
 *            last gives it back. Shared anonymous memory when nothing else in the region maps it.
 *            Two that give it back at one moment would each leave it to the other: everybody stands meanwhile, and nobody leaves its exit stop.
 *   execve   the private pages of the old image, if no other process lives in it and nothing speaks against the call's success, but not the
 *            bytes that the kernel has still to read: path, arguments and environment, which are counted as missed. A process whose execve
 *            fails all the same has lost its memory: the guard kills it before it runs another instruction.
 *   files    of the scratch. A file that loses its last name is kept open here, and overwritten as soon as nobody else has it open (a write
 *            lease tells), at the latest at the end of the region. What a truncation or a hole takes is overwritten, and the call made, here.
 * Nobody else may write there again before the kernel has it. While a call is judged, and until the caller is through with it, the guard
 * stops the others of its address space; for a call on files, an execve and what processes have in common, all of the region. Where that cannot
 * be done (too many calls at once, somebody who does not come to a stop in time, a kernel before 5.19) the call goes on and is counted as
 * `unheld`: the grade falls.
 *
 * Memory is overwritten in slices, so that the loop is never away for long. */
#pragma once

#include "base/json.h"
#include "region/region.h"

typedef struct Hook Hook;

/* The region is about to run: takes its notifications that give something back. Under another discipline *ret stays NULL. *deadline is borrowed:
 * when hook_tick() is to be called, UINT64_MAX for never. Returns 0 or -errno. */
int hook_start(Region *r, uint64_t *deadline, Hook **ret);
void hook_tick(Hook *e, uint64_t now);
/* What the guard answers to a pause: GUARD_PAUSED (error as there) or GUARD_RESUMED. */
void hook_paused(Hook *e, uint32_t serial, int error);
void hook_resumed(Hook *e, uint32_t serial, int error);
/* Everything of the region is dead: the deleted files that were kept are overwritten. Before the scratch goes. */
void hook_finish(Hook *e);
void hook_free(Hook *e);
/* Object for receipt and ledger; NULL when out of memory. New reference. */
json_t *hook_to_json(const FreedCount *c);
