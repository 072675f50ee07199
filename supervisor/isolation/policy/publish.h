/* Runs: supervisor, CLI. Published ports of a grant: the command line's within the policy. */
#pragma once

#include "policy/merge.h"

/* A part of merge_network(), and its last one: sets mode loopback where a port is published. Returns 0 or
 * GRANT_E_REFUSED. */
int publish_merge(Merge *m, const Limits *l);
