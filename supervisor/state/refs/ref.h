/* Runs: supervisor, CLI. The refgraph: typed edges between records of one scope, owned by the source (M-57). The
 * target's part of a key has no room for a scope number, so no edge can leave a scope (M-23). The target of an edge may
 * have been removed: the edge is then broken, and stays visible. All may read; only project.c writes. */
#pragma once

#include "record/record.h"

#define REF_ROLE_MAX 33 /* with the NUL: [a-z][a-z0-9_-]{0,31} */
#define REFS_MAX 256    /* of one record */

typedef struct Ref {
        RecordKey source, target; /* of the same scope */
        bool strong;
        char role[REF_ROLE_MAX];
        uint64_t seq; /* of the edge's event */
} Ref;

/* Reads {"kind","id","strength"?,"role"?,"scope"?} entries: strength "strong" (default) or "weak", role default "ref".
 * Two entries with the same target and role become one edge with the stronger strength. *ret is owned (free), sorted by
 * target and role. scope_name: of the source; NULL: compared before. The targets need not exist. Returns 0,
 * ENGINE_E_BAD_REF, ENGINE_E_CROSS_SCOPE, -errno. */
int refs_parse(const RecordKey *source, const char *scope_name, const json_t *refs, Ref **ret, size_t *ret_n,
               Diag *reterr);

typedef struct RefWalk {
        Cursor *cursor;
        RecordKey of;
        bool incoming;
} RefWalk;
/* The edges of a record: outgoing by target and role, or incoming by source and role. */
int ref_walk(Txn *t, const RecordKey *of, bool incoming, RefWalk *ret);
int ref_walk_next(RefWalk *w, Ref *ret); /* 0, -ENOENT at the end */
void ref_walk_deinit(RefWalk *w);
#define _cleanup_ref_walk_ _cleanup_(ref_walk_deinit)

/* For project.c alone: replaces all edges of the source. */
int refs_replace(Txn *t, const RecordKey *source, const Ref *refs, size_t n, uint64_t seq);
