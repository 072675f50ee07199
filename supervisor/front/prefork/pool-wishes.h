/* Runs: supervisor that lives long. How many regions the policy wants prepared, for which skills, and at what cost. */
#pragma once

#include "policy/policy.h"

typedef struct PoolWishes {
        struct PoolWish {
                char *skill;
                uint64_t n;
        } *v;
        size_t n;
        uint64_t standard; /* for skills that are not named */
        PoolPolicy policy; /* memory and time for those that wait */
} PoolWishes;

/* In place of what was wished before. Returns 0 or -ENOMEM; then that stays. */
int pool_wishes_take(PoolWishes *w, const Policy *policy);
uint64_t pool_wishes_of(const PoolWishes *w, const char *skill);
bool pool_wishes_any(const PoolWishes *w);
void pool_wishes_deinit(PoolWishes *w);
