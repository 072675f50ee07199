/* Runs: supervisor. Answers the seccomp notifications of a region. Nothing here enforces by looking and then letting a call go on: what
 * the region points to may change in between. Denied calls are answered, never continued; a continued call meets the kernel's own
 * checks (mounts, Landlock, rlimits). A call is answered before anything is looked up to explain it. A granted connect is made here, to the
 * address that was checked (region-connect.h). */
#pragma once

#include "policy/filter.h"
#include "policy/grant.h"
#include "region/region-budget.h"
#include "region/region-connect.h"
#include "region/region-denial.h"
#include "region/region-outside.h"

/* What the region gave back while it ran, under discipline multipass. Counters only grow. bytes = overwritten + missed. */
typedef struct FreedCount {
        uint64_t calls;       /* that gave something back */
        uint64_t bytes;       /* given back, and to be overwritten before: memory and files */
        uint64_t overwritten; /* overwritten and read back as written */
        uint64_t missed;      /* not, or not provably */
        uint64_t unheld;      /* calls that were judged while others who can have used what they give back went on */
        uint64_t racing;      /* of overwritten: by such calls */
        uint64_t files;       /* deleted, truncated or holed */
        uint64_t images;      /* memory given up by execve */
        uint64_t kept;        /* of missed: paths, arguments and environments that the kernel still had to read */
        uint64_t exec_failed; /* processes killed because their execve failed afterwards */
        uint64_t usec;        /* spent */
} FreedCount;

/* What becomes of a call that gives memory back (discipline multipass). */
typedef enum NotifyStep {
        NOTIFY_GO_ON,
        NOTIFY_ANSWER, /* the call is answered with *ret_error; 0: it is done already */
        NOTIFY_LATER,  /* region_notify_answer() will be called */
} NotifyStep;
/* Called before such a call goes on. */
typedef NotifyStep (*NotifyFreesFn)(void *userdata, const struct seccomp_notif *q, const char *call, int *ret_error);

typedef struct RegionNotify {
        int fd;               /* notification descriptor, -1 when none; to be polled for POLLIN */
        Connects connects;    /* its poll is to be polled for POLLIN */
        short events;
        FilterInput filter;
        Tier tier;
        const Grant *grant;   /* borrowed, all of these */
        RegionBudget *budget;
        Denials *denials;
        Outside outside;      /* paths of which only the host can say whether they were denials */
        const char *scratch;  /* tier landlock: host folder */
        int root;             /* root folder of the region as its first process sees it, or -1 */
        char *shims;          /* tier landlock: the host folder of /lethe, or NULL; owned */
        struct seccomp_notif *req;
        struct seccomp_notif_resp *resp;
        size_t n_req, n_resp;
        NotifyFreesFn frees;  /* NULL: such calls simply go on */
        void *frees_userdata; /* borrowed */
        FreedCount freed;
        pid_t worker;         /* the region's first process */
        struct RegionLocks *locks; /* NULL before the first lock; owned */
        uint64_t locks_deadline;   /* of region_notify_locks(); UINT64_MAX: nothing waits for a lock */
        int failed;           /* -errno: an answer could not be given */
        bool served;          /* the region was granted something of a file system that a program or another machine serves */
} RegionNotify;

#define REGION_NOTIFY_NULL ((RegionNotify){.fd = -1, .connects = {.notify = -1, .poll = -1}, .root = -1, .locks_deadline = UINT64_MAX})

/* Takes notify_fd over. Returns 0 or -errno. */
int region_notify_start(RegionNotify *n, int notify_fd, pid_t worker);
/* fd was ready: answers what is there now. *ret_breach may be set; *ret_denied: something was denied. Returns 0 or -errno; after an
 * error the descriptor is closed, and the kernel answers every further notified call with ENOSYS. */
int region_notify_ready(RegionNotify *n, short revents, Breach *ret_breach, bool *ret_denied);
/* connects.poll was ready. Returns as above. */
int region_notify_connected(RegionNotify *n);
/* locks_deadline has come: tries again for those who wait for a lock. Returns 0 or -errno. */
int region_notify_locks(RegionNotify *n, uint64_t now_usec);
/* n->req is a lock or a watch: it is answered, now or with region_notify_locks(). */
void region_notify_own(RegionNotify *n, const FilterVerdict *v, bool *ret_denied);
/* True while the task waits for its answer: then its pid is its own. */
bool region_notify_waits(const RegionNotify *n, uint64_t id);
void region_notify_answer(RegionNotify *n, uint64_t id, int error, bool go_on);
/* The call returns `value`, which is not negative. */
void region_notify_answer_value(RegionNotify *n, uint64_t id, int64_t value);
/* The process of a thread. */
pid_t region_notify_process(pid_t tid);
/* Reads at most n bytes of the region's memory. A page that is not there ends it early: returns what was read, or -errno. */
ssize_t region_notify_read(pid_t pid, uint64_t at, void *to, size_t n);
/* Writes into it: the answer of a call that waits. Returns 0 or -errno. */
int region_notify_write(pid_t pid, uint64_t at, const void *from, size_t n);
/* A copy of a descriptor of the task. Returns it, -EREMOTE for a file of a served file system, or -errno. */
int region_notify_copy_fd(pid_t pid, int fd);
/* n->grant is known. From here to the end, as long as any region of this process has something of a served file system, the functions above leave to a task of
 * their own what may wait for its server: a page that is not there yet, the close of a copy. */
void region_notify_served_start(RegionNotify *n);
void region_notify_served_end(RegionNotify *n);
/* There is such a region. */
bool region_notify_any_served(void);
/* Whether an open file is on a served file system, among the mounts that the process pid sees: so is a regular file whose mount was taken away. */
bool region_notify_is_served(pid_t pid, int fd);
void region_notify_deinit(RegionNotify *n);
