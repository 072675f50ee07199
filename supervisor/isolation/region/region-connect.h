/* Runs: supervisor. Makes a granted connect for a region (I-62). The supervisor connects a socket of its own, which the
 * region can neither make blocking nor delay. The new socket replaces the region's (SECCOMP_IOCTL_NOTIF_ADDFD), with
 * the same family, O_NONBLOCK, FD_CLOEXEC, and options of the list in region-connect.c. Earlier duplicates of the
 * region's descriptor keep the unconnected socket. */
#pragma once

#include "region/region-connected.h"

#include <sys/socket.h>

#define CONNECTS_MAX 32 /* connects in progress at once; a further connect gets EAGAIN */

typedef struct PendingConnect {
        uint64_t id; /* of the notification; 0: unused */
        int fd;      /* the supervisor's socket, or its copy of the region's */
        int place;   /* the region's descriptor; -1: fd is a copy */
        bool cloexec;
} PendingConnect;

typedef struct Connects {
        int notify; /* borrowed */
        RegionConnected *made; /* borrowed */
        int poll;   /* epoll of the connects in progress, -1 before the first; poll for POLLIN */
        PendingConnect pending[CONNECTS_MAX];
} Connects;

#define CONNECT_LATER (-1) /* region_connect_next() has the result */

/* Starts the connect of task `pid` (notification `id`) on its `fd`. Returns 0 or an errno for the region, or
 * CONNECT_LATER. */
int region_connect_start(Connects *c, uint64_t id, pid_t pid, int fd, const struct sockaddr_storage *a, socklen_t n_a);
/* Waits for the end of a connect on fd, the supervisor's copy of a region's socket; takes fd over. Returns as
 * region_connect_start(). */
int region_connect_await(Connects *c, uint64_t id, int fd);
/* Call when poll was ready. Returns true with the notification and the answer of a finished connect, 0 or an errno;
 * false: no more. */
bool region_connect_next(Connects *c, uint64_t *ret_id, int *ret_error);
void region_connects_deinit(Connects *c);
