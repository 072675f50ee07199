/* Runs: CLI. */
#pragma once

#include "base/diag.h"
#include "store/store.h"

/* For a region without a kept layer (LAYER_E_NONE): the fate of the layer, by the region's last event layer.*. Without
 * an event *ret is unchanged. */
void layer_gone(Store *s, const char *region, Diag *ret);
