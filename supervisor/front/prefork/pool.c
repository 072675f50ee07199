/* Runs: supervisor (daemon). Kinds of waiting regions, and the thread that prepares and ends the regions. */
#include "prefork/pool.h"

#include "base/clock.h"
#include "base/lock.h"
#include "base/thread.h"
#include "base/log.h"
#include "prefork/groups.h"
#include "prefork/pool-wishes.h"
#include "request/registry.h"
#include "invoke/pool-region.h"
#include "schema/launch.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#define KINDS_MAX 64
#define FOREIGN_KINDS_MAX 4       /* of one user other than the daemon's own */
/* the least time of an unused foreign kind before a new kind of the same user takes the place */
#define FOREIGN_KEEP_USEC 30000000
#define STACK (256 * 1024)
#define WORKER_BYTES (2ULL << 20) /* the most memory of a waiting region with its guard; sections come on top */
/* and of an interpreter inside, unless its pages are shared with a warm interpreter */
#define INTERPRETER_BYTES (48ULL << 20)
#define AGAIN_USEC 5000000        /* after a failed preparation */
#define LOOK_USEC 1000000
#define QUIET_USEC 5000 /* without a begin or end of an invocation for so long, preparing disturbs no invocation */

typedef struct PoolKind {
        Grant grant;        /* of grant_copy_untold() */
        uid_t client;       /* the owner; 0: the daemon's own user or root */
        bool registered;    /* by the same name and digest, when the kind was made */
        uint64_t want, used_usec, not_before, bytes; /* bytes: of the last region of the kind */
        Run *waiting[POLICY_POOL_MOST]; /* owned; the oldest first */
        uint64_t since[POLICY_POOL_MOST];
        size_t n;
} PoolKind;

struct Pool {
        Store *store;       /* borrowed */
        RunOptions options; /* of prepared regions without an invocation */
        PoolNotes notes;
        pthread_t thread;
        bool running;
        _Atomic uint64_t moved_usec; /* the last begin or end of any invocation */
        pthread_mutex_t lock; /* of the members below */
        pthread_cond_t wake;
        bool stop;
        uint64_t looked_usec; /* the last look at the registry */
        bool looks;         /* the thread will look soon without a signal */
        unsigned turn;      /* of the policy */
        bool preparing, ending; /* the thread does, without the lock */
        unsigned preparing_turn;
        PoolWishes wishes;
        PoolKind *kinds[KINDS_MAX];
        size_t n_kinds;
        Run **over;         /* to be ended by the thread */
        size_t n_over;
        uint64_t held_bytes;
};

static uint64_t pool_bytes(const Run *run) {
        bool own = run->region.spawned.ahead && !run->region.spawned.warm;

        return WORKER_BYTES + (own ? INTERPRETER_BYTES : 0) + run->region.budget.reserved;
}

/* With the lock held. Without memory the region ends here. */
static void pool_give_up(Pool *p, Run *run) {
        if (GROW(p->over, p->n_over))
                p->over[p->n_over++] = run;
        else
                run_prepare_drop(run);
}

/* With the lock held: takes the i-th waiting region out of its kind. */
static Run *pool_pick(Pool *p, PoolKind *k, size_t i) {
        Run *run = k->waiting[i];

        k->n--;
        memmove(&k->waiting[i], &k->waiting[i + 1], (k->n - i) * sizeof(k->waiting[0]));
        memmove(&k->since[i], &k->since[i + 1], (k->n - i) * sizeof(k->since[0]));
        p->held_bytes -= pool_bytes(run);
        return run;
}

static void pool_drop_kind(Pool *p, size_t i) {
        PoolKind *k = p->kinds[i];

        while (k->n > 0)
                pool_give_up(p, pool_pick(p, k, 0));
        grant_deinit(&k->grant);
        free(k);
        p->kinds[i] = p->kinds[--p->n_kinds];
}

/* Discipline multipass watches every call of a region by the one thread that serves the region. */
static bool pool_may_wait(const Grant *g) {
        return g->discipline != DISCIPLINE_MULTIPASS && g->tier != TIER_LANDLOCK && g->n_releases == 0;
}

/* Replaceable: a client's own longest unused kind; for the daemon's user any, foreign first. KINDS_MAX: no kind. */
static size_t pool_kind_to_replace(const Pool *p, uid_t client) {
        uint64_t now = clock_mono_usec();
        size_t oldest = KINDS_MAX;

        for (size_t i = 0; i < p->n_kinds; i++) {
                const PoolKind *k = p->kinds[i];

                if (client ? k->client != client || k->used_usec + FOREIGN_KEEP_USEC > now : false)
                        continue;
                if (oldest == KINDS_MAX || (!client && k->client && !p->kinds[oldest]->client) ||
                    (!(!client && !k->client && p->kinds[oldest]->client) &&
                     k->used_usec < p->kinds[oldest]->used_usec))
                        oldest = i;
        }
        return oldest;
}

