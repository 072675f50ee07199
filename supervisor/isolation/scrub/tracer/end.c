/* The end of an address space: its last user stands at its exit stop, nobody changes anything in it any more. */
#include "scrub/tracer/state.h"

#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define ONE_BY_ONE 64 /* of more processes, what each has open is only counted */
#define ASKED_MOST 8  /* of more that run, nobody asks what they are at: it takes longer than what comes of it */
#define COME_USEC 20000 /* for what was killed to come to its exit stop, after the one before */
#define LEAVE_USEC 100000 /* it takes some tens, but for files that a granted file system is slow to close */

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

void count_missed(Guard *g, GuardMissed why, uint64_t bytes) {
        g->evidence->bytes_held += bytes;
        g->evidence->bytes_missed[why] += bytes;
}

void drain(void) {
        int node = 0, status;
        void *page = NULL;

        syscall(SYS_move_pages, 0, 0UL, &page, &node, &status, 0);
}

static void clear_private(Guard *g, const Space *s) {
        Scan *scan = &g->scan;
        WipeCount count = {};
        uint64_t moved;

        if (scan->own.bytes > HURRY_BYTES)
                hurry(g, false);
        wipe_runs(&g->wipe, scan, &scan->own, &count);
        if (scan->n_frames > 0) {
                g->evidence->facts |= GUARD_FACT_FRAMES;
                g->evidence->frames_checked += scan->n_frames;
                moved = scan_moved(scan);
                moved = moved < count.overwritten ? moved : count.overwritten;
                count.overwritten -= moved;
                count_missed(g, GUARD_MISSED_MOVED, moved);
        }
        count_wiped(g, &count);
        count_missed(g, GUARD_MISSED_SWAPPED, scan->swapped_bytes);
        /* The last process that has a page overwrites it. When no other is left that may have it, somebody outside does. The worker's own
         * image is shared with the region's first process. */
        if (s->family->living == 1 && s->family->warm)
                g->evidence->warm_bytes += scan->common.bytes;
        else if (s->family->living == 1 && !(s->worker && g->init > 0))
                count_missed(g, GUARD_MISSED_SHARED, wipe_count_nonzero(scan, &scan->common));
}

/* What there is. Returns 0 or -errno. */
static int look(Guard *g, Space *s, bool plain) {
        int e;

        if (s->family->forked && !round_drained(s))
                drain();
        e = plain ? scan_begin_plain(&g->scan, s->last->pid, &s->pagemap) : scan_begin(&g->scan, s->last->pid);
        if (e == 0)
                e = scan_private(&g->scan, 0, UINT64_MAX);
        if (!g->scan.no_ioctl)
                g->evidence->facts |= GUARD_FACT_SCAN;
        return e;
}

/* Is the region's end certain? The first process of a PID namespace takes all others with it, and nobody has to say so: whoever was killed when that one is
 * killed, or on its way to its end, is not the only one. */
bool end_all_die(Guard *g, const Task *t) {
        unsigned long code = 0;

        if (!g->over && g->tier == 2 && g->init > 0 && ptrace(PTRACE_GETEVENTMSG, t->pid, NULL, &code) == 0 && (code & 0x7f) == SIGKILL)
                g->over = task_is_doomed(g->init);
        return g->over || g->frozen;
}

static bool is_over(Guard *g, const Space *s) {
        return end_all_die(g, s->last) || s->program || g->n_tasks == 1;
}

/* seen: what look() said. */
static void clear_space(Guard *g, const Space *s, int seen, bool plain) {
        bool over = is_over(g, s);

        g->evidence->processes++;
        files_count(g, s->last);
        if (!plain)
                files_keep(g, s->last);
        if (seen == 0) {
                clear_private(g, s);
                if (!plain)
                        shared_clear(g, s->last);
        } else
                g->evidence->processes_missed++;
        /* Until the region's end is certain, what one process leaves unread another one may read. */
        if (over && !(plain && queues_same(g, s->last->pid, s->family->living > ONE_BY_ONE)))
                queues_keep(g, s->last->pid);
        if (!plain)
                queues_look(g, s->last->pid);
}

static void unlink_space(Guard *g, Space **p) {
        Space *s = *p;

        *p = s->next;
        if (g->ending_tail == &s->next)
                g->ending_tail = p;
        s->next = NULL;
        s->family->ending--;
        round_forget(s);
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
                if (ptrace(PTRACE_GETEVENTMSG, s->last->pid, NULL, &code) == 0)
                        order_tell(g, GUARD_ENDING, 0, (int)code);
                else /* how it ended is not known, and not made up */
                        order_lose(g);
                g->program_told = true;
        }
        return true;
}

