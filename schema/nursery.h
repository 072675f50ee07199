/* Runs: supervisor, worker, guard. What a supervisor that lives long says to its nurseries: helpers that wait, and make a process for each order.
 *
 *   lethe-guard nursery     its children go on as guards
 *   lethe-worker nursery    its children execute lethe-worker anew, so that their memory belongs to the user namespace that they are born in: the
 *                           kernel asks its owner who may look into it
 *   a view's nursery        a lethe-worker that has built a root and waits in it (LAUNCH_NURSERY); its children go on as workers, and belong to the
 *                           namespace that it was executed in
 *
 * Orders and answers are packets on a SOCK_SEQPACKET socket. With an order come the descriptors that the new process has, as 0, 1, 2 … and with an
 * answer without an error a pidfd. The new process is a child of the supervisor (CLONE_PARENT), a sibling of the nursery. A nursery reads nothing
 * of what it hands on, closes it at once, and ends with the socket. One that is executed has the argument NURSERY_ARG and NURSERY_FDS. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define NURSERY_VERSION 1U
#define NURSERY_ARG "nursery"
#define NURSERY_FDS_MAX 200

/* Descriptors of one that is executed. */
enum { NURSERY_SOCKET, NURSERY_PROGRAM, NURSERY_FDS };

enum {
        NURSERY_FD_OWN = 256, /* what a nursery has itself stands from here on: its end of the socket */
        NURSERY_FD_KEPT,      /* of one for workers: the program; of a view's: the host's /proc, in which its children write their id maps */
        NURSERY_FD_FREE,
};

typedef struct NurseryOrder {
        uint32_t version;
        uint32_t n_fds;
        uint64_t flags; /* CLONE_NEW*, nothing else */
} NurseryOrder;

typedef struct NurseryAnswer {
        uint32_t version;
        int32_t error; /* 0 or errno */
        int32_t pid;   /* as the supervisor sees it */
} NurseryAnswer;

/* Runs: worker, guard. Puts the socket where a nursery has it; false when that cannot be. */
bool nursery_take(int control);
/* Serves until the socket ends, then returns 0; in each new process, how many descriptors came for it, and the order's flags: all other descriptors
 * are still to be closed. may: asked before each, an errno is the answer; NULL: nothing is asked. */
unsigned nursery_serve(int (*may)(void), uint64_t *ret_flags);
