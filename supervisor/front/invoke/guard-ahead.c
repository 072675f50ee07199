#include "invoke/guard-ahead.h"

#include "base/clock.h"
#include "base/thread.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>

#define STACK (256 * 1024)

enum { TOLD_WORKER = 1, TOLD_STORE = 2, TOLD_STOP = 4 };

/* STATUS_BORN alone is taken, with the descriptors before it; another record is left to the loop. */
static bool take_born(Ahead *a) {
        Spawned *s = &a->run->region.spawned;
        const int e = spawn_take_born(s, &a->scratch);

        a->born = e == 0;
        if (a->born)
                a->scratch = run_scratch(s, a->scratch);
        return e == -EAGAIN || (a->born && a->scratch >= 0);
}

/* False: the thread's work is done. */
static bool guard_ahead_step(Ahead *a) {
        unsigned told = atomic_load(&a->told);
        bool await_born = told & TOLD_WORKER && !a->born;
        struct pollfd p[] = {{.fd = a->wake, .events = POLLIN},
                             {.fd = await_born ? a->run->region.spawned.status : -1, .events = POLLIN}};
        eventfd_t n;

        if (told & TOLD_STOP)
                return false;
        if (a->born && told & TOLD_STORE) {
                a->e = guard_attach(&a->run->region.guard, &a->order, store_dir(a->run->store.db),
                                    a->run->region.spawned.memory, a->scratch, &a->d);
                a->sent = a->e == 0;
                return false;
        }
        if (poll(p, ARRAY_SIZE(p), -1) < 0)
                return errno == EINTR;
        if (p[0].revents)
                eventfd_read(a->wake, &n);
        return !p[1].revents || take_born(a);
}

static void start_guard(Ahead *a) {
        a->e_guard = guard_start(&a->run->region.guard, a->run->options->spawner, &a->d_guard);
        eventfd_write(a->started, 1);
}

static void *ahead(void *arg) {
        Ahead *a = arg;

        start_guard(a);
        while (a->e_guard == 0 && guard_ahead_step(a))
                ;
        return NULL;
}

void ahead_begin(Ahead *a, Run *run) {
        *a = (Ahead){.run = run, .wake = -1, .started = -1, .scratch = -1};
        a->later = run->options->spawner;
        if (run->region.grant->discipline == DISCIPLINE_NONE || a->later)
                return;
        a->wake = eventfd(0, EFD_CLOEXEC);
        a->started = eventfd(0, EFD_CLOEXEC);
        if (a->wake < 0 || a->started < 0) {
                a->e_guard = -errno;
                diag(&a->d_guard, a->e_guard, "eventfd: %s", strerror(errno));
                closep(&a->started); /* no thread will write to it: ahead_guard() must not wait */
                return;
        }
        a->running = thread_start(&a->thread, STACK, ahead, a) == 0;
        if (!a->running) /* the guard starts all the same; the loop does the rest */
                start_guard(a);
}

int ahead_guard(Ahead *a, Diag *reterr) {
        eventfd_t n;

        while (a->started >= 0 && eventfd_read(a->started, &n) < 0 && errno == EINTR)
                ;
        closep(&a->started);
        if (a->e_guard != 0)
                *reterr = a->d_guard;
        return a->e_guard;
}

static void guard_ahead_tell(Ahead *a, unsigned what) {
        if (!a->running)
                return;
        atomic_fetch_or(&a->told, what);
        eventfd_write(a->wake, 1);
}

void ahead_worker(Ahead *a) {
        if (a->later && a->run->region.grant->discipline != DISCIPLINE_NONE)
                a->e_guard = guard_start(&a->run->region.guard, a->run->options->spawner, &a->d_guard);
        if (a->later)
                return;
        run_attach_order(a->run, &a->order);
        guard_ahead_tell(a, TOLD_WORKER);
}

void ahead_store(Ahead *a) {
        guard_ahead_tell(a, TOLD_STORE);
}

void ahead_end(Ahead *a) {
        Diag d = {};
        int e;

        guard_ahead_tell(a, TOLD_STOP);
        if (a->running)
                pthread_join(a->thread, NULL);
        e = ahead_guard(a, &d);
        closep(&a->wake);
        if (e == 0 && (e = a->e) != 0)
                d = a->d;
        if (a->sent)
                a->run->start.attach_deadline = clock_mono_usec() + RUN_ATTACH_USEC_MAX;
        if (a->born)
                run_born(a->run, a->scratch, a->sent || e != 0);
        if (e != 0)
                region_end(&a->run->region, OUTCOME_SETUP_FAILED, EXIT_OURS, "%s",
                           *d.text ? d.text : strerror(e < 0 ? -e : EPIPE));
}
