/* Runs: supervisor. The rows of the filter, for calls that are judged by their arguments. */
#pragma once

#include "base/util.h"

#include <linux/sched.h>
#include <seccomp.h>

/* Facts of a FilterInput under which a row holds. */
enum {
        WHEN_NO_PATHS = 1 << 0, /* paths are not notified */
        WHEN_NAMESPACES = 1 << 1,
        WHEN_LANDLOCK = 1 << 2,
        WHEN_MEMORY_CGROUP = 1 << 3,
        WHEN_MEMORY_NOTIFIED = 1 << 4,
        WHEN_TASK_CGROUP = 1 << 5,
        WHEN_UNIX = 1 << 6,
        WHEN_INET = 1 << 7, /* network connect or host */
        WHEN_HOST = 1 << 8,
        WHEN_ADDRESSES = 1 << 9, /* sockets may be sent to any address: private AF_UNIX, or the host's network */
        WHEN_NO_ADDRESSES = 1 << 10,
        WHEN_FREES = 1 << 11,    /* calls that return memory are notified */
        WHEN_NO_FREES = 1 << 12,
        WHEN_WATCHES = 1 << 13,  /* inotify is allowed */
        WHEN_TABLES = 1 << 14,   /* a thread may have a private table of descriptors */
};
typedef struct FilterRow {
        const char *call;
        unsigned when; /* all needed facts */
        uint8_t n;
        struct scmp_arg_cmp cmp[3];
} FilterRow;
extern const FilterRow filter_rows[];
extern const size_t n_filter_rows;

typedef struct FilterNumber {
        const char *call;
        int nr;
} FilterNumber;
extern const FilterNumber filter_numbers[];
extern const size_t n_filter_numbers;

/* New namespaces, a tracer's hold on the child, a child beside its parent, an untraceable task. */
#define FILTER_CLONE_BAD                                                                                               \
        (CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET |    \
         CLONE_PTRACE | CLONE_UNTRACED | CLONE_PARENT)

#define FILTER_MEMORY_NOTIFY_BYTES (1024 * 1024) /* mappings from this length on are notified */
/* Linux 6.11: memory with pages that the kernel may free at any time. No other type of a mapping has the bit. */
#define FILTER_MAP_DROPPABLE 8

/* Whether the call may return memory or data of a file: notified under WHEN_FREES, unless a row allows the call. */
bool filter_call_frees(const char *call);

/* Whether a row allows the call with the arguments. */
bool filter_rows_allow(const char *call, unsigned when, const uint64_t *args);
