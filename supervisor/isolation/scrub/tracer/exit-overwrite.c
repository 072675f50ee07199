/* The end of an address space: its last user stands at its exit stop, and the content is final. */
#include "scrub/tracer/state.h"

#include <signal.h>
#include <sys/ptrace.h>

#define ONE_BY_ONE 64 /* of more processes, only the number of open descriptors is compared */
#define ASKED_MOST 8  /* with more running tasks, looking at each costs more than it gains */
#define COME_USEC 20000 /* time for killed tasks to come to their exit stop, counted from the last one */
#define LEAVE_USEC 100000 /* some tens suffice, except for files on a granted file system that is slow to close */

static void end_clear_private(Tracer *g, const Space *s) {
        PageScan *scan = &g->scan;
        WipeCount count = {};
        uint64_t moved;

        if (scan->own.bytes > HURRY_BYTES)
                hurry(g, false);
        wipe_runs(&g->wipe, scan, &scan->own, &count);
        if (scan->frames.n > 0) {
                g->evidence->facts |= GUARD_FACT_FRAMES;
                g->evidence->frames_checked += scan->frames.n;
                moved = scan_moved(scan);
                moved = moved < count.overwritten ? moved : count.overwritten;
                count.overwritten -= moved;
                count_missed(g, GUARD_MISSED_MOVED, moved);
        }
        count_wiped(g, &count, GUARD_MISSED_DENIED);
        count_missed(g, GUARD_MISSED_SWAPPED, scan->swapped_bytes);
        /* The last process with a page overwrites it. A common page without a further process in the family has a
         * mapper outside. The worker's own image is shared with the region's first process. */
        if (s->family->living == 1 && s->family->warm)
                g->evidence->warm_bytes += scan->common.bytes;
        else if (s->family->living == 1 && !(s->worker && g->init > 0))
                count_missed(g, GUARD_MISSED_SHARED, wipe_count_nonzero(scan, &scan->common));
}

/* Scans the space. Returns 0 or -errno. */
static int end_scan(Tracer *g, Space *s, bool plain) {
        int e;

        if (s->family->forked && !round_drained(s))
                wipe_drain();
        e = plain ? scan_begin_plain(&g->scan, s->last->pid, &s->pagemap) : scan_begin(&g->scan, s->last->pid);
        e = e ?: scan_private(&g->scan, 0, UINT64_MAX);
        if (!g->scan.no_ioctl)
                g->evidence->facts |= GUARD_FACT_SCAN;
        return e;
}

/* The first process of a PID namespace takes all others with it, without an order: so a task killed by SIGKILL,
 * while the first process is killed or near its end, shows the end of the region. */
bool end_all_die(Tracer *g, const Task *t) {
        unsigned long code = 0;

        if (!g->over && g->tier == 2 && g->init > 0 && ptrace(PTRACE_GETEVENTMSG, t->pid, NULL, &code) == 0 &&
            (code & 0x7f) == SIGKILL)
                g->over = task_is_doomed(g->init);
        return g->over || g->frozen;
}

/* seen: result of end_scan(). */
static void end_clear_space(Tracer *g, const Space *s, int seen, bool plain) {
        bool over = end_all_die(g, s->last) || s->program || g->n_tasks == 1;

        g->evidence->processes++;
        files_count(g, s->last);
        if (!plain)
                files_keep(g, s->last);
        if (seen == 0) {
                end_clear_private(g, s);
                if (!plain)
                        shared_clear(g, s->last);
        } else
                g->evidence->processes_missed++;
        /* Until the region's end is certain, another process may read the unread rest. */
        if (over && !(plain && queues_same(g, s->last->pid, s->family->living > ONE_BY_ONE)))
                queues_keep(g, s->last->pid);
        if (!plain)
                queues_look(g, s->last->pid);
}

static void end_unlink(Tracer *g, Space **p) {
        Space *s = *p;

        *p = s->next;
        if (g->ending_tail == &s->next)
                g->ending_tail = p;
        s->next = NULL;
        s->family->ending--;
        round_forget(s);
}

void end_forget(Tracer *g, Space *s) {
        Space **p = &g->ending;

        while (*p && *p != s)
                p = &(*p)->next;
        if (*p)
                end_unlink(g, p);
        s->last = NULL;
}

