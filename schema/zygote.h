/* Runs: supervisor, worker, guard. The messages of a long-lived supervisor to its zygotes: waiting helpers that make a
 * process for each order.
 *
 *   lethe-guard zygote      children go on as guards
 *   lethe-worker zygote     children execute lethe-worker anew, so that the memory belongs to the user namespace of
 *                           their birth: the kernel asks the namespace's owner before access to the memory
 *   a template              a lethe-worker that has built a root of system folders and waits there (LAUNCH_ZYGOTE), or
 *                           the interpreter that it became (LAUNCH_WARM). Confined: own namespaces, filter and limits,
 *                           no privilege, no descriptor of the host's. Children go on as workers of regions, and each
 *                           mounts the granted files of a region
 *
 * Orders and answers are packets on a SOCK_SEQPACKET socket. An order brings the descriptors 0, 1, 2 … of the new
 * process; an answer without an error brings a pidfd. The new process is a child of the supervisor (CLONE_PARENT), a
 * sibling of the zygote. A zygote never reads from the descriptors in transit, closes them at once, and ends with the
 * socket. An executed zygote has the argument ZYGOTE_ARG and ZYGOTE_FDS. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ZYGOTE_VERSION 2U
#define ZYGOTE_ARG "zygote"
#define ZYGOTE_FDS_MAX 200

/* Descriptors of an executed zygote. */
enum { ZYGOTE_SOCKET, ZYGOTE_PROGRAM, ZYGOTE_FDS };

enum {
        ZYGOTE_FD_OWN = 256, /* first of a zygote's own descriptors: its end of the socket */
        /* of a zygote for workers: the program; of a template: its own /proc, for the children's id maps and limits */
        ZYGOTE_FD_KEPT,
        ZYGOTE_FD_FIRST, /* of a warm interpreter: lethe-worker, for the first processes of regions */
        ZYGOTE_FD_FREE,
};

typedef struct ZygoteOrder {
        uint32_t version;
        uint32_t n_fds;
        uint64_t flags; /* CLONE_NEW*, or ZYGOTE_AGAIN alone */
        uint32_t owner; /* to a zygote of root: user of the host to own the new user namespace; 0: root itself */
        uint32_t zero;
} ZygoteOrder;

/* The flag of an order with a single descriptor, a socket: the new process is another zygote and serves that socket. A
 * supervisor that can execute nothing more has a spare zygote of either kind in this way. */
#define ZYGOTE_AGAIN 1U

/* The owner within the flags of zygote_child() and spawner_worker(). CLONE_NEW* are below. */
#define ZYGOTE_OWNER(uid) ((uint64_t)(uid) << 32)

typedef struct ZygoteAnswer {
        uint32_t version;
        int32_t error; /* 0 or errno */
        int32_t pid;   /* in the zygote's PID namespace */
} ZygoteAnswer;

/* The processes made by a template's first steps, in STATUS_BORN.a; the pidfd comes along. */
enum { TEMPLATE_FIRST = 1, TEMPLATE_ITSELF };

/* Limits of a template at the start. Each region has its own instead. */
#define TEMPLATE_DATA_BYTES (1ULL << 30)  /* RLIMIT_DATA */
#define TEMPLATE_SPACE_BYTES (4ULL << 30) /* RLIMIT_AS: for shared mappings, not counted in RLIMIT_DATA */
#define TEMPLATE_TASKS 8                  /* RLIMIT_NPROC of a future interpreter, until it is ready */
/* of its control group until then: also files, shared memory, the kernel's own memory */
#define TEMPLATE_GROUP_BYTES (TEMPLATE_DATA_BYTES + (256ULL << 20))

/* The request to a binder (LAUNCH_BINDER), followed by the absolute path; symbolic links in the path are refused.
 * The answer is a StatusRecord: b is 0, with the mount, or errno. */
typedef struct BinderRequest {
        uint32_t flags; /* LAUNCH_WRITE or 0 */
} BinderRequest;
#define BINDER_SOURCE_MAX 4096

/* Runs: worker, guard. Sends a packet, with a descriptor unless fd is -1. Returns 0 or -errno. */
int packet_send(int to, const void *packet, size_t n, int fd);
/* Runs: worker, guard. Moves the socket to the zygote's number, and closes all but the zygote's own descriptors below
 * `free`. Returns false when impossible. */
bool zygote_take(int control, int free);

typedef struct ZygoteWay {
        /* Called before each clone: a result other than 0 is the answer's error. */
        int (*may)(void);
        /* Makes the process of an order, a sibling. Returns as fork(), with a pidfd in the caller. */
        long (*make)(uint64_t flags, int *ret_pidfd);
} ZygoteWay;
/* Serves until the socket ends, then returns 0. In each new process, returns the number of descriptors sent for it,
 * with the order's flags; all other descriptors are still open there. NULL: a plain clone without a check. */
unsigned zygote_serve(const ZygoteWay *way_or_null, uint64_t *ret_flags);
