/* Runs: supervisor. The mounts below a folder of the host. */
#pragma once

#include "base/util.h"

#include <sys/types.h>

/* For a caller that is told of changed mounts (POLLPRI on /proc/self/mountinfo): from the first call on the list is
 * read again only after a further call. */
void mounts_changed(void);
/* A number for the set of mounts below `path`, absolute and without links: 0 without mounts, unchanged while the mounts
 * are unchanged; a new number each time when they cannot be read. */
uint64_t mounts_below(const char *path);
/* The character behind `path` in the place of a line of mountinfo: ' ': mounted there. 0: at another place. */
char mounts_after(const char *line, const char *path);
/* True when the type of a mount's file system is one of n types, or one of them and a name behind a '.' (fuse.sshfs).
 * untyped: the answer for a line without a type. */
bool mounts_has_type(const char *line, const char *const *types, size_t n, bool untyped);
/* True when a mount below `path` ("": any mount) is served by a program or another machine, or the list cannot be
 * read. */
bool mounts_served_below(const char *path);
/* The server of a mount's files, by the number of the mount (statx(2), STATX_MNT_ID): the kernel, or a program or
 * machine that may never answer. Unknown: mounts of other namespaces and without a place (pipes, sockets, memory
 * files). */
typedef enum MountKind { MOUNT_UNKNOWN, MOUNT_LOCAL, MOUNT_SERVED, MOUNT_LAYERED } MountKind;
MountKind mounts_kind(uint64_t number);
/* The same by the device of the file system (stx_dev of statx(2)), whose server is the same in every namespace. */
MountKind mounts_kind_of_device(unsigned major, unsigned minor);
/* The same as the process pid sees the mounts, and MOUNT_LAYERED for overlayfs, whose lower folder may be served. */
MountKind mounts_kind_of(pid_t pid, uint64_t number);
