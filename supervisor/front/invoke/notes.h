/* Runs: supervisor. Notes of a region that has ended and was recorded, promoted right away when that was asked for (G-5). Else they wait for
 * `lethe promote`; those of a region that broke a budget went with its record (I-24). */
#pragma once

#include "base/diag.h"
#include "base/json.h"
#include "store/store.h"

#include <sys/types.h>

/* With the built-in interpreter, in the name of user `uid`. What can be read of `signals` ends it; notes that nobody looked at yet then stay as they are.
 * Puts the members "committed", "pending", "rejected", "invalid" and "resolved" into `into`, and "error" when not all was done. Returns 0, or another
 * value with a message. */
int notes_promote(Store *s, const char *region, uid_t uid, int signals, json_t *into, Diag *reterr);
