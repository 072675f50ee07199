/* Runs: supervisor, CLI. The refgraph: typed edges between records of one scope, owned by their source (M-57). A key has no room for another scope's
 * number on its target's side, so that no edge can lead out of a scope (M-23). What an edge leads to may be gone since: it is broken then, and stays
 * visible. Reading is for all; writing is project.c's alone. */
#pragma once

#include "record/record.h"

#define REF_ROLE_MAX 33 /* with the NUL: [a-z][a-z0-9_-]{0,31} */
#define REFS_MAX 256    /* of one record */

typedef struct Ref {
        RecordKey source, target; /* of the same scope */
        bool strong;
        char role[REF_ROLE_MAX];
        uint64_t seq; /* of the event that made it */
} Ref;

bool ref_role_valid(const char *role);
/* Reads {"kind","id","strength"?,"role"?,"scope"?} entries: strength "strong" (default) or "weak", role default "ref"; twice the same target and role is
 * one edge, the stronger one. *ret is owned (free), sorted by target and role. scope_name: of the source; NULL: it was compared
 * already. Returns 0, ENGINE_E_BAD_REF, ENGINE_E_CROSS_SCOPE, -errno;
 * whether targets exist is not looked at. */
int refs_parse(const RecordKey *source, const char *scope_name, const json_t *refs, Ref **ret, size_t *ret_n, Diag *reterr);

typedef struct RefWalk {
        Cursor *cursor;
        bool incoming;
        uint8_t prefix[RECORD_KEY_MAX + 1];
        size_t n_prefix;
        uint64_t scope;
} RefWalk;
/* Edges of one record, outgoing by target and role, or incoming by source and role. */
int ref_walk(Txn *t, const RecordKey *of, bool incoming, RefWalk *ret);
int ref_walk_next(RefWalk *w, Ref *ret); /* 0, -ENOENT at the end */
void ref_walk_deinit(RefWalk *w);
#define _cleanup_ref_walk_ _cleanup_(ref_walk_deinit)

/* For project.c alone: in place of all that the source had. */
int refs_replace(Txn *t, const RecordKey *source, const Ref *refs, size_t n, uint64_t seq);
