// A real-time or better priority starves the supervisor.
#include "attack.h"

#include <sched.h>
#include <sys/resource.h>

int main(void) {
        int given = getpriority(PRIO_PROCESS, 0); /* whoever starts Lethe may be niced */

        if (sched_setscheduler(0, SCHED_FIFO, &(struct sched_param){.sched_priority = 1}) == 0)
                escaped("runs with real-time priority");
        if (setpriority(PRIO_PROCESS, 0, given - 10) == 0 && getpriority(PRIO_PROCESS, 0) < given)
                escaped("runs with a better nice value");
        contained("sched_setscheduler");
}
