/* Runs: supervisor. */
#include "region/region-budget-private.h"

#include "base/clock.h"
#include "base/machine.h"
#include "region/region-queues.h"
#include "region/region-waiting.h"

#include <errno.h>
#include <string.h>

#define TICK_FAST_USEC 4000   /* memory or tasks are bounded by accounting alone */
#define TICK_SLOW_USEC 25000  /* control groups tell; what is left is scratch, descriptors, CPU time */
#define TICK_SHARE 20         /* accounting may cost one twentieth of one CPU */
#define CLOSER_EACH 8         /* looks, while the machine shows no growth */
#define TICK_LATE 8           /* but no look is later than so many ticks */
#define LAST_LOOK_TASKS_MAX 512 /* more are not worth the delay of their end */

#define SHARE_OF(left) ((left) / 4 * 3) /* a region below gets no more of what is left */

void region_budget_init(RegionBudget *b, const Grant *g, RegionCgroup *c, Guard *guard) {
        *b = (RegionBudget){.grant = g, .cgroup = c, .guard = guard, .scratch = -1, .waiting = -1, .connected = REGION_CONNECTED_NULL, .wall_deadline = NEVER,
                            .watch_usec = NEVER, .tick_deadline = NEVER, .lent.memory_bytes = grant_set_aside(g)};
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
        if (b->grant->network == NETWORK_CONNECT || b->grant->network == NETWORK_HOST)
                region_cgroup_limit_sockets(b->cgroup, budget_own_memory(b));
        b->connected.all = b->cgroup->memory != NULL;
        b->scratch_seen = b->scratch_base = budget_scratch_mark(b);
}

void region_budget_charge(RegionBudget *b, uint64_t cpu_usec) {
        for (RegionBudget *a = b->above; a; a = a->above)
                a->below_cpu_usec += cpu_usec;
}

/* Every region above pays, too. */
static void charge_above(RegionBudget *b) {
        region_budget_charge(b, b->cpu_usec - b->charged_cpu_usec);
        b->charged_cpu_usec = b->cpu_usec;
}

Breach budget_look_cpu(RegionBudget *b) {
        uint64_t max = b->grant->budget.cpu_usec;

        charge_above(b);
        if (b->cpu_usec + b->below_cpu_usec > max)
                return budget_breach(OUTCOME_CPU_EXCEEDED, "cpu", max, b->cpu_usec + b->below_cpu_usec);
        return budget_no_breach;
}

/* The amounts that were held at the last looks. Pages that forked processes share count once for each of them, but after a closer look. */
uint64_t budget_held(const RegionBudget *b) {
        uint64_t scratch = b->scratch_on_host ? 0 : b->scratch_now; /* tmpfs pages are memory */

        return b->tree.resident_bytes + b->tree.areas_bytes + scratch + b->scratch_names + b->shared.held_bytes + b->queues.bytes + b->waiting_bytes +
               b->connected_bytes + b->reserved;
}

/* The part of it that is sure whatever they share: at least one of them has each page, and nobody shares page tables. */
static uint64_t budget_held_surely(const RegionBudget *b) {
        return budget_held(b) - b->tree.resident_bytes + b->tree.table_bytes + b->tree.most_anon_bytes;
}

/* The charge has the whole length of shared objects, of which nobody can see how much is there. The record has the part that was touched. */
static uint64_t budget_touched(const RegionBudget *b, uint64_t charged) {
        return charged - budget_left_of(b->shared.held_bytes, b->tree.shmem_bytes);
}

static Breach budget_breach_of_charge(const RegionBudget *b, uint64_t charged) {
        Breach r = budget_breach_of_memory(b, budget_touched(b, charged));

        if (r.used + r.lent <= r.limit)
                r.asked = charged;
        return r;
}

/* A closer look is a walk of the kernel through page tables, which takes seconds where somebody made many: not where it cannot change anything, and not
 * while the region is still to be killed. */
static Breach look_memory(RegionBudget *b, bool closer) {
        uint64_t max = b->grant->budget.memory_bytes, used = budget_held(b);
        bool known = true;

        if (used + b->lent.memory_bytes > max && b->tree.processes > 1) {
                used = budget_held_surely(b);
                known = closer && used + b->lent.memory_bytes <= max && budget_walk(b, PROC_LOOK_MEMORY | PROC_LOOK_SHARED) == 0;
                if (known)
                        used = budget_held(b);
        }
        if (known) {
                b->left_bytes = budget_left_of(max, used + b->lent.memory_bytes);
                b->machine_bytes = b->machine_look;
        }
        b->peak_memory_bytes = MAX(b->peak_memory_bytes, budget_touched(b, used));
        return used + b->lent.memory_bytes > max ? budget_breach_of_charge(b, used) : budget_no_breach;
}

