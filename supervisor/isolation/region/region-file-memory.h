/* Runs: supervisor. Kernel memory of open files other than pipes and sockets. */
#pragma once

#include "base/util.h"

#include <sys/types.h>

#define OPENS_FOLDER 24576 /* a block of entries, sorted by ext4 for a reader: at most 340 of 64 bytes */

#define OPENS_BLOCKED_MAX 3

typedef struct OpensLook {
        uint64_t longest; /* bytes of the longest list of watches seen */
        unsigned blocked; /* late looks in a row; after OPENS_BLOCKED_MAX no look follows */
} OpensLook;

/* Bytes for a descriptor, by its link in /proc and the link's text. */
uint64_t opens_bytes(const OpensLook *l, const char *link, const char *name);

/* Bytes of the watches of the task's epolls and inotifies `fds`. An epoll can watch a file once for each number the
 * file ever had, so the number of descriptors is no bound. beyond: further epolls and inotifies; most: count for each
 * without a look; in_table: number of descriptors. */
uint64_t opens_watched(OpensLook *l, pid_t tid, const int *fds, size_t n, size_t beyond, uint64_t most,
                       uint64_t in_table);

uint64_t opens_folders(pid_t root); /* Bytes for folders open in the processes below root. */
