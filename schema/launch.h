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
        LAUNCH_ALL = LAUNCH_CHANGE_IDS | LAUNCH_PROC | LAUNCH_NET_HOST,
};

typedef enum LaunchKind {
        LAUNCH_FOLDER = 1, /* an empty folder */
        LAUNCH_LINK,       /* a symbolic link; source is its text */
        LAUNCH_FILE,       /* a small file; source is its content */
        LAUNCH_BIND,       /* a file or folder of the host: source is its path, or tree >= 0 says which detached mount */
        LAUNCH_KIND_END,
} LaunchKind;

enum {
        LAUNCH_WRITE = 1 << 0,    /* BIND: may be written; else the mount and all below it are read-only */
        LAUNCH_OPTIONAL = 1 << 1, /* BIND: nothing happens when the source does not exist */
        LAUNCH_DEVICE = 1 << 2,   /* BIND: a device node, to be read and written */
        LAUNCH_FOLLOW = 1 << 3,   /* BIND: symbolic links in the source may be followed; else they are refused */
        LAUNCH_ENTRY_ALL = LAUNCH_WRITE | LAUNCH_OPTIONAL | LAUNCH_DEVICE | LAUNCH_FOLLOW,
};

typedef struct LaunchEntry {
        uint8_t kind; /* LaunchKind */
        uint8_t flags;
        int16_t tree;       /* -1: none */
        const char *target; /* absolute path in the region */
        const char *source;
} LaunchEntry;

typedef struct LaunchLimit {
        uint32_t resource; /* RLIMIT_* */
        uint64_t soft, hard;
} LaunchLimit;

typedef struct LaunchSpec {
        uint8_t tier; /* Tier of policy/grant.h: 1 landlock, 2 namespaces */
        uint8_t flags;
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
        const char **argv, **env; /* NULL-terminated */
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
