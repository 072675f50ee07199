/* Runs: supervisor. What a region keeps in the kernel behind its descriptors: what pipes and sockets hold, and these themselves. */
#pragma once

#include "base/util.h"
#include "region/region-opens.h"
#include "spawn/guard.h"

#include <sys/types.h>

/* The most that a descriptor queues: of a socket, twice net.core.wmem_max. */
uint64_t queues_each_most(void);
/* The same of a TCP socket, whose buffers the kernel makes larger by itself. */
uint64_t queues_tcp_most(void);
/* The same of a Unix socket of a region, which cannot make its buffer larger (policy/filter-args.c): twice net.core.wmem_default. */
uint64_t queues_unix_most(void);
/* Bytes that are charged to a socket: unsent, unread, and its options. charged: SK_MEMINFO_VARS numbers, as SO_MEMINFO and sock_diag(7) have them. */
uint64_t queues_charged(const uint32_t *charged);

typedef struct QueuesLook {
        uint64_t bytes, unnamed; /* when last looked at */
        bool blocked;            /* somebody held a socket that was looked into, and nobody looks any more */
        unsigned busy;           /* looks in turn that did not come about, because the guard was in one */
        OpensLook opens;
} QueuesLook;

/* Bytes of memory that are queued in pipes and sockets of all processes below root, and in those that lie in these sockets, sent and not taken; each counts
 * once, whoever has it open; and of the objects themselves, with what epolls watch. What nobody can look into counts as much as it can be; where it is the
 * guard that looks, nothing changes for a while. 0 when out of memory. guard: of the region. */
void queues_update(QueuesLook *l, pid_t root, Guard *guard);
typedef struct QueuesSocket {
        uint64_t inode, bytes;
        bool seen; /* a descriptor leads there; bytes are what the socket holds */
} QueuesSocket;
/* Looks for these sockets alone, where queues_update() looks. Returns whether all was looked at: else one that was not seen may be there. */
bool queues_sockets(QueuesLook *l, pid_t root, Guard *guard, QueuesSocket *v, size_t n);
/* Bytes that UDP sockets have still to send, which no control group counts, where queues_update() looks. */
uint64_t queues_datagrams(QueuesLook *l, pid_t root, Guard *guard);
/* Bytes of files of the scratch, a folder of the host's, that have no name any more and that these processes have: open, mapped, or in sockets, sent and not
 * taken. scratch: its descriptor. */
uint64_t queues_unnamed(QueuesLook *l, pid_t root, int scratch, Guard *guard);
