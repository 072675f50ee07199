/* Runs: supervisor. */
#include "region/region-budget-private.h"

#include "base/clock.h"
#include "base/machine.h"
#include "policy/admit.h"

#include <errno.h>

#define TICK_FAST_USEC 4000   /* when accounting alone bounds memory or tasks */
#define TICK_SLOW_USEC 25000  /* with control groups: only scratch, descriptors, CPU time are left */
#define TICK_SHARE 20         /* accounting may cost a twentieth of a CPU */
#define CLOSER_EACH 8         /* looks per closer look, while the machine does not grow */
#define TICK_LATE 8           /* in ticks: the longest delay of a look */
#define LAST_LOOK_TASKS_MAX 512 /* with more tasks, the last look would delay the end */

#define SHARE_OF(left) ((left) / 4 * 3) /* the largest share for a region below */

void region_budget_init(RegionBudget *b, const Grant *g, RegionCgroup *c, Guard *guard) {
        *b = (RegionBudget){.grant = g, .cgroup = c, .guard = guard, .scratch = -1, .waiting = -1,
                            .connected = REGION_CONNECTED_NULL, .wall_deadline = NEVER, .watch_usec = NEVER,
                            .tick_deadline = NEVER, .lent.memory_bytes = grant_set_aside(g)};
}

void region_budget_start(RegionBudget *b, pid_t worker, uint64_t now) {
        b->worker = worker;
        b->started_usec = now;
        b->wall_deadline = b->grant->budget.wall_usec == BUDGET_NONE ? NEVER : now + b->grant->budget.wall_usec;
        b->idle_since = now;
        b->slow_deadline = now + TICK_SLOW_USEC;
        b->tick_usec = b->cgroup->memory && b->cgroup->pids ? TICK_SLOW_USEC : TICK_FAST_USEC;
        b->tick_deadline = now + MIN(b->tick_usec, b->grant->budget.cpu_usec);
        b->tasks_bound = 1;
        if (b->grant->network != NETWORK_NONE)
                region_cgroup_limit_sockets(b->cgroup, budget_own_memory(b));
        b->connected.all = b->cgroup->memory != NULL;
        b->scratch_seen = b->scratch_base = budget_scratch_mark(b);
}

/* A closer look walks through all page tables, which takes seconds with many: only when the result can matter. */
static Breach budget_look_memory(RegionBudget *b, bool closer) {
        uint64_t max = b->grant->budget.memory_bytes, used = budget_held(b);
        bool known = true;

        if (used + b->lent.memory_bytes > max && b->tree.processes > 1) {
                used = budget_held_surely(b);
                known = closer && used + b->lent.memory_bytes <= max &&
                        budget_walk(b, PROC_LOOK_MEMORY | PROC_LOOK_SHARED) == 0;
                if (known)
                        used = budget_held(b);
        }
        if (known) {
                const uint64_t left = budget_left_of(max, used + b->lent.memory_bytes);

                b->grown_bytes = budget_left_of(b->left_bytes, left);
                b->left_bytes = left;
                b->machine_bytes = b->machine_look;
        }
        b->peak_memory_bytes = MAX(b->peak_memory_bytes, budget_touched(b, used));
        return used + b->lent.memory_bytes > max ? budget_breach_of_charge(b, used) : budget_no_breach;
}

static bool budget_shared_is_beyond(const RegionBudget *b) {
        return budget_held(b) + b->lent.memory_bytes > b->grant->budget.memory_bytes;
}

/* Without a new object of shared memory, a look is due only when the charge matters. */
static void budget_look_shared(RegionBudget *b) {
        const uint64_t half = b->grant->budget.memory_bytes / 2;

        if (b->worker <= 0)
                return;
        if (b->shared.n_asked > 0 ||
            (b->shared.n && b->tree.resident_bytes + b->shared.held_bytes + b->reserved > half))
                region_shared_look(&b->shared, b->worker, false);
        for (unsigned i = 1; i < SHARED_LOOKS && b->shared.held_bytes > 0 && budget_shared_is_beyond(b); i++)
                region_shared_look(&b->shared, b->worker, true);
}

