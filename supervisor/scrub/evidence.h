/* Runs: supervisor. What is known of a region's storage after its teardown. The record never says more than was done (I-16).
 *
 * discipline "none": no byte was overwritten by us before the kernel got the pages back.
 * grade "unscrubbed": what the region held may still be in physical memory until the kernel gives the pages to someone else, who gets
 * them cleared. `not_covered` names every class of storage of which that is true. */
#pragma once

#include "base/json.h"
#include "base/util.h"
#include "region/region.h"

#define EVIDENCE_CLASSES_MAX 16

typedef struct Evidence {
        const char *discipline;
        const char *grade;
        uint64_t bytes_held;        /* peak of what the region held: memory and scratch */
        uint64_t bytes_overwritten;
        uint64_t bytes_verified;
        unsigned passes;
        const char *not_covered[EVIDENCE_CLASSES_MAX]; /* NULL-terminated; static strings */
        VaultWiped vault;           /* sections, key and handles (I-16) */
        uint64_t usec;              /* from the known end to the storage given back */
        uint64_t bound_usec;        /* the skill's cancel bound (I-33) */
} Evidence;

void evidence_collect(const Region *r, Evidence *ret);
/* Of a region whose supervisor died: what can be said without having watched it. */
void evidence_unwatched(Evidence *ret);
/* The "teardown" object of receipt and ledger. New reference, NULL when out of memory. */
json_t *evidence_to_json(const Evidence *e);
