/* Runs: supervisor, CLI. Looks up names chosen by a grant, a skill or a client. The names may lie on a file system
 * served by a program or another machine (FUSE, NFS): no thread waits for such a server. A task of its own asks for all
 * that the kernel does not have in its cache (base/timed-syscall.h). */
#pragma once

#include "base/util.h"

#include <sys/stat.h>

#define LOOKUP_USEC 2000000 /* a later answer counts as no answer */

/* From here on all lookups of this thread together may take LOOKUP_USEC; before, each lookup. */
void lookup_begin(void);

/* The time is used up: only the kernel's cache is asked. */
bool lookup_is_over(void);

struct open_how;
/* openat2(2), whose `how` has RESOLVE_CACHED. EAGAIN means that the name is not in memory, or that a mount or rename
 * happened at the same moment: the call is therefore repeated a few times. Returns a descriptor, or -1 with errno. */
int lookup_open_cached(int dir, const char *path, const struct open_how *how);
/* A descriptor for the place alone (O_PATH); more: further flags, as O_NOFOLLOW; resolve: RESOLVE_* of openat2(2).
 * Returns the descriptor, -ETIMEDOUT, or -errno. */
int lookup_open(const char *path, int more, uint64_t resolve);
/* Fills in the facts known to the kernel, without asking the server of the file. Returns 0 or -errno. */
int lookup_fstat(int fd, struct stat *ret);
/* Both. follow: a link at the end is followed. Returns 0, -ETIMEDOUT, -errno. */
int lookup_stat(const char *path, bool follow, struct stat *ret);
/* As realpath(3): owned in *ret. Returns 0, -ETIMEDOUT, -errno. */
int lookup_real(const char *path, char **ret);
/* As lookup_real(), with the facts known to the kernel. */
int lookup_real_stat(const char *path, char **ret, struct stat *ret_st);
/* As lookup_stat() with follow; of a folder also its real path, owned in *ret, or NULL. */
int lookup_stat_folder(const char *path, struct stat *ret_st, char **ret);
/* A text for these codes, and for any -errno. */
const char *lookup_strerror(int e);
/* Whether a program or another machine serves the file system of the path. Returns 1, 0, -ETIMEDOUT, -errno. */
int lookup_is_served(const char *path);
/* The process reads no content of served file systems. A process above ends each reader of such content
 * (cli/front.h). */
void lookup_read_local_alone(bool is);
/* Whether the content of the file, or of the folder and the mounts below, may be read. path: from lookup_real().
 * Returns 0, -EREMOTE when the file system is served and the process reads no served content, -ETIMEDOUT, -errno. */
int lookup_may_read(const char *path);
/* As lookup_may_read() for a link alone: fd: a place (O_PATH), opened with O_NOFOLLOW. Other mounts do not matter. */
int lookup_may_read_link(int fd);
/* Whether a call returned -EREMOTE to this thread since lookup_begin(). */
bool lookup_was_remote(void);
/* The number of the file's mount, for mounts_kind(). Returns 0 or -errno. */
int lookup_mount(int fd, uint64_t *ret);
/* chdir(2) for this thread. Returns 0, -ETIMEDOUT, -errno. */
int lookup_chdir(const char *path);