/* A group full of pages of files shows no trace after the files are removed, so the result of each look stays. */
static void budget_look_full(RegionBudget *b) {
        CgroupFull f = b->full ? CGROUP_NOT_FULL : region_cgroup_full(b->cgroup, budget_own_memory(b));

        b->full_of_files |= f == CGROUP_FULL_OF_FILES;
        b->full |= f == CGROUP_FULL;
}

static int budget_add_fds(pid_t pid, void *arg) {
        RegionBudget *b = arg;

        if (pid > 0 && pid != b->worker) {
                uint64_t fds = proc_fd_count(pid);

                b->tree.processes++;
                b->tree.most_fds = MAX(b->tree.most_fds, fds);
                b->tree.all_fds += fds;
        }
        return 0;
}

/* With control groups for all, the group's list of processes replaces the walk. The walk takes a dozen system calls for
 * each process instead of one, and six files of /proc instead of two. */
static int budget_look_at_group(RegionBudget *b) {
        if (!b->cgroup->cpu || !b->cgroup->memory || !b->cgroup->pids)
                return -ENOENT;
        b->tree.most_fds = b->tree.all_fds = b->tree.processes = 0;
        return region_cgroup_each(b->cgroup, budget_add_fds, b);
}

static int budget_add_mapped(pid_t pid, void *arg) {
        RegionBudget *b = arg;

        if (pid > 0 && pid != b->worker)
                b->tree.mapped_bytes += proc_mapped_bytes(pid);
        return 0;
}

/* Pages mapped by many processes, as after fork(2), make the teardown longer than the memory budget tells (I-72). With
 * a memory group, the processes are asked only when there are enough of them to matter. */
static Breach budget_look_mapped(RegionBudget *b) {
        const Grant *g = b->grant;
        const uint64_t bound = b->cancel_bound_usec ?: g->cancel_bound_usec;
        const uint64_t processes = MAX(b->tree.processes, b->tree.tasks);
        uint64_t pages;

        if (processes < 2 || g->mapping_nsec == 0)
                return budget_no_breach;
        if (b->cgroup->memory) {
                if (processes * (g->budget.memory_bytes / PROC_PAGE) <= admit_mappings(g, bound))
                        return budget_no_breach;
                b->tree.mapped_bytes = 0;
                region_cgroup_each(b->cgroup, budget_add_mapped, b);
        }
        pages = b->tree.mapped_bytes / PROC_PAGE;
        b->cancel_bound_usec = bound;
        if (admit_mapped(g, pages, &b->cancel_bound_usec))
                return budget_no_breach;
        return budget_breach(OUTCOME_OUT_OF_REGION, "mappings", admit_mappings(g, b->cancel_bound_usec), pages);
}

/* Looks needed because no control group counts. */
static unsigned budget_look_without_groups(const RegionBudget *b) {
        return (b->cgroup->cpu ? 0 : PROC_LOOK_CPU) | (b->cgroup->memory ? 0 : PROC_LOOK_MEMORY);
}

/* Counts tasks, and does the looks `more`. Returns 0 or -errno, with the old count. */
static int budget_look_at_tree(RegionBudget *b, unsigned more) {
        int e = budget_walk(b, more);

        if (e == 0)
                b->tasks_bound = b->tree.tasks;
        return e;
}

