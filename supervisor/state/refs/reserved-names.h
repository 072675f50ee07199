/* Runs: supervisor, CLI. Names of what the service fills in: of events, of rows, of what is derived from them, of who it was (G-9, M-18). No caller's payload
 * and no interpreter's request may have a member of such a name, unless its own schema has it. */
#pragma once

#include "base/util.h"

bool reserved_name_is(const char *name);
