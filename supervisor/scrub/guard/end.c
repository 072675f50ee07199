/* The end of an address space: its last user stands at its exit stop, nobody changes anything in it any more. */
#include "scrub/guard/state.h"

#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

uint64_t now_usec(void) {
        struct timespec t;

        clock_gettime(CLOCK_MONOTONIC, &t);
        return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

void count_wiped(Guard *g, const WipeCount *c) {
        GuardEvidence *v = g->evidence;

        v->bytes_held += c->overwritten + c->denied + c->mismatched;
        v->bytes_overwritten += c->overwritten;
        v->bytes_verified += c->overwritten;
        v->bytes_missed[GUARD_MISSED_DENIED] += c->denied;
        v->bytes_missed[GUARD_MISSED_VERIFY] += c->mismatched;
}

static void miss(Guard *g, GuardMissed why, uint64_t bytes) {
        g->evidence->bytes_held += bytes;
        g->evidence->bytes_missed[why] += bytes;
}

/* A page that was shared by fork and is no longer is written in place only while nothing else refers to it for a moment; each processor
 * keeps such references for pages that it touched lately. This call, which moves nothing, makes all of them give those up. */
static void drain(void) {
        int node = 0, status;
        void *page = NULL;

        syscall(SYS_move_pages, 0, 0UL, &page, &node, &status, 0);
}

static void clear_private(Guard *g, const Space *s) {
        Scan *scan = &g->scan;
        WipeCount count = {};
        uint64_t moved;

        wipe_runs(&g->wipe, scan, &scan->own, &count);
        if (scan->n_frames > 0) {
                g->evidence->facts |= GUARD_FACT_FRAMES;
                g->evidence->frames_checked += scan->n_frames;
                moved = scan_moved(scan);
                moved = moved < count.overwritten ? moved : count.overwritten;
                count.overwritten -= moved;
                miss(g, GUARD_MISSED_MOVED, moved);
        }
        count_wiped(g, &count);
        miss(g, GUARD_MISSED_SWAPPED, scan->swapped_bytes);
        /* The last process that has a page overwrites it. When no other is left that may have it, somebody outside does. The worker's own
         * image is shared with the region's first process. */
        if (s->family->living == 1 && !(s->worker && g->init > 0))
                miss(g, GUARD_MISSED_SHARED, wipe_count_nonzero(scan, &scan->common));
}

static void clear_space(Guard *g, const Space *s) {
        uint64_t began = now_usec();
        int e;

        g->evidence->processes++;
        if (s->family->forked)
                drain();
        e = scan_begin(&g->scan, s->last->pid);
        if (e == 0)
                e = scan_private(&g->scan, 0, UINT64_MAX);
        if (!g->scan.no_ioctl)
                g->evidence->facts |= GUARD_FACT_SCAN;
        files_keep(g, s->last);
        if (e == 0) {
                clear_private(g, s);
                shared_clear(g, s->last);
        } else
                g->evidence->processes_missed++;
        /* Until the region's end is certain, what one process leaves unread another one may read. */
        if (s->program || g->frozen || g->n_tasks == 1)
                queues_keep(g, s->last->pid);
        queues_look(g, s->last->pid);
        scan_end(&g->scan);
        g->evidence->scrub_usec += now_usec() - began;
}

static void unlink_space(Guard *g, Space **p) {
        Space *s = *p;

        *p = s->next;
        if (g->ending_tail == &s->next)
                g->ending_tail = p;
        s->next = NULL;
}

void end_forget(Guard *g, Space *s) {
        Space **p = &g->ending;

        while (*p && *p != s)
                p = &(*p)->next;
        if (*p)
                unlink_space(g, p);
        s->last = NULL;
}

static bool held(Guard *g, const Space *s) {
        unsigned long code = 0;

        if (g->scrub || !(g->frozen || (g->hold && s->program)))
                return false;
        if (s->program && !g->frozen && !g->program_told) {
                ptrace(PTRACE_GETEVENTMSG, s->last->pid, NULL, &code);
                order_tell(g, GUARD_ENDING, 0, (int)code);
                g->program_told = true;
        }
        return true;
}

bool end_step(Guard *g) {
        for (Space **p = &g->ending; *p; p = &(*p)->next) {
                Space *s = *p;

                /* The same again when a thread of it was found late: its leader is reaped only after that. */
                if ((g->dying && g->dying != s) || held(g, s))
                        continue;
                unlink_space(g, p);
                /* A user may have been found after the last one came to its end. */
                if (s->users == 0) {
                        clear_space(g, s);
                        g->dying = s;
                }
                task_move(g, s->last, TASK_LEAVING);
                trace_release(s->last);
                s->last = NULL;
                return true;
        }
        return false;
}
