/* Runs: tests. Generated episodes of work in four domains, with a known state at each turn (C-55, C-56). */
#pragma once

#include "base/json.h"

#define EPISODE_TURNS_LEAST 12
#define EPISODE_TURNS_MOST 1000

/* An episode as a line of the format of dialogue.h. The same arguments make the same bytes. Returns 0, 1 (no such
 * domain), -ENOMEM. */
int episode_make(const char *domain, uint64_t seed, unsigned turns, json_t **ret);