Breach region_budget_tick(RegionBudget *b, uint64_t now) {
        const Budget *max = &b->grant->budget;
        uint64_t cost, next, cpu_left;
        bool slow = now >= b->slow_deadline;
        Breach r;

        if (!b->hold.held && b->watch_usec != NEVER && !b->guard_watches) {
                if (budget_has_grown(b))
                        budget_hold(b);
                else if (now < b->look_deadline) {
                        b->tick_deadline = MIN(b->look_deadline, now + b->watch_usec);
                        return budget_no_breach;
                }
        }
        if (!b->hold.held && !b->cgroup->memory)
                b->machine_look = machine_given();
        if (slow)
                b->slow_deadline = now + TICK_SLOW_USEC;
        budget_look_full(b);
        r = budget_look_scratch(b, FILES_WHEN_CHANGED);
        if (r.outcome != OUTCOME_NONE && !b->cgroup->memory)
                budget_hold(b);
        if (budget_look_at_group(b) < 0 &&
            budget_look_at_tree(b, PROC_LOOK_FDS | budget_look_without_groups(b) |
                                           (slow && !b->cgroup->memory ? PROC_LOOK_AREAS : 0)) < 0)
                b->tree.tasks = b->tasks_bound = 0; /* out of memory: the kernel's own limits still hold */
        b->opens = 0;
        if (!b->cgroup->cpu || region_cgroup_cpu_usec(b->cgroup, &b->cpu_usec) < 0)
                b->cpu_usec = MAX(b->cpu_usec, b->tree.cpu_usec);

        if (r.outcome == OUTCOME_NONE)
                r = budget_look_cpu(b);
        if (r.outcome == OUTCOME_NONE && !b->cgroup->memory) {
                budget_look_shared(b);
                budget_look_queues(b, slow);
                if (slow)
                        budget_look_waiting(b);
                b->connected_bytes = region_connected_bytes(&b->connected);
                r = budget_look_memory(b, b->hold.held || b->looks++ % CLOSER_EACH == 0);
        }
        if (r.outcome == OUTCOME_NONE)
                r = budget_look_mapped(b);
        if (r.outcome == OUTCOME_NONE)
                r = budget_look_sockets(b, slow);
        if (r.outcome == OUTCOME_NONE && b->cgroup->memory && slow)
                r = budget_look_folders(b);
        if (r.outcome == OUTCOME_NONE && b->cgroup->pids)
                r = region_budget_tasks_event(b);
        else if (r.outcome == OUTCOME_NONE && b->tree.tasks + b->lent.processes > max->processes)
                r = budget_breach_of_tasks(b, b->tree.tasks);
        if (r.outcome == OUTCOME_NONE && b->cgroup->oom_doubt)
                r = region_budget_memory_event(b);
        if (r.outcome == OUTCOME_NONE && b->tree.most_fds > max->open_files)
                r = budget_breach(OUTCOME_DENIED, "open_files", max->open_files, b->tree.most_fds);

        if (r.outcome == OUTCOME_NONE)
                r = budget_look_idle(b, now);

        cpu_left = budget_left_of(max->cpu_usec, b->cpu_usec + b->below_cpu_usec);
        cost = clock_mono_usec() - now;
        next = MIN(MAX(b->tick_usec, cost * TICK_SHARE), b->tick_usec * TICK_LATE); /* a region can make looks slow */
        next = MIN(next, cpu_left / budget_processors()); /* the budget lasts at least so long */
        b->look_deadline = now + MAX(next, MAX((uint64_t)TICK_LEAST_USEC, cost * 2));
        budget_watch(b);
        b->tick_deadline = b->look_deadline;
        if (b->watch_usec != NEVER && !b->guard_watches)
                b->tick_deadline = MIN(b->look_deadline, now + cost + b->watch_usec);
        budget_hold_end(b, &r);
        return r;
}

Breach region_budget_ask_memory(RegionBudget *b, pid_t pid, uint64_t bytes) {
        const uint64_t max = b->grant->budget.memory_bytes, data = proc_data_bytes(pid),
                       set_aside = b->reserved + b->lent.memory_bytes;
        Breach r;

        if (data + set_aside <= max && bytes <= max - data - set_aside)
                return budget_no_breach;
        budget_look_at_tree(b, PROC_LOOK_MEMORY | budget_look_without_groups(b));
        budget_look_shared(b);
        budget_look_memory(b, false);
        region_hold_forget(&b->hold); /* the region is about to be killed */
        r = budget_breach_of_memory(b,
                                    budget_touched(b, b->tree.processes > 1 ? budget_held_surely(b) : budget_held(b)));
        r.asked = bytes > UINT64_MAX - data ? UINT64_MAX : data + bytes;
        return r;
}

Breach region_budget_ask_shared(RegionBudget *b, pid_t tid, uint64_t bytes) {
        Breach r;

        region_shared_called(&b->shared, tid);
        /* A region can call without end, but the list is bounded. A second look drops entries without an object. */
        for (unsigned i = 0; i < SHARED_LOOKS && region_shared_is_full(&b->shared); i++)
                region_shared_look(&b->shared, b->worker, false);
        region_shared_ask(&b->shared, tid, bytes);
        if (b->cgroup->memory || !budget_shared_is_beyond(b))
                return budget_no_breach;
        /* Memory given back since the last look does not count. */
        budget_look_at_tree(b, budget_look_without_groups(b));
        budget_look_scratch(b, FILES_NO);
        for (unsigned i = 0; i < SHARED_LOOKS && budget_shared_is_beyond(b); i++)
                region_shared_look(&b->shared, b->worker, true);
        r = budget_look_memory(b, true);
        budget_hold_end(b, &r);
        return r;
}

