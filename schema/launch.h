/* Runs: supervisor, worker. The launch spec: all orders to a worker, in a sealed memory file. The supervisor's plan
 * makes the spec, the worker's steps obey it. Numbers are little-endian, strings counted and NUL-terminated. */
#pragma once

#include "schema/limits.h"

#include <linux/filter.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LAUNCH_MAX (4U * 1024 * 1024) /* bytes of a whole spec */
#define LAUNCH_COUNT_MAX 65536U       /* elements of any array in it */

#define LAUNCH_GROUPS_MAX 8 /* task lists of cgroups */

/* The worker's inherited descriptors, after the region's own 0..4. */
enum {
        LAUNCH_FD_STATUS = 5,
        /* a stream socket: a byte when maps are written, a byte with the task lists of the cgroups of version 1, a
         * byte for go; end of file when the supervisor is gone */
        LAUNCH_FD_LIFELINE,
        LAUNCH_FD_SPEC,
        LAUNCH_FD_TREES, /* the first of n_trees detached mounts made by the supervisor */
};

enum {
        LAUNCH_CHANGE_IDS = 1 << 0, /* the supervisor is root: drop supplementary groups, take on uid and gid */
        LAUNCH_PROC = 1 << 1,       /* mount /proc: processes, and the LAUNCH_IN_PROC entries alone */
        LAUNCH_NET_HOST = 1 << 2,   /* the host's network is granted: no Landlock rules for TCP */
        /* no region: a template. The worker makes a PID namespace, builds a root in it and serves orders there
         * (schema/zygote.h), on LAUNCH_FD_STATUS after STATUS_READY. Its spec names no invocation, grant or skill */
        LAUNCH_ZYGOTE = 1 << 3,
        /* a region of a template: only LAUNCH_OWN entries are mounted; the rest is for Landlock */
        LAUNCH_TEMPLATE = 1 << 4,
        LAUNCH_LATER = 1 << 5, /* prepared early: search, argv and env are the words behind the spec (below) */
        /* with LAUNCH_ZYGOTE: the worker becomes an interpreter with preloaded modules, and its children are
         * regions with that interpreter as their program (shim/warm/) */
        LAUNCH_WARM = 1 << 6,
        LAUNCH_AHEAD = 1 << 7, /* with LAUNCH_LATER: the program is an interpreter, started before the words (below) */
        LAUNCH_BINDER = 1 << 8, /* no region: the worker makes detached mounts of the host's tree (main.c) */
        LAUNCH_LOOPBACK = 1 << 9, /* a network namespace of the region's own: lo is set up; no Landlock rules for TCP */
        /* the worker makes a terminal (STATUS_TERMINAL) in place of the three standard streams: it becomes the program's
         * controlling terminal */
        LAUNCH_TERMINAL = 1 << 10,
        LAUNCH_TERMINALS = 1 << 11, /* a devpts of the region's own at /dev/pts, with TERMINALS_MAX terminals at most */
        LAUNCH_TELL = 1 << 12, /* the first process reports the execution of the program (STATUS_EXECUTED) */
        LAUNCH_SOCKETS = 1 << 13, /* with LAUNCH_LOOPBACK: STATUS_SOCKETS is sent */
        LAUNCH_ALL = LAUNCH_CHANGE_IDS | LAUNCH_PROC | LAUNCH_NET_HOST | LAUNCH_ZYGOTE | LAUNCH_TEMPLATE |
                     LAUNCH_LATER | LAUNCH_WARM | LAUNCH_AHEAD | LAUNCH_BINDER | LAUNCH_LOOPBACK |
                     LAUNCH_TERMINAL | LAUNCH_TERMINALS | LAUNCH_TELL | LAUNCH_SOCKETS,
};

typedef enum LaunchKind {
        LAUNCH_FOLDER = 1, /* an empty folder */
        LAUNCH_LINK,       /* a symbolic link; source is its text */
        LAUNCH_FILE,       /* a small file; source is its content */
        LAUNCH_BIND, /* a file or folder of the host: source is its path, or tree >= 0 the number of a mount */
        LAUNCH_MASK,       /* hides the target: an empty file or folder is mounted over it, read-only; source is "" */
        LAUNCH_FIFO,       /* a FIFO that nobody may open; source is "" */
        LAUNCH_KIND_END,
} LaunchKind;

