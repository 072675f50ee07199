/* Runs: supervisor, CLI. Questions to the refgraph (M-7, M-57, M-58). Reads only. */
#pragma once

#include "refs/ref.h"

#define REFS_DEPTH_MAX 16
#define REFS_NODES_MAX 1000 /* of a traversal; a larger result is cut, and says so */

/* Array of {"kind","id","strength","role","state","seq","granted"?}: the far end of each edge of the record, by kind,
 * id and role. only_broken: only edges to a removed or deleted record. state: of the far end, "deleted" when absent.
 * granted: false on an edge of role supersedes without the right to end its target (graph_supersedes()), else absent. */
int memory_refs_of(Txn *t, const RecordKey *k, bool incoming, bool only_broken, json_t **ret);

/* The edges that an untrusted caller may see: those whose far end is of a kind that `may` takes; at most `most`. */
typedef struct EdgeBound {
        bool (*may)(const void *user, Kind kind);
        const void *user;
        size_t most; /* edges that are read */
} EdgeBound;
/* As memory_refs_of(), and "version" of a far end that is there. *ret_hidden grows by the edges that the caller may not
 * see; *ret_cut: there are more than `most`. */
int memory_edges(Txn *t, const RecordKey *k, bool incoming, const EdgeBound *bound, json_t **ret, uint64_t *ret_hidden,
                 bool *ret_cut);

/* {"kind","id","strength","role","state"?}: an edge, by its far end. New reference or NULL. */
json_t *memory_edge(const RecordKey *end, const Ref *ref, const char *state_or_null);
/* The state of an edge's end, "deleted" for RECORD_NONE. */
const char *memory_end_state(RecordState s);
/* "kind/id". Returns out. */
#define MEMORY_NAME_MAX (32 + RECORD_ID_MAX)
const char *memory_name(const char *kind, const char *id, char out[static MEMORY_NAME_MAX]);
/* Puts the member "granted" into the object of an edge. */
int memory_edge_granted(Txn *t, const Ref *ref, json_t *edge);

/* The sources of graph_blockers(), as above. */
int memory_blockers(Txn *t, const RecordKey *k, json_t **ret);

/* {"outgoing","incoming","broken","blockers","dependents"}; broken: outgoing edges to removed or deleted records. For
 * any record of the scope; a removed or deleted record has only incoming edges. Returns 0, ENGINE_E_NO_SCOPE,
 * ENGINE_E_BAD_NAME, ENGINE_E_NO_RECORD, -errno. */
int memory_refs(Txn *t, const char *scope, Kind kind, const char *id, json_t **ret, Diag *reterr);

/* {"nodes":[{"kind","id","state","depth"}],"edges":[{"from","to","strength","role"}],"cut"}: the records within `depth`
 * steps from a record, along the edges or against them; nodes by depth, kind and id; "from" and "to" are "kind/id".
 * depth 1..REFS_DEPTH_MAX. */
int memory_reach(Txn *t, const char *scope, Kind kind, const char *id, bool incoming, unsigned depth, json_t **ret,
                 Diag *reterr);
/* All broken edges of a scope: array of {"kind","id","to_kind","to_id","strength","role","state"} by source. */
int memory_broken(Txn *t, const char *scope, json_t **ret, Diag *reterr);
/* Array of {"kind","id","strength","role","depth","state","holds"} (graph_dependents). */
int memory_dependents(Txn *t, const RecordKey *k, json_t **ret);
