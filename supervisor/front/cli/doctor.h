/* Runs: CLI. The parts of `lethe doctor`. */
#pragma once

#include "spawn/probe-full.h"

/* Store, anchor, policy and socket, and from where each was chosen. given: of --store, or NULL. False: the store cannot be used, or the daemon there
 * does not answer. */
bool doctor_places(ProbeReport *r, const char *given, const char *store);
/* Limits and filters that were set around this process. */
void doctor_surroundings(ProbeReport *r);
/* `lethe run` of a program that does nothing. store: NULL when there is no place for one. landlock_alone: no other tier can be had, and most policies do not
 * let a run have that one. False: it failed, and every other would. */
bool doctor_run(ProbeReport *r, const char *store, bool landlock_alone);
