/* Runs: supervisor (daemon). */
#include "base/clock.h"
#include "spawn/spawner-private.h"

#include <errno.h>
#include <string.h>

typedef enum GuardWord { WORD_NONE, WORD_AS_NEW, WORD_OTHER } GuardWord;

void guard_pool_init(GuardPool *i) {
        i->n = 0;
        pthread_mutex_init(&i->lock, NULL);
}

/* Reads the guard's answers: no answer but AS_NEW is valid here. */
static GuardWord guard_pool_hear(Guard *g) {
        GuardAnswer a;
        int k;

        while ((k = guard_answer(g, &a)) > 0)
                if (a.kind != GUARD_AS_NEW || a.error != 0)
                        closep(&g->control); /* an invalid answer: the guard is never taken */
        if (k != -EAGAIN)
                return WORD_OTHER;
        return g->as_new ? WORD_AS_NEW : WORD_NONE;
}

static bool guard_pool_is_blank(const GuardEvidence *e) {
        const GuardEvidence blank = {.version = GUARD_VERSION};

        return memcmp(e, &blank, sizeof(blank)) == 0;
}

/* With the lock held. */
static void guard_pool_pick(GuardPool *i, size_t at, Guard *ret) {
        *ret = i->guards[at];
        i->n--;
        memmove(&i->guards[at], &i->guards[at + 1], (i->n - at) * sizeof(i->guards[0]));
        memmove(&i->since[at], &i->since[at + 1], (i->n - at) * sizeof(i->since[0]));
}

bool guard_pool_take(GuardPool *i, Guard *ret) {
        Guard over[GUARD_POOL_MAX];
        size_t n = 0;
        bool found = false;

        pthread_mutex_lock(&i->lock);
        for (size_t at = i->n; at-- > 0 && !found;) {
                Guard *g = &i->guards[at];
                GuardWord w = guard_pool_hear(g);

                found = w == WORD_AS_NEW && guard_pool_is_blank(g->page);
                if (found)
                        guard_pool_pick(i, at, ret);
                else if (w != WORD_NONE)
                        guard_pool_pick(i, at, &over[n++]);
        }
        pthread_mutex_unlock(&i->lock);
        while (n > 0)
                guard_end(&over[--n]);
        if (found)
                *ret = (Guard){.pid = ret->pid, .pidfd = ret->pidfd, .control = ret->control, .page = ret->page,
                               .spawner = ret->spawner};
        return found;
}

bool guard_pool_keep(GuardPool *i, const Guard *g) {
        bool kept;

        pthread_mutex_lock(&i->lock);
        kept = i->n < GUARD_POOL_MAX;
        if (kept) {
                i->guards[i->n] = *g;
                i->since[i->n++] = clock_mono_usec();
        }
        pthread_mutex_unlock(&i->lock);
        return kept;
}

size_t guard_pool_count_ready(GuardPool *i) {
        size_t n = 0;

        pthread_mutex_lock(&i->lock);
        for (size_t at = 0; at < i->n; at++)
                n += guard_pool_hear(&i->guards[at]) == WORD_AS_NEW && guard_pool_is_blank(i->guards[at].page);
        pthread_mutex_unlock(&i->lock);
        return n;
}

void guard_pool_end(GuardPool *i, uint64_t before) {
        Guard over[GUARD_POOL_MAX];
        size_t n = 0;

        pthread_mutex_lock(&i->lock);
        for (size_t at = i->n; at-- > 0;)
                if (i->since[at] < before || guard_pool_hear(&i->guards[at]) == WORD_OTHER)
                        guard_pool_pick(i, at, &over[n++]);
        pthread_mutex_unlock(&i->lock);
        while (n > 0)
                guard_end(&over[--n]);
}

void guard_pool_deinit(GuardPool *i) {
        guard_pool_end(i, UINT64_MAX);
        pthread_mutex_destroy(&i->lock);
}
