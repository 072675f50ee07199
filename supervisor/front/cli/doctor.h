/* Runs: CLI. The parts of `lethe doctor`. */
#pragma once

#include "spawn/probe-full.h"

#include <limits.h>
#include <netinet/in.h>

/* Checks store, anchor, policy and socket, and tells from where each was chosen. given: the value of --store,
 * or NULL. False: the store cannot be used, or the daemon at the socket does not answer. */
bool doctor_places(ProbeReport *r, const char *given, const char *store);
/* Limits and filters around the process. */
void doctor_surroundings(ProbeReport *r);
/* A trial `lethe run` of an empty program. store: NULL without a place for a store. landlock_alone: landlock is the
 * only available tier, and most policies refuse that tier. False: the run failed, and each other run would fail
 * (A-67). */
bool doctor_run(ProbeReport *r, const char *store, bool landlock_alone);
/* Starts a lethe-proxy, and asks for a refused host. */
void doctor_proxy(ProbeReport *r);
/* Each route of the policy: can the secret be read, and the upstream be looked up and connected to? Nothing is sent. */
void doctor_routes(ProbeReport *r);
/* A socket that listens on the loopback for a lethe-proxy of doctor's, or -1. */
int doctor_proxy_listen(struct sockaddr_in *ret);
/* The first 12 bytes of lethe-proxy's answer to CONNECT HOST:PORT; empty: no answer. */
void doctor_proxy_ask(const struct sockaddr_in *at, const char *host, char ret[static 16]);
/* The layers that the store keeps, beside the policy. */
void doctor_layers(ProbeReport *r, const char *store);
/* A trial run that writes above a folder (-v SRC:DST:overlay), and runs above the caller's folder and home. */
void doctor_overlay(ProbeReport *r, const char *store_or_null);
/* `lethe doctor --programs`: a small job of each class of programs, in a region: whether it runs here, with which
 * options, or what to install. Takes some seconds for each program that is there. */
void doctor_programs(ProbeReport *r, const char *store);

#define DOCTOR_SAID_MAX 1024
/* `lethe run` with these further words (at most 50) and a store in `folder`, for at most msec. said: the last line on
 * standard error. Returns the exit code (128 + signal), or -errno. */
int doctor_try(const char *folder, const char *const *words, unsigned msec, char said[static DOCTOR_SAID_MAX]);
/* Makes a folder for a store that is removed afterwards. */
bool doctor_folder(const char *store_or_null, char ret[static PATH_MAX]);
