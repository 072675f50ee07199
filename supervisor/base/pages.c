#include "base/pages.h"

#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

/* The header of an LMDB page: the first 8 bytes link unused pages, and stay; the rest is written anew each time a page
 * is taken into use. The mark tells an unused and overwritten page. */
#define PAGES_LINK 8
#define PAGES_UNUSED UINT64_C(0xfffffffffffffffe)
#define PAGES_MARK UINT64_C(0x6c657468652d7067)

typedef struct Tail {
        uint64_t mark, index;
} Tail;

static_assert(sizeof(Tail) == PAGES_TAIL, "what heap.c adds holds it");

_Thread_local volatile int pages_depth;

static struct {
        pthread_mutex_t lock;
        unsigned open; /* write transactions */
        char **v;      /* mapped with mmap(): the heap calls this file */
        size_t n, room;
} pages = {.lock = PTHREAD_MUTEX_INITIALIZER};

static Tail *pages_tail(char *p) {
        return (Tail *)(void *)(p + PAGES_BYTES);
}

/* Returns false without memory: the page then stays unchanged until LMDB gives it back. */
static bool pages_grow(void) {
        size_t room = pages.room ? pages.room * 2 : 512;
        char **v = mmap(NULL, room * sizeof(*v), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        if (v == MAP_FAILED)
                return false;
        if (pages.n > 0)
                memcpy(v, pages.v, pages.n * sizeof(*v));
        if (pages.v)
                munmap(pages.v, pages.room * sizeof(*v));
        pages.v = v;
        pages.room = room;
        return true;
}

void pages_note(void *p) {
        Tail *t = pages_tail(p);

        *t = (Tail){0};
        pthread_mutex_lock(&pages.lock);
        if (pages.n < pages.room || pages_grow()) {
                *t = (Tail){PAGES_MARK ^ (uintptr_t)p, pages.n};
                pages.v[pages.n++] = p;
        }
        pthread_mutex_unlock(&pages.lock);
}

/* The heap may give a page a larger block than was asked for: only the tail tells a page, not the size. */
void pages_forget(void *p, size_t usable) {
        const Tail *t;

        if (usable < PAGES_BYTES + PAGES_TAIL)
                return;
        t = pages_tail(p);
        if (t->mark != (PAGES_MARK ^ (uintptr_t)p))
                return;
        pthread_mutex_lock(&pages.lock);
        if (t->index < pages.n && pages.v[t->index] == p) {
                pages.v[t->index] = pages.v[--pages.n];
                pages_tail(pages.v[t->index])->index = t->index;
        }
        pthread_mutex_unlock(&pages.lock);
}

void pages_begin(void) {
        pthread_mutex_lock(&pages.lock);
        pages.open++;
        pthread_mutex_unlock(&pages.lock);
}

static void pages_wipe(char *p) {
        const uint64_t unused = PAGES_UNUSED;

        if (memcmp(p + PAGES_LINK, &unused, sizeof(unused)) == 0)
                return;
        memcpy(p + PAGES_LINK, &unused, sizeof(unused));
        explicit_bzero(p + PAGES_LINK + sizeof(unused), PAGES_BYTES - PAGES_LINK - sizeof(unused));
}

void pages_end(void) {
        pthread_mutex_lock(&pages.lock);
        assert(pages.open > 0);
        if (--pages.open == 0)
                for (size_t i = 0; i < pages.n; i++)
                        pages_wipe(pages.v[i]);
        pthread_mutex_unlock(&pages.lock);
}
