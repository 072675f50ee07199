/* Runs: supervisor. Notes of a recorded region, promoted at once for `--promote` (G-5). Other notes wait for `lethe
 * promote`; notes of a region that broke a budget went with its record (I-24). */
#pragma once

#include "base/diag.h"
#include "base/json.h"
#include "store/store.h"

#include <sys/types.h>

/* Promotes with the built-in interpreter, in the name of user `uid`. A signal readable from `signals` ends the
 * promotion; the notes left over stay as they are. Puts the members "committed", "pending", "rejected", "invalid" and
 * "resolved" into `into`, and "error" when notes are left over. Returns 0; else
 * there is a message. */
int notes_promote(Store *s, const char *region, uid_t uid, int signals, json_t *into, Diag *reterr);
