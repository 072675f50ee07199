/* Runs: supervisor, CLI. Looks at names that somebody chose: of a grant, a skill, a client. They may lie on a file
 * system that a program or another machine serves (FUSE, NFS): no thread waits for that server. What the kernel does
 * not have in its cache is asked for by a task of its own (base/aside.h). */
#pragma once

#include "base/util.h"

#include <sys/stat.h>

#define QUIET_USEC 2000000 /* a server that answers later is taken for none */

/* From here on all looks of this thread may take QUIET_USEC together; before, each of them. */
void quiet_begin(void);

/* Nothing of that time is left: what the kernel does not have in its cache is not asked for. */
bool quiet_is_over(void);

struct open_how;
/* openat2(2), whose `how` has RESOLVE_CACHED. That fails with EAGAIN for a name that is not in memory, and as well when
 * anybody mounts or renames at that moment, so that it is tried again a few times. Returns a descriptor, or -1 with
 * errno. */
int quiet_open_cached(int dir, const char *path, const struct open_how *how);
/* A descriptor that is only a place (O_PATH) for the path; more: further flags, as O_NOFOLLOW; resolve: RESOLVE_* of
 * openat2(2). Returns it, -ETIMEDOUT, or
 * -errno. */
int quiet_open(const char *path, int more, uint64_t resolve);
/* Fills in what the kernel knows of the file without asking its server. Returns 0 or -errno. */
int quiet_fstat(int fd, struct stat *ret);
/* Both. follow: a link at the end is followed. Returns 0, -ETIMEDOUT, -errno. */
int quiet_stat(const char *path, bool follow, struct stat *ret);
/* As realpath(3): owned in *ret. Returns 0, -ETIMEDOUT, -errno. */
int quiet_real(const char *path, char **ret);
/* The same, with what the kernel knows of the file. */
int quiet_real_stat(const char *path, char **ret, struct stat *ret_st);
/* As quiet_stat() that follows; of a folder also its real path, owned in *ret, or NULL. */
int quiet_stat_folder(const char *path, struct stat *ret_st, char **ret);
/* A text for these codes, and for any -errno. */
const char *quiet_strerror(int e);
/* Whether the file or folder lies on a file system that a program or another machine serves. Returns 1, 0, -ETIMEDOUT,
 * -errno. */
int quiet_is_served(const char *path);
/* This process reads no content of served file systems: one that does has a process above it that ends it
 * (cli/front.h). */
void quiet_read_local_alone(bool is);
/* Whether content of the file, or of the folder and what is mounted below it, may be read. path: as quiet_real() has
 * it. Returns 0, -EREMOTE: it is served, and this process reads no such; -ETIMEDOUT, -errno. */
int quiet_may_read(const char *path);
/* The same of a link alone: fd: a place (O_PATH), opened with O_NOFOLLOW. What is mounted elsewhere does not matter to
 * it. */
int quiet_may_read_link(int fd);
/* Since quiet_begin() this thread was told -EREMOTE. */
bool quiet_was_remote(void);
/* The number of the mount that the file is on, for mounts_kind(). Returns 0 or -errno. */
int quiet_mount(int fd, uint64_t *ret);
/* chdir(2) of this thread. Returns 0, -ETIMEDOUT, -errno. */
int quiet_chdir(const char *path);