Breach region_budget_ask_task(RegionBudget *b) {
        uint64_t max = b->grant->budget.processes, lent = b->lent.processes;

        if (b->tasks_bound + lent + 1 > max) { /* perhaps fewer: some tasks may have ended */
                int e = budget_look_at_tree(b, 0);

                region_hold_end(&b->hold);
                if (e < 0)
                        return budget_no_breach;
                if (b->tasks_bound + lent + 1 > max) {
                        Breach r = budget_breach_of_tasks(b, b->tasks_bound);

                        r.asked = b->tasks_bound + 1;
                        return r;
                }
        }
        b->tasks_bound++;
        budget_forks(b);
        return budget_no_breach;
}

Breach region_budget_ask_open(RegionBudget *b, pid_t pid) {
        uint64_t max = b->grant->budget.open_files, n;

        if (b->tree.most_fds + ++b->opens < max)
                return budget_no_breach;
        n = proc_fd_count(pid);
        b->opens = 0;
        b->tree.most_fds = n;
        return n > max ? budget_breach(OUTCOME_DENIED, "open_files", max, n) : budget_no_breach;
}

Breach region_budget_ask_change(RegionBudget *b) {
        return budget_look_scratch(b, FILES_NO);
}

Budget region_budget_left(RegionBudget *b, uint64_t now) {
        const Budget *max = &b->grant->budget;
        uint64_t memory, cpu;

        budget_look_scratch(b, b->scratch_on_host ? FILES_WHEN_CHANGED : FILES_NO);
        budget_look_at_tree(b, budget_look_without_groups(b));
        region_hold_end(&b->hold);
        if (region_cgroup_memory_now(b->cgroup, &memory) < 0)
                memory = b->tree.resident_bytes + (b->scratch_on_host ? 0 : b->scratch_now);
        memory += b->reserved + b->lent.memory_bytes;
        if (region_cgroup_cpu_usec(b->cgroup, &cpu) < 0)
                cpu = b->tree.cpu_usec;
        b->cpu_usec = MAX(b->cpu_usec, cpu);
        cpu = b->cpu_usec + b->below_cpu_usec;
        return (Budget){
                .memory_bytes = SHARE_OF(budget_left_of(max->memory_bytes, memory)) & ~UINT64_C(4095),
                .wall_usec = b->wall_deadline == NEVER ? max->wall_usec : budget_left_of(b->wall_deadline, now),
                .cpu_usec = max->cpu_usec == BUDGET_NONE ? BUDGET_NONE : budget_left_of(max->cpu_usec, cpu),
                .idle_usec = max->idle_usec,
                .cpus_milli = max->cpus_milli ?: BUDGET_NONE, /* a bound for each of the regions */
                .processes = SHARE_OF(budget_left_of(max->processes, b->tasks_bound + b->lent.processes)),
                .open_files = max->open_files,
                .file_bytes = max->file_bytes,
                .scratch_bytes = SHARE_OF(budget_left_of(max->scratch_bytes, b->scratch_now + b->lent.scratch_bytes)),
                .output_bytes = UINT64_MAX, /* the caller sets the real limit */
        };
}

/* Returns false when the group's peak cannot be read. */
static bool budget_take_peak(RegionBudget *b) {
        uint64_t v;

        if (region_cgroup_memory_peak(b->cgroup, &v) < 0)
                return false;
        b->peak_memory_bytes = MAX(b->peak_memory_bytes, v + b->reserved);
        return true;
}

/* A new limit needs a new peak. */
static void budget_note_peak(RegionBudget *b) {
        if (!b->cgroup->v2 && budget_take_peak(b))
                region_cgroup_peak_anew(b->cgroup);
}

