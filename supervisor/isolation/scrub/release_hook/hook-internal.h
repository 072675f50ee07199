/* Runs: supervisor. What the files of early.h share. */
#pragma once

#include "scrub/release_hook/hook.h"
#include "scrub/wipe.h"

#include <limits.h>
#include <linux/seccomp.h>
#include <sys/stat.h>

#define HOOK_SLICE (16UL * 1024 * 1024) /* bytes of memory between two looks at everything else */
#define HOOK_JOBS_MAX 256               /* calls that wait here; further ones are judged at once, whoever else runs */
#define HOOK_FILES_MAX 512              /* deleted files kept; bytes of further ones are missed */
#define HOOK_HEAPS_MAX 4096             /* programs of which it is known how far their heap ever reached */

typedef NotifyStep (*HookCallFn)(Hook *, const struct seccomp_notif *, int *ret_error);

/* A call that waits.
 *
 *   QUEUED -> ASKED -> WRITING -> GOING -> (free)
 *
 * QUEUED, ASKED: for everybody to stand who could use what it gives back. GOING: answered, and not yet out of the call. One at a time is in
 * ASKED or GOING. */
typedef enum HookJobState { HOOK_JOB_FREE, HOOK_JOB_QUEUED, HOOK_JOB_ASKED, HOOK_JOB_WRITING, HOOK_JOB_GOING } HookJobState;

typedef struct HookJob {
        HookJobState state;
        struct seccomp_notif q;
        HookCallFn call;
        uint32_t serial;  /* of its pause; calls are judged in this order */
        unsigned flags;   /* of the pause */
        bool held;        /* they stand, and the guard waits for the end of the call */
        bool open;        /* somebody else can write again what was overwritten */
        uint64_t until;   /* CLOCK_MONOTONIC usec: then it is no longer waited for */
        Runs runs;        /* memory to overwrite, as it was when the call was judged; owned */
        size_t i;         /* the run that is next, and where in it */
        uint64_t at;
        bool zeros;       /* the caller may still read what is written: it must see zeros */
} HookJob;

typedef struct HookFile {
        int fd;       /* O_PATH */
        dev_t dev;
        ino_t ino;
        pid_t pid;    /* of the task whose call takes the name */
        unsigned looks;
} HookFile;

struct Hook {
        Region *region;    /* borrowed; the counters are in its notify */
        Wipe wipe, zeros;
        Scan scan;
        HookJob jobs[HOOK_JOBS_MAX];
        size_t next_job;   /* whose slice is next */
        HookJob *turn;    /* the one in ASKED or GOING, or that was; NULL */
        HookJob *job;     /* whose call is judged just now; NULL: of no job */
        uint32_t serial;
        bool asking;       /* the call is only looked at: NOTIFY_LATER says that it may give something back */
        bool common;       /* of the call that is only looked at: it gives back pages that another process maps, too */
        bool open;         /* as in HookJob, of what is counted just now */
        bool alone;        /* nobody else has the address space of the call that is judged */
        bool can_pause;    /* the kernel lets a waiting task be interrupted without breaking off its call (Linux 5.19) */
        HookFile *files;  /* owned */
        size_t n_files;
        Run heaps[HOOK_HEAPS_MAX];
        size_t n_heaps;
        struct stat worker; /* the worker's program: its own image holds nothing of the skill */
        dev_t scratch;
        uint64_t *deadline; /* borrowed: of the loop */
        uint64_t pause;    /* until the next look at files that somebody has open */
};

#define HOOK_NEVER UINT64_MAX /* as the loop has it */

