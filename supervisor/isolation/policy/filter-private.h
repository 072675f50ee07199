/* Runs: supervisor. What the files of the filter share. */
#pragma once

#include "policy/filter.h"

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
        WHEN_ADDRESSES = 1 << 9, /* a socket may be sent to any address that its family can name: only AF_UNIX of its own, or the host's */
        WHEN_NO_ADDRESSES = 1 << 10,
        WHEN_FREES = 1 << 11,    /* what gives memory back is notified */
        WHEN_NO_FREES = 1 << 12,
        WHEN_WATCHES = 1 << 13,  /* inotify is allowed */
        WHEN_TABLES = 1 << 14,   /* a thread may have a table of descriptors of its own */
};
unsigned filter_when(const FilterInput *in);

typedef struct FilterRow {
        const char *call;
        unsigned when; /* all of these */
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

/* New namespaces, a tracer's hold on the child, a child that is its parent's sibling, a task that tracing cannot follow. */
#define FILTER_CLONE_BAD                                                                                               \
        (CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET |    \
         CLONE_PTRACE | CLONE_UNTRACED | CLONE_PARENT)

/* Linux 6.11: memory whose pages the kernel may free whenever it likes. Among the types of a mapping no other has this bit. */
#define FILTER_MAP_DROPPABLE 8

/* The call gives memory or data of a file back, whatever its arguments: it is notified under WHEN_FREES, if no row of that says otherwise. */
bool filter_call_frees(const char *call);

/* True when a row allows the call with these arguments. */
bool filter_rows_allow(const char *call, unsigned when, const uint64_t *args);

/* libseccomp's program as it comes. *ret is owned. Returns 0 or -errno. */
int filter_build(const FilterInput *in, struct sock_filter **ret, size_t *ret_n);
/* Compiles a filter with other rules: what none of them allows is answered by `otherwise`. Returns as filter_compile(). */
int filter_compile_rules(uint32_t otherwise, int (*rules)(scmp_filter_ctx ctx, const void *arg), struct sock_filter **ret, size_t *ret_n);
/* Puts a shorter program in its place that answers the same to every call; arch is the AUDIT_ARCH_* that it judges, all others get one answer. Returns
 * 0 (it may have stayed as it was), -EOPNOTSUPP for instructions that it does not know, -EINVAL, -ENOMEM: then it is as it was. */
int filter_shorten(uint32_t arch, struct sock_filter **filter, size_t *n_filter);