/* True when a place is free for a kind of this client. */
static bool pool_make_place(Pool *p, uid_t client) {
        size_t n = 0, at;

        for (size_t i = 0; i < p->n_kinds; i++)
                n += p->kinds[i]->client == client;
        if (p->n_kinds < KINDS_MAX && (!client || n < FOREIGN_KINDS_MAX))
                return true;
        at = pool_kind_to_replace(p, client);
        if (at < KINDS_MAX)
                pool_drop_kind(p, at);
        return at < KINDS_MAX;
}

/* All foreign users share half of the memory; each foreign user may fill the free part of that half. */
static bool pool_has_room(const Pool *p, const PoolKind *k, uint64_t bytes) {
        uint64_t foreign = 0, own = 0, half = p->wishes.policy.memory_bytes / 2;

        for (size_t i = 0; i < p->n_kinds; i++)
                for (size_t j = 0; j < p->kinds[i]->n; j++) {
                        uint64_t n = pool_bytes(p->kinds[i]->waiting[j]);

                        foreign += p->kinds[i]->client ? n : 0;
                        own += p->kinds[i]->client == k->client ? n : 0;
                }
        return p->held_bytes + bytes <= p->wishes.policy.memory_bytes &&
               (!k->client || (foreign + bytes <= half && own + bytes <= half - foreign));
}

static PoolKind *pool_find_kind(const Pool *p, uid_t client, const Grant *g) {
        for (size_t i = 0; i < p->n_kinds; i++)
                if (p->kinds[i]->client == client && grant_same(&p->kinds[i]->grant, g))
                        return p->kinds[i];
        return NULL;
}

static void pool_add_kind(Pool *p, const Grant *g) {
        uint64_t n = pool_may_wait(g) ? pool_wishes_of(&p->wishes, g->skill_name) : 0;
        PoolKind *k;

        if (n == 0 || !pool_make_place(p, g->client) || !(k = calloc(1, sizeof(*k))))
                return;
        if (grant_copy_untold(g, &k->grant) < 0) {
                free(k);
                return;
        }
        k->client = g->client;
        k->registered = registry_has(p->store, g->skill_name, g->skill_digest, false);
        k->want = MIN(n, (uint64_t)POLICY_POOL_MOST);
        k->used_usec = clock_mono_usec();
        p->kinds[p->n_kinds++] = k;
}

/* Arguments and environment have to fit behind a sealed spec. */
static bool pool_spec_fits(const Grant *g) {
        char *const *const lists[] = {g->argv, g->env};
        size_t n = 0;

        for (size_t i = 0; i < ARRAY_SIZE(lists); i++)
                for (char *const *s = lists[i]; s && *s; s++)
                        n += strlen(*s) + 8;
        return n < LAUNCH_WORDS_MAX / 2; /* the spec has PATH twice */
}

/* Fewer than half of the wanted regions: the next invocation may find no region. */
static bool pool_is_urgent(const PoolKind *k) {
        return 2 * k->n < k->want;
}

static Run *pool_take(void *userdata, const Grant *g, unsigned turn) {
        Pool *p = userdata;
        Run *run = NULL;
        PoolKind *k;

        atomic_store(&p->moved_usec, clock_mono_usec());
        if (!pool_spec_fits(g))
                return NULL;
        _cleanup_unlock_ pthread_mutex_t *held = lock_take(&p->lock);
        if (turn != p->turn) /* the new policy may revoke the grant */
                return NULL;
        k = pool_find_kind(p, g->client, g);
        if (k)
                k->used_usec = clock_mono_usec();
        else
                pool_add_kind(p, g);
        while (k && k->n > 0 && !run && run_prepared_fits(k->waiting[0], g)) {
                run = pool_pick(p, k, 0);
                /* A region whose process ended, or that shows a replaced file, serves no invocation. */
                if (!run_prepared_is_usable(run)) {
                        pool_give_up(p, run);
                        run = NULL;
                }
        }
        if (!p->looks || (k && pool_is_urgent(k)))
                pthread_cond_signal(&p->wake);
        p->looks = true; /* only the first invocation signals the thread */
        return run;
}

