#include "spawn/spawner.h"

#include "base/clock.h"
#include "base/lock.h"
#include "base/thread.h"
#include "schema/limits.h"
#include "spawn/cache.h"
#include "spawn/helper.h"
#include "spawn/launcher.h"
#include "spawn/probe.h"
#include "spawn/spawner-private.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>

#define STACK (128 * 1024)
#define TEMPLATES_MAX 8
#define TEMPLATE_REGIONS_MAX 64        /* alive at once, of one template */
#define SEEN_MAX 64                    /* views that came once */
#define TEMPLATE_IDLE_USEC 60000000ULL
#define LOOK_SEC 20                    /* interval of the look for idle templates and guards */

bool spawner_eager;

typedef struct Template {
        uint8_t view[VIEW_BYTES];
        Zygote zygote;
        unsigned users;    /* regions of the template, and regions that ask now: all would end with the template */
        uint64_t used_usec;
        bool doomed;       /* no further region may ask */
        struct Template *next; /* in the list `left` */
} Template;

struct Spawner {
        Zygote worker, guard, spare_worker, spare_guard; /* a spare takes the place of a dead zygote */
        SpawnCache *kept;           /* owned; NULL: out of memory */
        const TemplateGroups *groups; /* borrowed; NULL: none */
        GuardPool idle;
        pthread_t keeper;
        pthread_mutex_t lock; /* of all members below */
        pthread_cond_t done;
        int wake; /* eventfd of the keeper */
        bool stop;
        unsigned restart, restarted; /* requested turns; finished turns */
        int started;          /* result of the last turn */
        Diag why;
        Template *templates[TEMPLATES_MAX]; /* owned */
        Template *left;       /* owned: doomed, and with living regions */
        Binder binder;
        uint8_t seen[SEEN_MAX][VIEW_BYTES];
        size_t next_seen;
        /* none for a program that is not beside lethe; a spare takes the place of a dead launcher */
        Launcher launchers[SPAWNER_PROGRAMS], spare_launchers[SPAWNER_PROGRAMS];
        bool making;          /* a thread makes a template */
        bool ending;          /* templates outside of the lists are not yet ended */
        unsigned regions_most; /* of one template */
        unsigned turn, making_turn; /* number of spawner_forget() calls: now; at the start of making */
        uint8_t failed[VIEW_BYTES]; /* the last view whose template could not be made */
        uint64_t not_before;        /* no new try before */
};

static void spawner_free_template(Template *t) {
        zygote_end(&t->zygote);
        pthread_mutex_destroy(&t->zygote.lock);
        free(t);
}

/* With the lock held. */
static void spawner_leave_template(Spawner *s, Template **place) {
        Template *t = *place;

        *place = NULL;
        t->doomed = true;
        t->next = s->left;
        s->left = t;
}

/* With the lock, released meanwhile. Ends templates without a region, doomed or idle since `before`; or all. */
static void spawner_end_templates(Spawner *s, uint64_t before, bool all) {
        Template *over = NULL;

        for (size_t i = 0; i < TEMPLATES_MAX; i++) {
                Template *t = s->templates[i];

                if (t && (all || t->doomed || (t->users == 0 && t->used_usec < before)))
                        spawner_leave_template(s, &s->templates[i]);
        }
        for (Template **at = &s->left; *at;) {
                Template *t = *at;

                if (t->users > 0 && !all) {
                        at = &t->next;
                        continue;
                }
                *at = t->next;
                t->next = over;
                over = t;
        }
        if (!over)
                return;
        s->ending = true;
        pthread_mutex_unlock(&s->lock);
        while (over) {
                Template *t = over;

                over = t->next;
                spawner_free_template(t);
        }
        pthread_mutex_lock(&s->lock);
        s->ending = false;
}

/* Reaps a dead zygote. The spare takes over, and the zygote makes the next spare. start: without a spare a zygote is
 * executed. Returns 0, or as zygote_start(). */
static int spawner_start_one(Zygote *n, Zygote *spare, const char *name, bool start, Diag *reterr) {
        int e = 0;

        if (!zygote_look(n)) {
                zygote_end(n);
                zygote_reap_strays();
                if (zygote_look(spare))
                        zygote_move(n, spare);
                else if (start)
                        e = zygote_start(n, name, reterr);
        }
        if (e == 0 && zygote_is_there(n) && !zygote_look(spare)) {
                zygote_end(spare);
                zygote_start_again(n, spare); /* without a spare: the next look tries again */
        }
        return e;
}

