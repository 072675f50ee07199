// perf_event_open: samples of other processes and of the kernel.
#include "attack.h"

#include <linux/perf_event.h>

int main(void) {
        struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE, .size = sizeof(attr), .config = PERF_COUNT_SW_TASK_CLOCK, .exclude_kernel = 1};
        long r = syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0L);
        if (r < 0)
                contained("perf_event_open");
        escaped("perf_event_open gave %ld", r);
}
