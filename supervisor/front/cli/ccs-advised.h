/* Runs: CLI. For cmd-ccs.c: a skill as compressor, chosen at a session's beginning and asked in each of its turns. */
#pragma once

#include "cli/actions.h"

/* --compressor, --set and --policy: the skill can be had. *ret: new reference. Returns EXIT_OK, or after a message a
 * different code. */
int ccs_compressor(ActionArgs *a, json_t **ret);
/* A turn of a session with a compressor. *ret: as of cognition_turn(). Returns as ccs_compressor(). */
int ccs_advised_turn(ActionArgs *a, const json_t *input, json_t **ret);
