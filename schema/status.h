/* Runs: supervisor, worker. The worker's reports to the supervisor: packets on a SOCK_SEQPACKET socket. The
 * supervisor trusts no report in important matters: the kernel tells the end of a process. */
#pragma once

#include <stdint.h>

/* Set-up steps in the worker's order; both sides know the names. */
typedef enum Step {
        STEP_NONE = 0,
#define STEP(id, name, line) STEP_##id,
#include "schema/steps.def"
#undef STEP
        STEP_COUNT,
} Step;

typedef enum StatusKind {
        STATUS_STEP_FAILED = 1, /* a = step, b = errno (0: the process died in that step); no code of the skill ran */
        /* the process that becomes the program exists, without inherited descriptors: the guard may attach to it.
         * In tier namespaces the root folder of the scratch file system comes along */
        STATUS_BORN,
        /* before STATUS_BORN: a = port. A socket that listens at 127.0.0.1 of the region's own network comes along */
        STATUS_LISTENING,
        /* before STATUS_BORN, with LAUNCH_TERMINAL: the master of the terminal of the standard streams comes along */
        STATUS_TERMINAL,
        /* before STATUS_BORN: a socket comes along, with a message that has TCP sockets of the region's own network */
        STATUS_SOCKETS,
        STATUS_READY, /* the worker waits for spawn_go(). The seccomp notification descriptor comes along */
        /* b = errno of execve (ELIBACC: the program exists, its named interpreter does not): 127 for ENOENT,
         * ENOTDIR and ELIBACC, else 126; no code of the skill ran */
        STATUS_EXEC_FAILED,
        STATUS_EXECUTED, /* with LAUNCH_TELL: execve succeeded */
        STATUS_ENDED, /* a = wait status of the program; usage below; the worker and the region end next */
} StatusKind;

typedef struct StatusRecord {
        uint32_t kind;
        int32_t a, b;
        uint32_t detail; /* STATUS_STEP_FAILED of STEP_BIND: index of the entry in the launch spec */
        uint64_t max_rss_bytes; /* of the program and its reaped children (getrusage) */
        uint64_t cpu_usec;      /* user + system of the same */
} StatusRecord;
