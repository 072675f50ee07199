/* Runs: tests. When the next look at a region's memory is due, where no control group bounds it. */
#include "base/clock.h"
#include "region/region-budget.h"
#include "region/region-queues.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define LIMIT (UINT64_C(64) << 20)
#define LONG_MSEC 30000
#define FAR UINT64_C(1000000000000)
#define STOOD_USEC 10000000

/* A worker with so many children, of which each has mapped so much and touched nothing. */
static pid_t mapped(unsigned children, size_t bytes, rlim_t stack, int tell) {
        struct rlimit most;
        pid_t worker = fork();

        if (worker != 0)
                return worker;
        for (unsigned i = 0; i < children; i++)
                if (fork() == 0) {
                        getrlimit(RLIMIT_STACK, &most);
                        most.rlim_cur = MIN(stack, most.rlim_max);
                        if (setrlimit(RLIMIT_STACK, &most) < 0 ||
                            mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) == MAP_FAILED ||
                            write(tell, "m", 1) != 1)
                                _exit(1);
                        for (;;)
                                pause();
                }
        for (;;)
                pause();
}

/* A region of processes that have mapped memory, before its first tick. */
typedef struct Watched {
        Grant grant;
        RegionCgroup cgroup;
        Guard guard;
        RegionBudget b;
        pid_t worker;
        uint64_t now;
} Watched;

static void watched_start(Watched *w, unsigned children, size_t bytes, rlim_t stack, uint64_t scratch) {
        char byte;
        int p[2];

        *w = (Watched){.grant = {.budget = {.memory_bytes = LIMIT, .wall_usec = FAR, .idle_usec = UINT64_MAX, .cpu_usec = FAR * 1000, .processes = 8,
                                            .open_files = 64, .scratch_bytes = scratch, .file_bytes = LIMIT}},
                       .cgroup = REGION_CGROUP_NULL, .guard = GUARD_NULL};
        cr_assert_eq(pipe(p), 0);
        w->worker = mapped(children, bytes, stack, p[1]);
        cr_assert_gt(w->worker, 0);
        for (unsigned n = 0; n < children; n++)
                cr_assert_eq(read(p[0], &byte, 1), 1);
        close(p[0]);
        close(p[1]);
        region_budget_init(&w->b, &w->grant, &w->cgroup, &w->guard);
        w->now = clock_mono_usec();
        region_budget_start(&w->b, w->worker, w->now);
        w->b.tick_usec = FAR;
}

static void end_all(RegionBudget *b, pid_t worker) {
        for (size_t n = 0; n < b->tree.n; n++)
                if (b->tree.v[n].pid != worker)
                        kill(b->tree.v[n].pid, SIGKILL);
        kill(worker, SIGKILL);
        waitpid(worker, NULL, 0);
        region_budget_deinit(b);
}

Test(region_budget, who_can_touch_more_than_the_budget_at_once_is_looked_at_in_time) {
        static const struct {
                const char *name;
                unsigned children;
                size_t bytes;
                rlim_t stack;
                uint64_t scratch;
                bool soon;
        } rows[] = {{"two with more than the budget", 2, 60 << 20, 1 << 20, 0, true},
                    {"two with less", 2, 8 << 20, 1 << 20, 0, false},
                    {"two with less, and stacks that may grow", 2, 8 << 20, 60 << 20, 0, true},
                    {"two with less, and files that they may write", 2, 8 << 20, 1 << 20, LIMIT, true},
                    {"one is bounded by itself", 1, 60 << 20, 60 << 20, LIMIT, false}};

#ifdef __SANITIZE_ADDRESS__
        cr_skip_test("a sanitizer maps more than any budget");
#endif
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                Watched w;
                Breach r;

                watched_start(&w, rows[i].children, rows[i].bytes, rows[i].stack, rows[i].scratch);
                r = region_budget_tick(&w.b, w.now);
                cr_assert_eq(r.outcome, OUTCOME_NONE, "%s: %s", rows[i].name, r.resource);
                cr_assert_eq(w.b.tick_deadline < w.now + FAR, rows[i].soon, "%s: %llu", rows[i].name, (unsigned long long)(w.b.tick_deadline - w.now));
                if (!rows[i].soon) { /* until it forks so often that they can */
                        for (unsigned n = 0; n < 8 && w.b.watch_usec == UINT64_MAX; n++)
                                cr_assert_eq(region_budget_ask_task(&w.b).outcome, OUTCOME_NONE, "%s: %u", rows[i].name, n);
                        cr_assert_neq(w.b.watch_usec, UINT64_MAX, "%s", rows[i].name);
                }
                end_all(&w.b, w.worker);
        }
}

