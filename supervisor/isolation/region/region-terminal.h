/* Runs: supervisor. The pseudo terminal of a region: the region has the slave as its three standard streams, and as its
 * controlling terminal. The supervisor keeps the master, and relays as with pipes (region-io.h): output counts
 * against the budget, and no side waits for the other. A terminal of the host never enters a region. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Obeys a packet of schema/terminal.h. Returns the offset of the bytes for the terminal in the packet; n: no bytes. */
size_t region_terminal_take(int master, const char *packet, size_t n);
/* Reads what the slave has written, when no process has the slave any more. Returns bytes, 0 at the end, -errno. */
ssize_t region_terminal_rest(int master, char *ret, size_t most);