static bool shared_is_beyond(const RegionBudget *b) {
        return budget_held(b) + b->lent.memory_bytes > b->grant->budget.memory_bytes;
}

/* Where nobody made an object of shared memory since the last look, one is due only when the charge is what matters. */
static void look_shared(RegionBudget *b) {
        if (b->worker > 0 && (region_shared_is_open(&b->shared) ||
                              (b->shared.n && b->tree.resident_bytes + b->shared.held_bytes + b->reserved > b->grant->budget.memory_bytes / 2)))
                region_shared_look(&b->shared, b->worker, false);
        for (unsigned i = 1; i < SHARED_LOOKS && b->worker > 0 && b->shared.held_bytes > 0 && shared_is_beyond(b); i++)
                region_shared_look(&b->shared, b->worker, true);
}

/* Who reads a file that is removed, or given up, later leaves no sign of it. */
static void look_full(RegionBudget *b) {
        CgroupFull f = b->full ? CGROUP_NOT_FULL : region_cgroup_full(b->cgroup, budget_own_memory(b));

        b->full_of_files |= f == CGROUP_FULL_OF_FILES;
        b->full |= f == CGROUP_FULL;
}

static int look_fds(pid_t pid, void *arg) {
        RegionBudget *b = arg;

        if (pid > 0 && pid != b->worker) {
                uint64_t fds = proc_fd_count(pid);

                b->tree.most_fds = MAX(b->tree.most_fds, fds);
                b->tree.all_fds += fds;
        }
        return 0;
}

/* Where control groups tell all else, their list of processes spares the walk from parents to children: that takes a dozen system calls for each process
 * instead of one, and leaves the kernel with six files of /proc instead of two, which it has to forget at the process's end. */
static int look_at_group(RegionBudget *b) {
        if (!b->cgroup->cpu || !b->cgroup->memory || !b->cgroup->pids)
                return -ENOENT;
        b->tree.most_fds = b->tree.all_fds = 0;
        return region_cgroup_each(b->cgroup, look_fds, b);
}

/* What no control group tells of. */
static unsigned look_without_groups(const RegionBudget *b) {
        return (b->cgroup->cpu ? 0 : PROC_LOOK_CPU) | (b->cgroup->memory ? 0 : PROC_LOOK_MEMORY);
}

/* Tasks are counted, and what else is asked for. Returns 0 or -errno, the count then being what it was. */
static int look_at_tree(RegionBudget *b, unsigned more) {
        int e = budget_walk(b, more);

        if (e == 0)
                b->tasks_bound = b->tree.tasks;
        return e;
}

/* TCP sockets are those of the host's network, and those that were made for the region. */
static bool has_tcp(const RegionBudget *b) {
        return b->grant->network == NETWORK_HOST || region_connected_any(&b->connected);
}

/* Where all descriptors cannot make half of the memory there is no look, but now and then one at what lies in sockets: as much as one user may have there. */
static void look_queues(RegionBudget *b, bool slow) {
        uint64_t half = b->grant->budget.memory_bytes / 2, each = has_tcp(b) ? queues_tcp_most() : queues_each_most();

        if (b->tree.all_fds * each > half || (slow && (b->tree.all_fds + b->grant->budget.open_files) * each > half))
                queues_update(&b->queues, b->worker, b->guard);
        else if (slow)
                b->queues.bytes = 0;
}

/* A datagram is as long as its program likes before it is sent. Where the descriptors cannot make a quarter of the memory there is no look. */
static uint64_t look_datagrams(RegionBudget *b) {
        return b->grant->network == NETWORK_HOST && b->tree.all_fds * queues_each_most() > budget_own_memory(b) / 4 ?
                       queues_datagrams(&b->queues, b->worker, b->guard) :
                       0;
}

/* Sockets that the group counts apart from memory, those that were made for the region, and datagrams that were begun, which it does not count. */
static Breach look_sockets(RegionBudget *b, bool slow) {
        uint64_t made, held;

        if (b->cgroup->memory && slow) {
                region_connected_look(&b->connected, &b->queues, b->worker, b->guard);
                b->datagram_bytes = look_datagrams(b);
        }
        made = b->cgroup->memory ? region_connected_bytes(&b->connected) + b->datagram_bytes : 0;
        if (region_cgroup_with_sockets(b->cgroup, &held) < 0 && (made == 0 || region_cgroup_memory_kept(b->cgroup, &held) < 0))
                return budget_no_breach;
        held += made;
        b->peak_memory_bytes = MAX(b->peak_memory_bytes, held + b->reserved);
        return held > budget_own_memory(b) ? budget_breach_of_memory(b, held + b->reserved) : budget_no_breach;
}

