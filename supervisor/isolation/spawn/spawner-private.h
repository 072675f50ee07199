/* Runs: supervisor. The Spawner's interface for the files of spawn/. */
#pragma once

#include "schema/zygote.h"
#include "spawn/guard.h"
#include "spawn/plan.h"
#include "spawn/zygote.h"

#include <pthread.h>

/* Groups of spawner_group_templates(), or NULL. */
const TemplateGroups *spawner_groups(Spawner *s);

#define VIEW_BYTES 32
#define ZYGOTE_TREES_MAX (ZYGOTE_FDS_MAX - LAUNCH_FD_TREES)

/* The owner of a template: only the owner's regions come from a template. */
typedef struct ViewOwner {
        uint32_t client;   /* Grant.client */
        bool net_host;     /* its regions need the host's network namespace */
        const char *skill; /* of an interpreter: the skill's folder; borrowed */
} ViewOwner;

/* Hashes a template's view, its owner and its user: regions of an equal view can have copies of one root. Follows
 * links; files count by inode, so that a replaced file makes a new view. False: the plan's root cannot be shared. */
bool view_of(const Plan *p, const Probe *probe, const ViewOwner *owner, uint8_t ret[static VIEW_BYTES]);

/* A process like zygote_child(), from the zygote for workers or for guards. A dead zygote is started again. */
int spawner_worker(Spawner *s, uint64_t flags, const int *fds, size_t n_fds, pid_t *ret_pid, int *ret_pidfd);
int spawner_guard(Spawner *s, const int *fds, size_t n_fds, pid_t *ret_pid, int *ret_pidfd);

#define GUARD_POOL_MAX 32

/* Guards between two regions: a guard enters after its last region's record, and leaves after the answer AS_NEW: no
 * data of the region is left (schema/guard.h). */
typedef struct GuardPool {
        pthread_mutex_t lock;
        Guard guards[GUARD_POOL_MAX]; /* the last guard was used last */
        uint64_t since[GUARD_POOL_MAX];
        size_t n;
} GuardPool;

void guard_pool_init(GuardPool *i);
/* Takes a guard as new. False: no guard is as new. */
bool guard_pool_take(GuardPool *i, Guard *ret);
/* False: the pool is full. */
bool guard_pool_keep(GuardPool *i, const Guard *g);
/* How many guards are as new. */
size_t guard_pool_count_ready(GuardPool *i);
/* Ends and reaps guards kept since before that time (CLOCK_MONOTONIC), and guards that exited. */
void guard_pool_end(GuardPool *i, uint64_t before);
/* Ends and reaps all guards. */
void guard_pool_deinit(GuardPool *i);

GuardPool *spawner_guards(Spawner *s);

/* The view's template, or NULL; then *ret_wanted: the caller has to make a template and to call spawner_made(). A
 * template is full at its most living regions for one host user. The caller gives the template back after its last
 * region's end: the template's PID namespace would end the regions. */
Zygote *spawner_take(Spawner *s, const uint8_t view[static VIEW_BYTES], bool *ret_wanted);
void spawner_give_back(Spawner *s, Zygote *n);
/* A template that does not answer: no further region may ask this template. */
void spawner_doom(Spawner *s, Zygote *n);

/* A detached mount of `source` for a region below a template, without root. Returns a descriptor or -errno. */
int spawner_bind(Spawner *s, const Probe *probe, const char *source, bool write);
/* Hands over a made template; made NULL: the template could not be made. */
void spawner_made(Spawner *s, const uint8_t view[static VIEW_BYTES], const Zygote *made);

/* For tests: any template; NULL: no template. */
Zygote *spawner_any_template(Spawner *s);
/* For tests: a view gets its template with its first region. */
extern bool spawner_eager;

/* Makes a template for the plan's view. Returns as spawn_start(). */
int template_make(Spawner *s, const Plan *p, const Probe *of_region, const UidRange *uids, const ViewOwner *owner,
                  Zygote *ret, Diag *reterr);
