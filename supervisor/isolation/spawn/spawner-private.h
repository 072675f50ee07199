/* Runs: supervisor. What spawn.c, template.c and guard.c ask of a Spawner. */
#pragma once

#include "schema/zygote.h"
#include "spawn/guard.h"
#include "spawn/guard-pool.h"
#include "spawn/zygote.h"
#include "spawn/plan.h"
#include "spawn/spawner.h"

/* Groups of spawner_group_templates(), or NULL. */
const TemplateGroups *spawner_groups(Spawner *s);

#define VIEW_BYTES 32
#define ZYGOTE_TREES_MAX (ZYGOTE_FDS_MAX - LAUNCH_FD_TREES)

/* For whom a template serves: nobody else's regions come from it. */
typedef struct ViewOwner {
        uint32_t client;   /* Grant.client */
        bool net_host;     /* its regions need the host's network namespace */
        const char *skill; /* of an interpreter: the skill's folder; borrowed */
} ViewOwner;

/* A template's view, its owner and its user: regions of one view can have copies of one root. It follows links, and names each file by its inode, so
 * that what was replaced is another view. Returns false when this plan's root cannot be shared. */
bool view_of(const Plan *p, const Probe *probe, const ViewOwner *owner, uint8_t ret[static VIEW_BYTES]);

/* A process like zygote_child(), from the zygote for workers or the one for guards. One that is gone is started again. */
int spawner_worker(Spawner *s, uint64_t flags, const int *fds, size_t n_fds, pid_t *ret_pid, int *ret_pidfd);
int spawner_guard(Spawner *s, const int *fds, size_t n_fds, pid_t *ret_pid, int *ret_pidfd);

/* One that served another region and said that it is as new. False: there is none. */
bool spawner_take_guard(Spawner *s, Guard *ret);
/* Takes over a guard that was told GUARD_AGAIN. False: there are enough. */
bool spawner_keep_guard(Spawner *s, const Guard *g);

/* The view's template, or NULL; then *ret_wanted says whether the caller is to make one (and to tell what became of it). One that made as many living
 * regions as may share a user of the host's does not count. It is to be given back when no region that it made lives any more: with its PID namespace they
 * would end. */
Zygote *spawner_take(Spawner *s, const uint8_t view[static VIEW_BYTES], bool *ret_wanted);
void spawner_give_back(Spawner *s, Zygote *n);
/* A template that does not answer: nobody else is to ask it. */
void spawner_doom(Spawner *s, Zygote *n);

/* A detached mount of `source` for a region below a template, where the supervisor is no root. Returns a descriptor or -errno. */
int spawner_bind(Spawner *s, const Probe *probe, const char *source, bool write);
/* made NULL: it cannot be had. Else it is the Spawner's from now on. */
void spawner_made(Spawner *s, const uint8_t view[static VIEW_BYTES], const Zygote *made);

/* For tests: one that there is; NULL: none. */
Zygote *spawner_any_template(Spawner *s);
/* For tests: a view gets its zygote with its first region. */
extern bool spawner_eager;

/* Makes a template for the plan's view. Returns as spawn_start(). */
int template_make(Spawner *s, const Plan *p, const Probe *of_region, const UidRange *uids, const ViewOwner *owner, Zygote *ret, Diag *reterr);
