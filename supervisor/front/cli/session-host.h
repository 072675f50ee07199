/* Runs: CLI. The host of a session: found by the session's row, or started. A session without `lethe serve` has a private
 * daemon, and the daemon ends with the last session. */
#pragma once

#include "base/diag.h"
#include "store/store.h"

#define SESSION_HOSTS_TRIED 8 /* answers "elsewhere" in a row before a client gives up */

typedef struct HostPlace {
        const char *store;  /* path of the store */
        const char *anchor, *policy, *socket; /* as given by options, or NULL */
} HostPlace;

enum {
        HOST_E_NONE = 1, /* the session is not open */
        HOST_E_DEAD,     /* the host died, and the session ends: recovery records the end */
        HOST_E_FAILED,   /* the host cannot be asked or started; see the message */
};

/* A connection to the session's host; a session that resumes gets a host. Returns a descriptor in *ret and 0, HOST_E_*
 * with a message, -errno. */
int session_host_of(const HostPlace *p, const char *session, int *ret, Diag *reterr);
/* A connection to a daemon for new sessions of the store: `lethe serve`, the private daemon of a living session, or
 * a new private daemon. Returns as session_host_of(). */
int session_host_any(const HostPlace *p, int *ret, Diag *reterr);
/* A connection to a daemon of living regions with the same policy and anchor, or to a new private daemon, for a region
 * without a client. Returns as session_host_of(). */
int session_host_like(const HostPlace *p, int *ret, Diag *reterr);
/* A connection to a new private daemon, which ends with its clients and sessions. Returns as session_host_of(). */
int session_host_private(const HostPlace *p, int *ret, Diag *reterr);
