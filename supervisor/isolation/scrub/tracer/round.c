/* A family that was killed stands at its end all at once: a hundred processes, or a thousand, that have most of their pages in common by fork.
 * One after the other would mean to wait for each to be gone before the next one's pages are known to be its own alone. In a round most of them
 * go as they come, each with its own pages overwritten, and a few stay: so many that every page that any of the others has in common is one of
 * theirs, too. These stand still meanwhile, and so nothing happens to those pages. They follow when the others are gone, one by one.
 *
 * Which page is which is told by its frame, and only root is shown those. */
#include "scrub/tracer/state.h"

#include <stdlib.h>
#include <unistd.h>

#define ROUND_MIN 3 /* for less it does not pay */
#define AHEAD 16     /* processes at once */
#define FRAME(entry) ((entry) & ((1ULL << 55) - 1))

/* What one that stays had in common when it was looked at. */
typedef struct Stay {
        Runs pages;
        uint64_t *frames; /* owned; of each page, in order */
} Stay;

/* The frames of all that stay. */
typedef struct Round {
        uint64_t *v; /* owned; 0: free */
        size_t n, max; /* max: a power of two */
        unsigned stay;
        const Space *model; /* the first that stays: others are expected to be like it */
        bool over;          /* one that stayed is no more among them: what is left goes one by one */
} Round;

static size_t place(const Round *r, uint64_t frame) {
        size_t i = (size_t)(frame * 0x9e3779b97f4a7c15ULL >> 20) & (r->max - 1);

        while (r->v[i] != 0 && r->v[i] != frame)
                i = (i + 1) & (r->max - 1);
        return i;
}

static bool has(const Round *r, uint64_t frame) {
        return r->max > 0 && r->v[place(r, frame)] == frame;
}

static void reserve(Round *r, size_t more) {
        Round wider = {.max = r->max ? r->max : 4096};

        while ((r->n + more) * 2 > wider.max)
                wider.max *= 2;
        if (wider.max == r->max)
                return;
        wider.v = calloc(wider.max, sizeof(*wider.v));
        if (!wider.v)
                abort(); /* with EXITKILL: no process goes on that nobody will clear */
        for (size_t i = 0; i < r->max; i++)
                if (r->v[i] != 0)
                        wider.v[place(&wider, r->v[i])] = r->v[i];
        free(r->v);
        r->v = wider.v;
        r->max = wider.max;
}

static void add(Round *r, uint64_t frame) {
        size_t i = place(r, frame);

        r->n += r->v[i] == 0;
        r->v[i] = frame;
}

static Round *round_of(const Family *f) {
        return f->round && !f->round->over ? f->round : NULL;
}

/* Who was killed runs nothing any more, and need not have come to its end yet. */
static bool all_end(const Guard *g, const Family *f) {
        return f->ending == f->living || (g->killed && g->scrub && f->leaving == 0);
}

bool round_take(Guard *g, Space *s) {
        Family *f = s->family;

        if (!f->round && !g->no_rounds && f->ending >= ROUND_MIN && all_end(g, f)) {
                f->round = calloc(1, sizeof(*f->round));
                if (f->round)
                        drain();
        }
        return round_of(f) != NULL;
}

bool round_drained(const Space *s) {
        return round_of(s->family) && !s->stays;
}

static void free_stay(Space *s) {
        if (!s->stays)
                return;
        runs_deinit(&s->stays->pages);
        free(s->stays->frames);
        free(s->stays);
        s->stays = NULL;
}

static void stay(Guard *g, Space *s) {
        Round *r = s->family->round;
        size_t n = g->scan.n_common_frames;

        s->stays = calloc(1, sizeof(*s->stays));
        if (!s->stays)
                abort();
        r->stay++;
        reserve(r, n + g->scan.n_kernel_frames);
        for (size_t i = 0; i < n; i++)
                add(r, FRAME(g->scan.common_frames[i]));
        if (!r->model && g->scan.n_areas > 0 && !g->scan.no_ioctl && !files_any(g) && queues_model(g, s->last->pid)) {
                r->model = s;
                for (size_t i = 0; i < g->scan.n_kernel_frames; i++)
                        add(r, FRAME(g->scan.kernel_frames[i]));
        }
        s->stays->pages = g->scan.common;
        s->stays->frames = g->scan.common_frames;
        g->scan.common = (Runs){};
        g->scan.common_frames = NULL;
        g->scan.n_common_frames = g->scan.max_common_frames = 0;
}

/* A page that the kernel moved meanwhile has left its frame to others: those that went may have been told by it. */
static void check(Guard *g, const Space *s) {
        if (s->stays->pages.bytes > 0)
                count_missed(g, GUARD_MISSED_MOVED, scan_moved_since(&g->scan, &s->stays->pages, s->stays->frames));
}

bool round_plain(Space *s) {
        const Round *r = round_of(s->family);

        return r && r->model && !s->stays && areas_plain(s->last->pid, &s->maps);
}

void round_close(Space *s) {
        if (s->maps > 0)
                close(s->maps);
        if (s->pagemap > 0)
                close(s->pagemap);
        s->maps = s->pagemap = 0;
}

static void open_ahead(Space *s, pid_t pid) {
        s->maps = scan_open(pid, "maps");
        s->pagemap = scan_open(pid, "pagemap");
        if (s->maps < 0 || s->pagemap < 0)
                round_close(s);
}

/* To open takes a third of what a process takes in a round. */
bool round_ahead(Guard *g) {
        unsigned done = 0;

        if (g->no_rounds || g->scan.no_ioctl || g->frozen || (int)g->n_tasks * 4 > g->fd_max)
                return false;
        for (size_t n = 0; n < BUCKETS && done < AHEAD; n++, g->ahead = (g->ahead + 1) % BUCKETS)
                for (const Task *t = g->buckets[g->ahead]; t; t = t->next)
                        if (t->state == TASK_RUNNING && t->space && t->space->family->living >= ROUND_MIN && t->space->maps == 0) {
                                open_ahead(t->space, t->pid);
                                done++;
                        }
        return done > 0;
}

bool round_covers(Guard *g, Space *s) {
        const Round *r = round_of(s->family);
        size_t n = g->scan.n_common_frames;
        bool all = true;

        if (s->stays) {
                check(g, s);
                return true;
        }
        if (r && n == 0 && g->scan.common.bytes > 0) {
                g->no_rounds = true;
                round_end(s->family);
                return s->family->leaving == s->leaving;
        }
        for (size_t i = 0; r && all && i < n; i++)
                all = has(r, FRAME(g->scan.common_frames[i]));
        if (!all)
                stay(g, s);
        return all;
}

bool round_waits(const Space *s, bool more_come) {
        const Family *f = s->family;

        return s->stays && (more_come || f->ending > f->round->stay || f->leaving > s->leaving);
}

/* Who stayed and goes, or is no more at its end because a user of it was found late, does not stand for others any more. */
void round_forget(Space *s) {
        Round *r = s->family->round;

        if (!s->stays)
                return;
        r->stay--;
        r->over = true;
        free_stay(s);
}

void round_end(Family *f) {
        if (f->round)
                free(f->round->v);
        free(f->round);
        f->round = NULL;
}
