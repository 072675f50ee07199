/* Runs: supervisor. Connections that were made for a region, by region/region-connect.h. No descriptor leads to a connection that the region has closed, and
 * the kernel keeps what is still to be sent. The sockets are the supervisor's, and so no memory control group of the region counts them, closed or not. So the
 * kernel is asked for each connection (sock_diag(7)), by its addresses and its cookie. */
#pragma once

#include "region/region-queues.h"

#include <sys/socket.h>

#define CONNECTED_MAX 1024 /* connections that are not over at once; more answer EAGAIN */

typedef struct ConnectedOne ConnectedOne;

typedef struct RegionConnected {
        bool all; /* those that the region has open count, too: a control group counts what else is behind its descriptors */
        int ask;  /* netlink socket; -1 before the first connection, -EIO where the kernel cannot tell */
        size_t n;
        ConnectedOne *v;
} RegionConnected;
#define REGION_CONNECTED_NULL ((RegionConnected){.ask = -1})

/* Was one made? */
bool region_connected_any(const RegionConnected *c);
/* Is there room for one more? Connections that are over are forgotten first. */
bool region_connected_has_room(RegionConnected *c);
/* fd, a TCP socket of ours, was connected to `a`, or is being. Returns 0 or -errno. */
int region_connected_add(RegionConnected *c, int fd, const struct sockaddr_storage *a);
/* Bytes of memory that the kernel holds for connections that the region has closed; where `all` is set, for the others, too. */
uint64_t region_connected_bytes(RegionConnected *c);
/* Where `all` is set: a connection that is over is found by no address any more, and keeps what came in for as long as a descriptor leads there. So the
 * descriptors of all processes below root are looked at, where there are such connections. */
void region_connected_look(RegionConnected *c, QueuesLook *l, pid_t root, Guard *guard);
void region_connected_deinit(RegionConnected *c);
