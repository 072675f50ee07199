/* Runs: supervisor. Kernel memory of a region behind its descriptors: pipes and sockets, and bytes queued in both. */
#pragma once

#include "base/util.h"
#include "region/region-file-memory.h"
#include "spawn/guard.h"

#include <sys/types.h>

/* Limits of the kernel: */
uint64_t queues_each_most(void); /* The most bytes a descriptor queues: for a socket, twice net.core.wmem_max. */
uint64_t queues_tcp_most(void); /* The same for a TCP socket, with buffers enlarged by the kernel. */
/* The same for a region's Unix socket with a fixed buffer (policy/filter-args.c): twice net.core.wmem_default. */
uint64_t queues_unix_most(void);
/* Bytes charged to a socket: unsent, unread, and options. charged: SK_MEMINFO_VARS numbers, as in sock_diag(7). */
uint64_t queues_charged(const uint32_t *charged);

/* A single pipe or socket, through the supervisor's copy of its descriptor: */
int queues_option(int fd, int name); /* An option of level SOL_SOCKET; -1: none. */
bool queues_is_datagram(int fd);     /* True for a Unix socket of datagrams. */
uint64_t queues_held_by(int fd, bool pipe); /* Bytes sent and not yet read, and options. */
uint64_t queues_unsent(int fd); /* Bytes of unfinished datagrams (MSG_MORE) of IPv4 and IPv6; in no control group. */
#define QUEUES_MESSAGE_FDS 253 /* SCM_MAX_FD of the kernel */
#define QUEUES_SENT_MAX (4 * QUEUES_MESSAGE_FDS)
typedef struct QueuesSent {
        uint64_t length; /* bytes of the seen messages, with the overhead of each */
        size_t n;
        int fds[QUEUES_SENT_MAX]; /* copies of the descriptors, owned */
} QueuesSent;
/* Looks at messages until `most` descriptors are found, without taking a message. Returns 0 (an unreadable socket has
 * nothing), -ETIMEDOUT, or -ENOMEM before any look. */
int queues_peek(int fd, uint64_t most, QueuesSent *ret);

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
