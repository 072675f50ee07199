/* Runs: supervisor. The supervisor's side of a zygote (schema/zygote.h). Thread-safe. */
#pragma once

#include "base/diag.h"
#include "base/lock.h"

#include <sys/types.h>

enum { ZYGOTE_E_GONE = 1 }; /* the zygote has ended, or does not answer */

/* Control groups of templates, made by the caller of spawner_group_templates(). */
typedef struct TemplateGroups {
        /* Makes a group and sends its `tasks` files in one message, as spawn_groups(). Returns 0 or -errno. */
        int (*enter)(void *userdata, int lifeline, void **ret_group);
        /* The template is loaded, and from now on only forks regions, charged here until each enters its own group. */
        void (*serves)(void *userdata, void *group);
        void (*leave)(void *userdata, void *group); /* All processes of the template have ended. */
        void *userdata; /* borrowed for as long as the Spawner lives */
} TemplateGroups;

typedef struct Zygote {
        pthread_mutex_t lock;
        pid_t pid; /* child of the supervisor, reaped only by zygote_end(), so the pid stays valid. 0: no zygote */
        int control;   /* -1: gone */
        pid_t first; /* of a template: its PID namespace's first process, a child of the supervisor; 0: no namespace */
        int lifeline;  /* the first process ends with the lifeline; -1: no lifeline */
        uint32_t uid; /* of a template, as root: the host user of its regions, from uids_take(); 0: no user */
        const TemplateGroups *groups; /* borrowed; NULL: no group */
        void *group;                  /* of a template: the group of groups->enter() */
} Zygote;

void zygote_init(Zygote *n);
/* Executes `name` (found by find_program()) as a zygote. The calling thread must outlive zygote and children: its end
 * kills both. Returns 0, SPAWN_E_WORKER or SPAWN_E_KERNEL with a message, -errno. */
int zygote_start(Zygote *n, const char *name, Diag *reterr);
/* A further zygote of the same kind, made by fork: the caller may be unable to execute anything. ret: of zygote_init().
 * Returns as zygote_child(). */
int zygote_start_again(Zygote *n, Zygote *ret);
/* Moves a started zygote to the place of an ended zygote. A caller of zygote_is_there() for `from`, then `to`, always
 * finds the zygote. */
void zygote_move(Zygote *to, Zygote *from);
/* Whether the zygote still listens. A dead zygote is gone from now on. */
bool zygote_look(Zygote *n);
/* A child with exactly these descriptors, noted in the child registry. Returns 0, ZYGOTE_E_GONE, -errno of clone3. */
int zygote_child(Zygote *n, uint64_t flags, const int *fds, size_t n_fds, pid_t *ret_pid, int *ret_pidfd);
/* Called by the starting thread after a zygote's death: kills and reaps unreported children. */
void zygote_reap_strays(void);
bool zygote_is_there(Zygote *n);
int zygote_socket(Zygote *n); /* hangs up with the zygote; -1: gone */
/* Ends and reaps the zygote. */
void zygote_end(Zygote *n);
