/* Runs: lethe-serve. The waker's thread: when to look at what is due. objects.h has the plan. */
#include "serve/objects.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/thread.h"
#include "perform/perform.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/timerfd.h>

#define STACK (1024 * 1024) /* of address space */
/* A change shows at the write of LMDB's page, a moment before readers see the new state: so a second look follows each
 * look after a change. */
#define AGAIN_USEC 20000
#define BLIND_USEC 1000000 /* between two looks when changes cannot be watched */
#define TIME_MOST (UINT64_C(253402300799) * 1000000) /* the end of the year 9999 */

static void objects_arm(Waker *w) {
        const uint64_t at = MIN(w->due_usec, TIME_MOST);
        struct itimerspec t = {.it_value = {.tv_sec = (time_t)(at / 1000000), .tv_nsec = (long)(at % 1000000 * 1000)}};

        if (w->due_usec == w->armed_usec)
                return;
        w->armed_usec = w->due_usec;
        if (w->due_usec == UINT64_MAX)
                t.it_value = (struct timespec){0};
        else if (at == 0)
                t.it_value.tv_nsec = 1; /* 0 would disarm the timer */
        timerfd_settime(w->timer, TFD_TIMER_ABSTIME, &t, NULL);
}

/* Takes the events of inotify: a sequence of writes is one event. Returns whether there was any. */
static bool objects_take_changes(Waker *w) {
        char events[4096] __attribute__((aligned(__alignof__(struct inotify_event))));

        return w->changes >= 0 && read(w->changes, events, sizeof(events)) > 0;
}

static int objects_msec(uint64_t at, uint64_t now) {
        return at == UINT64_MAX ? -1 : at <= now ? 0 : (int)MIN((at - now + 999) / 1000, (uint64_t)INT_MAX);
}

/* Waits until a look is due. *change: when to look because of a change; UINT64_MAX: none was seen. */
static void objects_wait(Waker *w, uint64_t *change) {
        for (;;) {
                const uint64_t now = clock_mono_usec(), free = MAX(w->looked + w->pace, now),
                               first = MIN(*change, w->retry);
                /* the next look sees all changes before it */
                const bool watches = w->changes >= 0 && *change > free;
                struct pollfd p[] = {{.fd = w->ends, .events = POLLIN},
                                     {.fd = w->wake, .events = POLLIN},
                                     {.fd = w->timer, .events = POLLIN},
                                     {.fd = watches ? w->changes : -1, .events = POLLIN}};
                uint64_t n;

                if (first <= now)
                        return;
                if (poll(p, ARRAY_SIZE(p), objects_msec(first, now)) < 0)
                        continue; /* EINTR */
                if (p[1].revents)
                        eventfd_read(w->wake, &n);
                if (p[2].revents && read(w->timer, &n, sizeof(n)) > 0)
                        w->armed_usec = UINT64_MAX; /* the timer is over */
                if (p[0].revents || p[1].revents || p[2].revents)
                        return;
                if (p[3].revents)
                        *change = MIN(*change, free);
        }
}

bool objects_over(const Waker *w) {
        struct pollfd p = {.fd = w->ends, .events = POLLIN};

        return poll(&p, 1, 0) > 0;
}

/* Objects waiting for a change of the policy are due. */
static void objects_wake_policy(Waker *w) {
        _cleanup_txn_ Txn *t = NULL;
        Diag d = {};
        size_t n = 0;
        int e = store_begin(w->server->store, true, &t, &d)
                        ?: wake_on_key(t, "policy", &n)
                        ?: n > 0 ? store_commit(TAKE_PTR(t), &d) : 0;

        if (e == 0)
                return;
        log_warning("objects that wait for another policy are not woken yet: %s", *d.text ? d.text : store_strerror(e));
        atomic_store(&w->policy, true); /* with the next look */
}

void objects_recover(Server *s) {
        SharedPolicy *p = s->waker ? objects_policy_use(s) : NULL;
        Diag d = {};
        size_t n = 0;
        int e;

        if (!p)
                return;
        e = perform_recover(s->store, p->policy, s->waker->who, &n, &d);
        if (e != 0)
                log_warning("executions of objects whose supervisor died are not settled yet: %s",
                            *d.text ? d.text : store_strerror(e));
        else if (n > 0)
                log_note("%zu execution%s of objects had lost their supervisor and are settled", n, n == 1 ? "" : "s");
        shared_policy_drop(p);
}

