/* Runs: supervisor that lives long (`lethe serve`). Starts regions and their guards without executing a program for each: it keeps a zygote of
 * either kind (schema/zygote.h) and, for views that come again, one whose root is built already. Many threads may ask at once.
 *
 *   Spawner -> lethe-worker zygote -> worker of a region: all steps
 *                                   -> a view's zygote (template) -> worker of a region: what is its own
 *           -> lethe-guard zygote  -> guard of a region
 *
 * All of them are children of one thread of the Spawner, which lives as long as it does: the parent-death signal of a region is that thread's end,
 * not the end of the thread that asked. A zygote that dies is started again; where none can be had the region is started as in a supervisor
 * without a Spawner, by execution: a layer is never left out. */
#pragma once

#include "base/diag.h"
#include "base/util.h"

typedef struct Spawner Spawner;

/* To be called before the supervisor confines itself: what it may not do any more, its zygotes still may. Returns 0, SPAWN_E_WORKER or SPAWN_E_KERNEL
 * with a message, -errno. */
int spawner_new(Spawner **ret, Diag *reterr);
/* Control groups of templates, from whoever keeps groups (spawn/ makes none). */
typedef struct TemplateGroups {
        /* Makes one, and sends the files by which a process of version 1 enters it with one message through `lifeline`, as spawn_groups() does. Returns 0 with
         * *ret_group, or -errno with nothing sent and nothing left. */
        int (*enter)(void *userdata, int lifeline, void **ret_group);
        /* The template has loaded all that it loads. From now on it only forks regions, which are charged to it until each enters its own group. */
        void (*serves)(void *userdata, void *group);
        /* No process of the template is there any more. */
        void (*leave)(void *userdata, void *group);
        void *userdata; /* borrowed for as long as the Spawner lives */
} TemplateGroups;
/* Before the first region is started. Without it templates have limits of their own, and the supervisor's control group. */
void spawner_group_templates(Spawner *s, const TemplateGroups *groups);
/* What a view shows may have changed: the next region of each is started anew from the host's tree. Living regions are not touched. */
void spawner_forget(Spawner *s);
/* Processes that were there when the spawner was told to forget have ended. */
bool spawner_has_forgotten(Spawner *s);
/* Its zygotes are there; what one that died has to do is done by the next call that needs it, where that may still execute a program. */
bool spawner_works(Spawner *s);
/* Guards that served a region and are as new: the next ones take them. Waits for nothing. */
size_t spawner_ready_guards(Spawner *s);
/* What it keeps of the machine for its regions; NULL: nothing, as without a Spawner. */
struct SpawnCache;
struct SpawnCache *spawner_kept(Spawner *s_or_null);
/* No region lives any more that it started. NULL: nothing. */
void spawner_free(Spawner *s);
