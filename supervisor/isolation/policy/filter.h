/* Runs: supervisor. The system call filter: an allow-list made from the few facts of a grant that it depends on. What is not allowed is
 * answered by the supervisor through a seccomp notification, so that each denial is known by name; foreign ABIs (ia32, x32) are killed.
 * The same tables that make the filter also judge a notification. */
#pragma once

#include "base/diag.h"
#include "base/util.h"
#include "policy/grant.h"

#include <linux/filter.h>
#include <linux/seccomp.h>

/* Everything that the filter depends on; its bytes are the key of the cache, so it has no padding. */
typedef struct FilterInput {
        uint8_t tier;          /* Tier */
        uint8_t network;       /* NetworkMode */
        uint8_t unix_sockets;  /* socket(AF_UNIX) is allowed: own network namespace, and no host_files */
        uint8_t notify_paths;  /* calls that name a path are notified */
        uint8_t notify_memory; /* large mmap, mremap and mprotect are notified (no memory cgroup) */
        uint8_t notify_tasks;  /* clone, fork and vfork are notified (no pids cgroup) */
        uint8_t host_files;    /* files of the host are in the region: one may be the socket of a host's service */
        uint8_t watches;       /* inotify is allowed: in tier namespaces, with limits of the region's own */
        uint8_t tables;        /* a thread may have a table of descriptors of its own: the kernel lets others look into it */
        uint8_t notify_frees;  /* calls that give memory or data of files back are notified (discipline multipass) */
} FilterInput;

#define FILTER_MEMORY_NOTIFY_BYTES (1024 * 1024) /* mappings from this length on are notified */

typedef enum FilterClass {
        FILTER_DENY,    /* answer -error, record a denial */
        FILTER_PATH,    /* continue; record when the path is the host's but not the region's */
        FILTER_MEMORY,  /* args are scalar: refuse with ENOMEM when the budget would be passed, else continue */
        FILTER_TASK,    /* refuse with EAGAIN when the region has as many tasks as it may, else continue */
        FILTER_FREE,    /* continue, once what the call gives back is overwritten */
        FILTER_LOCK,    /* make the lock on a duplicate of the descriptor, or refuse it; never continue */
        FILTER_WATCH,   /* the same for a watch of inotify */
        FILTER_CONNECT, /* make the connect on a duplicate of the socket to a granted address; never continue */
} FilterClass;

typedef struct FilterVerdict {
        FilterClass kind;
        const char *rule;      /* "ptrace", "namespaces", "network": static */
        const char *operation; /* the call's name: "socket"; static, or "call" for one that the table does not have */
        char object[64];       /* the arguments that decided, for people: "AF_INET SOCK_STREAM", "request 0x5412", "nr 451" */
        const char *allow_with;/* the manifest line that would allow it, or NULL: nothing in a manifest allows this */
        int error;             /* FILTER_DENY: errno of the answer */
        uint8_t path_arg;      /* FILTER_PATH: index of the path; the folder descriptor is path_arg - 1 when at_call */
        bool at_call;
        bool writes;           /* FILTER_PATH: the call asks for writing */
        bool shared;           /* FILTER_MEMORY, FILTER_FREE: an mmap that may make an object which processes share */
        bool frees;            /* of any class that may continue: what the call gives back is to be overwritten before */
} FilterVerdict;

void filter_input(const Grant *g, Tier tier, bool memory_in_cgroup, bool tasks_in_cgroup, bool objects_limited,
                  FilterInput *ret);

/* Compiles with libseccomp. *ret is owned. Returns 0 or -errno. */
int filter_compile(const FilterInput *in, struct sock_filter **ret, size_t *ret_n);
/* The same through <store_dir>/cache/filter-<key>: bytes from there are taken only when length and hash are right, and are made anew
 * otherwise. A cache that cannot be written costs time, nothing else. */
int filter_cached(const FilterInput *in, const char *store_dir, struct sock_filter **ret, size_t *ret_n);
/* Of a template (filter-template.c). Returns as filter_compile(). */
int filter_of_template(struct sock_filter **ret, size_t *ret_n);

/* Says what to do about one notification. */
void filter_judge(const FilterInput *in, const struct seccomp_data *d, FilterVerdict *ret);