static void pool_give_back(void *userdata, Run *run) {
        Pool *p = userdata;
        _cleanup_unlock_ pthread_mutex_t *held = lock_take(&p->lock);

        pool_give_up(p, run);
        pthread_cond_signal(&p->wake);
}

/* With the lock held, which is released meanwhile. Returns true when a region was ended. */
static bool pool_end_over(Pool *p) {
        Run **over = TAKE_PTR(p->over);
        size_t n = p->n_over;

        p->n_over = 0;
        if (n == 0) {
                free(over);
                return false;
        }
        p->ending = true;
        pthread_mutex_unlock(&p->lock);
        for (size_t i = 0; i < n; i++)
                run_prepare_drop(over[i]);
        free(over);
        pthread_mutex_lock(&p->lock);
        p->ending = false;
        return true;
}

static void pool_end_idle(Pool *p) {
        uint64_t now = clock_mono_usec(), before = now - MIN(p->wishes.policy.idle_usec, now);

        for (size_t i = p->n_kinds; i-- > 0;) {
                PoolKind *k = p->kinds[i];

                while (k->n > 0 && k->since[0] < before)
                        pool_give_up(p, pool_pick(p, k, 0));
                if (k->used_usec < before)
                        pool_drop_kind(p, i);
        }
}

/* With the lock held, which is released meanwhile: the store may block. Once a second, not for each region. */
static void pool_end_unregistered(Pool *p) {
        if (p->looked_usec + LOOK_USEC > clock_mono_usec())
                return;
        p->looked_usec = clock_mono_usec();
        for (size_t i = 0; i < p->n_kinds; i++) {
                PoolKind *k = p->kinds[i];
                Grant name = {.skill_name = k->registered ? strdup(k->grant.skill_name) : NULL,
                              .skill_digest = k->registered ? strdup(k->grant.skill_digest) : NULL};
                bool is = true;

                if (name.skill_name && name.skill_digest) {
                        pthread_mutex_unlock(&p->lock);
                        is = registry_has(p->store, name.skill_name, name.skill_digest, true);
                        pthread_mutex_lock(&p->lock);
                }
                for (size_t j = p->n_kinds; !is && j-- > 0;)
                        if (p->kinds[j]->registered && strcmp(p->kinds[j]->grant.skill_name, name.skill_name) == 0 &&
                            strcmp(p->kinds[j]->grant.skill_digest, name.skill_digest) == 0)
                                pool_drop_kind(p, j);
                free(name.skill_name);
                free(name.skill_digest);
        }
}

/* A kind short of regions; in a quiet time also an almost complete kind. *ret_missing: a kind exists, and can wait. */
static PoolKind *pool_next_kind(Pool *p, bool *ret_missing) {
        uint64_t now = clock_mono_usec();
        PoolKind *any = NULL, *urgent = NULL;

        *ret_missing = false;
        for (size_t i = 0; i < p->n_kinds; i++) {
                PoolKind *k = p->kinds[i];

                if (k->n >= k->want || k->not_before > now || !pool_has_room(p, k, MAX(k->bytes, WORKER_BYTES)))
                        continue;
                if (pool_is_urgent(k) && !k->client)
                        return k;
                urgent = urgent ?: pool_is_urgent(k) ? k : NULL;
                any = any ?: k;
        }
        if (urgent) /* of a foreign user: after the kinds of the daemon's user */
                return urgent;
        if (any && atomic_load(&p->moved_usec) + QUIET_USEC <= now)
                return any;
        *ret_missing = any;
        return NULL;
}

static int pool_note_groups(void *userdata, const char *region, const char *groups) {
        return pool_notes_add(&((Pool *)userdata)->notes, region, groups);
}

/* With the lock held, which is released meanwhile. */
static void pool_prepare(Pool *p, PoolKind *k) {
        unsigned turn = p->turn;
        uid_t client = k->client;
        Grant own = {}, same = {};
        bool copied = grant_copy_untold(&k->grant, &own) == 0 && grant_copy_untold(&k->grant, &same) == 0;
        Run *run = NULL;
        Diag d = {};

        p->preparing = true;
        p->preparing_turn = turn;
        pthread_mutex_unlock(&p->lock);
        if (copied)
                run = run_prepare(&p->options, p->store, &own, pool_note_groups, p, &d);
        else
                grant_deinit(&own);
        pthread_mutex_lock(&p->lock);
        p->preparing = false;
        k = copied ? pool_find_kind(p, client, &same) : NULL; /* the kind may be gone */
        grant_deinit(&same);
        if (k && run)
                k->bytes = pool_bytes(run);
        if (run && k && turn == p->turn && k->n < k->want && pool_has_room(p, k, pool_bytes(run))) {
                k->waiting[k->n] = run;
                k->since[k->n++] = clock_mono_usec();
                p->held_bytes += pool_bytes(run);
                return;
        }
        if (k)
                k->not_before = clock_mono_usec() + AGAIN_USEC;
        if (run)
                pool_give_up(p, run);
        else
                log_warning("a region cannot be prepared: %s", *d.text ? d.text : strerror(ENOMEM));
}

