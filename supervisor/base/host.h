/* Runs: supervisor, CLI. */
#pragma once

#include "base/util.h"

#define HOST_ID_MAX 72

/* "sha256:" and the hash of "lethe host" and the machine id (machine-id(5) asks that the id itself is not shown): the
 * same for all that one machine records, and of no use elsewhere. NULL when the machine has none. Returns out. */
const char *host_id(char out[static HOST_ID_MAX]);
