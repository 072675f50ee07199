/* Runs: supervisor. What is mounted below a folder of the host. */
#pragma once

#include "base/util.h"

#include <sys/types.h>

/* For who is told when the mounts change (POLLPRI on /proc/self/mountinfo): from the first call on the list is read
 * again only after another one. */
void mounts_changed(void);
/* A number for the mounts below `path`, absolute and without links: 0 when there are none, the same as long as they are
 * the same; when they cannot be read never the same. */
uint64_t mounts_below(const char *path);
/* Something mounted below `path` is served, or the list cannot be read. */
bool mounts_served_below(const char *path);
/* Any file system that is mounted is served, or the list cannot be read. */
bool mounts_any_served(void);
/* The server of a mount's files, by the mount's number (statx(2), STATX_MNT_ID): the kernel, or a program or another
 * machine, which may never answer. Mounts of other namespaces and those without a place (pipes, sockets, files in
 * memory) are unknown. */
typedef enum MountKind { MOUNT_UNKNOWN, MOUNT_LOCAL, MOUNT_SERVED } MountKind;
MountKind mounts_kind(uint64_t number);
/* The same by the file system's device (stx_dev of statx(2)), whose server is the same in every namespace. */
MountKind mounts_kind_of_device(unsigned major, unsigned minor);
/* The same as the process pid sees the mounts. */
MountKind mounts_kind_of(pid_t pid, uint64_t number);