static void *pool_thread(void *arg) {
        Pool *p = arg;

        pthread_mutex_lock(&p->lock);
        while (!p->stop) {
                struct timespec until;
                PoolKind *k;
                uint64_t at;

                p->looks = true;
                pool_end_idle(p);
                pool_end_unregistered(p);
                if (pool_end_over(p))
                        continue;
                k = pool_next_kind(p, &p->looks);
                if (k) {
                        pool_prepare(p, k);
                        continue;
                }
                at = clock_mono_usec() + (p->looks ? QUIET_USEC : LOOK_USEC);
                until = clock_timespec(at);
                pthread_cond_timedwait(&p->wake, &p->lock, &until);
        }
        while (p->n_kinds > 0)
                pool_drop_kind(p, 0);
        pool_end_over(p);
        pthread_mutex_unlock(&p->lock);
        return NULL;
}

/* With the lock held. A pool without wishes has no thread. */
static int pool_start(Pool *p) {
        sigset_t all, before;
        int e;

        if (p->running || !pool_wishes_any(&p->wishes))
                return 0;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        e = thread_start(&p->thread, STACK, pool_thread, p);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        p->running = e == 0;
        return e;
}

bool pool_is_settled(Pool *p) {
        _cleanup_unlock_ pthread_mutex_t *held = lock_take(&p->lock);

        return p->n_over == 0 && !p->ending && !(p->preparing && p->preparing_turn != p->turn);
}

size_t pool_count(Pool *p) {
        _cleanup_unlock_ pthread_mutex_t *held = lock_take(&p->lock);
        size_t n = 0;

        for (size_t i = 0; i < p->n_kinds; i++)
                n += p->kinds[i]->n;
        return n;
}

void pool_reload(Pool *p, const Policy *policy, unsigned turn) {
        _cleanup_unlock_ pthread_mutex_t *held = lock_take(&p->lock);

        p->turn = turn;
        while (p->n_kinds > 0)
                pool_drop_kind(p, 0);
        if (pool_wishes_take(&p->wishes, policy) < 0 || pool_start(p) < 0)
                pool_wishes_deinit(&p->wishes);
        pthread_cond_signal(&p->wake);
}

int pool_new(Store *store, Spawner *spawner, CgroupPool *groups, const Policy *policy, Pool **ret, Diag *reterr) {
        Pool *p = calloc(1, sizeof(*p));
        pthread_condattr_t attr;
        int e;

        if (!p)
                return -ENOMEM;
        p->store = store;
        p->options = (RunOptions){.spawner = spawner, .groups = groups, .quiet = true};
        pthread_mutex_init(&p->lock, NULL);
        pthread_condattr_init(&attr);
        pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
        pthread_cond_init(&p->wake, &attr);
        pthread_condattr_destroy(&attr);
        e = pool_notes_open(&p->notes, store);
        if (e < 0)
                diag(reterr, e, "the pool's notes cannot be written: %s", strerror(-e));
        if (e == 0)
                e = pool_wishes_take(&p->wishes, policy) ?: pool_start(p);
        if (e < 0)
                pool_free(p);
        else
                *ret = p;
        return e;
}

void pool_free(Pool *p) {
        if (!p)
                return;
        pthread_mutex_lock(&p->lock);
        p->stop = true;
        pthread_cond_signal(&p->wake);
        pthread_mutex_unlock(&p->lock);
        if (p->running)
                pthread_join(p->thread, NULL);
        pool_wishes_deinit(&p->wishes);
        pool_notes_close(&p->notes);
        pthread_cond_destroy(&p->wake);
        pthread_mutex_destroy(&p->lock);
        free(p);
}

static void pool_leave(void *userdata) {
        atomic_store(&((Pool *)userdata)->moved_usec, clock_mono_usec());
}

static void pool_over(void *userdata, const char *region) {
        pool_notes_drop(&((Pool *)userdata)->notes, region);
}

const PreparedSource pool_source = {.take = pool_take, .give_back = pool_give_back, .over = pool_over,
                                    .leave = pool_leave};
