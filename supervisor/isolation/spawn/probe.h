/* Runs: supervisor, CLI. What this kernel lets this user do. A run needs only probe_quick(): a few system calls, no process is made;
 * the rest is found out by trying. The deeper look is `lethe doctor`'s (probe-full.h). */
#pragma once

#include "base/diag.h"
#include "base/util.h"

#define PROBE_LINKS 6

typedef enum ProbeKind { PROBE_ABSENT = 0, PROBE_FOLDER, PROBE_LINK } ProbeKind;

#define PROBE_NOBODY 65534U

typedef struct Probe {
        bool root;          /* effective uid 0 */
        uint32_t uid, gid;  /* effective */
        uint32_t region_id; /* root: user and group of this start's region on the host; 0: PROBE_NOBODY. Set by spawn_start() */
        bool has_nobody;    /* root: uid and gid 65534 exist in our own user namespace, so a region can be given them */
        bool objects;       /* the files of /proc/sys/user for inotify can be written: a user namespace can be given limits for it */
        int landlock_abi;   /* 0: none */
        int userns_denied;  /* 0, or which setting forbids user namespaces to this user: ProbeUserns */
        struct {
                ProbeKind kind;
                char text[32]; /* of a link */
        } system[PROBE_LINKS]; /* probe_system_names: how the host has /bin, /lib … */
} Probe;

typedef enum ProbeUserns {
        USERNS_MAY_WORK = 0,
        USERNS_DENIED_CLONE,    /* kernel.unprivileged_userns_clone = 0 (Debian) */
        USERNS_DENIED_COUNT,    /* user.max_user_namespaces = 0 */
        USERNS_DENIED_APPARMOR, /* kernel.apparmor_restrict_unprivileged_userns = 1 (Ubuntu 23.10 and later) */
} ProbeUserns;

extern const char *const probe_system_names[PROBE_LINKS]; /* "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32" */

/* The user of a region on the host, when the supervisor is root and may give it an id. */
static inline uint32_t probe_region_id(const Probe *p) {
        return p->region_id ? p->region_id : PROBE_NOBODY;
}

void probe_quick(Probe *ret);
/* The limit of this user's namespace for a kind of object: a file of /proc/sys/user. 0: it cannot be read. */
uint64_t probe_user_limit(const char *name);
/* Of it, whether an ordinary user may have user namespaces: ProbeUserns. */
int probe_userns(bool root);
/* Why and the fix, as one sentence each; "" for USERNS_MAY_WORK. */
const char *probe_userns_reason(int denied);
