/* Runs: supervisor, worker. The launch spec: all that a worker is told, in one sealed memory file. The supervisor's plan makes it, the
 * worker's steps obey it. The codec is plain: little-endian numbers, counted NUL-terminated strings, every bound checked when read. */
#pragma once

#include <linux/filter.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LAUNCH_MAX (4U * 1024 * 1024) /* bytes of a whole spec */
#define LAUNCH_COUNT_MAX 65536U       /* elements of any array in it */

#define LAUNCH_GROUPS_MAX 8 /* task lists of cgroups */

/* Descriptors with which the worker is born, after the region's own 0..4. */
enum {
        LAUNCH_FD_STATUS = 5,
        LAUNCH_FD_LIFELINE, /* a stream socket: one byte when maps are written, one with the task lists of the cgroups of version 1, one for
                         * go; end of file when the supervisor is gone */
        LAUNCH_FD_SPEC,
        LAUNCH_FD_TREES, /* the first of n_trees detached mounts made by the supervisor */
};

enum {
        LAUNCH_CHANGE_IDS = 1 << 0, /* the supervisor is root: drop supplementary groups, take on uid and gid */
        LAUNCH_PROC = 1 << 1,       /* mount /proc with subset=pid */
        LAUNCH_NET_HOST = 1 << 2,   /* the host's network is granted: Landlock does not judge TCP */
        LAUNCH_ZYGOTE = 1 << 3,    /* no region: a template. The worker makes a PID namespace, builds a root in it and serves orders there
                                     * (schema/zygote.h), on LAUNCH_FD_STATUS after STATUS_READY. Nothing of an invocation, a grant or a skill is
                                     * in its spec */
        LAUNCH_TEMPLATE = 1 << 4,   /* a region made by a template: the root stands, and the worker mounts the LAUNCH_OWN entries. The other
                                     * entries are told for Landlock's sake */
        LAUNCH_LATER = 1 << 5,      /* prepared before its invocation is known: search, argv and env are the words behind the spec (below) */
        LAUNCH_WARM = 1 << 6,       /* with LAUNCH_ZYGOTE: it becomes an interpreter that imports what it is told to, and its children are regions
                                     * whose program is that interpreter (shim/warm/) */
        LAUNCH_AHEAD = 1 << 7,      /* with LAUNCH_LATER: the program is an interpreter, started before the words are there (below) */
        LAUNCH_BINDER = 1 << 8,     /* no region: the worker keeps the host's tree and makes detached mounts of it (worker/binder.c) */
        LAUNCH_ALL = LAUNCH_CHANGE_IDS | LAUNCH_PROC | LAUNCH_NET_HOST | LAUNCH_ZYGOTE | LAUNCH_TEMPLATE | LAUNCH_LATER | LAUNCH_WARM | LAUNCH_AHEAD |
                     LAUNCH_BINDER,
};

typedef enum LaunchKind {
        LAUNCH_FOLDER = 1, /* an empty folder */
        LAUNCH_LINK,       /* a symbolic link; source is its text */
        LAUNCH_FILE,       /* a small file; source is its content */
        LAUNCH_BIND,       /* a file or folder of the host: source is its path, or tree >= 0 says which detached mount */
        LAUNCH_MASK,       /* nothing is shown of what stands at the target: an empty file or folder is mounted over it, read-only; source is "" */
        LAUNCH_KIND_END,
} LaunchKind;

enum {
        LAUNCH_WRITE = 1 << 0,    /* BIND: may be written; else the mount and all below it are read-only */
        LAUNCH_OPTIONAL = 1 << 1, /* BIND: nothing happens when the source does not exist */
        LAUNCH_DEVICE = 1 << 2,   /* BIND: a device node, to be read and written */
        LAUNCH_FOLLOW = 1 << 3,   /* BIND: symbolic links in the source may be followed; else they are refused */
        LAUNCH_OWN = 1 << 4,      /* with LAUNCH_TEMPLATE: the region's own to mount or to make: what was granted, and what stands in the scratch */
        LAUNCH_ENTRY_ALL = LAUNCH_WRITE | LAUNCH_OPTIONAL | LAUNCH_DEVICE | LAUNCH_FOLLOW | LAUNCH_OWN,
};

typedef struct LaunchEntry {
        uint8_t kind; /* LaunchKind */
        uint8_t flags;
        int16_t tree;       /* -1: none */
        const char *target; /* absolute path in the region */
        const char *source;
} LaunchEntry;

/* Limits that are no RLIMIT_*: of the region's own user namespace, in tier namespaces. */
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
        uint32_t uid, gid;
        uint64_t scratch_bytes, scratch_inodes; /* tier namespaces: of the scratch tmpfs */
        const char *scratch;                    /* tier landlock: host folder that stands for /work and /tmp; else "" */
        const char *workdir;
        const char *search; /* PATH of the program, folders joined by ':' */
        LaunchEntry *entries;
        size_t n_entries;
        LaunchLimit *limits;
        size_t n_limits;
        const char **argv, **env; /* NULL-terminated; none with LAUNCH_LATER, but for LAUNCH_AHEAD: of the bootstrap */
        size_t n_argv, n_env;
        const struct sock_filter *filter; /* the skill's system call filter */
        size_t n_filter;
} LaunchSpec;

/* *ret is owned. Returns 0, -ENOMEM, or -EFBIG beyond LAUNCH_MAX. */
int launch_encode(const LaunchSpec *s, uint8_t **ret, size_t *ret_n);
/* Strings and filter point into `bytes`, which must be aligned for sock_filter and outlive the spec; arrays are owned. Bytes that
 * launch_encode would not have made are refused. Returns 0, -EBADMSG, -ENOMEM. */
int launch_decode(const uint8_t *bytes, size_t n, LaunchSpec *ret);
void launch_deinit(LaunchSpec *s);

/* With LAUNCH_LATER the spec's file has LAUNCH_WORDS_MAX bytes more. The supervisor writes the words there before the go, and overwrites them as it
 * does the spec; until then they are zeros. */
#define LAUNCH_WORDS_MAX (128U * 1024)

/* With LAUNCH_AHEAD the first go starts a bootstrap of ours in an interpreter (shim/warm/), confined like any program. It has LAUNCH_FD_LIFELINE and
 * LAUNCH_FD_SPEC, says one byte on the lifeline when it has come as far as it can, and waits there for the second go: a LaunchTake. It takes the words
 * from the spec's file, closes both descriptors, and only then anything of a skill runs. */
typedef struct LaunchTake {
        uint32_t offset, bytes; /* little-endian */
} LaunchTake;

/* Of a file of n bytes that begins like this: how many are the spec. */
size_t launch_spec_bytes(const uint8_t *bytes, size_t n);
/* search, argv and env. Returns as launch_encode(), -EFBIG beyond LAUNCH_WORDS_MAX. */
int launch_words_encode(const LaunchSpec *s, uint8_t **ret, size_t *ret_n);
/* Puts them into s, pointing into `bytes`, whose first ones they are. Returns as launch_decode(); s is freed all the same. */
int launch_words_decode(const uint8_t *bytes, size_t n, LaunchSpec *s);
