/* Runs: supervisor, CLI. Whole reads and writes, and files that appear whole or not at all. */
#pragma once

#include "base/util.h"

/* Writes all n bytes. Returns 0 or -errno. */
int io_write_full(int fd, const void *p, size_t n);
/* Reads up to max bytes until the end into an owned, NUL-terminated buffer. Returns 0, -EFBIG beyond max, -errno. */
int io_read_all(int fd, size_t max, char **ret, size_t *ret_n);
/* The same by path. dirfd may be AT_FDCWD. */
int io_read_file(int dirfd, const char *path, size_t max, char **ret, size_t *ret_n);
/* Writes a temporary file and renames the file to `path`; sync: with fsync of file and folder. Returns 0 or -errno. */
int io_write_file(int dirfd, const char *path, const void *p, size_t n, mode_t mode, bool sync);
/* As io_write_file(), for a file named on a command line: a device, a pipe or a descriptor of the process (/dev/stdout)
 * is written to in place, never replaced. Returns 0, -EISDIR, -errno. */
int io_write_named(const char *path, const void *p, size_t n, mode_t mode);
/* Makes path and its missing parents with `mode`. Returns 0 or -errno. */
int io_mkdir_parents(const char *path, mode_t mode);
/* Overwrites a file of the supervisor's, as far as writing succeeds. */
void io_wipe(int fd);
#define IO_SEND_FDS_MAX 253 /* SCM_MAX_FD of the kernel */
/* Sends n bytes at once through a Unix socket, with at most IO_SEND_FDS_MAX descriptors, without SIGPIPE. Returns 0,
 * -EPIPE when the socket has no reader left, -errno. */
int io_send_fds(int fd, const void *p, size_t n, const int *fds, size_t n_fds);
/* Receives at most n bytes at once through a Unix socket, with the descriptor sent along, or -1. msec: time limit, -1:
 * no limit. Returns bytes, 0 at the end, -ETIMEDOUT, -EPROTO for a packet of more bytes or more descriptors (which are
 * closed), -errno. */
ssize_t io_receive_fd(int fd, int msec, void *p, size_t n, int *ret_fd);
/* Puts O_NONBLOCK on. Returns 0 or -errno. */
int io_set_nonblock(int fd);
/* The path seen from the present working folder: for later use, or for a thread with another working folder. Owned;
 * NULL when the folder or memory is missing. */
char *io_absolute(const char *path);
