/* Runs: CLI. */
#pragma once

#include "cli/with-store.h"

/* Prints how the session went: its end, and each turn with its region, outcome, and carried or dropped writes. Returns
 * EXIT_OK, or EXIT_NOT after a message. */
int why_session(Store *store, const char *session, bool json);
