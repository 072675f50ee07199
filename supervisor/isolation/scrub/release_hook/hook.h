/* Runs: supervisor. Discipline multipass: memory and data given back by a running region are overwritten before the
 * kernel gets them (I-30).
 *
 * The filter notifies every call that gives memory or data back. The caller waits; its pages, or the bytes of its file,
 * are overwritten and read back; then the call goes on. Only bytes without a further user are written:
 *   memory   present private pages of the range without a further mapper. A shared page stays: the last mapper gives it
 *            back. Shared anonymous memory without a further mapper in the region. Two processes giving the same page
 *            back at the same moment would leave the page to each other: so all tasks stand meanwhile, and no task
 *            leaves the exit stop.
 *   execve   the private pages of the old image, if no other process lives in it and the call will likely succeed.
 *            Path, arguments and environment stay for the kernel to read, and are counted as missed. A process with
 *            lost memory and a failed execve is killed by the guard before the next instruction.
 *   files    of the scratch. The hook keeps a file open after its last name, and overwrites the file when no process
 *            has it open (a write lease tells), at the latest at the end of the region. For a truncation or a hole, the
 *            hook overwrites the bytes and makes the call itself.
 * No task may write there again before the kernel has the memory. From the judgement until the caller has left the
 * call, the guard stops the other tasks of its address space; for a call on files, an execve and common pages, the
 * whole region. Where the pause fails (too many calls at once, a slow task, a kernel before 5.19), the call goes on and
 * counts as `unheld`: the grade falls.
 *
 * Memory is overwritten in slices, so that the loop is never away for long. */
#pragma once

#include "base/json.h"
#include "region/region.h"

typedef struct ReleaseHook ReleaseHook;

/* Called before the region runs: takes its notifications on memory and data given back. Under a different discipline
 * *ret stays NULL. *deadline is borrowed: the time for hook_tick(), UINT64_MAX for never. Returns 0 or -errno. */
int hook_start(Region *r, uint64_t *deadline, ReleaseHook **ret);
void hook_tick(ReleaseHook *e, uint64_t now);
/* The guard's answers to a pause: GUARD_PAUSED (with its error) or GUARD_RESUMED. */
void hook_paused(ReleaseHook *e, uint32_t serial, int error);
void hook_resumed(ReleaseHook *e, uint32_t serial, int error);
/* The whole region is dead: overwrites the kept deleted files. Called before the scratch goes. */
void hook_finish(ReleaseHook *e);
void hook_free(ReleaseHook *e);
/* Object for receipt and ledger; NULL when out of memory. New reference. */
json_t *hook_to_json(const FreedCount *c);
