/* Runs: supervisor. Answers the seccomp notifications of a region. No rule here is enforced by a look followed by a
 * continued call: the region can change memory in between. Denied calls are answered, never continued. A continued call
 * meets the kernel's own checks (mounts, Landlock, rlimits). The answer comes before any look-up for its explanation. A
 * granted connect is made here, to the checked address (region-connect.h). */
#pragma once

#include "policy/filter.h"
#include "policy/grant.h"
#include "region/region-budget.h"
#include "region/region-connect.h"
#include "region/region-denial.h"
#include "region/region-notify-task.h"

/* Memory and files given back by the running region, under discipline multipass. Counters only grow. bytes =
 * overwritten + missed. */
typedef struct FreedCount {
        uint64_t calls;       /* calls that gave memory or files back */
        uint64_t bytes;       /* due for overwriting: memory and files */
        uint64_t overwritten; /* overwritten and read back as written */
        uint64_t missed;      /* not overwritten, or without proof */
        uint64_t unheld;      /* calls judged while other possible users of the memory ran on */
        uint64_t racing;      /* part of overwritten: by such calls */
        uint64_t files;       /* deleted, truncated or holed */
        uint64_t images;      /* memory given up by execve */
        uint64_t kept;        /* part of missed: paths, arguments and environments still to be read by the kernel */
        uint64_t exec_failed; /* processes killed because execve failed after the overwriting */
        uint64_t usec;        /* time spent */
} FreedCount;

/* The fate of a call that gives memory back (discipline multipass). */
typedef enum NotifyStep {
        NOTIFY_GO_ON,
        NOTIFY_ANSWER, /* answer with *ret_error; 0: the call is already done */
        NOTIFY_LATER,  /* region_notify_answer() follows */
} NotifyStep;
/* Called before such a call continues. */
typedef NotifyStep (*NotifyFreesFn)(void *userdata, const struct seccomp_notif *q, const char *call, int *ret_error);

typedef struct RegionNotify {
        int fd;               /* notification descriptor or -1; poll for POLLIN */
        Connects connects;    /* poll connects.poll for POLLIN */
        short events;
        FilterInput filter;
        Tier tier;
        const Grant *grant;   /* borrowed, like budget and denials */
        RegionBudget *budget;
        Denials *denials;
        RegionOutside outside; /* paths to be explained after the end */
        const char *scratch;  /* tier landlock: host folder */
        int root;             /* the region's root folder as seen by its first process, or -1 */
        char *shims;          /* tier landlock: the host folder of /lethe, or NULL; owned */
        struct seccomp_notif *req;
        struct seccomp_notif_resp *resp;
        size_t n_req, n_resp;
        NotifyFreesFn frees;  /* NULL: such calls continue */
        void *frees_userdata; /* borrowed */
        FreedCount freed;
        pid_t worker;         /* the region's first process */
        uint32_t host_uid;    /* the host user and group of a root supervisor's region, or 0 */
        struct RegionLocks *locks; /* NULL before the first lock; owned */
        uint64_t locks_deadline;   /* for region_notify_locks(); UINT64_MAX: no call waits for a lock */
        int failed;           /* -errno of a failed answer */
        bool served;          /* the grant includes a file system served by a program or another machine */
} RegionNotify;

#define REGION_NOTIFY_NULL \
        ((RegionNotify){.fd = -1, .connects = {.notify = -1, .poll = -1}, .root = -1, .locks_deadline = UINT64_MAX})

/* Takes notify_fd over. Returns 0 or -errno. */
int region_notify_start(RegionNotify *n, int notify_fd, pid_t worker);
/* Call when fd was ready: answers all notifications. May set *ret_breach; *ret_denied: a call was denied. Returns 0 or
 * -errno: then the descriptor is closed, and the kernel answers further notified calls with ENOSYS. */
int region_notify_ready(RegionNotify *n, short revents, Breach *ret_breach, bool *ret_denied);
/* Call when connects.poll was ready. Returns like region_notify_ready(). */
int region_notify_connected(RegionNotify *n);
/* Call at locks_deadline: retries waiting lock calls. Returns 0 or -errno. */
int region_notify_locks(RegionNotify *n, uint64_t now_usec);
/* True while the task waits for the answer: until then the pid is not reused. */
bool region_notify_waits(const RegionNotify *n, uint64_t id);
void region_notify_answer(RegionNotify *n, uint64_t id, int error, bool go_on);
/* Adds a denial with its object and the words that allow it, or NULL. Sets *ret_denied. */
void region_notify_deny(RegionNotify *n, const FilterVerdict *v, const char *object, const char *allow_with,
                        bool *ret_denied);
/* region-denied-open.c: says why the path of a call is refused, after the answer. A path that the region reaches is no
 * denial; a path outside of it is explained after the region's end. */
void region_denied_open(RegionNotify *n, const FilterVerdict *v, const char *full, bool *ret_denied);
/* region-reopen.c: answers an open of /dev/stdin, /dev/fd/N and their like in a region without /proc: the task gets a
 * copy of its own descriptor. Returns false, and has not answered, for any other call. */
bool region_notify_reopen(RegionNotify *n, const char *full);
void region_notify_deinit(RegionNotify *n);