int region_budget_limit(RegionBudget *b) {
        int e = region_cgroup_limit(b->cgroup, budget_own_memory(b),
                                    budget_left_of(b->grant->budget.processes, b->lent.processes));

        if (e == 0)
                budget_note_peak(b);
        return e;
}

int region_budget_lend(RegionBudget *lender, RegionBudget *b) {
        const RegionLoan before = lender->lent;
        int e;

        budget_look_full(lender);
        lender->lent.memory_bytes += b->grant->budget.memory_bytes;
        lender->lent.processes += b->grant->budget.processes;
        lender->lent.scratch_bytes += b->grant->budget.scratch_bytes;
        e = region_budget_limit(lender);
        if (e < 0) {
                lender->lent = before;
                region_budget_limit(lender);
                return e;
        }
        b->above = lender;
        return 0;
}

void region_budget_give_back(RegionBudget *b) {
        RegionBudget *lender = b->above;

        if (!lender)
                return;
        budget_charge_above(b);
        if (!lender->over)
                budget_look_full(lender);
        lender->lent.memory_bytes -= b->grant->budget.memory_bytes;
        lender->lent.processes -= b->grant->budget.processes;
        lender->lent.scratch_bytes -= b->grant->budget.scratch_bytes;
        b->above = NULL;
        if (!lender->over) /* else a killed process sleeping at the limit would run on before its death */
                region_budget_limit(lender);
}

static void budget_last_look(RegionBudget *b) {
        unsigned look = budget_look_without_groups(b);

        if (b->worker <= 0 || !look || b->tasks_bound > LAST_LOOK_TASKS_MAX)
                return;
        budget_look_scratch(b, FILES_NO);
        if (proc_tree_walk(&b->tree, b->worker, look) < 0)
                return;
        if (!b->cgroup->cpu)
                b->cpu_usec = MAX(b->cpu_usec, b->tree.cpu_usec);
        if (!b->cgroup->memory) {
                budget_look_shared(b);
                budget_look_memory(b, false);
        }
}

void region_budget_over(RegionBudget *b, bool killed) {
        region_cgroup_unthrottle(b->cgroup);
        if (killed) {
                budget_last_look(b);
                budget_look_mapped(b); /* may raise the bound */
        } else
                budget_look_full(b);
        b->over = true;
}

void region_budget_unlimit(RegionBudget *b) {
        b->peak_known = b->peak_known || budget_take_peak(b);
        region_cgroup_unlimit(b->cgroup);
}

Breach region_budget_final(RegionBudget *b, uint64_t worker_cpu, uint64_t worker_max_rss) {
        uint64_t v;
        Breach r;

        b->wall_deadline = b->tick_deadline = NEVER;
        r = region_budget_memory_event(b);
        if (r.outcome == OUTCOME_NONE)
                r = region_budget_tasks_event(b);
        if (r.outcome == OUTCOME_NONE)
                r = budget_look_scratch(b, FILES_AT_THE_END);
        if (!b->peak_known && !budget_take_peak(b))
                b->peak_memory_bytes = MAX(b->peak_memory_bytes, worker_max_rss + b->reserved);
        if (region_cgroup_cpu_usec(b->cgroup, &v) == 0)
                b->cpu_usec = v;
        else
                b->cpu_usec = MAX(b->cpu_usec, worker_cpu);
        if (b->cgroup->quota && region_cgroup_throttled_usec(b->cgroup, &v) == 0)
                b->throttled_usec = v;
        if (r.outcome == OUTCOME_NONE)
                r = budget_look_cpu(b);
        /* A program may pass the budget in small steps, or fill the scratch, and end between two looks. */
        v = MAX(worker_max_rss, b->scratch_on_host ? 0 : b->scratch_now) + b->reserved;
        if (r.outcome == OUTCOME_NONE && !b->cgroup->memory && v + b->lent.memory_bytes > b->grant->budget.memory_bytes)
                r = budget_breach_of_memory(b, v);
        return r;
}

void region_budget_deinit(RegionBudget *b) {
        region_hold_forget(&b->hold);
        closep(&b->scratch);
        closep(&b->waiting);
        region_connected_deinit(&b->connected);
        region_shared_deinit(&b->shared);
        proc_tree_deinit(&b->tree);
}
