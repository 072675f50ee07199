/* Runs: supervisor. The supervisor's side of a lethe-layer (schema/layer.h). No function waits for a folder of the
 * host. */
#pragma once

#include "base/diag.h"
#include "policy/grant.h"
#include "schema/layer.h"
#include "spawn/spawner.h"

typedef struct LayerReader {
        int channel;       /* readable: layer_reader_look(); -1: no lethe-layer, or over */
        pid_t pid;         /* executed by this process; 0: made by the launcher */
        uint64_t deadline; /* of the answer, CLOCK_MONOTONIC; UINT64_MAX: not asked */
        int code;          /* of the answer, or -ETIMEDOUT, -EPIPE */
        LayerAnswer answer;
} LayerReader;
#define LAYER_READER_NULL ((LayerReader){.channel = -1, .deadline = UINT64_MAX})

/* Whether the grant has a volume with a layer. */
bool layer_wanted(const Grant *g);
/* Starts a lethe-layer that opens the sources of the grant's layers. Returns 0 or -errno with a message. */
int layer_reader_start(LayerReader *l, Spawner *spawner_or_null, const char *region, const Grant *g, Diag *reterr);
/* Asks for the layers of a dead region. folder: of kept_begin(). Returns 0 or -errno. */
int layer_reader_ask(LayerReader *l, int folder, int scratch, uint64_t began_nsec, uint64_t bytes_max);
/* Takes the answer; gives up after the deadline. True: over, and `code` is set. */
bool layer_reader_look(LayerReader *l, uint64_t now_usec);
/* Ends the lethe-layer, which may stay in the kernel while a file system does not answer. */
void layer_reader_end(LayerReader *l);
