/* Runs: supervisor, CLI. The names of all fields that only the service fills in: of events, rows, derived views and
 * identities (G-9, M-18). A caller's payload or an interpreter's request may have a member of such a name only if the
 * schema has the member. */
#pragma once

#include "base/util.h"

bool reserved_name_is(const char *name);
