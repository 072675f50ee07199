/* Runs: CLI. Shared by state.c, which judges the paths of the folders, and apply.c. */
#pragma once

#include "layer/layer.h"

#define APPLY_UNFINISHED 0700 /* mode of a folder, until the folder is complete */

/* Whether the path is as the layer has it. */
bool state_is_done(const LayerEntry *e, int folder, const char *leaf, const struct stat *st);
/* Whether the path is as the region saw it. */
bool state_is_base(const LayerEntry *e, int folder, const char *leaf, const struct stat *st);
