/* Runs: supervisor. A task of a region during a notified call: its memory and its descriptors. */
#pragma once

#include "policy/grant.h"

#include <sys/types.h>

pid_t region_notify_process(pid_t tid); /* The process of a thread. */
/* Reads at most n bytes of the region's memory, up to a missing page. Returns the number of bytes, or -errno. */
ssize_t region_notify_read(pid_t pid, uint64_t at, void *to, size_t n);
/* Writes the answer of a waiting call into the region's memory. Returns 0 or -errno. */
int region_notify_write(pid_t pid, uint64_t at, const void *from, size_t n);
/* Copies a descriptor of the task. Returns the copy, -EREMOTE for a file of a served file system, or -errno. */
int region_notify_copy_fd(pid_t pid, int fd);
/* Closes a copy. */
void region_notify_close(int fd);
/* As region_notify_copy_fd(), also refuses a standard stream of a served file system. */
int region_notify_copy_local(pid_t pid, int fd);
/* Returns true, and counts the region, when the grant includes a served file system. While any region of this process
 * is counted, the functions above run blocking steps in a separate task: reading a missing page, closing a copy. */
bool region_notify_served_start(const Grant *g);
void region_notify_served_end(bool served);
bool region_notify_any_served(void); /* True while such a region is counted. */
/* True for an open file of a served file system in the mounts of process pid, and for a regular file without mount. */
bool region_notify_is_served(pid_t pid, int fd);
