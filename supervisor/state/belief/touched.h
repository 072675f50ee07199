/* Runs: supervisor, CLI. Which of those that wait are looked at again after a row was committed: those that had it for a candidate, and those that have
 * so much of its words, or its name, that it may concern them (concern.h). By the index alone, and however many wait, boundedly many; the same ones for
 * the same store. */
#pragma once

#include "belief/bucket.h"
#include "engine/wait.h"

#define TOUCHED_SHARING_MOST 16

typedef struct Touched {
        uint64_t ids[WAIT_HAVING_MOST + TOUCHED_SHARING_MOST]; /* oldest first */
        bool had[WAIT_HAVING_MOST + TOUCHED_SHARING_MOST];     /* it had the row for a candidate */
        size_t n;
} Touched;
/* was: the row before, or NULL. Returns 0 or -errno. */
int touched_find(Bucket *b, const char *id, const BucketRow *was, const ResolvePolicy *policy, Touched *ret);