Test(region_budget, who_may_have_grown_is_held_while_it_is_looked_at) {
        Watched w;

#ifdef __SANITIZE_ADDRESS__
        cr_skip_test("a sanitizer maps more than any budget");
#endif
        watched_start(&w, 2, 60 << 20, 1 << 20, LIMIT);
        cr_assert_eq(region_budget_tick(&w.b, w.now).outcome, OUTCOME_NONE);
        cr_assert_eq(w.b.hold.times, 0);
        cr_assert_gt(w.b.look_deadline, w.b.tick_deadline, "before the next look it is only seen whether memory has grown");
        /* The machine has given out nothing since. */
        w.b.machine_bytes = UINT64_MAX;
        w.b.left_bytes = UINT64_MAX / 4;
        w.b.tree.tasks = 99;
        cr_assert_eq(region_budget_tick(&w.b, w.now).outcome, OUTCOME_NONE);
        cr_assert_eq(w.b.tree.tasks, 99, "no look");
        /* Everything that it has was given out since. */
        w.b.machine_bytes = w.b.left_bytes = 0;
        cr_assert_eq(region_budget_tick(&w.b, w.now).outcome, OUTCOME_NONE);
        cr_assert_eq(w.b.tree.tasks, 2, "a look");
        cr_assert_eq(w.b.hold.times, 1);
        cr_assert_not(w.b.hold.held, "they go on");
        end_all(&w.b, w.worker);
}

Test(region_budget, who_was_stopped_by_the_guard_is_looked_at) {
        Watched w;

        watched_start(&w, 2, 1 << 20, 1 << 20, LIMIT);
        region_budget_stood(&w.b, w.now);
        cr_assert(w.b.hold.held && w.b.hold.times == 1 && w.b.tick_deadline <= w.now, "a look is due");
        region_budget_tick(&w.b, w.now);
        cr_assert_eq(w.b.tree.tasks, 2, "a look");
        cr_assert_not(w.b.hold.held, "they go on");
        w.b.tick_deadline = UINT64_MAX; /* it has ended */
        region_budget_stood(&w.b, w.now);
        cr_assert(!w.b.hold.held && w.b.tick_deadline == UINT64_MAX);
        end_all(&w.b, w.worker);
}