static int spawner_start_missing(Spawner *s, bool start, Diag *reterr) {
        int e = spawner_start_one(&s->worker, &s->spare_worker, "lethe-worker", start, reterr);

        return e ?: spawner_start_one(&s->guard, &s->spare_guard, "lethe-guard", start, reterr);
}

static void spawner_wake(Spawner *s) {
        eventfd_write(s->wake, 1);
}

/* Until spawner_wake(), the end of a zygote, or the time of the next look. */
static void spawner_wait(Spawner *s) {
        struct pollfd p[] = {{.fd = s->wake, .events = POLLIN}, {.fd = zygote_socket(&s->worker)},
                             {.fd = zygote_socket(&s->guard)}, {.fd = zygote_socket(&s->spare_worker)},
                             {.fd = zygote_socket(&s->spare_guard)}};
        eventfd_t n;

        if (poll(p, ARRAY_SIZE(p), LOOK_SEC * 1000) > 0 && p[0].revents)
                eventfd_read(s->wake, &n);
}

static const char *const spawner_programs[] = {[SPAWNER_PROXY] = "lethe-proxy", [SPAWNER_ROUTES] = "lethe-routes", [SPAWNER_LAYER] = "lethe-layer"};

/* The parent of all zygotes: this thread lives as long as the Spawner, and does no other work. */
static void *spawner_keeper(void *arg) {
        Spawner *s = arg;

        for (size_t i = 0; i < SPAWNER_PROGRAMS; i++)
                if (launcher_start(spawner_programs[i], &s->launchers[i]) == 0)
                        launcher_start_again(&s->launchers[i], &s->spare_launchers[i]);
        pthread_mutex_lock(&s->lock);
        while (!s->stop) {
                if (s->restart != s->restarted) {
                        unsigned turn = s->restart;
                        Diag d = {};
                        int e;

                        pthread_mutex_unlock(&s->lock);
                        e = spawner_start_missing(s, true, &d);
                        pthread_mutex_lock(&s->lock);
                        s->started = e;
                        s->why = d;
                        s->restarted = turn;
                        pthread_cond_broadcast(&s->done);
                        continue;
                }
                spawner_end_templates(s, clock_mono_usec() - MIN(TEMPLATE_IDLE_USEC, clock_mono_usec()), false);
                pthread_mutex_unlock(&s->lock);
                spawner_start_missing(s, false, &(Diag){});
                guard_pool_end(&s->idle, clock_mono_usec() - MIN(TEMPLATE_IDLE_USEC, clock_mono_usec()));
                pthread_mutex_lock(&s->lock);
                if (s->stop || s->restart != s->restarted)
                        continue;
                pthread_mutex_unlock(&s->lock);
                spawner_wait(s);
                pthread_mutex_lock(&s->lock);
        }
        spawner_end_templates(s, 0, true);
        pthread_mutex_unlock(&s->lock);
        binder_deinit(&s->binder);
        for (size_t i = 0; i < SPAWNER_PROGRAMS; i++) {
                launcher_end(&s->spare_launchers[i]); /* the launcher waits for the spare */
                launcher_end(&s->launchers[i]);
        }
        zygote_end(&s->spare_worker);
        zygote_end(&s->spare_guard);
        zygote_end(&s->worker);
        zygote_end(&s->guard);
        zygote_reap_strays(); /* of a zygote that died after the last look */
        return NULL;
}

/* Makes the keeper start missing zygotes. Returns the keeper's result. */
static int spawner_restart(Spawner *s, Diag *reterr) {
        _cleanup_unlock_ pthread_mutex_t *held = lock_take(&s->lock);
        const unsigned turn = ++s->restart;

        spawner_wake(s);
        while ((int)(s->restarted - turn) < 0)
                pthread_cond_wait(&s->done, &s->lock);
        if (reterr)
                *reterr = s->why;
        return s->started;
}

static int spawner_start_keeper(Spawner *s) {
        sigset_t all, before;
        int e;

        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        e = thread_start(&s->keeper, STACK, spawner_keeper, s);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        return e;
}

/* All regions of a template share one host user. The kernel counts inotify instances for the owner of each namespace
 * above, too, and the template's namespace is above all its regions. So a template has only as many regions as can
 * reach their own limit together. A supervisor without root has one user for all templates. */
static unsigned spawner_regions_most(void) {
        const uint64_t n = probe_user_limit("max_inotify_instances") / REGION_INOTIFY_INSTANCES;

        return geteuid() != 0 ? TEMPLATE_REGIONS_MAX
                              : (unsigned)MIN(MAX(n, (uint64_t)1), (uint64_t)TEMPLATE_REGIONS_MAX);
}

