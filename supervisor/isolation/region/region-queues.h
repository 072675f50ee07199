/* Runs: supervisor. Kernel memory of a region behind its descriptors: pipes and sockets, and bytes queued in both. */
#pragma once

#include "base/util.h"
#include "region/region-file-memory.h"
#include "spawn/guard.h"

#include <sys/types.h>

uint64_t queues_each_most(void); /* The most bytes a descriptor queues: for a socket, twice net.core.wmem_max. */
uint64_t queues_tcp_most(void); /* The same for a TCP socket, with buffers enlarged by the kernel. */
/* The same for a region's Unix socket with a fixed buffer (policy/filter-args.c): twice net.core.wmem_default. */
uint64_t queues_unix_most(void);
/* Bytes charged to a socket: unsent, unread, and options. charged: SK_MEMINFO_VARS numbers, as in sock_diag(7). */
uint64_t queues_charged(const uint32_t *charged);

typedef struct QueuesLook {
        uint64_t bytes, unnamed; /* at the last look */
        bool blocked;            /* a look into a socket timed out: no further looks */
        unsigned busy;           /* skipped looks in a row, because of a look by the guard */
        OpensLook opens;
} QueuesLook;

/* Sums up bytes queued in pipes and sockets of all processes below root, in descriptors on their way through sockets,
 * the objects themselves, and watches of epolls. An object counts once. Objects hidden from the look count as full;
 * during a look by the guard the sum stays for a while. Sum 0 when out of memory. */
void queues_update(QueuesLook *l, pid_t root, Guard *guard);
typedef struct QueuesSocket {
        uint64_t inode, bytes;
        bool seen; /* a descriptor was found; bytes are held by the socket */
} QueuesSocket;
/* Looks for the given sockets as queues_update() does. Returns false after an incomplete look. */
bool queues_sockets(QueuesLook *l, pid_t root, Guard *guard, QueuesSocket *v, size_t n);
/* Unsent bytes of UDP sockets, not counted by any control group. */
uint64_t queues_datagrams(QueuesLook *l, pid_t root, Guard *guard);
/* Bytes of deleted files of the scratch, a host folder, still open, mapped, or in sockets. scratch: its descriptor. */
uint64_t queues_unnamed(QueuesLook *l, pid_t root, int scratch, Guard *guard);
