/* Runs: supervisor. Shared by the files of hook.h. */
#pragma once

#include "scrub/release_hook/hook.h"
#include "scrub/wipe.h"

#include <limits.h>
#include <linux/seccomp.h>
#include <sys/stat.h>

#define HOOK_SLICE (16UL * 1024 * 1024) /* bytes of memory between two turns of the event loop */
#define HOOK_JOBS_MAX 256               /* waiting calls; further calls are judged at once, although other tasks run */
#define HOOK_FILES_MAX 512              /* deleted files kept; bytes of further files are missed */
#define HOOK_HEAPS_MAX 4096             /* programs whose highest heap end is known */

typedef enum HookKind { HOOK_MEMORY, HOOK_FILE, HOOK_IMAGE } HookKind;

/* A call that gives memory or data back. */
typedef struct HookCall {
        const char *name;
        NotifyStep (*judge)(ReleaseHook *, const struct HookCall *, const struct seccomp_notif *, int *ret_error);
        HookKind kind;
        uint8_t path; /* number of the argument with the path */
        bool at;      /* the argument before is the folder of the path */
} HookCall;

/* A call that waits.
 *
 *   QUEUED -> ASKED -> WRITING -> GOING -> (free)
 *
 * QUEUED, ASKED: the call waits until all possible users of the memory stand. GOING: answered, still
 * inside the call. At most one job is in ASKED or GOING. */
typedef enum HookJobState {
        HOOK_JOB_FREE, HOOK_JOB_QUEUED, HOOK_JOB_ASKED, HOOK_JOB_WRITING, HOOK_JOB_GOING,
} HookJobState;

typedef struct HookJob {
        HookJobState state;
        struct seccomp_notif q;
        const HookCall *call;
        uint32_t serial;  /* of its pause; the order of the judgements */
        unsigned flags;   /* of the pause */
        bool held;        /* the tasks stand, and the guard waits for the end of the call */
        bool open;        /* a further task can write again to the overwritten memory */
        uint64_t until;   /* CLOCK_MONOTONIC usec: end of the wait */
        Runs runs;        /* memory to overwrite, as of the judgement; owned */
        size_t i;         /* the next run, and the position in it */
        uint64_t at;
        bool zeros;       /* the caller may still read the pages: it must see zeros */
} HookJob;

typedef struct HookFile {
        int fd;       /* O_PATH */
        dev_t dev;
        ino_t ino;
        pid_t pid;    /* of the task whose call takes the name */
        unsigned looks;
} HookFile;

struct ReleaseHook {
        Region *region;    /* borrowed; the counters are in its notify */
        Wipe wipe, zeros;
        PageScan scan;
        HookJob jobs[HOOK_JOBS_MAX];
        size_t next_job;   /* index of the job with the next slice */
        HookJob *turn;    /* the job in ASKED or GOING, or formerly there; NULL */
        HookJob *job;     /* the job of the judged call; NULL: no job */
        uint32_t serial;
        bool asking;       /* the call is only inspected: NOTIFY_LATER means that it may give memory or data back */
        bool common;       /* result of the inspection: the call gives back pages with further mappers */
        bool open;         /* as in HookJob, for the bytes counted now */
        bool alone;        /* no other process shares the address space of the judged call */
        bool can_pause;    /* the kernel can interrupt a waiting task without breaking off its call (Linux 5.19) */
        HookFile *files;  /* owned */
        size_t n_files;
        AddressRun heaps[HOOK_HEAPS_MAX];
        size_t n_heaps;
        struct stat worker; /* the worker's program: its own image holds no data of the skill */
        dev_t scratch;
        uint64_t *deadline; /* borrowed: of the loop */
        uint64_t pause;    /* until the next look at files with further holders */
};

#define HOOK_NEVER UINT64_MAX /* as in the loop */

