/* Runs: supervisor, CLI. What follows from the refgraph (ref.h): who leans on a record, what it leans on, what keeps it from being removed. Reads only,
 * each time anew from the edges as they are (M-19). A source is live while it is not removed: a removed one has no edges left (M-58). */
#pragma once

#include "refs/ref.h"

#define SUPPORT_STRONG 1.0
#define SUPPORT_WEAK 0.35
/* The role of an edge that says: this takes the place of that. It is no support, and keeps nothing from being removed. */
#define REF_ROLE_SUPERSEDES "supersedes"

/* Whether an edge of that role may end its target (I-98). An operator's edge may. A region's edge may when the region could save the target's family, which
 * it could if the source is of the same family, and else if the event of the save says so: earlier versions of Lethe did not look. Returns 1, 0, -errno. */
int graph_supersedes(Txn *t, const Ref *ref);

typedef struct Support {
        uint64_t strong, weak;
        double score; /* M-20 */
} Support;
int graph_support(Txn *t, const RecordKey *k, Support *ret);

/* The state of what an edge leads to or comes from; RECORD_NONE: it is not there. */
int graph_state(Txn *t, const RecordKey *k, RecordState *ret);

typedef struct Dependent {
        Ref ref;           /* its source depends, on the record or on another that depends on it */
        RecordState state; /* of the source */
        unsigned depth;    /* 1: direct */
        bool holds;        /* strong, or of a kernel, all the way down: it goes, too, or nothing does (M-54); "supersedes" does not hold */
} Dependent;
/* All that depends on the record, direct first, then by kind and id; each source once (M-53). *ret is owned (free). */
/* With a bound: ENGINE_E_TOO_MANY when there are more than `most`. */
int graph_dependents_most(Txn *t, const RecordKey *k, size_t most, Dependent **ret, size_t *ret_n);
int graph_dependents(Txn *t, const RecordKey *k, Dependent **ret, size_t *ret_n);
/* Those of depth 1. */
int graph_direct(Txn *t, const RecordKey *k, Dependent **ret, size_t *ret_n);

/* What keeps a record from being removed: strong edges of live sources, those of kernels, weak ones of active sources (M-46). *ret is owned (free). */
int graph_blockers(Txn *t, const RecordKey *k, Ref **ret, size_t *ret_n);
