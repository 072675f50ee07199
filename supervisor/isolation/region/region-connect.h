/* Runs: supervisor. Makes a granted connect for a region (I-62): on a socket of the supervisor's own, which nobody else can make blocking or keep waiting, and
 * which then takes the place of the region's (SECCOMP_IOCTL_NOTIF_ADDFD). Like the region's are: family, O_NONBLOCK, FD_CLOEXEC, and the options of the list in
 * region-connect.c. Not like the region's: a descriptor that the region duplicated before stays the unconnected socket. */
#pragma once

#include "region/region-connected.h"

#include <sys/socket.h>

#define CONNECTS_MAX 32 /* connects in progress at once; more answer EAGAIN */

typedef struct PendingConnect {
        uint64_t id; /* of the notification; 0: free */
        int fd;      /* our socket */
        int place;   /* the region's descriptor */
        bool cloexec;
} PendingConnect;

typedef struct Connects {
        int notify; /* borrowed */
        RegionConnected *made; /* borrowed */
        int poll;   /* epoll of connects in progress, -1 before the first; to be polled for POLLIN */
        PendingConnect pending[CONNECTS_MAX];
} Connects;

#define CONNECT_LATER (-1) /* region_connect_next() will tell */

/* The task `pid` of notification `id` called connect with its descriptor `fd`. Returns 0 or an errno for the region, or CONNECT_LATER. */
int region_connect_start(Connects *c, uint64_t id, pid_t pid, int fd, const struct sockaddr_storage *a, socklen_t n_a);
/* poll was ready: one connect that is done. Returns true with its notification and its answer, 0 or an errno; false: no more. */
bool region_connect_next(Connects *c, uint64_t *ret_id, int *ret_error);
void region_connects_deinit(Connects *c);