enum {
        HOOK_PRIVATE = 1 << 0, /* private pages that only the caller maps */
        HOOK_SHARED = 1 << 1,  /* shared anonymous memory that is unmapped and that nothing else maps */
        HOOK_HOLE = 1 << 2,    /* shared anonymous memory whose content goes for everybody */
        HOOK_ZEROS = 1 << 3,   /* the caller may still read what is written: it must see zeros */
};
/* Memory of a waiting caller in some ranges of whole pages. */
NotifyStep hook_memory(Hook *e, const struct seccomp_notif *q, const Run *ranges, size_t n, unsigned flags);
/* A slice of a job in WRITING. True when nothing is left to write. */
bool hook_write_slice(Hook *e, HookJob *j);
/* Overwrites what e->scan.own lists of e->scan.pid, with all passes. */
void hook_wipe_own(Hook *e, bool zeros);

/* Shared anonymous memory of an image that goes, of which e->scan has the areas: what nobody else maps is missed. */
void hook_count_shared(Hook *e, const struct seccomp_notif *q);
/* Whether a part of the range is a shared mapping of a file. */
bool hook_maps_file(Hook *e, const struct seccomp_notif *q, const Run *r);
/* Who maps a file privately loses its own pages of what is cut off: they are missed. */
void hook_count_copies(Hook *e, const struct stat *file, uint64_t length);
/* False when the task is surely out of these calls, or dead: what runs just now may be one of them. */
bool hook_may_be_in(pid_t pid, const int *calls, size_t n_calls);

typedef enum HookKind { HOOK_MEMORY, HOOK_FILE, HOOK_IMAGE } HookKind;

/* A call that gives something back, whoever else could use it meanwhile. */
NotifyStep hook_judge(Hook *e, const struct seccomp_notif *q, HookCallFn call, HookKind kind, int *ret_error);
/* The image of the call that is judged, an execve, is about to be overwritten. False: it must not be, nobody would look that the call succeeds. */
bool hook_doom(Hook *e);
/* Takes a job for the call that is judged, unless it has one. NULL: there are too many. */
HookJob *hook_job(Hook *e, const struct seccomp_notif *q);
/* The call may wait for somebody: nobody is to stand for it. */
void hook_let_go(Hook *e);
void hook_jobs_step(Hook *e, uint64_t now);
/* Opens what a scan needs, without reading the memory areas where that is not needed. Returns 0 or -errno. */
int hook_scan_begin(Scan *s, pid_t pid, bool areas);

/* The image that an execve gives up; path, argv and envp as the call has them. */
NotifyStep hook_exec(Hook *e, const struct seccomp_notif *q, int dirfd, uint64_t path, uint64_t argv, uint64_t envp);
/* One of which too little is known: what it gives up is counted. */
NotifyStep hook_exec_missed(Hook *e, const struct seccomp_notif *q);

/* The file that loses a name with this call is kept. */
NotifyStep hook_unname(Hook *e, const struct seccomp_notif *q, int dirfd, uint64_t path);
NotifyStep hook_truncate_fd(Hook *e, const struct seccomp_notif *q, int *ret_error);
NotifyStep hook_hole(Hook *e, const struct seccomp_notif *q, int *ret_error);
/* open with O_TRUNC, or truncate: the bytes from `length` on. */
NotifyStep hook_truncate_path(Hook *e, const struct seccomp_notif *q, int dirfd, uint64_t path, uint64_t length, bool opens);
typedef enum HookFiles {
        HOOK_FILES_NEW, /* those that were not looked at since their call went on */
        HOOK_FILES_ALL,
        HOOK_FILES_END, /* nobody is left who could have one open */
} HookFiles;
/* Overwrites the kept files that only we have open. True when some are left. */
bool hook_files_look(Hook *e, HookFiles which);
/* The loop shall come back. */
void hook_wake(Hook *e, uint64_t after_usec);
/* The path that the caller means, made absolute in its own root. Returns 0, -EFAULT when the kernel refuses it, too, or -errno. */
int hook_path(const struct seccomp_notif *q, int dirfd, uint64_t path, char out[static PATH_MAX]);
/* O_PATH descriptor of what stands there in the region, or -errno. follow: the last part may be a symlink. */
int hook_open(const Hook *e, const char *path, bool follow);
