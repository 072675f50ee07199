/* Runs: supervisor (daemon, `lethe serve`). Starts regions and their guards without an exec for each: a Spawner keeps
 * one zygote of either kind (schema/zygote.h) with a spare, and, for recurring views, a zygote with a built root.
 * Thread-safe.
 *
 *  Spawner -> lethe-worker zygote -> worker of a region: all steps
 *                                 -> a view's zygote (template) -> worker of a region: only its own part
 *          -> lethe-guard zygote  -> guard of a region
 *
 * All are children of one thread of the Spawner, which lives as long as the Spawner: the parent-death signal of a
 * region is the end of this thread, not of the calling thread. The spare takes the place of a dead zygote, and forks a
 * new spare: a confined supervisor executes nothing. Without a spare a zygote is started, where exec is still allowed.
 * Without a zygote the region is started by exec, as in a supervisor without a Spawner: no layer is ever left out. */
#pragma once

#include "base/diag.h"
#include "base/util.h"
#include "spawn/zygote.h"

typedef struct Spawner Spawner;

/* Called before the supervisor confines itself, for its zygotes' sake. Returns 0, SPAWN_E_WORKER or _KERNEL, -errno. */
int spawner_new(Spawner **ret, Diag *reterr);
/* Called before the first start. Without groups, templates have own limits and the supervisor's control group. */
void spawner_group_templates(Spawner *s, const TemplateGroups *groups);
/* A view may have changed: the next region of each view starts anew from the host's tree. */
void spawner_forget(Spawner *s);
/* All processes older than the last spawner_forget() have ended. */
bool spawner_has_forgotten(Spawner *s);
/* A zygote or a spare of either kind lives; the next start that needs a dead zygote puts another one in its place. */
bool spawner_works(Spawner *s);
/* The number of used guards that are as new, for the next regions. Does not wait. */
size_t spawner_ready_guards(Spawner *s);
/* The Spawner's cache of facts about the machine; NULL: no cache, as without a Spawner. */
struct SpawnCache;
struct SpawnCache *spawner_kept(Spawner *s_or_null);
typedef enum SpawnerProgram {
        SPAWNER_PROXY, /* lethe-proxy (schema/proxy.h) */
        SPAWNER_ROUTES, /* lethe-routes (schema/route.h) */
        SPAWNER_LAYER, /* lethe-layer (schema/layer.h) */
} SpawnerProgram;
#define SPAWNER_PROGRAMS 3
/* Hands the far end of a channel to a new process of the program. Returns 0 or -errno. */
int spawner_launch(Spawner *s, SpawnerProgram program, int channel);
/* Called when no region of the Spawner lives. NULL: no effect. */
void spawner_free(Spawner *s);
