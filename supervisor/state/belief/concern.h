/* Runs: supervisor, CLI. Does it concern a request that waits that a row is not what it was? A whole resolution holds it against all rows; here it is held
 * against that one, and those that it was found to be between. Where this says no, the change decides nothing: with the row as it was, and all words
 * weighing what they weigh now, the whole resolution would say the same, or the request waits still. What the words weigh changes a little with each row: of
 * rows that a request is not known to be between that alone is no concern (lethe pending retry looks at everything). */
#pragma once

#include "belief/bucket.h"

/* Can one of them be bound, or a new row be made, as far as these n candidates say? Further ones only take away from that. */
bool concern_decides(Op op, const ResolveCandidate *candidates, size_t n, const ResolvePolicy *policy);
/* The row, where it was a candidate before: was it in the way of another decision, and is it less so? now: NULL when it is none any more. */
bool concern_frees(Op op, const ResolveCandidate *was, const ResolveCandidate *now, const ResolvePolicy *policy);
/* What a candidate has to score for one of the two, if the text neither names nor mentions it; is_new: there was no such row. */
double concern_least(bool is_new, const ResolvePolicy *policy);

/* was: NULL when there was no such row. candidates: as the queue keeps them. Returns 1 (try it), 0, -errno. */
int concern_row(Bucket *b, const char *id, const BucketRow *was, const Asked *asked, const json_t *candidates, const ResolvePolicy *policy);
