#include "policy/capacity.h"

#include <errno.h>

static uint64_t capacity_times(uint64_t a, uint64_t b) {
        uint64_t v;

        return __builtin_mul_overflow(a, b, &v) ? UINT64_MAX : v;
}

static uint64_t capacity_plus(uint64_t a, uint64_t b) {
        uint64_t v;

        return __builtin_add_overflow(a, b, &v) ? UINT64_MAX : v;
}

static int capacity_by_memory(const void *a, const void *b) {
        uint64_t x = (*(const CapacityRow *const *)a)->memory, y = (*(const CapacityRow *const *)b)->memory;

        return x < y ? 1 : x > y ? -1 : 0;
}

int capacity_of(const Policy *p, CapacityRow *rows, size_t n, Capacity *ret) {
        _cleanup_free_ const CapacityRow **order = calloc(n ? n : 1, sizeof(*order));
        Capacity c = {.max_regions = p->max_regions};
        uint64_t left = p->max_regions;

        if (!order)
                return -ENOMEM;
        for (size_t i = 0; i < n; i++) {
                CapacityRow *w = &rows[i];

                w->memory = policy_max(p, policy_skill(p, w->name)).memory_bytes;
                w->memory_unbounded = w->memory == 0;
                if (w->memory_unbounded)
                        w->memory = budget_most().memory_bytes;
                if (w->count == 0)
                        w->count = policy_concurrency(p, w->name);
                w->count_unbounded = w->count == 0;
                if (w->count_unbounded)
                        w->count = p->max_regions;
                w->total = capacity_times(w->count, w->memory);
                c.sum = capacity_plus(c.sum, w->total);
                c.regions = capacity_plus(c.regions, w->count);
                order[i] = w;
        }
        qsort(order, n, sizeof(*order), capacity_by_memory);
        for (size_t i = 0; i < n; i++) {
                uint64_t k = MIN(order[i]->count, left);

                c.worst = capacity_plus(c.worst, capacity_times(k, order[i]->memory));
                left -= k;
        }
        *ret = c;
        return 0;
}
