/* Runs: supervisor. What a region keeps in the kernel's queues: pipes and sockets that one of its processes has open. */
#pragma once

#include "base/util.h"

#include <sys/types.h>

/* What one descriptor queues at most: twice the standard net.core.wmem_max, of a socket. Where all of a region's cannot make half of its memory, there
 * is no look. */
#define QUEUES_EACH_MOST (416ULL << 10)

/* Bytes of memory that are queued in pipes and sockets of all processes below root; each counts once, whoever has it open. 0 when out of memory. */
uint64_t queues_bytes(pid_t root);
