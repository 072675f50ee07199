/* Runs: supervisor. One zygote (schema/zygote.h) as the supervisor has it: who it is, and asking it for a process. Several threads may ask. */
#pragma once

#include "base/diag.h"
#include "base/util.h"
#include "spawn/spawner.h"

#include <pthread.h>
#include <sys/types.h>

enum { ZYGOTE_E_GONE = 1 }; /* it has ended, or does not answer */

typedef struct Zygote {
        pthread_mutex_t lock;
        pid_t pid;     /* our child, which nobody else reaps: so it names nothing else until zygote_end(). 0: none */
        int control;   /* -1: gone */
        pid_t first;   /* of a template: the first process of its PID namespace, our child as well. 0: no namespace of its own */
        int lifeline;  /* that one ends with it; -1: none */
        uint32_t uid;  /* of a template whose supervisor is root: its regions' user on the host, taken with uids_take(); 0: none */
        const TemplateGroups *groups; /* borrowed; NULL: no group */
        void *group;                  /* of a template: what groups->enter() returned */
} Zygote;

void zygote_init(Zygote *n);
/* Executes `name` (found as find_program() does) as one. The calling thread must live as long as it and all of its children: its end kills them.
 * Returns 0, SPAWN_E_WORKER or SPAWN_E_KERNEL with a message, -errno. */
int zygote_start(Zygote *n, const char *name, Diag *reterr);
/* A child with exactly these descriptors, noted as one of our own. Returns 0, ZYGOTE_E_GONE, or -errno of clone3 in the zygote. */
int zygote_child(Zygote *n, uint64_t flags, const int *fds, size_t n_fds, pid_t *ret_pid, int *ret_pidfd);
/* By the thread that started zygotes, after one was gone: what it had made when it died, and told nobody of, is killed and reaped. */
void zygote_reap_strays(void);
bool zygote_is_there(Zygote *n);
/* Ends it and reaps it. */
void zygote_end(Zygote *n);
