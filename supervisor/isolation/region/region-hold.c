/* Runs: supervisor. */
#include "region/region-hold.h"

#include "region/region-proc.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#define STACK_BYTES (UINT64_C(8) << 20)
#define STACK_MOST (UINT64_C(1) << 40) /* the sum of all does not wrap */

/* The kernel makes a stack longer at each fault below it. Where it does not tell the limit, that is its own default. */
uint64_t region_hold_stack(pid_t pid) {
        struct rlimit r;

        return prlimit(pid, RLIMIT_STACK, NULL, &r) < 0 ? STACK_BYTES : MIN((uint64_t)r.rlim_cur, STACK_MOST);
}

/* T was stopped by somebody, t by its tracer; Z and X are dead. */
static void hold_one(pid_t pid, void *arg) {
        RegionHold *h = arg;
        uint64_t letter;

        if (!proc_stat(pid, &letter, 1) || strchr("tTZX", (char)letter))
                return;
        if (h->n == h->room) {
                pid_t *grown = reallocarray(h->v, h->room * 2 + 64, sizeof(*grown));

                if (!grown)
                        return;
                h->v = grown;
                h->room = h->room * 2 + 64;
        }
        if (kill(pid, SIGSTOP) == 0)
                h->v[h->n++] = pid;
}

void region_hold(RegionHold *h, pid_t worker, Guard *guard) {
        h->held = true;
        h->times++;
        h->guard = guard && guard_stand(guard) == 0 ? guard : NULL;
        if (!h->guard && worker > 0)
                proc_tree_each(worker, hold_one, h);
}

void region_hold_stood(RegionHold *h, Guard *guard) {
        if (h->held)
                return;
        h->held = true;
        h->times++;
        h->guard = guard;
}

void region_hold_end(RegionHold *h) {
        if (h->guard)
                guard_walk(h->guard);
        while (h->n > 0)
                kill(h->v[--h->n], SIGCONT);
        region_hold_forget(h);
}

void region_hold_forget(RegionHold *h) {
        free(h->v);
        *h = (RegionHold){.times = h->times};
}
