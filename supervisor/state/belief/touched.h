/* Runs: supervisor, CLI. The pending items to be tried again after the commit of a row: items with the row as a
 * candidate, and items that share enough words with the row, or have its name, to be concerned (concern.h). By the
 * index alone. The number is bounded however many items wait, and the same store gives the same items. */
#pragma once

#include "belief/bucket.h"
#include "engine/wait.h"

#define TOUCHED_SHARING_MOST 16

typedef struct Touched {
        uint64_t ids[WAIT_HAVING_MOST + TOUCHED_SHARING_MOST]; /* oldest first */
        bool had[WAIT_HAVING_MOST + TOUCHED_SHARING_MOST];     /* the item had the row as a candidate */
        /* equal: the items share the same terms with the row; 0: none */
        uint64_t terms[WAIT_HAVING_MOST + TOUCHED_SHARING_MOST];
        size_t n;
} Touched;
/* was: the old row, or NULL. Returns 0 or -errno. */
int touched_find(Bucket *b, const char *id, const BucketRow *was, const ResolvePolicy *policy, Touched *ret);
