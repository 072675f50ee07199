/* Runs: supervisor. A helper is a worker that serves regions: a template or a binder, from the zygote for workers. */
#pragma once

#include "schema/status.h"
#include "spawn/private.h"
#include "spawn/spawner-private.h"

typedef struct Helper {
        pid_t pid; /* child of the supervisor, in the child registry; 0: no helper */
        int pidfd, status, lifeline;
} Helper;
#define HELPER_NULL ((Helper){.pidfd = -1, .status = -1, .lifeline = -1})

/* Starts a helper with written id maps. Returns as spawn_start(); then helper_end(). */
int helper_start(Spawner *s, const Plan *p, const Probe *probe, uint64_t flags, Helper *ret, Diag *reterr);
/* Reads the next record, with its descriptor or -1. Returns 0, or -ETIMEDOUT, -EPIPE without a record. */
int helper_record(int status, StatusRecord *ret, int *ret_fd);
/* Kills and reaps the helper, and closes its descriptors. */
void helper_end(Helper *h);

/* A binder (worker/binder.c) of a supervisor without root: copies mounts of the host's tree for regions below a
 * template. A binder sees the mounts of its start, so each new mount needs a new binder. */
typedef struct Binder {
        pthread_mutex_t lock; /* of the members below */
        Helper helper;        /* started by the first request */
        uint64_t mounts;      /* mounts_below("/") at the start */
} Binder;

void binder_init(Binder *b);
/* Returns as spawner_bind(). */
int binder_mount(Binder *b, Spawner *s, const Probe *probe, const char *source, bool write);
void binder_deinit(Binder *b);
