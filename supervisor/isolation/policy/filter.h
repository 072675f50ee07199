/* Runs: supervisor. The system call filter: an allow-list, made from the few facts of a grant in FilterInput. Other
 * calls are answered by the supervisor through a seccomp notification, so that each denial is known by name; foreign
 * ABIs (ia32, x32) are killed. The tables that make the filter also judge a notification. */
#pragma once

#include "policy/grant.h"

#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <seccomp.h>

/* The complete input of the filter. The bytes are the key of the cache, so there is no padding. */
typedef struct FilterInput {
        uint8_t tier;          /* Tier */
        uint8_t network;       /* NetworkMode */
        uint8_t loopback;      /* sockets of the Internet families are allowed, in the region's own network namespace */
        uint8_t unix_sockets;  /* Unix sockets of any kind, and any connect: loopback, and no host_files */
        /* Unix sockets with a connection, in the host's network namespace: connect, or host. The supervisor makes each
         * listen and connect */
        uint8_t listed;
        uint8_t scoped;        /* Landlock keeps abstract names of the host from the region (ABI 6) */
        uint8_t notify_paths;  /* calls that name a path are notified */
        uint8_t notify_memory; /* large mmap, mremap and mprotect are notified (no memory cgroup) */
        uint8_t notify_tasks;  /* clone, fork and vfork are notified (no pids cgroup) */
        uint8_t host_files;    /* files of the host are in the region: one may be the socket of a host's service */
        uint8_t watches;       /* inotify is allowed: in tier namespaces, with limits of the region's own */
        /* a thread may have a private table of descriptors: the kernel lets other processes look into the table */
        uint8_t tables;
        uint8_t terminal;      /* the region has a terminal of its own */
        uint8_t terminals;     /* the region may make terminals, in a devpts of its own */
        uint8_t notify_frees;  /* calls that return memory or data of files are notified (discipline multipass) */
} FilterInput;

typedef enum FilterClass {
        FILTER_DENY,    /* answer -error, record a denial */
        FILTER_PATH,    /* continue; record when the path is the host's but not the region's */
        FILTER_MEMORY,  /* args are scalar: refuse with ENOMEM when the budget would be passed, else continue */
        FILTER_TASK,    /* refuse with EAGAIN when the region has as many tasks as it may, else continue */
        FILTER_FREE,    /* continue, after the returned memory or data is overwritten */
        FILTER_LOCK,    /* make the lock on a duplicate of the descriptor, or refuse it; never continue */
        FILTER_WATCH,   /* like FILTER_LOCK, for a watch of inotify */
        FILTER_LISTEN,  /* make the listen on a duplicate of the socket, or refuse it; never continue */
        FILTER_CONNECT, /* make the connect on a duplicate of the socket to a granted address; never continue */
} FilterClass;

typedef struct FilterVerdict {
        FilterClass kind;
        const char *rule;      /* "ptrace", "namespaces", "network": static */
        const char *operation; /* the call's name: "socket"; static, or "call" for a call outside the tables */
        char object[64]; /* the deciding arguments, for the user: "AF_INET SOCK_STREAM", "request 0x5412", "nr 451" */
        const char *allow_with;/* the manifest line that would allow the call; NULL: no manifest can allow the call */
        int error;             /* FILTER_DENY: errno of the answer */
        uint8_t path_arg;      /* FILTER_PATH: index of the path; the folder descriptor is path_arg - 1 when at_call */
        bool at_call;
        bool writes;           /* FILTER_PATH: the call asks for writing */
        bool shared;           /* FILTER_MEMORY, FILTER_FREE: an mmap that may make an object shared by processes */
        /* any class that may continue: the memory or data that the call returns has to be overwritten before */
        bool frees;
} FilterVerdict;

void filter_input(const Grant *g, Tier tier, bool memory_in_cgroup, bool tasks_in_cgroup, bool objects_limited,
                  bool scoped, FilterInput *ret);

/* Compiles with libseccomp. *ret is owned. Returns 0 or -errno. */
int filter_compile(const FilterInput *in, struct sock_filter **ret, size_t *ret_n);
/* Like filter_compile(), through <store_dir>/cache/filter-<key>. Cached bytes are used only when length and hash are
 * right, else made again. A cache that cannot be written costs only time. */
int filter_cached(const FilterInput *in, const char *store_dir, struct sock_filter **ret, size_t *ret_n);
/* The filter of a template. Returns as filter_compile(). */
int filter_of_template(struct sock_filter **ret, size_t *ret_n);

unsigned filter_when(const FilterInput *in); /* WHEN_* */
/* Decides about a notification. */
void filter_judge(const FilterInput *in, const struct seccomp_data *d, FilterVerdict *ret);

/* The rows for calls that are judged by their arguments are in filter-args.c. Facts of a FilterInput under which a row
 * holds: */
enum {
        WHEN_NO_PATHS = 1 << 0, /* paths are not notified */
        WHEN_NAMESPACES = 1 << 1,
        WHEN_LANDLOCK = 1 << 2,
        WHEN_MEMORY_CGROUP = 1 << 3,
        WHEN_MEMORY_NOTIFIED = 1 << 4,
        WHEN_TASK_CGROUP = 1 << 5,
        WHEN_UNIX = 1 << 6, /* loopback without host_files */
        WHEN_INET = 1 << 7, /* network loopback, connect or host */
        WHEN_UDP = 1 << 8,  /* loopback or host */
        WHEN_ADDRESSES = 1 << 9, /* sockets may be sent to any address: loopback, or the host's network */
        WHEN_NO_ADDRESSES = 1 << 10,
        WHEN_FREES = 1 << 11,    /* calls that return memory are notified */
        WHEN_NO_FREES = 1 << 12,
        WHEN_WATCHES = 1 << 13,  /* inotify is allowed */
        WHEN_CONNECTS = 1 << 15, /* no connect is notified */
        WHEN_LOOPBACK = 1 << 16,
        WHEN_TERMINAL = 1 << 17,
        WHEN_TERMINALS = 1 << 18,
        WHEN_LISTED = 1 << 19,
        WHEN_BINDS = 1 << 20,   /* sockets may be bound, and accept */
        WHEN_LISTENS = 1 << 21, /* no listen is notified */
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
/* The first row of a table whose rows begin with the name of a call; NULL: no such row. */
const void *filter_find(const void *rows, size_t n, size_t row_bytes, const char *call);
#define FILTER_FIND(rows, n, call) filter_find((rows), (n), sizeof(*(rows)), (call))
