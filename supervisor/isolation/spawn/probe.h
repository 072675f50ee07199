/* Runs: supervisor, CLI. The kernel's permissions for this user. A run needs only probe_quick(): a few system calls, no
 * process is made; the run itself tests the rest. `lethe doctor` tests more (probe-full.h). */
#pragma once

#include "base/diag.h"
#include "base/util.h"

#define PROBE_LINKS 6
#define PROBE_ETC_MAX 16
#define PROBE_ETC_BYTES 40

typedef enum ProbeKind { PROBE_ABSENT = 0, PROBE_FOLDER, PROBE_LINK } ProbeKind;

#define PROBE_NOBODY 65534U

typedef struct Probe {
        bool root;          /* effective uid 0 */
        uint32_t uid, gid;  /* effective */
        uint32_t region_id; /* root: user and group of the region on the host; 0: PROBE_NOBODY. Set by spawn_start() */
        bool has_nobody;    /* root: uid and gid 65534 exist in this user namespace, and can be a region's ids */
        bool objects; /* a user namespace can have limits for inotify (/proc/sys/user is writable) */
        int landlock_abi;   /* 0: none */
        int userns_denied;  /* 0, or the setting that forbids user namespaces to this user: ProbeUserns */
        struct {
                ProbeKind kind;
                char text[32]; /* of a link */
        } system[PROBE_LINKS]; /* probe_system_names: the host's /bin, /lib … */
        char etc[PROBE_ETC_MAX][PROBE_ETC_BYTES]; /* names below /etc that programs of this machine need */
        size_t n_etc;
} Probe;

typedef enum ProbeUserns {
        USERNS_MAY_WORK = 0,
        USERNS_DENIED_CLONE,    /* kernel.unprivileged_userns_clone = 0 (Debian) */
        USERNS_DENIED_COUNT,    /* user.max_user_namespaces = 0 */
        USERNS_DENIED_APPARMOR, /* kernel.apparmor_restrict_unprivileged_userns = 1 (Ubuntu 23.10 and later) */
} ProbeUserns;

extern const char *const probe_system_names[PROBE_LINKS]; /* "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32" */

/* The region's user on the host, when the supervisor is root and may set the id. */
static inline uint32_t probe_region_id(const Probe *p) {
        return p->region_id ? p->region_id : PROBE_NOBODY;
}

void probe_quick(Probe *ret);
/* Is a file or folder of /etc the configuration of programs, without users, keys or names of the host? */
bool probe_is_shown_etc(const char *name);
/* Is a range of ids mapped in a map file of this user namespace, within one line? */
bool probe_is_mapped(const char *path, uint64_t first, uint64_t n_ids);
/* The limit of this user namespace for a kind of object: a file of /proc/sys/user. 0: unreadable. */
uint64_t probe_user_limit(const char *name);
/* The part of probe_quick() about user namespaces of an ordinary user: ProbeUserns. */
int probe_userns(bool root);
/* The reason and the fix, one sentence each; "" for USERNS_MAY_WORK. */
const char *probe_userns_reason(int denied);

/* The machine's treatment of freed and stored memory, for a teardown's evidence. */
typedef struct RulesetFacts {
        bool init_on_free; /* freed pages and kernel objects are cleared at once. False also when unknown */
        bool swap;         /* memory may have been written to a disk */
} RulesetFacts;

void kernel_facts(RulesetFacts *ret);
/* Reads the fixed facts early, while the caller has time: a kernel's configuration may be a long file. */
void kernel_facts_ahead(void);
