/* Runs: supervisor. What the files of early.h share. */
#pragma once

#include "scrub/early.h"
#include "scrub/wipe.h"

#include <limits.h>
#include <linux/seccomp.h>
#include <sys/stat.h>

#define EARLY_SLICE (16UL * 1024 * 1024) /* bytes of memory between two looks at everything else */
#define EARLY_JOBS_MAX 16                /* calls whose memory is overwritten in turns; further ones in one go */
#define EARLY_FILES_MAX 512              /* deleted files kept; bytes of further ones are missed */
#define EARLY_EXECS_MAX 64               /* execve calls watched at once */

typedef struct EarlyJob {
        uint64_t id; /* of the notification; 0: free */
        pid_t pid;
        Runs runs;   /* what was there when the call came; owned */
        size_t i;    /* the run that is next, and where in it */
        uint64_t at;
        bool zeros;  /* the caller may still read what is written: it must see zeros */
        bool threads;
} EarlyJob;

typedef struct EarlyFile {
        int fd;       /* O_PATH */
        dev_t dev;
        ino_t ino;
        uint64_t id;  /* of the call that takes the name */
        unsigned looks;
} EarlyFile;

typedef struct EarlyExec {
        pid_t pid;
        uint64_t ticks; /* when the process began: with the pid it names it */
        uint64_t stack; /* where the old image's stack began */
        uint64_t until; /* CLOCK_MONOTONIC usec: given up then */
} EarlyExec;

struct Early {
        Region *region;    /* borrowed; the counters are in its notify */
        Wipe wipe, zeros;
        Scan scan;
        EarlyJob jobs[EARLY_JOBS_MAX];
        EarlyFile *files;  /* owned */
        size_t n_files;
        EarlyExec execs[EARLY_EXECS_MAX];
        size_t n_execs;
        struct stat worker; /* the worker's program: its own image holds nothing of the skill */
        dev_t scratch;
        uint64_t *deadline; /* borrowed: of the loop */
        uint64_t pause;    /* until the next look at files that somebody has open */
};

#define EARLY_NEVER UINT64_MAX /* as the loop has it */

enum {
        EARLY_PRIVATE = 1 << 0, /* private pages that only the caller maps */
        EARLY_SHARED = 1 << 1,  /* shared anonymous memory that is unmapped and that nothing else maps */
        EARLY_HOLE = 1 << 2,    /* shared anonymous memory whose content goes for everybody */
        EARLY_ZEROS = 1 << 3,   /* the caller may still read what is written: it must see zeros */
};
/* Memory of a waiting caller in some ranges of whole pages. */
NotifyStep early_memory(Early *e, const struct seccomp_notif *q, const Run *ranges, size_t n, unsigned flags);
/* A slice of a job. True when it is done, or its caller is dead. */
bool early_job_step(Early *e, EarlyJob *j);
/* Overwrites what e->scan.own lists of e->scan.pid, with all passes. */
void early_wipe_own(Early *e, bool zeros, bool threads);
bool early_many_threads(pid_t pid);
/* Opens what a scan needs, without reading the memory areas where that is not needed. Returns 0 or -errno. */
int early_scan_begin(Scan *s, pid_t pid, bool areas);

/* The image that an execve gives up; path, argv and envp as the call has them. */
NotifyStep early_exec(Early *e, const struct seccomp_notif *q, int dirfd, uint64_t path, uint64_t argv, uint64_t envp);
/* One of which too little is known: what it gives up is counted. */
NotifyStep early_exec_missed(Early *e, const struct seccomp_notif *q);
/* Looks at the calls that went on. True when some are left to look at. */
bool early_exec_look(Early *e, uint64_t now);

/* The file that loses a name with this call is kept. */
NotifyStep early_unname(Early *e, const struct seccomp_notif *q, int dirfd, uint64_t path);
NotifyStep early_truncate_fd(Early *e, const struct seccomp_notif *q, int *ret_error);
NotifyStep early_hole(Early *e, const struct seccomp_notif *q, int *ret_error);
/* open with O_TRUNC, or truncate: the bytes from `length` on. */
NotifyStep early_truncate_path(Early *e, const struct seccomp_notif *q, int dirfd, uint64_t path, uint64_t length, bool opens);
typedef enum EarlyFiles {
        EARLY_FILES_NEW, /* those that were not looked at since their call went on */
        EARLY_FILES_ALL,
        EARLY_FILES_END, /* nobody is left who could have one open */
} EarlyFiles;
/* Overwrites the kept files that only we have open. True when some are left. */
bool early_files_look(Early *e, EarlyFiles which);
/* The loop shall come back. */
void early_wake(Early *e, uint64_t after_usec);
/* The path that the caller means, made absolute and plain in its own root. Returns 0 or -errno. */
int early_path(const struct seccomp_notif *q, int dirfd, uint64_t path, char out[static PATH_MAX]);
/* O_PATH descriptor of what stands there in the region, or -errno. follow: the last part may be a symlink. */
int early_open(const Early *e, const char *path, bool follow);