/* No control group has what open folders hold. */
static Breach look_folders(RegionBudget *b) {
        uint64_t own = budget_own_memory(b), held;

        if (b->tree.all_fds * OPENS_FOLDER <= own / 4 || region_cgroup_memory_kept(b->cgroup, &held) < 0)
                return budget_no_breach;
        held += opens_folders(b->worker);
        b->peak_memory_bytes = MAX(b->peak_memory_bytes, held + b->reserved);
        return held > own ? budget_breach_of_memory(b, held + b->reserved) : budget_no_breach;
}

/* Where a region can have others connect to it, and not in a network that is the host's. Of a client that is there the queue counts with its descriptor;
 * that of one that is closed counts as full. */
static void look_waiting(RegionBudget *b) {
        uint64_t n = 0;

        if (b->grant->network != NETWORK_PRIVATE || b->waiting < -1)
                return;
        if (b->waiting == -1) {
                int fd = waiting_open(b->worker);

                if (fd == -ETIMEDOUT) /* a machine with much to do: the next look asks again */
                        return;
                b->waiting = fd < 0 ? -EIO : fd; /* nobody can tell; -1 is EPERM */
        }
        if (b->waiting >= 0 && waiting_count(b->waiting, &n) == 0)
                b->waiting_bytes = n * queues_unix_most();
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
        look_full(b);
        r = budget_look_scratch(b, FILES_WHEN_CHANGED);
        if (r.outcome != OUTCOME_NONE && !b->cgroup->memory)
                budget_hold(b);
        if (look_at_group(b) < 0 && look_at_tree(b, PROC_LOOK_FDS | look_without_groups(b) | (slow && !b->cgroup->memory ? PROC_LOOK_AREAS : 0)) < 0)
                b->tree.tasks = b->tasks_bound = 0; /* out of memory here: the kernel's own limits still hold */
        b->opens = 0;
        if (!b->cgroup->cpu || region_cgroup_cpu_usec(b->cgroup, &b->cpu_usec) < 0)
                b->cpu_usec = MAX(b->cpu_usec, b->tree.cpu_usec);

        if (r.outcome == OUTCOME_NONE)
                r = budget_look_cpu(b);
        if (r.outcome == OUTCOME_NONE && !b->cgroup->memory) {
                look_shared(b);
                look_queues(b, slow);
                if (slow)
                        look_waiting(b);
                b->connected_bytes = region_connected_bytes(&b->connected);
                r = look_memory(b, b->hold.held || b->looks++ % CLOSER_EACH == 0);
        }
        if (r.outcome == OUTCOME_NONE)
                r = look_sockets(b, slow);
        if (r.outcome == OUTCOME_NONE && b->cgroup->memory && slow)
                r = look_folders(b);
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
        next = MIN(MAX(b->tick_usec, cost * TICK_SHARE), b->tick_usec * TICK_LATE); /* a region can make its looks dear */
        next = MIN(next, cpu_left / budget_processors()); /* it cannot be used up earlier */
        b->look_deadline = now + MAX(next, MAX((uint64_t)TICK_LEAST_USEC, cost * 2));
        budget_watch(b);
        b->tick_deadline = b->watch_usec == NEVER || b->guard_watches ? b->look_deadline : MIN(b->look_deadline, now + cost + b->watch_usec);
        budget_hold_end(b, &r);
        return r;
}

Breach region_budget_ask_memory(RegionBudget *b, pid_t pid, uint64_t bytes) {
        const uint64_t max = b->grant->budget.memory_bytes, data = proc_data_bytes(pid), set_aside = b->reserved + b->lent.memory_bytes;
        Breach r;

        if (data + set_aside <= max && bytes <= max - data - set_aside)
                return budget_no_breach;
        look_at_tree(b, PROC_LOOK_MEMORY | look_without_groups(b));
        look_shared(b);
        look_memory(b, false);
        region_hold_forget(&b->hold); /* it is about to be killed */
        r = budget_breach_of_memory(b, budget_touched(b, b->tree.processes > 1 ? budget_held_surely(b) : budget_held(b)));
        r.asked = bytes > UINT64_MAX - data ? UINT64_MAX : data + bytes;
        return r;
}

Breach region_budget_ask_shared(RegionBudget *b, pid_t tid, uint64_t bytes) {
        Breach r;

        region_shared_called(&b->shared, tid);
        /* A region can ask as often as it likes, and the list is ours. An entry without a trace goes at the second look. */
        for (unsigned i = 0; i < SHARED_LOOKS && region_shared_is_full(&b->shared); i++)
                region_shared_look(&b->shared, b->worker, false);
        region_shared_ask(&b->shared, tid, bytes);
        if (b->cgroup->memory || !shared_is_beyond(b))
                return budget_no_breach;
        /* Memory that was given back since the last look, of either kind, does not count. */
        look_at_tree(b, look_without_groups(b));
        budget_look_scratch(b, FILES_NO);
        for (unsigned i = 0; i < SHARED_LOOKS && shared_is_beyond(b); i++)
                region_shared_look(&b->shared, b->worker, true);
        r = look_memory(b, true);
        budget_hold_end(b, &r);
        return r;
}

