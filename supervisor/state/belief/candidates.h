/* Runs: supervisor, CLI. The rows that a request may be about, from the store: rows of the bucket that the operation
 * can apply to (G-17), and that share words with the request (belief/shortlist.h), weighed and judged
 * (engine/resolve.h). The same rows and the same request give the same outcome (G-21). */
#pragma once

#include "belief/bucket.h"

typedef struct Candidates {
        ResolveCandidate *v; /* owned, in the order of resolve_decide(); number: place in rows */
        struct CandidateRow {
                char id[RECORD_ID_MAX];
                RecordState state;
        } *rows; /* owned */
        Pair *pairs; /* owned: as weighed; the candidates have another order since */
        size_t n;
        ResolveOutcome outcome;
        char past[RECORD_ID_MAX]; /* "", or the named row in a state that resolve or invalidate cannot apply to */
        RecordState past_state;
} Candidates;
void candidates_deinit(Candidates *c);
#define _cleanup_candidates_ _cleanup_(candidates_deinit)
/* Tells whether the operation can be about a row in the state. A repeated decision finds the earlier (G-13, G-20). */
bool candidates_apply(Kind kind, Op op, RecordState state);
/* The state of the row of candidate i. */
RecordState candidates_state(const Candidates *c, size_t i);

/* Reads only. Returns 0 or -errno. */
int candidates_find(Bucket *b, const ResolveQuestion *asked, const ResolvePolicy *policy, Candidates *ret);
