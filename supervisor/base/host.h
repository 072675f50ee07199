/* Runs: supervisor, CLI. An id of the machine for records. */
#pragma once

#include "base/util.h"

#define HOST_ID_MAX 72

/* "sha256:" and the hash of "lethe host" and the machine id (machine-id(5) asks not to show the id itself): the same in
 * all records of a machine, useless elsewhere. NULL on a machine without a machine id. Returns out. */
const char *host_id(char out[static HOST_ID_MAX]);