Breach region_budget_ask_task(RegionBudget *b) {
        uint64_t max = b->grant->budget.processes, lent = b->lent.processes;

        if (b->tasks_bound + lent + 1 > max) { /* perhaps: some may have ended */
                int e = look_at_tree(b, 0);

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
        look_at_tree(b, look_without_groups(b));
        region_hold_end(&b->hold);
        if (region_cgroup_memory_now(b->cgroup, &memory) < 0)
                memory = b->tree.resident_bytes + (b->scratch_on_host ? 0 : b->scratch_now);
        if (region_cgroup_cpu_usec(b->cgroup, &cpu) < 0)
                cpu = b->tree.cpu_usec;
        b->cpu_usec = MAX(b->cpu_usec, cpu);
        return (Budget){
                .memory_bytes = SHARE_OF(budget_left_of(max->memory_bytes, memory + b->reserved + b->lent.memory_bytes)) & ~UINT64_C(4095),
                .wall_usec = b->wall_deadline == NEVER ? max->wall_usec : budget_left_of(b->wall_deadline, now),
                .cpu_usec = max->cpu_usec == BUDGET_NONE ? BUDGET_NONE : budget_left_of(max->cpu_usec, b->cpu_usec + b->below_cpu_usec),
                .idle_usec = max->idle_usec,
                .processes = SHARE_OF(budget_left_of(max->processes, b->tasks_bound + b->lent.processes)),
                .open_files = max->open_files,
                .file_bytes = max->file_bytes,
                .scratch_bytes = SHARE_OF(budget_left_of(max->scratch_bytes, b->scratch_now + b->lent.scratch_bytes)),
                .output_bytes = UINT64_MAX, /* the caller knows */
        };
}

/* Of a new limit it is to be seen whether that was reached. */
static void note_peak(RegionBudget *b) {
        uint64_t v;

        if (!b->cgroup->v2 && region_cgroup_memory_peak(b->cgroup, &v) == 0) {
                b->peak_memory_bytes = MAX(b->peak_memory_bytes, v + b->reserved);
                region_cgroup_peak_anew(b->cgroup);
        }
}

int region_budget_limit(RegionBudget *b) {
        int e = region_cgroup_limit(b->cgroup, budget_own_memory(b), budget_left_of(b->grant->budget.processes, b->lent.processes));

        if (e == 0)
                note_peak(b);
        return e;
}

int region_budget_lend(RegionBudget *lender, RegionBudget *b) {
        const RegionLoan before = lender->lent;
        int e;

        look_full(lender);
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
        charge_above(b);
        if (!lender->over)
                look_full(lender);
        lender->lent.memory_bytes -= b->grant->budget.memory_bytes;
        lender->lent.processes -= b->grant->budget.processes;
        lender->lent.scratch_bytes -= b->grant->budget.scratch_bytes;
        b->above = NULL;
        if (!lender->over) /* else who sleeps at the limit would go on in it, killed but not dead yet */
                region_budget_limit(lender);
}

static void last_look(RegionBudget *b) {
        unsigned look = look_without_groups(b);

        if (b->worker <= 0 || !look || b->tasks_bound > LAST_LOOK_TASKS_MAX)
                return;
        budget_look_scratch(b, FILES_NO);
        if (proc_tree_walk(&b->tree, b->worker, look) < 0)
                return;
        if (!b->cgroup->cpu)
                b->cpu_usec = MAX(b->cpu_usec, b->tree.cpu_usec);
        if (!b->cgroup->memory) {
                look_shared(b);
                look_memory(b, false);
        }
}

void region_budget_over(RegionBudget *b, bool killed) {
        if (killed)
                last_look(b);
        else
                look_full(b);
        b->over = true;
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
        if (region_cgroup_memory_peak(b->cgroup, &v) == 0)
                b->peak_memory_bytes = MAX(b->peak_memory_bytes, v + b->reserved);
        else
                b->peak_memory_bytes = MAX(b->peak_memory_bytes, worker_max_rss + b->reserved);
        if (region_cgroup_cpu_usec(b->cgroup, &v) == 0)
                b->cpu_usec = v;
        else
                b->cpu_usec = MAX(b->cpu_usec, worker_cpu);
        if (r.outcome == OUTCOME_NONE)
                r = budget_look_cpu(b);
        /* A program that crept past the budget in small steps, or filled the scratch, and ended between two looks. */
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
