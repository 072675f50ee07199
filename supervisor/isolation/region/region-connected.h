/* Runs: supervisor. Memory of connections made by region-connect.h. After the region's close no descriptor leads to the
 * connection, but the kernel keeps unsent bytes. The sockets belong to the supervisor, so no memory control group of
 * the region counts the bytes. sock_diag(7) tells the bytes of each connection, by addresses and cookie. */
#pragma once

#include "region/region-queues.h"

#include <sys/socket.h>

#define CONNECTED_MAX 1024 /* living connections; a further connect gets EAGAIN */

typedef struct ConnectedOne ConnectedOne;

typedef struct RegionConnected {
        bool all; /* also count open connections: a control group counts all other descriptors */
        int ask;  /* netlink socket; -1 before the first connection, -EIO when the kernel cannot tell */
        size_t n;
        ConnectedOne *v;
} RegionConnected;
#define REGION_CONNECTED_NULL ((RegionConnected){.ask = -1})

bool region_connected_any(const RegionConnected *c); /* True after the first connection. */
/* True when there is room for another connection. Drops finished connections first. */
bool region_connected_has_room(RegionConnected *c);
/* Adds fd, a TCP socket of the supervisor, connected or connecting to `a`. Returns 0 or -errno. */
int region_connected_add(RegionConnected *c, int fd, const struct sockaddr_storage *a);
/* Bytes of kernel memory for connections closed by the region; with `all`, for all connections. */
uint64_t region_connected_bytes(RegionConnected *c);
/* For `all`: a finished connection is no longer found by address, but keeps received bytes while a descriptor is open.
 * So the function looks for such sockets among the descriptors of all processes below root. */
void region_connected_look(RegionConnected *c, QueuesLook *l, pid_t root, Guard *guard);
/* Port and address in network byte order, as in sock_diag(7); for IPv4 only address[0] is set. */
void region_connected_address(const struct sockaddr_storage *a, uint16_t *port, uint32_t address[static 4]);
void region_connected_deinit(RegionConnected *c);
