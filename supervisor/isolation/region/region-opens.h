/* Runs: supervisor. What the kernel keeps for open files that are neither pipes nor sockets. */
#pragma once

#include "base/util.h"

#include <sys/types.h>

#define OPENS_FOLDER 24576 /* one block's entries, which ext4 sorts for whoever reads a folder: 340 of 64 bytes at the most. No control group has them */

#define OPENS_BLOCKED_MAX 3

typedef struct OpensLook {
        uint64_t longest; /* bytes of the longest list of watches that was seen */
        unsigned blocked; /* looks in a row that were not over in time: after OPENS_BLOCKED_MAX nobody looks any more */
} OpensLook;

/* Of a descriptor, by its link in /proc and by what the link says. */
uint64_t opens_bytes(const OpensLook *l, const char *link, const char *name);

/* Bytes of the watches of these epolls and inotifies of the task. An epoll can watch a file once for each number that the file ever had: the number of
 * descriptors does not bound it. beyond: further ones; most: how many each counts where nobody can look; in_table: descriptors that there are. */
uint64_t opens_watched(OpensLook *l, pid_t tid, const int *fds, size_t n, size_t beyond, uint64_t most, uint64_t in_table);

/* Folders that are open in the processes below root, in bytes. */
uint64_t opens_folders(pid_t root);
