/* Runs: supervisor, CLI, and as the skill `digest` in a region. Makes proposals from a scan: candidates with typed
 * reasons, and blocked removals. Pure, and needs only Jansson: the skill's program is this file and a main.
 * engine/digest-pass.c judges reasons and blockers anew (M-42..M-46). */
#pragma once

#include <jansson.h>

#define PROPOSE_VERSION 1

/* scan: of memory_scan(). *ret: {"version":1,"pass":n,"proposals":[{"op":"archive"|"remove","kind","id","score",
 * "reason":{…},"also":[{…}]}],"blocked":[{"op":"remove","kind","id","score","reason","also",
 * "blockers":[{"kind","id","strength","role"}]}]}: downstream first (knowledge, skill, memory), then by score of
 * support, then by id (M-49). "cut": true is present when an answer cannot hold the whole list and the end was left
 * out. Returns 0, -EINVAL for an invalid scan, -ENOMEM. */
int propose(const json_t *scan, json_t **ret);
