/* Runs: supervisor. Tier landlock has no mounts, so that its regions name their skill by a path of the host. An ordinary user's region can walk to the
 * copy in its owner's store. Root's cannot: its user is nobody, and root's store is closed to nobody. There the copy is copied once more, into a
 * folder beside the region's scratch which only root and the region's group can enter, and goes with the scratch. */
#pragma once

#include "base/diag.h"
#include "policy/grant.h"

#define LEND_SUFFIX ".copy"

typedef struct Lent {
        char *skill, *program; /* owned; NULL: not lent, what the grant names is used */
} Lent;
void lent_deinit(Lent *l);
/* gid: the region's group. What was made stays when it fails: lend_end() removes it. Returns 0, SPAWN_E_SOURCE, -errno, with a message. */
int lend(const Grant *g, const char *scratch, gid_t gid, Lent *ret, Diag *reterr);
/* Removes what was lent beside that scratch. Returns 0 or -errno. */
int lend_end(const char *scratch);
