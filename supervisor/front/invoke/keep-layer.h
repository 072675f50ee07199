/* Runs: supervisor. Keeps the layers of a region that ended (front/layer). */
#pragma once

#include "invoke/types.h"

/* After the end of the region's processes, and before the first byte of its scratch is overwritten. Then drops kept
 * layers beyond the policy. */
void run_keep_layer(Run *run);
