/* Runs: supervisor, CLI. Hides Lethe's own files from every region (I-94): the store and its key, anchors, the policy,
 * sockets, registered skills. Covered: the supervisor's places, and the standard places of user and root. */
#pragma once

#include "base/diag.h"
#include "policy/grant.h"
#include "policy/policy.h"
#include "store/store.h"

typedef struct SecretsOf {
        Store *store;          /* for its registered skills; NULL: no store is open */
        const char *store_dir; /* NULL: the folder of `store` */
        const Policy *policy;  /* may be NULL */
} SecretsOf;

/* Sets the socket of the command line of the process, borrowed. */
void secrets_set_socket(const char *path_or_null);

/* The last step of every grant: checks its places (places_check()), hides Lethe's files or refuses (grant_hide()), and
 * pins mounts below a writable folder (place_pin()). Returns 0, GRANT_E_* with a message, -errno. */
int secrets_settle(Grant *g, const SecretsOf *of, Diag *reterr);
