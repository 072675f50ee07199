/* Runs: supervisor. Connects a socket of a region with Unix sockets that has files of the host. A path may then
 * lead to the socket of a service of the host, or of another region with the same files: the kernel finds a Unix socket
 * by its file, in whatever network namespace it was made. So the supervisor makes each connect, on a copy of the
 * region's socket and to an address that the region cannot change any more:
 *
 *  a path       looked up in the region's root, as the region's user, in a task of its own (I-62). The file found has to
 *               be that of a socket at which the region itself listens. The connect then goes to the file found, not to
 *               the name. In network loopback these are all listening sockets of the region's own network namespace
 *               (sock_diag(7)). In networks connect and host the supervisor makes each listen, too, and keeps the
 *               socket's cookie: a number that the kernel gives to a single socket
 *  abstract     in network loopback as given, of the region's own network namespace. In the host's the names are the
 *               host's: no connect, and no listen
 *               In host without files of the host, and with Landlock's scope for abstract names (ABI 6), no name leads to
 *               a socket of the host, and the region makes each connect by itself
 *  the rest     loopback and host: as given. Connect: region-connect.h, to a granted address
 *
 * The peer of a socket of which the supervisor made the listen sees the region's user, and process 0 (SO_PEERCRED). */
#pragma once

#include "region/region-notify.h"

/* Answers a notification of FILTER_CONNECT. Returns false, and has not answered: an address to be granted. */
bool region_own_connect(RegionNotify *n, const FilterVerdict *v, bool *ret_denied);
/* Answers a notification of FILTER_LISTEN. */
void region_own_listen(RegionNotify *n, const FilterVerdict *v, bool *ret_denied);
