/* A killed family stands at its end all at once: a hundred processes, or a thousand, with most of their pages common by
 * fork. One after the other, the guard would have to wait for each end, before the next process owns its pages alone.
 * In a round most processes go at once, with their own pages overwritten, and a few stay: enough to map every common
 * page of the family. The staying processes stand still, so that the pages do not change. Last, the staying processes
 * follow one by one.
 *
 * Pages are compared by frame, and the kernel shows frames only to root. */
#include "scrub/tracer/state.h"

#include <stdlib.h>

#define ROUND_MIN 3 /* a smaller family gains nothing */
#define AHEAD 16     /* processes at once */
#define FRAME(entry) ((entry) & ((1ULL << 55) - 1))

/* The common pages of a staying space, as scanned. */
typedef struct Stay {
        Runs pages;
        Frames frames;
} Stay;

static size_t round_place(const Round *r, uint64_t frame) {
        size_t i = (size_t)(frame * 0x9e3779b97f4a7c15ULL >> 20) & (r->max - 1);

        while (r->v[i] != 0 && r->v[i] != frame)
                i = (i + 1) & (r->max - 1);
        return i;
}

static bool round_has_frame(const Round *r, uint64_t frame) {
        return r->max > 0 && r->v[round_place(r, frame)] == frame;
}

static void round_reserve(Round *r, size_t more) {
        Round wider = {.max = r->max ? r->max : 4096};

        while ((r->n + more) * 2 > wider.max)
                wider.max *= 2;
        if (wider.max == r->max)
                return;
        wider.v = calloc(wider.max, sizeof(*wider.v));
        if (!wider.v)
                abort(); /* with EXITKILL: all traced processes end */
        for (size_t i = 0; i < r->max; i++)
                if (r->v[i] != 0)
                        wider.v[round_place(&wider, r->v[i])] = r->v[i];
        free(r->v);
        r->v = wider.v;
        r->max = wider.max;
}

static void round_add_frame(Round *r, uint64_t frame) {
        size_t i = round_place(r, frame);

        r->n += r->v[i] == 0;
        r->v[i] = frame;
}

static Round *round_current(const ForkFamily *f) {
        return f->round && !f->round->over ? f->round : NULL;
}

/* A killed task runs no more code, even before the exit stop. */
static bool round_all_end(const Tracer *g, const ForkFamily *f) {
        return f->ending == f->living || (g->killed && g->scrub && f->leaving == 0);
}

bool round_take(Tracer *g, Space *s) {
        ForkFamily *f = s->family;

        if (!f->round && !g->no_rounds && f->ending >= ROUND_MIN && round_all_end(g, f)) {
                f->round = calloc(1, sizeof(*f->round));
                if (f->round)
                        wipe_drain();
        }
        return round_current(f) != NULL;
}

bool round_drained(const Space *s) {
        return round_current(s->family) && !s->stays;
}

static void round_stay(Tracer *g, Space *s) {
        Round *r = s->family->round;
        const Frames *common = &g->scan.common_frames, *kernel = &g->scan.kernel_frames;

        s->stays = calloc(1, sizeof(*s->stays));
        if (!s->stays)
                abort();
        r->stay++;
        round_reserve(r, common->n + kernel->n);
        for (size_t i = 0; i < common->n; i++)
                round_add_frame(r, FRAME(common->v[i]));
        if (!r->model && g->scan.n_areas > 0 && !g->scan.no_ioctl && !files_any(g) && queues_model(g, s->last->pid)) {
                r->model = s;
                for (size_t i = 0; i < kernel->n; i++)
                        round_add_frame(r, FRAME(kernel->v[i]));
        }
        s->stays->pages = g->scan.common;
        s->stays->frames = g->scan.common_frames;
        g->scan.common = (Runs){};
        g->scan.common_frames = (Frames){};
}

/* A page moved by the kernel left a frame to a new owner: released spaces may have been compared with the frame. */
static void round_check_moved(Tracer *g, const Space *s) {
        if (s->stays->pages.bytes > 0)
                count_missed(g, GUARD_MISSED_MOVED, scan_moved_since(&g->scan, &s->stays->pages, s->stays->frames.v));
}

bool round_plain(Space *s) {
        const Round *r = round_current(s->family);

        return r && r->model && !s->stays && !scan_shares(s->last->pid, 0, UINT64_MAX, &s->maps);
}

static void round_open_ahead(Space *s, pid_t pid) {
        s->maps = scan_open(pid, "maps");
        s->pagemap = scan_open(pid, "pagemap");
        if (s->maps < 0 || s->pagemap < 0)
                space_close(s);
}

/* Opening takes a third of a process's time in a round. */
bool round_ahead(Tracer *g) {
        unsigned done = 0;

        if (g->no_rounds || g->scan.no_ioctl || g->frozen || (int)g->n_tasks * 4 > g->fd_max)
                return false;
        for (size_t n = 0; n < BUCKETS && done < AHEAD; n++, g->ahead = (g->ahead + 1) % BUCKETS)
                for (const Task *t = g->buckets[g->ahead]; t; t = t->next)
                        if (t->state == TASK_RUNNING && t->space && t->space->family->living >= ROUND_MIN &&
                            t->space->maps == 0) {
                                round_open_ahead(t->space, t->pid);
                                done++;
                        }
        return done > 0;
}

bool round_covers(Tracer *g, Space *s) {
        const Round *r = round_current(s->family);
        const Frames *common = &g->scan.common_frames;
        bool all = true;

        if (s->stays) {
                round_check_moved(g, s);
                return true;
        }
        if (r && common->n == 0 && g->scan.common.bytes > 0) {
                g->no_rounds = true;
                family_end_round(s->family);
                return s->family->leaving == s->leaving;
        }
        for (size_t i = 0; r && all && i < common->n; i++)
                all = round_has_frame(r, FRAME(common->v[i]));
        if (!all)
                round_stay(g, s);
        return all;
}

bool round_waits(const Space *s, bool more_come) {
        const ForkFamily *f = s->family;

        return s->stays && (more_come || f->ending > f->round->stay || f->leaving > s->leaving);
}

/* A staying space that goes, or gets a late user, no longer covers others. */
void round_forget(Space *s) {
        Round *r = s->family->round;

        if (!s->stays)
                return;
        r->stay--;
        r->over = true;
        runs_deinit(&s->stays->pages);
        free(s->stays->frames.v);
        free(s->stays);
        s->stays = NULL;
}
