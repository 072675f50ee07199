/* Runs: supervisor, CLI, and as the skill `digest` in a region. What a digest makes of a scan: candidates with typed reasons, blocked removals. Pure, and
 * of nothing but
 * Jansson: the program of the skill is this file and a main. It proposes; reasons and blockers are judged anew by engine/pass.c (M-42..M-46). */
#pragma once

#include <jansson.h>

#define PROPOSE_VERSION 1

/* scan: of memory/scan.h. *ret: {"version":1,"pass":n,"proposals":[{"op":"archive"|"remove","kind","id","score","reason":{…},"also":[{…}]}],
 * "blocked":[{"op":"remove","kind","id","score","reason","also","blockers":[{"kind","id","strength","role"}]}]}: downstream first (knowledge, skill,
  * memory), then by
 * score of support, then by id (M-49). "cut": true is there when it is more than an answer holds, and these are the first. Returns 0, -EINVAL for what is no scan, -ENOMEM. */
int propose(const json_t *scan, json_t **ret);
