/* Runs: supervisor, CLI. Whole reads and writes, and files that appear whole or not at all. */
#pragma once

#include "base/util.h"

/* Writes all n bytes. Returns 0 or -errno. */
int io_write_full(int fd, const void *p, size_t n);
/* Reads at most max bytes to the end of file into an owned, NUL-terminated buffer. Returns 0, -EFBIG beyond max,
 * -errno. */
int io_read_all(int fd, size_t max, char **ret, size_t *ret_n);
/* The same by path. dirfd may be AT_FDCWD. */
int io_read_file(int dirfd, const char *path, size_t max, char **ret, size_t *ret_n);
/* Writes a temporary file beside `path` and renames it over; with sync, file and folder are fsynced. Returns 0 or
 * -errno. */
int io_write_file(int dirfd, const char *path, const void *p, size_t n, mode_t mode, bool sync);
/* For a file that somebody named on a command line: the same, but a device, a pipe or one of our own descriptors
 * (/dev/stdout) is written to as it stands, never replaced. Returns 0, -EISDIR, -errno. */
int io_write_named(const char *path, const void *p, size_t n, mode_t mode);
/* Makes path and its missing parents with `mode`. Returns 0 or -errno. */
int io_mkdir_parents(const char *path, mode_t mode);
/* Overwrites a file of ours, as far as it can be written. */
void io_wipe(int fd);
#define IO_SEND_FDS_MAX 8
/* Sends n bytes at once through a Unix socket, and at most IO_SEND_FDS_MAX descriptors with them, without SIGPIPE.
 * Returns 0, -EPIPE when nobody is left to take it, -errno. */
int io_send_fds(int fd, const void *p, size_t n, const int *fds, size_t n_fds);
/* Receives at most n bytes at once through a Unix socket, with the descriptor that came with them, or -1. msec: waits
 * so long at most, -1: for ever. Returns bytes, 0 at the end, -ETIMEDOUT, -errno. */
ssize_t io_receive_fd(int fd, int msec, void *p, size_t n, int *ret_fd);
/* Puts O_NONBLOCK on. Returns 0 or -errno. */
int io_set_nonblock(int fd);
/* The path seen from the working folder that there is now: for what is used later, or by a thread with another. Owned;
 * NULL: none, or no memory. */
char *io_absolute(const char *path);
