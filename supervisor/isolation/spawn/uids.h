/* Runs: supervisor. The host's user ids of regions, where the supervisor is root: each living region has one of its own, so that what the kernel counts
 * per user (inotify, pending signals, pipe pages, descriptors on their way) is counted per region.
 *
 * An id is taken by locking one byte of UIDS_FILE, at the id's own offset, so that supervisors of different stores do not give the same one, and one
 * that dies leaves none taken. The group id is the same number. */
#pragma once

#include "base/diag.h"
#include "base/util.h"
#include "policy/grant.h"

#define UIDS_FILE "/run/lethe.region-uids" /* not below a folder of a service's, which goes with the service */

enum { UIDS_E_REFUSED = 1 }; /* the range cannot be used: message names it, the rule, and what to do */

/* range.count 0: the standard one. *ret is 0 when our own user namespace does not have the standard range: a region then shares a user with others.
 * Ids that were given back last come first. Returns 0, UIDS_E_REFUSED, -errno. */
int uids_take(const UidRange *range, uint32_t *ret, Diag *reterr);
/* 0 is none. */
void uids_give(uint32_t uid);
