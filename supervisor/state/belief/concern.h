/* Runs: supervisor, CLI. Tells whether the change of a row concerns a waiting request. A full resolution compares the
 * request with all rows; this test compares only the changed row and the request's known candidates. The answer no is
 * safe: with the old row and the current weights, a full resolution would decide the same, or the request would still
 * wait. Each row changes the weights of words a little. For rows outside of the request's known candidates such a
 * change alone does not count (`lethe pending retry` compares all rows). */
#pragma once

#include "belief/bucket.h"

/* The least score of a candidate to be bound or to be in the way, without name or mention in the text. is_new: a new
 * row. */
double concern_least(bool is_new, const ResolvePolicy *policy);

/* was: NULL for a new row. candidates: as in the queue. Returns 1 (try the request), 0, -errno. */
int concern_row(Bucket *b, const char *id, const BucketRow *was, const ResolveQuestion *asked, const json_t *candidates,
                const ResolvePolicy *policy);
