/* Runs: lethe-serve. The policy's schedule (M-67): a thread waits for the next due work, and works in short turns
 * (perform/upkeep.h). The end of the daemon cancels the region of a routine. */
#include "serve/serve.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/thread.h"
#include "perform/upkeep.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>

#define STACK (1024 * 1024)     /* of address space */
#define LOOK_USEC 60000000      /* the clock of the day may jump */
#define AFTER_STORE_USEC 60000000 /* after the store failed as a whole */

struct Schedule {
        Server *server;
        pthread_t thread;
        bool running;
        atomic_bool over;
        int wake, cancel; /* eventfd: look again; end the region of a routine */
        char who[32];
        json_t *failed;   /* the thread's own, as of upkeep_run() */
};

static bool schedule_over(void *userdata) {
        Schedule *c = userdata;

        return atomic_load(&c->over);
}

static bool schedule_ordered(void *userdata, struct signalfd_siginfo *ret) {
        *ret = (struct signalfd_siginfo){.ssi_signo = schedule_over(userdata) ? SIGTERM : 0};
        return ret->ssi_signo != 0;
}

static void schedule_tell(const json_t *report) {
        const json_t *failed = json_object_get(report, "failed");
        size_t i;
        json_t *o;

        json_array_foreach(failed, i, o)
                log_warning("schedule: %s%s%s: %s", json_str(o, "what"),
                            json_object_get(o, "scope") ? " of scope " : "", json_str(o, "scope"),
                            json_str(o, "message"));
}

/* Returns the time of the next work, CLOCK_REALTIME usec; UINT64_MAX: none by this policy. */
static uint64_t schedule_work(Schedule *c) {
        Server *s = c->server;
        SharedPolicy *p = objects_policy_use(s);
        Upkeep u = {.store = s->store, .policy = p->policy, .who = c->who,
                    .advise = {.spawner = s->spawner, .signals = c->cancel, .ordered = schedule_ordered,
                               .ordered_data = c}};
        _cleanup_json_ json_t *report = NULL;
        uint64_t next = UINT64_MAX;
        Diag d = {};
        int e = upkeep_run(&u, c->failed, schedule_over, c, &next, &report, &d);

        shared_policy_drop(p);
        schedule_tell(report);
        if (e == 0 || schedule_over(c))
                return next;
        log_error("the schedule waits: %s", *d.text ? d.text : strerror(e < 0 ? -e : EIO));
        return clock_real_usec() + AFTER_STORE_USEC;
}

static void *schedule_thread(void *arg) {
        Schedule *c = arg;
        uint64_t next = 0, n;

        pthread_setname_np(pthread_self(), "lethe-schedule");
        while (!schedule_over(c)) {
                struct pollfd p = {.fd = c->wake, .events = POLLIN};
                const uint64_t now = clock_real_usec();
                uint64_t wait = next > now ? MIN(next - now, (uint64_t)LOOK_USEC) : 0;

                if (wait > 0 && poll(&p, 1, next == UINT64_MAX ? -1 : (int)((wait + 999) / 1000)) >= 0 && p.revents) {
                        eventfd_read(c->wake, &n); /* another policy, or the end */
                        next = 0;
                        continue;
                }
                if (clock_real_usec() >= next)
                        next = schedule_work(c);
        }
        log_end_thread();
        return NULL;
}

int schedule_start(Server *s) {
        Schedule *c = s->options.private_ ? NULL : calloc(1, sizeof(*c));
        int e;

        if (s->options.private_) /* hosts sessions alone */
                return 0;
        if (!c)
                return -ENOMEM;
        *c = (Schedule){.server = s, .wake = -1, .cancel = -1, .failed = json_object()};
        s->schedule = c;
        snprintf(c->who, sizeof(c->who), "uid:%u", (unsigned)getuid());
        c->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        c->cancel = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        if (c->wake < 0 || c->cancel < 0)
                return -errno;
        e = c->failed ? thread_start(&c->thread, STACK, schedule_thread, c) : -ENOMEM;
        c->running = e == 0;
        return e;
}

void schedule_policy_changed(Server *s) {
        if (s->schedule)
                eventfd_write(s->schedule->wake, 1);
}

void schedule_stop(Server *s) {
        if (!s->schedule)
                return;
        atomic_store(&s->schedule->over, true);
        eventfd_write(s->schedule->wake, 1);
        eventfd_write(s->schedule->cancel, 1);
}

void schedule_end(Server *s) {
        Schedule *c = s->schedule;

        schedule_stop(s);
        if (c && c->running)
                pthread_join(c->thread, NULL);
        if (c)
                c->running = false;
}

void schedule_free(Server *s) {
        Schedule *c = TAKE_PTR(s->schedule);

        if (!c)
                return;
        closep(&c->wake);
        closep(&c->cancel);
        json_decref(c->failed);
        free(c);
}