// The machine's memory grows, and not by the region: the region then runs at least as long as it stood, and is held again after that.
Test(region_budget, growth_of_others_holds_a_region_half_of_the_time_at_most) {
        const void *others;
        Watched w;

#ifdef __SANITIZE_ADDRESS__
        cr_skip_test("a sanitizer maps more than any budget");
#endif
        watched_start(&w, 2, 60 << 20, 1 << 20, LIMIT);
        /* An idle machine has less memory in use than the region's limit: too little for an alarm. */
        others = mmap(NULL, 2 * LIMIT, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
        cr_assert_neq(others, MAP_FAILED);
        cr_assert_eq(region_budget_tick(&w.b, w.now).outcome, OUTCOME_NONE);
        w.b.machine_bytes = 0; /* all memory of the machine was given out since */
        region_budget_stood(&w.b, clock_mono_usec() - STOOD_USEC);
        cr_assert_gt(w.b.alarm_bytes, LIMIT);
        cr_assert_eq(region_budget_tick(&w.b, w.now).outcome, OUTCOME_NONE);
        cr_assert_not(w.b.hold.held);
        cr_assert_gt(w.b.calm_until, clock_mono_usec() + STOOD_USEC / 2, "the region stood for so long");
        for (unsigned i = 0; i < 2; i++) {
                w.b.machine_bytes = 0;
                cr_assert_eq(region_budget_tick(&w.b, w.now).outcome, OUTCOME_NONE);
                cr_assert_eq(w.b.hold.times, 1 + i, "%u", i);
                w.b.calm_until = 0; /* the time is up */
        }
        /* Growth of its own. */
        w.b.machine_bytes = w.b.machine_look - 2000000;
        w.b.calm_until = 0;
        region_budget_stood(&w.b, clock_mono_usec() - STOOD_USEC);
        w.b.left_bytes += w.b.alarm_bytes;
        cr_assert_eq(region_budget_tick(&w.b, w.now).outcome, OUTCOME_NONE);
        cr_assert_eq(w.b.calm_until, 0, "grown %llu of %llu", (unsigned long long)w.b.grown_bytes, (unsigned long long)w.b.alarm_bytes);
        end_all(&w.b, w.worker);
}

/* Waits until the process is in the state. */
static void await_letter(pid_t pid, char letter) {
        uint64_t seen = 0;

        for (int ms = 0; ms < LONG_MSEC && (!proc_stat(pid, &seen, 1) || seen != (uint64_t)letter); ms++)
                usleep(1000);
        cr_assert_eq(seen, (uint64_t)letter);
}

Test(region_budget, who_was_stopped_before_stays_so) {
        RegionHold h = {};
        pid_t worker, *list;
        char byte;
        size_t n;
        int p[2];

        cr_assert_eq(pipe(p), 0);
        worker = mapped(2, 1 << 20, 1 << 20, p[1]);
        cr_assert_gt(worker, 0);
        for (unsigned i = 0; i < 2; i++)
                cr_assert_eq(read(p[0], &byte, 1), 1);
        cr_assert_eq(proc_tree_list(worker, &list, &n), 0);
        cr_assert_eq(n, 2);
        kill(list[0], SIGSTOP);
        await_letter(list[0], 'T');
        region_hold(&h, worker, NULL);
        cr_assert_eq(h.n, 1);
        await_letter(list[1], 'T');
        region_hold_end(&h);
        await_letter(list[1], 'S');
        await_letter(list[0], 'T');
        for (size_t i = 0; i < n; i++)
                kill(list[i], SIGKILL);
        kill(worker, SIGKILL);
        waitpid(worker, NULL, 0);
        free(list);
        close(p[0]);
        close(p[1]);
}

#define MORE_FDS 10 /* of the holder */
#define MOST_FDS 40 /* it has fewer */

/* A worker with a child that has so many descriptors, and a byte in a socket. */
static pid_t holder(int tell) {
        pid_t worker = fork();
        int s[2];

        if (worker != 0)
                return worker;
        if (fork() == 0) {
                if (socketpair(AF_UNIX, SOCK_STREAM, 0, s) < 0 || write(s[0], "x", 1) != 1)
                        _exit(1);
                for (int i = 0; i < MORE_FDS; i++)
                        if (dup(s[0]) < 0)
                                _exit(1);
                if (write(tell, "m", 1) != 1)
                        _exit(1);
        }
        for (;;)
                pause();
}

/* Descriptors of Unix sockets cannot make half of the memory here, those of TCP sockets can. */
Test(region_budget, sockets_that_can_hold_much_are_looked_into) { // I-66
        static const struct {
                const char *name;
                NetworkMode network;
                bool looked;
        } rows[] = {{"no TCP", NETWORK_NONE, false}, {"the network of the host", NETWORK_HOST, true}};

        if (queues_tcp_most() * MORE_FDS <= queues_each_most() * MOST_FDS)
                cr_skip_test("TCP sockets hold no more than others here");
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                Grant g = {.network = rows[i].network,
                           .budget = {.memory_bytes = 2 * MOST_FDS * queues_each_most(), .wall_usec = FAR, .idle_usec = UINT64_MAX, .cpu_usec = FAR * 1000,
                                      .processes = 8, .open_files = MOST_FDS, .scratch_bytes = LIMIT, .file_bytes = LIMIT}};
                RegionCgroup c = REGION_CGROUP_NULL;
                Guard guard = GUARD_NULL;
                RegionBudget b;
                uint64_t now;
                Breach r;
                int p[2];
                pid_t worker;
                char byte;

                cr_assert_eq(pipe(p), 0);
                worker = holder(p[1]);
                cr_assert_gt(worker, 0);
                cr_assert_eq(read(p[0], &byte, 1), 1, "%s", rows[i].name);
                region_budget_init(&b, &g, &c, &guard);
                now = clock_mono_usec();
                region_budget_start(&b, worker, now);
                r = region_budget_tick(&b, now);
                cr_assert_eq(r.outcome, OUTCOME_NONE, "%s: %s", rows[i].name, r.resource);
                cr_assert(b.tree.all_fds >= MORE_FDS && b.tree.all_fds <= MOST_FDS, "%s: %llu", rows[i].name, (unsigned long long)b.tree.all_fds);
                cr_assert_eq(b.queues.bytes > 0, rows[i].looked, "%s: %llu", rows[i].name, (unsigned long long)b.queues.bytes);
                for (size_t n = 0; n < b.tree.n; n++)
                        if (b.tree.v[n].pid != worker)
                                kill(b.tree.v[n].pid, SIGKILL);
                kill(worker, SIGKILL);
                waitpid(worker, NULL, 0);
                proc_tree_deinit(&b.tree);
                close(p[0]);
                close(p[1]);
        }
}