enum {
        LAUNCH_WRITE = 1 << 0,    /* BIND: may be written; else the mount and all below it are read-only */
        LAUNCH_OPTIONAL = 1 << 1, /* BIND: a missing source is no error */
        LAUNCH_DEVICE = 1 << 2,   /* BIND: a device node, to be read and written */
        LAUNCH_FOLLOW = 1 << 3,   /* BIND: symbolic links in the source may be followed; else they are refused */
        LAUNCH_OWN = 1 << 4, /* with LAUNCH_TEMPLATE: for the region's own worker: granted, or in the scratch */
        LAUNCH_IN_PROC = 1 << 5, /* FILE: its target is below /proc, and stands there instead of the kernel's */
        LAUNCH_OVERLAY = 1 << 6, /* BIND: a folder, read-only below a layer of the region's own in its scratch */
        LAUNCH_TTY = 1 << 7,     /* with LAUNCH_DEVICE: requests to a terminal (ioctl) are allowed, too */
        LAUNCH_ENTRY_ALL = LAUNCH_WRITE | LAUNCH_OPTIONAL | LAUNCH_DEVICE | LAUNCH_FOLLOW | LAUNCH_OWN |
                           LAUNCH_IN_PROC | LAUNCH_OVERLAY | LAUNCH_TTY,
};

typedef struct LaunchEntry {
        uint8_t kind; /* LaunchKind */
        uint8_t flags;
        int16_t tree;       /* -1: none */
        const char *target; /* absolute path in the region */
        const char *source;
} LaunchEntry;

/* Folders of a layer, in the root of the scratch, which no path of the region reaches. %u: the layers count from 0, in
 * the order of the entries. The region's writes are in `upper`, in overlayfs's own form. */
#define LAUNCH_LAYER "layer%u"
#define LAUNCH_LAYER_UPPER "upper"
#define LAUNCH_LAYER_WORK "work"
#define LAUNCH_LAYER_LOWER "lower"

/* Limits other than RLIMIT_*: of the region's own user namespace, in tier namespaces. */
enum {
        LAUNCH_LIMIT_INOTIFY_INSTANCES = 1000,
        LAUNCH_LIMIT_INOTIFY_WATCHES,
};

typedef struct LaunchLimit {
        uint32_t resource; /* RLIMIT_* or LAUNCH_LIMIT_* */
        uint64_t soft, hard;
} LaunchLimit;

typedef struct LaunchSpec {
        uint8_t tier; /* Tier of policy/grant.h: 1 landlock, 2 namespaces */
        uint16_t flags;
        uint16_t n_trees;
        uint16_t listen[LISTEN_MAX]; /* ports of STATUS_LISTENING, in a row; 0: none. With LAUNCH_LOOPBACK */
        uint32_t uid, gid;
        uint64_t scratch_bytes, scratch_inodes; /* tier namespaces: of the scratch tmpfs */
        const char *scratch;                    /* tier landlock: host folder that stands for /work and /tmp; else "" */
        const char *workdir;
        const char *search; /* PATH of the program, folders joined by ':' */
        LaunchEntry *entries;
        size_t n_entries;
        LaunchLimit *limits;
        size_t n_limits;
        const char **argv, **env; /* NULL-terminated; none with LAUNCH_LATER; with LAUNCH_AHEAD, the bootstrap's */
        size_t n_argv, n_env;
        const struct sock_filter *filter; /* the skill's system call filter */
        size_t n_filter;
} LaunchSpec;

/* *ret is owned. Returns 0, -ENOMEM, or -EFBIG beyond LAUNCH_MAX. */
int launch_encode(const LaunchSpec *s, uint8_t **ret, size_t *ret_n);
/* Strings and filter point into `bytes`, which must be aligned for sock_filter and outlive the spec; arrays are
 * owned. Refuses bytes that launch_encode() would not have made. Returns 0, -EBADMSG, -ENOMEM. */
int launch_decode(const uint8_t *bytes, size_t n, LaunchSpec *ret);
void launch_deinit(LaunchSpec *s);

/* With LAUNCH_LATER the spec's file has LAUNCH_WORDS_MAX bytes more. The supervisor writes the words there before
 * the go, and overwrites them with the spec; until then they are zeros. */
#define LAUNCH_WORDS_MAX (128U * 1024)

/* With LAUNCH_AHEAD the first go starts Lethe's bootstrap in an interpreter (shim/warm/), confined like any program.
 * The bootstrap has LAUNCH_FD_LIFELINE and LAUNCH_FD_SPEC, sends a byte on the lifeline when ready, and waits for the
 * second go: a LaunchTake. The bootstrap takes the words and closes both before any code of the skill. */
typedef struct LaunchTake {
        uint32_t offset, bytes; /* little-endian */
} LaunchTake;

/* Returns the size of the spec at the beginning of a file of n bytes. */
size_t launch_spec_bytes(const uint8_t *bytes, size_t n);
/* Encodes search, argv and env. Returns as launch_encode(), -EFBIG beyond LAUNCH_WORDS_MAX. */
int launch_words_encode(const LaunchSpec *s, uint8_t **ret, size_t *ret_n);
/* Decodes the words at the beginning of `bytes` into s, with pointers into `bytes`. Returns as launch_decode(). */
int launch_words_decode(const uint8_t *bytes, size_t n, LaunchSpec *s);
