/* Runs: supervisor, CLI. Questions to the refgraph (ref.h): the dependents of a record, its support, the blockers of
 * its removal. Reads only, each time from the present edges (M-19). A source is live until its removal; a removed
 * source has no edges (M-58). */
#pragma once

#include "refs/ref.h"

#define SUPPORT_STRONG 1.0
#define SUPPORT_WEAK 0.35
/* The role of an edge from a record to its predecessor. Such an edge gives no support and blocks no removal. */
#define REF_ROLE_SUPERSEDES "supersedes"

/* May a "supersedes" edge end its target (I-98)? An operator's edge may. A region's edge may if the region could save
 * the target's family: the source is of the same family, or the event of the save says "supersedes". Earlier versions
 * of Lethe did not check the family. Returns 1, 0, -errno. */
int graph_supersedes(Txn *t, const Ref *ref);

typedef struct Support {
        uint64_t strong, weak;
        double score; /* M-20 */
} Support;
int graph_support(Txn *t, const RecordKey *k, Support *ret);

/* The state of an edge's source or target; RECORD_NONE: no such record. */
int graph_state(Txn *t, const RecordKey *k, RecordState *ret);

typedef struct Dependent {
        Ref ref;           /* the source depends on the record, directly or through other sources */
        RecordState state; /* of the source */
        unsigned depth;    /* 1: direct */
        bool holds; /* a chain of strong or kernel edges, no "supersedes": delete both or none (M-54) */
} Dependent;
/* All dependents of the record, direct dependents first, then by kind and id; each source once (M-53). *ret is owned
 * (free). */
int graph_dependents(Txn *t, const RecordKey *k, Dependent **ret, size_t *ret_n);
/* The same with a bound: ENGINE_E_TOO_MANY for more than `most`. direct: only the dependents of depth 1. */
int graph_dependents_most(Txn *t, const RecordKey *k, bool direct, size_t most, Dependent **ret, size_t *ret_n);

/* The edges against a removal: strong edges of live sources, all edges of kernels, weak edges of active sources (M-46).
 * *ret is owned (free). */
int graph_blockers(Txn *t, const RecordKey *k, Ref **ret, size_t *ret_n);
