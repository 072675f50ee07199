/* Runs: supervisor, worker. What the worker tells the supervisor: one packet each, on a SOCK_SEQPACKET socket. The supervisor believes
 * nothing in it that matters: who is dead it asks the kernel. */
#pragma once

#include <stdint.h>

/* Set-up steps in the order in which the worker takes them; the names are known to both sides. */
typedef enum Step {
        STEP_NONE = 0,
#define STEP(id, name, line) STEP_##id,
#include "schema/steps.def"
#undef STEP
        STEP_COUNT,
} Step;

typedef enum StatusKind {
        STATUS_STEP_FAILED = 1, /* a = step, b = errno (0: the process died in that step); nothing of the skill ran */
        STATUS_BORN,            /* the process that becomes the program exists, with no descriptor but its own: the guard may take hold of
                                 * it. In tier namespaces the root folder of the scratch file system comes with it */
        STATUS_READY,           /* every step is done and the worker waits for spawn_go(). The seccomp notification descriptor comes with it */
        STATUS_EXEC_FAILED,     /* b = errno of execve (ELIBACC: the program is there, and the interpreter that it names is not): 127 for ENOENT, ENOTDIR and
                                 * ELIBACC, else 126; nothing of the skill ran */
        STATUS_ENDED,           /* a = wait status of the program; usage below; the worker ends next, and the rest of the region with it */
} StatusKind;

typedef struct StatusRecord {
        uint32_t kind;
        int32_t a, b;
        uint32_t detail; /* STATUS_STEP_FAILED of STEP_BIND: index of the entry in the launch spec */
        uint64_t max_rss_bytes; /* of the program and what it waited for (getrusage) */
        uint64_t cpu_usec;      /* user + system of the same */
} StatusRecord;
