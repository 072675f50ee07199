/* Runs: CLI. The parts of `lethe doctor`. */
#pragma once

#include "spawn/probe-full.h"

/* Checks store, anchor, policy and socket, and tells from where each was chosen. given: the value of --store,
 * or NULL. False: the store cannot be used, or the daemon at the socket does not answer. */
bool doctor_places(ProbeReport *r, const char *given, const char *store);
/* Limits and filters around the process. */
void doctor_surroundings(ProbeReport *r);
/* A trial `lethe run` of an empty program. store: NULL without a place for a store. landlock_alone: landlock is the
 * only available tier, and most policies refuse that tier. False: the run failed, and each other run would fail
 * (A-67). */
bool doctor_run(ProbeReport *r, const char *store, bool landlock_alone);