int spawner_new(Spawner **ret, Diag *reterr) {
        Spawner *s = calloc(1, sizeof(*s));
        int e;

        if (!s || (s->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) < 0) {
                e = s ? -errno : -ENOMEM;
                free(s);
                return e;
        }
        s->regions_most = spawner_regions_most();
        for (size_t i = 0; i < SPAWNER_PROGRAMS; i++)
                s->launchers[i] = s->spare_launchers[i] = LAUNCHER_NULL;
        s->kept = spawn_cache_new();
        zygote_init(&s->worker);
        zygote_init(&s->guard);
        zygote_init(&s->spare_worker);
        zygote_init(&s->spare_guard);
        guard_pool_init(&s->idle);
        binder_init(&s->binder);
        pthread_mutex_init(&s->lock, NULL);
        pthread_cond_init(&s->done, NULL);
        e = spawner_start_keeper(s);
        if (e < 0) {
                spawn_cache_free(s->kept);
                close(s->wake);
                free(s);
                return e;
        }
        e = spawner_restart(s, reterr);
        if (e != 0)
                spawner_free(s);
        else
                *ret = s;
        return e;
}

int spawner_launch(Spawner *s, SpawnerProgram program, int channel) {
        _cleanup_unlock_ pthread_mutex_t *held = lock_take(&s->lock);
        Launcher *l = &s->launchers[program], *spare = &s->spare_launchers[program];

        if (!launcher_is_there(l) && launcher_is_there(spare)) {
                launcher_end(l);
                *l = *spare;
                *spare = LAUNCHER_NULL;
        }
        if (launcher_is_there(l) && !launcher_is_there(spare)) {
                launcher_end(spare);
                launcher_start_again(l, spare);
        }
        return launcher_ask(l, channel);
}

SpawnCache *spawner_kept(Spawner *s) {
        return s ? s->kept : NULL;
}

bool spawner_works(Spawner *s) {
        return (zygote_is_there(&s->spare_worker) || zygote_is_there(&s->worker)) &&
               (zygote_is_there(&s->spare_guard) || zygote_is_there(&s->guard));
}

void spawner_group_templates(Spawner *s, const TemplateGroups *groups) {
        s->groups = groups;
}

const TemplateGroups *spawner_groups(Spawner *s) {
        return s->groups;
}

void spawner_forget(Spawner *s) {
        _cleanup_unlock_ pthread_mutex_t *held = lock_take(&s->lock);

        s->turn++;
        for (size_t i = 0; i < TEMPLATES_MAX; i++)
                if (s->templates[i])
                        s->templates[i]->doomed = true;
        spawner_wake(s);
}

bool spawner_has_forgotten(Spawner *s) {
        _cleanup_unlock_ pthread_mutex_t *held = lock_take(&s->lock);
        bool has = !s->ending && !(s->making && s->making_turn != s->turn);

        for (size_t i = 0; i < TEMPLATES_MAX; i++)
                has &= !s->templates[i] || !s->templates[i]->doomed || s->templates[i]->users > 0;
        for (const Template *t = s->left; t; t = t->next)
                has &= t->users > 0; /* of a running region: no further region comes from the template */
        return has;
}

void spawner_free(Spawner *s) {
        if (!s)
                return;
        pthread_mutex_lock(&s->lock);
        s->stop = true;
        spawner_wake(s);
        pthread_mutex_unlock(&s->lock);
        pthread_join(s->keeper, NULL);
        guard_pool_deinit(&s->idle);
        pthread_cond_destroy(&s->done);
        close(s->wake);
        pthread_mutex_destroy(&s->lock);
        pthread_mutex_destroy(&s->worker.lock);
        pthread_mutex_destroy(&s->guard.lock);
        pthread_mutex_destroy(&s->spare_worker.lock);
        pthread_mutex_destroy(&s->spare_guard.lock);
        spawn_cache_free(s->kept);
        free(s);
}

static int spawner_child(Spawner *s, Zygote *n, uint64_t flags, const int *fds, size_t n_fds, pid_t *ret_pid,
                         int *ret_fd) {
        int e = zygote_child(n, flags, fds, n_fds, ret_pid, ret_fd);

        if (e == ZYGOTE_E_GONE && spawner_restart(s, NULL) == 0)
                e = zygote_child(n, flags, fds, n_fds, ret_pid, ret_fd);
        return e;
}