static void *objects_work(void *arg) {
        Waker *w = arg;
        uint64_t change = 0;

        pthread_setname_np(pthread_self(), "lethe-waker");
        store_stop_at(w->ends);
        objects_recover(w->server);
        while (!objects_over(w)) {
                bool again = objects_take_changes(w) || change == 0, settled;

                if (atomic_exchange(&w->policy, false))
                        objects_wake_policy(w);
                settled = objects_settle(w);
                while (objects_look(w) && !objects_over(w))
                        ;
                if (!settled || atomic_load(&w->policy))
                        w->retry = MIN(w->retry, w->looked + BLIND_USEC);
                objects_arm(w);
                change = again ? MAX(clock_mono_usec() + AGAIN_USEC, w->looked + w->pace)
                               : w->changes < 0 ? w->looked + BLIND_USEC : UINT64_MAX;
                objects_wait(w, &change);
        }
        store_stop_at(-1);
        log_end_thread();
        return NULL;
}

/* Before the daemon gives up its rights: the filter knows no inotify. */
int objects_watch(Server *s, Diag *reterr) {
        Waker *w = s->options.private_ ? NULL : calloc(1, sizeof(*w));
        char path[PATH_MAX];
        int e;

        if (s->options.private_) /* hosts sessions alone */
                return 0;
        if (!w)
                return -ENOMEM;
        *w = (Waker){.server = s, .changes = -1, .lock = PTHREAD_MUTEX_INITIALIZER, .retry = UINT64_MAX,
                     .armed_usec = UINT64_MAX,
                     .begun = json_array(), .lost = json_array(), .held = json_object(), .waiting = json_object()};
        s->waker = w;
        snprintf(w->who, sizeof(w->who), "uid:%u", (unsigned)getuid());
        w->timer = timerfd_create(CLOCK_REALTIME, TFD_CLOEXEC | TFD_NONBLOCK);
        w->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        w->ends = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        w->begun_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        if (w->timer < 0 || w->wake < 0 || w->ends < 0 || w->begun_fd < 0)
                return -errno;
        if (!w->begun || !w->lost || !w->held || !w->waiting)
                return -ENOMEM;
        snprintf(path, sizeof(path), "%s/data.mdb", s->store_path);
        atomic_init(&w->policy, true); /* a policy may change while no daemon runs */
        w->changes = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
        if (w->changes >= 0 && inotify_add_watch(w->changes, path, IN_MODIFY) < 0)
                closep(&w->changes);
        if (w->changes < 0)
                log_warning("%s cannot be watched (inotify: %s): the daemon looks for woken objects once a second", path,
                            strerror(errno));
        e = sd_event_add_io(s->event, &w->source, w->begun_fd, EPOLLIN, objects_on_begun, w);
        return e < 0 ? e : 0;
}

int objects_start(Server *s) {
        Waker *w = s->waker;
        int e = w ? thread_start(&w->thread, STACK, objects_work, w) : 0;

        if (w)
                w->running = e == 0;
        return e;
}

void objects_policy_changed(Server *s) {
        if (!s->waker)
                return;
        atomic_store(&s->waker->policy, true);
        eventfd_write(s->waker->wake, 1);
}

void objects_stop(Server *s) {
        if (s->waker)
                eventfd_write(s->waker->ends, 1);
}

void objects_end(Server *s) {
        Waker *w = s->waker;

        objects_stop(s);
        if (w && w->running)
                pthread_join(w->thread, NULL);
        if (w)
                w->running = false;
}

void objects_free(Server *s) {
        Waker *w = TAKE_PTR(s->waker);

        if (!w)
                return;
        sd_event_source_disable_unref(w->source);
        closep(&w->changes);
        closep(&w->timer);
        closep(&w->wake);
        closep(&w->ends);
        closep(&w->begun_fd);
        json_decref(w->begun);
        json_decref(w->lost);
        json_decref(w->held);
        json_decref(w->waiting);
        free(w);
}
