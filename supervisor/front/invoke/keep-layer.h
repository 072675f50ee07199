/* Runs: supervisor. Keeps the layers of a region that ended (front/layer/reader.h). lethe-layer reads a layer while the
 * guard overwrites the region's memory. */
#pragma once

#include "invoke/types.h"

/* When no process of the region runs: asks for the layers. */
void run_begin_layer(Run *run);
/* After the answer, before the first byte of the scratch is overwritten: completes and records what is kept, and drops
 * kept layers beyond the policy. */
void run_keep_layer(Run *run);
/* The region did not come so far. */
void run_drop_layer(Run *run);
