#include "prefork/pool-wishes.h"

#include <errno.h>
#include <string.h>

int pool_wishes_take(PoolWishes *w, const Policy *policy) {
        PoolWishes new = {.v = calloc(policy->n_skills + 1, sizeof(*new.v)), .standard = policy->pool,
                          .policy = policy->pools};

        if (!new.v)
                return -ENOMEM;
        for (size_t i = 0; i < policy->n_skills; i++)
                if (policy->skills[i].pool_said) {
                        new.v[new.n] = (struct PoolWish){strdup(policy->skills[i].name), policy->skills[i].pool};
                        if (new.v[new.n].skill) /* else no region is prepared for the skill, which is always right */
                                new.n++;
                }
        pool_wishes_deinit(w);
        *w = new;
        return 0;
}

uint64_t pool_wishes_of(const PoolWishes *w, const char *skill) {
        for (size_t i = 0; i < w->n; i++)
                if (strcmp(w->v[i].skill, skill) == 0)
                        return w->v[i].n;
        return w->standard;
}

bool pool_wishes_any(const PoolWishes *w) {
        bool any = w->standard > 0;

        for (size_t i = 0; i < w->n; i++)
                any |= w->v[i].n > 0;
        return any;
}

void pool_wishes_deinit(PoolWishes *w) {
        for (size_t i = 0; i < w->n; i++)
                free(w->v[i].skill);
        free(w->v);
        *w = (PoolWishes){0};
}
