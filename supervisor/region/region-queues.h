/* Runs: supervisor. What a region keeps in the kernel behind its descriptors: what pipes and sockets hold, and these themselves. */
#pragma once

#include "base/util.h"

#include <sys/types.h>

/* The most that a descriptor queues: of a socket, twice net.core.wmem_max. */
uint64_t queues_each_most(void);

/* Bytes of memory that are queued in pipes and sockets of all processes below root, and in those that lie in these sockets, sent and not taken; each counts
 * once, whoever has it open; and of the objects themselves, with what epolls watch. What nobody can look into counts as much as it can be. *blocked:
 * somebody held a socket that was looked into, and nobody looks any more; kept by the caller. 0 when out of memory. */
uint64_t queues_bytes(pid_t root, bool *blocked);
/* Bytes of files of the scratch, a folder of the host's, that have no name any more and that these processes have: open, mapped, or in sockets, sent and not
 * taken. scratch: its descriptor. */
uint64_t queues_unnamed(pid_t root, int scratch, bool *blocked);
