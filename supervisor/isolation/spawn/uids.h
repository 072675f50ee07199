/* Runs: supervisor. The host's user ids of regions, where the supervisor is root: each living region has its own id, so
 * that the kernel's counts per user (inotify, pending signals, pipe pages, descriptors in flight) are counts per
 * region.  A supervisor takes an id by a lock on one byte of UIDS_FILE, at the id's own offset. So supervisors of
 * different stores never give an equal id, and a dead one leaves no id taken. The group id is equal. */
#pragma once

#include "base/diag.h"
#include "base/util.h"
#include "policy/grant.h"

#define UIDS_FILE "/run/lethe.region-uids" /* not below a service's folder, which is removed with the service */

enum { UIDS_E_REFUSED = 1 }; /* the range cannot be used: the message has the range, the rule, and the fix */

/* range.count 0: the standard range. *ret is 0 when this user namespace lacks the standard range: regions then share a
 * user. Ids given back last come first. Returns 0, UIDS_E_REFUSED, -errno. */
int uids_take(const UidRange *range, uint32_t *ret, Diag *reterr);
/* uid 0: no effect. */
void uids_give(uint32_t uid);
