/* Processes of a region that can take more memory than its budget without a call are stopped by their guard, when the machine has given out so much that it can
 * be theirs. The supervisor, which has looked at all of them, has had its turns of the processor, and would be late. */
#include "scrub/tracer/state.h"

#include "base/machine.h"

#include <sched.h>

/* The guard and the supervisor find a processor free at once, and the region is slower by one. New tasks have the mask of their parents. */
static void watch_spare(Guard *g, bool spare) {
        cpu_set_t set;
        int last = CPU_SETSIZE - 1;

        if (!spare && !g->spares)
                return;
        g->spares = spare;
        if (sched_getaffinity(0, sizeof(set), &set) < 0 || CPU_COUNT(&set) < 2)
                return;
        while (!CPU_ISSET(last, &set))
                last--;
        if (spare)
                CPU_CLR(last, &set);
        for (size_t i = 0; i < BUCKETS; i++)
                for (const Task *t = g->buckets[i]; t; t = t->next)
                        sched_setaffinity(t->pid, sizeof(set), &set);
}

void watch_start(Guard *g, const GuardOrder *o) {
        watch_spare(g, o->flags & GUARD_SPARE);
        g->watch = (Watch){.machine = o->machine, .growth = o->growth, .usec = o->watch_usec, .due_usec = now_usec() + o->watch_usec};
}

uint64_t watch_step(Guard *g) {
        Watch *w = &g->watch;
        uint64_t now, machine;

        if (w->growth == 0 || g->stands || g->frozen)
                return WATCH_NOTHING;
        now = now_usec();
        if (now < w->due_usec)
                return w->due_usec - now;
        machine = machine_given();
        if (machine > 0 && machine < w->machine)
                w->machine = machine;
        w->due_usec = now + w->usec;
        if (machine < w->machine + w->growth)
                return w->usec;
        w->growth = 0;
        pause_stand(g);
        order_tell(g, GUARD_STOOD, 0, 0);
        return WATCH_NOTHING;
}
