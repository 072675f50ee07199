/* Runs: supervisor. Connects a socket of a region in network loopback that has files of the host. A path may then
 * lead to the socket of a service of the host, or of another region with the same files: the kernel finds a Unix socket
 * by its file, in whatever network namespace it was made. So the supervisor makes each connect, on a copy of the
 * region's socket and to an address that the region cannot change any more:
 *
 *  a path       looked up in the region's root, as the region's user, in a task of its own (I-62). The file found has to
 *               be that of a socket which listens in the region's own network namespace (sock_diag(7)), where only the
 *               region's processes make sockets. The connect then goes to the file found, not to the name
 *  the rest     as given: TCP, UDP and abstract names are of the socket's own network namespace */
#pragma once

#include "region/region-notify.h"

/* Answers a notification of FILTER_CONNECT. */
void region_own_connect(RegionNotify *n, const FilterVerdict *v, bool *ret_denied);
