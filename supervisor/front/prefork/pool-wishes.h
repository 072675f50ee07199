/* Runs: supervisor (daemon). The policy's numbers of prepared regions for each skill, and the costs. */
#pragma once

#include "policy/policy.h"

typedef struct PoolWishes {
        struct PoolWish {
                char *skill;
                uint64_t n;
        } *v;
        size_t n;
        uint64_t standard; /* for skills without a number of their own */
        PoolPolicy policy; /* memory and time of waiting regions */
} PoolWishes;

/* Replaces the earlier wishes. Returns 0, or -ENOMEM without a change. */
int pool_wishes_take(PoolWishes *w, const Policy *policy);
uint64_t pool_wishes_of(const PoolWishes *w, const char *skill);
bool pool_wishes_any(const PoolWishes *w);
void pool_wishes_deinit(PoolWishes *w);