enum {
        HOOK_PRIVATE = 1 << 0, /* private pages mapped only by the caller */
        HOOK_SHARED = 1 << 1,  /* unmapped shared anonymous memory without a further mapper */
        HOOK_HOLE = 1 << 2,    /* shared anonymous memory whose content goes for every mapper */
        HOOK_ZEROS = 1 << 3,   /* as HookJob.zeros */
};
/* Counts memory or data due for overwriting; the rest of its bytes is missed. */
void hook_count(ReleaseHook *e, uint64_t bytes, uint64_t overwritten);
/* Overwrites memory of a waiting caller in some ranges of whole pages. */
NotifyStep hook_memory(ReleaseHook *e, const struct seccomp_notif *q, const AddressRun *ranges, size_t n,
                       unsigned flags);
/* Overwrites a slice of a job in WRITING. True when no byte is left to write. */
bool hook_write_slice(ReleaseHook *e, HookJob *j);
/* Overwrites the pages in e->scan.own of process e->scan.pid, with all passes. */
void hook_wipe_own(ReleaseHook *e, bool zeros);

/* Counts the unshared anonymous memory of a vanishing image, whose areas are in e->scan, as missed. */
void hook_count_shared(ReleaseHook *e, const struct seccomp_notif *q);
/* Says whether a part of the range is a shared mapping of a file. */
bool hook_maps_file(ReleaseHook *e, const struct seccomp_notif *q, const AddressRun *r);
/* A private mapping of a file loses its own pages beyond the cut: they count as missed. */
void hook_count_copies(ReleaseHook *e, const struct stat *file, uint64_t length);

/* Judges a call, with or without other users of its memory or data. */
NotifyStep hook_judge(ReleaseHook *e, const HookCall *c, const struct seccomp_notif *q, int *ret_error);
/* Announces that the judged execve's image will be overwritten. False: no, the guard could not check the call. */
bool hook_doom(ReleaseHook *e);
/* Takes a job for the judged call, unless it has one. NULL: too many jobs. */
HookJob *hook_job(ReleaseHook *e, const struct seccomp_notif *q);
/* The call may block on a further process: the paused tasks go on. */
void hook_let_go(ReleaseHook *e);
void hook_jobs_step(ReleaseHook *e, uint64_t now);

/* For HookCall.judge: the image given up by an execve; the file that loses a name. */
NotifyStep hook_exec(ReleaseHook *e, const HookCall *c, const struct seccomp_notif *q, int *ret_error);
NotifyStep hook_unname(ReleaseHook *e, const HookCall *c, const struct seccomp_notif *q, int *ret_error);
NotifyStep hook_truncate_fd(ReleaseHook *e, const HookCall *c, const struct seccomp_notif *q, int *ret_error);
NotifyStep hook_hole(ReleaseHook *e, const HookCall *c, const struct seccomp_notif *q, int *ret_error);
/* open with O_TRUNC, or truncate: the bytes from `length` on. */
NotifyStep hook_truncate_path(ReleaseHook *e, const HookCall *c, const struct seccomp_notif *q, uint64_t length,
                              bool opens);
typedef enum HookFiles {
        HOOK_FILES_NEW, /* not looked at since their call went on */
        HOOK_FILES_ALL,
        HOOK_FILES_END, /* no process is left to have a file open */
} HookFiles;
/* Overwrites the kept files without a further holder. True when some files are left. */
bool hook_files_look(ReleaseHook *e, HookFiles which);
/* Asks the loop to come back after this time. */
void hook_wake(ReleaseHook *e, uint64_t after_usec);
/* The caller's path, made absolute in its own root. Returns 0, -EFAULT when the kernel refuses it, too, -errno. */
int hook_path(const HookCall *c, const struct seccomp_notif *q, char out[static PATH_MAX]);
/* The path of an own descriptor's file. False when unknown. */
bool hook_fd_path(int fd, char out[static PATH_MAX]);
/* Returns an O_PATH descriptor of the path in the region, or -errno. follow: the last part may be a symlink. */
int hook_open(const ReleaseHook *e, const char *path, bool follow);
