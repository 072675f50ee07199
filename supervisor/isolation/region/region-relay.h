/* Runs: supervisor. For region-io.c and region-input.c alone: one direction of a skill's input or output, a buffer
 * between two descriptors. */
#pragma once

#include "region/region-io.h"

#include <sys/types.h>

/* Overwrites the buffer first: output of a region must not stay in freed memory. */
void relay_drop_buffer(Relay *r);
/* Sets the descriptor to poll. */
void relay_aim(Relay *r);
void relay_close_from(Relay *r);
void relay_close_to(Relay *r); /* Drops all bytes that wait, too. */
/* Reopens a pipe, or a terminal by a path to the same terminal, with O_NONBLOCK. Opening other devices may have side
 * effects. Returns the descriptor, -ENOTTY, -errno. */
int relay_own_description(int fd, mode_t mode, int flags);
/* Keeps a copy of the bytes, as far as there is room. */
void relay_copy(Relay *r, const char *bytes, size_t n_bytes);
/* Empties the buffer into a target without a descriptor. Returns false for other targets. */
bool relay_take(Relay *r);
/* Writes the buffer without waiting, as far as the target has room. polled: POLLOUT was seen. */
void relay_push(Relay *r, bool polled);
/* Reads at most `most` bytes into the empty buffer. Returns bytes, 0 at the end, -errno. */
ssize_t relay_read(Relay *r, size_t most);
/* A pipe; the supervisor's end does not block. Returns 0 or -errno. */
int relay_pipe(int *ret_read, int *ret_write, bool ours_is_read);
void relay_deinit(Relay *r);
