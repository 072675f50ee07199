#include "store/waited.h"
#include "base/clock.h"
#include "base/util.h"

static _Thread_local struct {
        struct {
                uint64_t from, to;
        } last[WAITED_MAX]; /* a ring */
        unsigned next, deep;
        uint64_t began;
} waited;

void waited_begin(void) {
        if (waited.deep++ == 0)
                waited.began = clock_mono_usec();
}

void waited_end(void) {
        if (--waited.deep > 0)
                return;
        waited.last[waited.next].from = waited.began;
        waited.last[waited.next].to = clock_mono_usec();
        waited.next = (waited.next + 1) % WAITED_MAX;
}

uint64_t store_waited(uint64_t from, uint64_t to) {
        uint64_t sum = 0;

        for (unsigned i = 0; i < WAITED_MAX; i++) {
                uint64_t a = MAX(waited.last[i].from, from), b = MIN(waited.last[i].to, to);

                sum += b > a ? b - a : 0;
        }
        return sum;
}
