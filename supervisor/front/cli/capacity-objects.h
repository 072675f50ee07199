/* Runs: CLI. How many regions can have all that each may of the kernel's objects, where the kernel counts these per user: by the limits of this host (I-67). */
#pragma once

#include "policy/policy.h"

#define OBJECTS_ANY UINT64_MAX

typedef struct ObjectRow {
        const char *object, *limit; /* limit: the host's, as a person finds it; "": there is none. Static */
        uint64_t each;              /* a region's most; OBJECTS_ANY: the user's limit alone bounds it */
        uint64_t user;              /* the most of one user of the host; OBJECTS_ANY: not bounded, or not known */
        uint64_t regions;           /* that can have theirs at once; OBJECTS_ANY: this bounds no number */
} ObjectRow;

typedef struct Objects {
        bool own_users;   /* each region is a user of its own */
        uint64_t regions; /* the least of all rows */
        ObjectRow rows[9];
        size_t n;
} Objects;

/* Reads the host's limits, those of this process among them. */
void objects_measure(const Policy *p, Objects *ret);