static bool end_is_held(Tracer *g, const Space *s) {
        unsigned long code = 0;

        if (g->scrub || !(g->frozen || (g->hold && s->program)))
                return false;
        if (s->program && !g->frozen && !g->program_told) {
                if (ptrace(PTRACE_GETEVENTMSG, s->last->pid, NULL, &code) == 0)
                        guard_tell(g, GUARD_ENDING, 0, (int)code);
                else /* the exit status is unknown, and must not be invented */
                        guard_lose(g);
                g->program_told = true;
        }
        return true;
}

static bool end_is_dead(pid_t pid) {
        char text[512];
        const char *state = task_state(pid, text);

        return !state || *state == 'Z' || *state == 'X';
}

/* A released thread still announces its end: the kernel writes to the place of its id, and into its locks. Such a
 * write must not hit a page between overwriting and reading back. */
static bool end_others_leave(const Tracer *g, Space *s) {
        if (s->tasks == 1)
                return false;
        if (s->waits_since == 0)
                s->waits_since = now_usec();
        for (const Task *t = task_first(g); t && now_usec() - s->waits_since < LEAVE_USEC; t = task_next(g, t))
                if (t->space == s && t != s->last && t->state == TASK_LEAVING && !end_is_dead(t->pid))
                        return true;
        return false;
}

/* Says whether waiting is worthwhile for killed tasks still on the way to their end. */
static bool end_more_come(Tracer *g) {
        if (!g->scrub || !g->frozen || now_usec() - g->report_usec >= COME_USEC)
                return false;
        g->look_soon = true;
        return true;
}

/* Spaces with common pages go one after the other, to know the last mapper of a page; or in a round. */
static bool end_others_first(Tracer *g, Space *s) {
        ForkFamily *f = s->family;
        bool come = f->living > f->ending + f->leaving;

        if ((s->alone && g->n_leaving > s->leaving) || (g->shares && g->n_moving > 0 && end_more_come(g)))
                return true;
        if (!f->forked)
                return false;
        if (round_take(g, s))
                return round_waits(s, come && end_more_come(g));
        return (come && end_more_come(g)) || f->leaving > s->leaving;
}

/* A relative in execve gives common pages back: they count as this space's, but writing would go to copies. */
static bool end_others_execute(const Tracer *g, Space *s) {
        const ForkFamily *f = s->family;

        unsigned over = f->ending + f->leaving;

        if (!f->forked || g->scan.own.bytes == 0 || f->living <= over || f->living - over > ASKED_MOST)
                return false;
        if (s->waits_since == 0)
                s->waits_since = now_usec();
        for (const Task *t = task_first(g); t && now_usec() - s->waits_since < LEAVE_USEC; t = task_next(g, t))
                if (t->space != s && t->space && t->space->family == f && t->state == TASK_RUNNING &&
                    task_executes(t->pid))
                        return true;
        return false;
}

static void end_release(Tracer *g, Space *s) {
        task_move(g, s->last, TASK_LEAVING);
        task_release(s->last);
        s->last = NULL;
}

/* Returns whether the space's task may be let go. */
static bool end_overwrite(Tracer *g, Space *s) {
        uint64_t began = now_usec();
        bool plain = round_plain(s), late, settled, goes;
        int seen = end_scan(g, s, plain);

        late = seen == 0 && g->killed && g->n_moving > 0 && !g->shares && shared_some(g);
        g->shares |= late;
        goes = seen != 0 || (!late && round_covers(g, s));
        settled = files_settled(g); /* the kernel writes to a leaving task's locks, perhaps in shared memory */
        s->alone = g->n_leaving > s->leaving && (!settled || (seen == 0 && shared_any(g, s->last)));
        goes = goes && !s->alone && !end_others_execute(g, s);
        if (goes)
                end_clear_space(g, s, seen, plain);
        scan_end(&g->scan);
        g->evidence->scrub_usec += now_usec() - began;
        return goes;
}

bool end_step(Tracer *g) {
        g->look_soon = false;
        if (pause_keeps(g))
                return false;
        for (Space **p = &g->ending; *p; p = &(*p)->next) {
                Space *s = *p;

                if (end_is_held(g, s) || end_others_first(g, s))
                        continue;
                if (s->users == 0 && end_others_leave(g, s)) {
                        g->look_soon = true;
                        continue;
                }
                /* A late user may have been found after the last one came to its end. */
                if (s->users == 0) {
                        if (!end_overwrite(g, s))
                                return true;
                        /* Repeats when a thread was found late: the leader is reaped only after that. */
                        s->family->leaving += !s->leaving;
                        g->n_leaving += !s->leaving;
                        s->leaving = true;
                }
                end_unlink(g, p);
                end_release(g, s);
                return true;
        }
        return false;
}
