/* Runs: supervisor, CLI. Which rows a request could be about, from the store: those of its bucket that the operation can apply to (G-17) and that share words
 * with it (belief/shortlist.h), weighed and judged (engine/resolve.h). The same rows and the same request give the same outcome (G-21). */
#pragma once

#include "belief/bucket.h"

typedef struct Candidates {
        ResolveCandidate *v; /* owned, as resolve_decide() left them */
        char (*ids)[RECORD_ID_MAX]; /* owned: what v's ids point to */
        RecordState *states; /* owned; by index of ids */
        size_t n;
        ResolveOutcome outcome;
        char past[RECORD_ID_MAX]; /* "", or the row that is said to be meant and is in a state that resolve or invalidate does not apply to */
        RecordState past_state;
} Candidates;
void candidates_deinit(Candidates *c);
#define _cleanup_candidates_ _cleanup_(candidates_deinit)
/* Can the operation be about such a row? A decision is not written again, but it is looked whether it was taken before (G-13, G-20). */
bool candidates_apply(Kind kind, Op op, RecordState state);
/* State of the row that candidate i is. */
RecordState candidates_state(const Candidates *c, size_t i);

/* Reads only. Returns 0 or -errno. */
int candidates_find(Bucket *b, const Asked *asked, const ResolvePolicy *policy, Candidates *ret);
