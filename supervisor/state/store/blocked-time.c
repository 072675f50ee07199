#include "store/blocked-time.h"
#include "base/clock.h"
#include "base/util.h"

static _Thread_local struct {
        struct {
                uint64_t from, to;
        } last[BLOCKED_MAX]; /* a ring */
        unsigned next, deep;
        uint64_t began;
} blocked;

void blocked_begin(void) {
        if (blocked.deep++ == 0)
                blocked.began = clock_mono_usec();
}

void blocked_end(void) {
        if (--blocked.deep > 0)
                return;
        blocked.last[blocked.next].from = blocked.began;
        blocked.last[blocked.next].to = clock_mono_usec();
        blocked.next = (blocked.next + 1) % BLOCKED_MAX;
}

uint64_t store_blocked_usec(uint64_t from, uint64_t to) {
        uint64_t sum = 0;

        for (unsigned i = 0; i < BLOCKED_MAX; i++) {
                uint64_t a = MAX(blocked.last[i].from, from), b = MIN(blocked.last[i].to, to);

                sum += b > a ? b - a : 0;
        }
        return sum;
}
