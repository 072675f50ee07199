#include "spawn/cache.h"

#include "base/clock.h"
#include "base/lock.h"
#include "spawn/find.h"

#include <string.h>
#include <sys/stat.h>

#define FILTERS_MAX 8
#define SETTLED_USEC 1000000 /* a folder that changed just now may change again with an equal time stamp */

typedef struct SpawnCacheFilter {
        FilterInput in;
        struct sock_filter *program;
        size_t n;
} SpawnCacheFilter;

struct SpawnCache {
        pthread_mutex_t lock;
        bool probed;
        Probe probe;
        struct stat root, etc;  /* these folders at the time of `probe` */
        char *shims;
        struct stat shims_folder;
        SpawnCacheFilter filters[FILTERS_MAX];
        size_t n_filters, next_filter;
};

SpawnCache *spawn_cache_new(void) {
        SpawnCache *k = calloc(1, sizeof(*k));

        if (k)
                pthread_mutex_init(&k->lock, NULL);
        return k;
}

void spawn_cache_free(SpawnCache *k) {
        if (!k)
                return;
        for (size_t i = 0; i < k->n_filters; i++)
                free(k->filters[i].program);
        free(k->shims);
        pthread_mutex_destroy(&k->lock);
        free(k);
}

/* No name in the folder was made, removed or renamed in between. */
static bool cache_is_unchanged(const struct stat *a, const struct stat *b) {
        return a->st_dev == b->st_dev && a->st_ino == b->st_ino &&
               memcmp(&a->st_mtim, &b->st_mtim, sizeof(a->st_mtim)) == 0 &&
               memcmp(&a->st_ctim, &b->st_ctim, sizeof(a->st_ctim)) == 0;
}

static bool cache_is_settled(const struct stat *st) {
        uint64_t changed = (uint64_t)st->st_ctim.tv_sec * 1000000 + (uint64_t)st->st_ctim.tv_nsec / 1000;

        return changed + SETTLED_USEC < clock_real_usec();
}

void spawn_cache_probe(SpawnCache *k, Probe *ret) {
        struct stat root, etc;
        bool known;

        if (!k || stat("/", &root) < 0 || stat("/etc", &etc) < 0) {
                probe_quick(ret);
                return;
        }
        pthread_mutex_lock(&k->lock);
        known = k->probed && cache_is_unchanged(&k->root, &root) && cache_is_unchanged(&k->etc, &etc);
        if (known)
                *ret = k->probe;
        pthread_mutex_unlock(&k->lock);
        if (known) {
                ret->userns_denied = probe_userns(ret->root);
                return;
        }
        probe_quick(ret);
        if (!cache_is_settled(&root) || !cache_is_settled(&etc))
                return;
        pthread_mutex_lock(&k->lock);
        k->probe = *ret;
        k->root = root;
        k->etc = etc;
        k->probed = true;
        pthread_mutex_unlock(&k->lock);
}

char *spawn_cache_shims(SpawnCache *k) {
        char *path = NULL;
        struct stat st;

        if (!k)
                return find_shims();
        pthread_mutex_lock(&k->lock);
        if (k->shims && stat(k->shims, &st) == 0 && st.st_dev == k->shims_folder.st_dev &&
            st.st_ino == k->shims_folder.st_ino)
                path = strdup(k->shims);
        else {
                free(k->shims);
                k->shims = find_shims();
                if (k->shims && stat(k->shims, &k->shims_folder) == 0)
                        path = strdup(k->shims);
        }
        pthread_mutex_unlock(&k->lock);
        return path;
}

static bool cache_copy_filter(const SpawnCacheFilter *f, struct sock_filter **ret, size_t *ret_n) {
        struct sock_filter *copy = malloc(f->n * sizeof(*copy));

        if (!copy)
                return false;
        memcpy(copy, f->program, f->n * sizeof(*copy));
        *ret = copy;
        *ret_n = f->n;
        return true;
}

static bool cache_find_filter(SpawnCache *k, const FilterInput *in, struct sock_filter **ret, size_t *ret_n) {
        _cleanup_unlock_ pthread_mutex_t *held = lock_take(&k->lock);

        for (size_t i = 0; i < k->n_filters; i++)
                if (memcmp(&k->filters[i].in, in, sizeof(*in)) == 0)
                        return cache_copy_filter(&k->filters[i], ret, ret_n);
        return false;
}

int spawn_cache_filter(SpawnCache *k, const FilterInput *in, const char *store, struct sock_filter **ret,
                       size_t *ret_n) {
        SpawnCacheFilter f = {.in = *in}, *place;
        int e;

        if (k && cache_find_filter(k, in, ret, ret_n))
                return 0;
        e = filter_cached(in, store, ret, ret_n);
        if (e < 0 || !k ||
            !cache_copy_filter(&(const SpawnCacheFilter){.program = *ret, .n = *ret_n}, &f.program, &f.n))
                return e;
        pthread_mutex_lock(&k->lock);
        place = &k->filters[k->next_filter++ % FILTERS_MAX];
        free(place->program);
        *place = f;
        k->n_filters = MIN(k->next_filter, (size_t)FILTERS_MAX);
        pthread_mutex_unlock(&k->lock);
        return 0;
}
