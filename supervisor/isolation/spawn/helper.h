/* Runs: supervisor. A lethe-worker that is no region but works for them: a template, or a binder. It comes from the Spawner's zygote for workers. */
#pragma once

#include "schema/status.h"
#include "spawn/private.h"
#include "spawn/spawner-private.h"

typedef struct Helper {
        pid_t pid; /* our child, noted as one of our own; 0: none */
        int pidfd, status, lifeline;
} Helper;
#define HELPER_NULL ((Helper){.pidfd = -1, .status = -1, .lifeline = -1})

/* With its id maps written, so that it goes on. Returns as spawn_start(); what is in *ret is to be given to helper_end() then, too. */
int helper_start(Spawner *s, const Plan *p, const Probe *probe, uint64_t flags, Helper *ret, Diag *reterr);
/* Its next record, with the descriptor that came with it or -1. Returns 0, or -ETIMEDOUT, -EPIPE when there is none. */
int helper_record(int status, StatusRecord *ret, int *ret_fd);
/* Kills and reaps it, and closes what is left of it. */
void helper_end(Helper *h);
