// A real-time or better priority starves the supervisor.
#include "attack.h"

#include <sched.h>
#include <sys/resource.h>

int main(void) {
        if (sched_setscheduler(0, SCHED_FIFO, &(struct sched_param){.sched_priority = 1}) == 0)
                escaped("runs with real-time priority");
        if (setpriority(PRIO_PROCESS, 0, -10) == 0)
                escaped("runs with a better nice value");
        contained("sched_setscheduler");
}
