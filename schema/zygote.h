/* Runs: supervisor, worker, guard. What a supervisor that lives long says to its zygotes: helpers that wait, and make a process for each order.
 *
 *   lethe-guard zygote     its children go on as guards
 *   lethe-worker zygote    its children execute lethe-worker anew, so that their memory belongs to the user namespace that they are born in: the
 *                           kernel asks its owner who may look into it
 *   a template              a lethe-worker that has built a root of system folders and waits in it (LAUNCH_ZYGOTE), or the interpreter that it
 *                           became (LAUNCH_WARM). It is confined: namespaces, filter and limits of its own, no privilege, no descriptor of
 *                           the host's. Its children go on as workers of regions, and each mounts what its region was granted
 *
 * Orders and answers are packets on a SOCK_SEQPACKET socket. With an order come the descriptors that the new process has, as 0, 1, 2 … and with an
 * answer without an error a pidfd. The new process is a child of the supervisor (CLONE_PARENT), a sibling of the zygote. A zygote reads nothing
 * of what it hands on, closes it at once, and ends with the socket. One that is executed has the argument ZYGOTE_ARG and ZYGOTE_FDS. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define ZYGOTE_VERSION 2U
#define ZYGOTE_ARG "zygote"
#define ZYGOTE_FDS_MAX 200

/* Descriptors of one that is executed. */
enum { ZYGOTE_SOCKET, ZYGOTE_PROGRAM, ZYGOTE_FDS };

enum {
        ZYGOTE_FD_OWN = 256, /* what a zygote has itself stands from here on: its end of the socket */
        ZYGOTE_FD_KEPT,      /* of one for workers: the program; of a template: the /proc of its own PID namespace, in which its children write
                               * their id maps, and limits of their user namespace */
        ZYGOTE_FD_FREE,
};

typedef struct ZygoteOrder {
        uint32_t version;
        uint32_t n_fds;
        uint64_t flags; /* CLONE_NEW*, nothing else */
        uint32_t owner; /* to a zygote that is root: user of the host who is to own the new user namespace; 0: itself */
        uint32_t zero;
} ZygoteOrder;

/* In what zygote_child() and spawner_worker() take as flags: the owner. CLONE_NEW* are below. */
#define ZYGOTE_OWNER(uid) ((uint64_t)(uid) << 32)

typedef struct ZygoteAnswer {
        uint32_t version;
        int32_t error; /* 0 or errno */
        int32_t pid;   /* in the zygote's PID namespace */
} ZygoteAnswer;

/* The processes that a template's first steps make, in STATUS_BORN.a; the pidfd comes with it. */
enum { TEMPLATE_FIRST = 1, TEMPLATE_ITSELF };

/* Limits of a template while it starts. Each region has its own in their place. */
#define TEMPLATE_DATA_BYTES (1ULL << 30)  /* RLIMIT_DATA */
#define TEMPLATE_SPACE_BYTES (4ULL << 30) /* RLIMIT_AS: what RLIMIT_DATA does not count, mappings shared with others */
#define TEMPLATE_TASKS 8                  /* RLIMIT_NPROC of one that becomes an interpreter, up to the moment when it is ready */
#define TEMPLATE_GROUP_BYTES (TEMPLATE_DATA_BYTES + (256ULL << 20)) /* of its control group up to then: files, shared memory, the kernel's own, too */

/* The request to a binder (LAUNCH_BINDER): behind it comes the absolute path, on which no symbolic link is followed. The answer is a StatusRecord:
 * b is 0, and the mount comes with it, or errno. */
typedef struct BinderRequest {
        uint32_t flags; /* LAUNCH_WRITE or 0 */
} BinderRequest;
#define BINDER_SOURCE_MAX 4096

/* Runs: worker, guard. Puts the socket where a zygote has it; false when that cannot be. */
bool zygote_take(int control);
/* Serves until the socket ends, then returns 0; in each new process, how many descriptors came for it, and the order's flags: all other descriptors
 * are still to be closed. may: asked before each, an errno is the answer; NULL: nothing is asked. */
unsigned zygote_serve(int (*may)(void), uint64_t *ret_flags);
