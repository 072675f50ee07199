/* Runs: supervisor, worker. What the worker tells the supervisor: one packet each, on a SOCK_SEQPACKET socket. The supervisor believes
 * nothing in it that matters: who is dead it asks the kernel. */
#pragma once

#include <stdint.h>

typedef enum StatusKind {
        STATUS_STEP_FAILED = 1, /* a = step (schema/steps.def), b = errno; nothing of the skill ran */
        STATUS_NOTIFY_FD,       /* the seccomp notification descriptor comes with it (SCM_RIGHTS) */
        STATUS_EXEC_FAILED,     /* a = step, b = errno of execve: 126 or 127 */
        STATUS_STARTED,         /* the program was executed (its descriptor closed on exec) */
        STATUS_ENDED,           /* a = wait status of the program; usage below; the worker ends next, and the rest of the region with it */
} StatusKind;

typedef struct StatusRecord {
        uint32_t kind;
        int32_t a, b;
        uint32_t zero;
        uint64_t max_rss_bytes; /* of the program and what it waited for (getrusage) */
        uint64_t cpu_usec;      /* user + system of the same */
} StatusRecord;