static bool is_dead(pid_t pid) {
        char text[512];
        const char *state = task_state(pid, text);

        return !state || *state == 'Z' || *state == 'X';
}

/* A thread that was let go from its exit stop still says to the others that it is gone: the kernel writes where its id was, and into locks that it
 * held. That is not to happen while the page is overwritten and read back. */
static bool others_leave(const Guard *g, Space *s) {
        if (s->tasks == 1)
                return false;
        if (s->waits_since == 0)
                s->waits_since = now_usec();
        for (size_t i = 0; now_usec() - s->waits_since < LEAVE_USEC && i < BUCKETS; i++)
                for (const Task *t = g->buckets[i]; t; t = t->next)
                        if (t->space == s && t != s->last && t->state == TASK_LEAVING && !is_dead(t->pid))
                                return true;
        return false;
}

/* Some that were killed are still on the way to their end: are they worth to wait for? */
static bool more_come(Guard *g) {
        if (!g->scrub || !g->frozen || now_usec() - g->report_usec >= COME_USEC)
                return false;
        g->look_soon = true;
        return true;
}

/* Those that it shares pages with by fork come and go one after the other, so that the last one that has a page is known; or in a round. */
static bool others_first(Guard *g, Space *s) {
        Family *f = s->family;
        bool come = f->living > f->ending + f->leaving;

        if ((s->alone && g->n_leaving > s->leaving) || (g->shares && g->n_moving > 0 && more_come(g)))
                return true;
        if (!f->forked)
                return false;
        if (round_take(g, s))
                return round_waits(s, come && more_come(g));
        return (come && more_come(g)) || f->leaving > s->leaving;
}

/* One that shared pages with it gives them back by execve: they have been counted as its own, and what is written would go to copies of them. */
static bool others_execute(const Guard *g, Space *s) {
        const Family *f = s->family;

        unsigned over = f->ending + f->leaving;

        if (!f->forked || g->scan.own.bytes == 0 || f->living <= over || f->living - over > ASKED_MOST)
                return false;
        if (s->waits_since == 0)
                s->waits_since = now_usec();
        for (size_t i = 0; now_usec() - s->waits_since < LEAVE_USEC && i < BUCKETS; i++)
                for (const Task *t = g->buckets[i]; t; t = t->next)
                        if (t->space != s && t->space && t->space->family == f && t->state == TASK_RUNNING && task_executes(t->pid))
                                return true;
        return false;
}

static void let_go(Guard *g, Space *s) {
        task_move(g, s->last, TASK_LEAVING);
        trace_release(s->last);
        s->last = NULL;
}

/* Returns whether it is to be let go. */
static bool overwrite(Guard *g, Space *s) {
        uint64_t began = now_usec();
        bool plain = round_plain(s), late, settled, goes;
        int seen = look(g, s, plain);

        late = seen == 0 && g->killed && g->n_moving > 0 && !g->shares && shared_some(g);
        g->shares |= late;
        goes = seen != 0 || (!late && round_covers(g, s));
        /* The kernel writes to locks of one that leaves, which may be in shared memory. */
        settled = files_settled(g);
        s->alone = g->n_leaving > s->leaving && (!settled || (seen == 0 && shared_any(g, s->last)));
        goes = goes && !s->alone && !others_execute(g, s);
        if (goes)
                clear_space(g, s, seen, plain);
        scan_end(&g->scan);
        g->evidence->scrub_usec += now_usec() - began;
        return goes;
}

bool end_step(Guard *g) {
        g->look_soon = false;
        if (pause_keeps(g))
                return false;
        for (Space **p = &g->ending; *p; p = &(*p)->next) {
                Space *s = *p;

                if (held(g, s) || others_first(g, s))
                        continue;
                if (s->users == 0 && others_leave(g, s)) {
                        g->look_soon = true;
                        continue;
                }
                /* A user may have been found after the last one came to its end. */
                if (s->users == 0) {
                        if (!overwrite(g, s))
                                return true;
                        /* The same again when a thread of it was found late: its leader is reaped only after that. */
                        s->family->leaving += !s->leaving;
                        g->n_leaving += !s->leaving;
                        s->leaving = true;
                }
                unlink_space(g, p);
                let_go(g, s);
                return true;
        }
        return false;
}
