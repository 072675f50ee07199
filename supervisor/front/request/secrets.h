/* Runs: supervisor, CLI. What of Lethe's own no region is shown (I-94): the store and its key, anchors, the policy, sockets, registered skills. They
 * are those of this supervisor, and those in the usual places of this user and of root. */
#pragma once

#include "base/diag.h"
#include "policy/grant.h"
#include "policy/policy.h"
#include "store/store.h"

typedef struct SecretsOf {
        Store *store;          /* whose registered skills; NULL: none is open */
        const char *store_dir; /* NULL: that of `store` */
        const Policy *policy;  /* may be NULL */
} SecretsOf;

/* The socket that the command line names: one for the process, borrowed. */
void secrets_set_socket(const char *path_or_null);

/* The last step of every grant: its places are checked (places_check()), what is Lethe's own is hidden or the grant refused (grant_hide()), and
 * mounts below a writable folder are kept in place (place_pin()). Looks at the host. Returns 0, GRANT_E_* with a message, -errno. */
int secrets_settle(Grant *g, const SecretsOf *of, Diag *reterr);
