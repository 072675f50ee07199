/* Runs: supervisor. The pool of control groups of a supervisor that lives long, and how others find it when that one has died: its places are noted in
 * run/<lock>.g of the store while it lives. */
#pragma once

#include "region/region-cgroup.h"
#include "spawn/spawner.h"
#include "store/store.h"

/* A pool, or NULL where there is none to be had, or it cannot be noted: then each region has groups of its own. */
CgroupPool *groups_open(Store *s);
/* For the Spawner: each template has a group of the pool, with limits while it loads. */
void groups_of_templates(CgroupPool *p, TemplateGroups *ret);
/* No region and no template uses one of them any more. */
void groups_close(Store *s, CgroupPool *p);
/* What the store's pools have in common in their names (CGROUP_POOL_NAME). */
const char *groups_name(const Store *s);
/* Removes those of dead supervisors. Returns 0 or -errno. */
int groups_clear_left(Store *s);