int spawner_worker(Spawner *s, uint64_t flags, const int *fds, size_t n_fds, pid_t *ret_pid, int *ret_pidfd) {
        return spawner_child(s, &s->worker, flags, fds, n_fds, ret_pid, ret_pidfd);
}

int spawner_guard(Spawner *s, const int *fds, size_t n_fds, pid_t *ret_pid, int *ret_pidfd) {
        return spawner_child(s, &s->guard, 0, fds, n_fds, ret_pid, ret_pidfd);
}

GuardPool *spawner_guards(Spawner *s) {
        return &s->idle;
}

size_t spawner_ready_guards(Spawner *s) {
        return guard_pool_count_ready(&s->idle);
}

/* A view that comes for the first time may never come again. */
static bool spawner_came_before(Spawner *s, const uint8_t view[static VIEW_BYTES]) {
        for (size_t i = 0; i < SEEN_MAX; i++)
                if (memcmp(s->seen[i], view, VIEW_BYTES) == 0)
                        return true;
        memcpy(s->seen[s->next_seen++ % SEEN_MAX], view, VIEW_BYTES);
        return false;
}

Zygote *spawner_take(Spawner *s, const uint8_t view[static VIEW_BYTES], bool *ret_wanted) {
        _cleanup_unlock_ pthread_mutex_t *held = lock_take(&s->lock);
        bool failed;

        *ret_wanted = false;
        for (size_t i = 0; i < TEMPLATES_MAX; i++) {
                Template *t = s->templates[i];

                if (!t || t->doomed || t->users >= s->regions_most || memcmp(t->view, view, VIEW_BYTES) != 0)
                        continue;
                t->users++;
                t->used_usec = clock_mono_usec();
                return &t->zygote;
        }
        failed = memcmp(s->failed, view, VIEW_BYTES) == 0 && clock_mono_usec() < s->not_before;
        if (!s->making && !failed && (spawner_came_before(s, view) || spawner_eager)) {
                s->making = *ret_wanted = true;
                s->making_turn = s->turn;
        }
        return NULL;
}

static Template *spawner_template_of(Zygote *n) {
        return (Template *)(void *)((char *)n - offsetof(Template, zygote));
}

void spawner_give_back(Spawner *s, Zygote *n) {
        Template *t = spawner_template_of(n);

        pthread_mutex_lock(&s->lock);
        t->users--;
        if (t->doomed && t->users == 0)
                spawner_wake(s);
        pthread_mutex_unlock(&s->lock);
}

void spawner_doom(Spawner *s, Zygote *n) {
        pthread_mutex_lock(&s->lock);
        spawner_template_of(n)->doomed = true;
        pthread_mutex_unlock(&s->lock);
}

int spawner_bind(Spawner *s, const Probe *probe, const char *source, bool write) {
        return binder_mount(&s->binder, s, probe, source, write);
}

Zygote *spawner_any_template(Spawner *s) {
        _cleanup_unlock_ pthread_mutex_t *held = lock_take(&s->lock);

        for (size_t i = TEMPLATES_MAX; i-- > 0;)
                if (s->templates[i])
                        return &s->templates[i]->zygote;
        return NULL;
}

/* With the lock held: puts a template into a free place, or into the place of the longest unused template. */
static void spawner_put_template(Spawner *s, Template *new) {
        Template **at = &s->templates[0];

        for (size_t i = 0; i < TEMPLATES_MAX && *at; i++)
                if (!s->templates[i] || s->templates[i]->used_usec < (*at)->used_usec)
                        at = &s->templates[i];
        if (*at)
                spawner_leave_template(s, at);
        *at = new;
}

void spawner_made(Spawner *s, const uint8_t view[static VIEW_BYTES], const Zygote *made) {
        Template *t = made ? calloc(1, sizeof(*t)) : NULL;

        if (t) {
                t->zygote = *made;
                pthread_mutex_init(&t->zygote.lock, NULL);
                memcpy(t->view, view, VIEW_BYTES);
                t->used_usec = clock_mono_usec();
        } else if (made) {
                Zygote lost = *made;

                zygote_end(&lost);
        }
        pthread_mutex_lock(&s->lock);
        s->making = false;
        if (t && s->making_turn != s->turn) { /* the view may have changed meanwhile */
                t->doomed = true;
                spawner_wake(s);
        }
        if (!t) {
                memcpy(s->failed, view, VIEW_BYTES);
                s->not_before = clock_mono_usec() + TEMPLATE_IDLE_USEC;
        }
        if (t)
                spawner_put_template(s, t);
        spawner_wake(s); /* a replaced template may have to end */
        pthread_mutex_unlock(&s->lock);
}
