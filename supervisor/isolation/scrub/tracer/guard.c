/* Shared by the files of the guard: time, counters, priority, and the answers to the supervisor. */
#include "scrub/tracer/state.h"

#include <sched.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>

uint64_t now_usec(void) {
        struct timespec t;

        clock_gettime(CLOCK_MONOTONIC, &t);
        return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

void count_wiped(Tracer *g, const WipeCount *c, GuardMissed denied) {
        GuardEvidence *v = g->evidence;

        v->bytes_held += c->overwritten + c->denied + c->mismatched;
        v->bytes_overwritten += c->overwritten;
        v->bytes_verified += c->overwritten;
        v->bytes_missed[denied] += c->denied;
        v->bytes_missed[GUARD_MISSED_VERIFY] += c->mismatched;
}

void count_missed(Tracer *g, GuardMissed why, uint64_t bytes) {
        g->evidence->bytes_held += bytes;
        g->evidence->bytes_missed[why] += bytes;
}

/* Dying tasks would take the processor from the guard, and the rest would wait: the priority of
 * main_set_up_process() counts only within a session where the kernel groups tasks by session. Only root may. */
void hurry(Tracer *g, bool on) {
        const struct sched_param p = {.sched_priority = on};

        if (g->hurries != on && syscall(SYS_sched_setscheduler, 0, on ? SCHED_FIFO : SCHED_OTHER, &p) == 0)
                g->hurries = on;
}

void guard_begin(Tracer *g) {
        g->run = g->spec = g->scratch = -1;
        g->ending_tail = &g->ending;
}

void guard_lose(Tracer *g) {
        shutdown(g->control, SHUT_RDWR);
}

void guard_tell(Tracer *g, GuardKind kind, int error, int code) {
        const GuardAnswer a = {.version = GUARD_VERSION, .kind = kind, .error = error, .code = code};

        int n;

        /* A dead listener is noticed by the end of the socket. */
        do
                n = (int)send(g->control, &a, sizeof(a), MSG_NOSIGNAL);
        while (n < 0 && errno == EINTR);
        if (n < 0 && errno != EPIPE && errno != ECONNRESET)
                guard_lose(g);
}
