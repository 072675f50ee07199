/* Runs: tests. */
#include "base/clock.h"
#include "region/region-budget.h"
#include "region/region-proc.h"
#include "tests/support/child.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>

static Guard no_guard = GUARD_NULL;

static void *wait_thread(void *arg) {
        pause();
        return NULL;
}

/* Processor time, not time: beside other work that takes longer. */
static void burn(uint64_t usec) {
        struct timespec t;

        do
                clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
        while ((uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000 < usec);
}

/* A child with a thread, a grandchild, 8 MB of memory and 20 descriptors; says when it is ready. */
static pid_t make_tree(void) {
        int p[2];
        char c;
        pid_t pid;

        child_check(pipe(p) == 0);
        pid = fork();
        child_check(pid >= 0);
        if (pid == 0) {
                pthread_t t;
                char *m = mmap(NULL, 8 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

                memset(m, 1, 8 << 20);
                for (int i = 0; i < 20; i++)
                        if (open("/dev/null", O_RDONLY) < 0)
                                _exit(1);
                if (fork() == 0) {
                        prctl(PR_SET_PDEATHSIG, SIGKILL);
                        if (write(p[1], "x", 1) == 1)
                                pause();
                        _exit(0);
                }
                pthread_create(&t, NULL, wait_thread, NULL);
                if (write(p[1], "x", 1) == 1)
                        pause();
                _exit(0);
        }
        child_check(read(p[0], &c, 1) == 1 && read(p[0], &c, 1) == 1);
        close(p[0]);
        close(p[1]);
        return pid;
}

static int sees_the_tree(void *arg) {
        ProcTree t = {};
        pid_t pid = make_tree();

        child_check(proc_tree_walk(&t, getpid(), PROC_LOOK_TASKS | PROC_LOOK_MEMORY | PROC_LOOK_FDS | PROC_LOOK_CPU) == 0);
        child_check(t.tasks == 3);
        child_check(t.resident_bytes >= 8 << 20 && t.resident_bytes < 64 << 20);
        child_check(t.most_fds >= 23 && t.most_fds < 40);
        child_check(t.all_data_bytes >= 8 << 20);
        child_check(proc_fd_count(pid) >= 23);
        child_check(proc_start_ticks(pid) > 0);
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
        child_check(proc_tree_walk(&t, getpid(), PROC_LOOK_TASKS | PROC_LOOK_CPU) == 0);
        child_check(proc_start_ticks(pid) == 0);
        proc_tree_deinit(&t);
        return 0;
}

/* Time of processes that have ended is kept, whether their parent waited for them or not; it never falls. Those that burn it stay until all of it was
 * seen: what a process uses between the last look and its end, and its parent does not wait for, nobody sees. */
static int keeps_cpu_time(void *arg) {
        ProcTree t = {};
        uint64_t before = 0;
        int hold[2], gone[2];
        char c;
        pid_t pid;

        child_check(pipe(hold) == 0 && pipe(gone) == 0);
        pid = fork();
        child_check(pid >= 0);
        if (pid == 0) {
                close(hold[1]);
                signal(SIGCHLD, SIG_IGN);
                for (int i = 0; i < 4; i++)
                        if (fork() == 0) {
                                prctl(PR_SET_PDEATHSIG, SIGKILL);
                                burn(100000);
                                _exit((int)read(hold[0], &c, 1));
                        }
                close(gone[0]);
                close(gone[1]);
                pause();
        }
        close(hold[0]);
        close(gone[1]);
        while (t.cpu_usec < 300000) { /* of 400000, and each of them is short of up to two ticks */
                child_check(proc_tree_walk(&t, getpid(), PROC_LOOK_CPU) == 0);
                child_check(t.cpu_usec >= before);
                before = t.cpu_usec;
                usleep(10000);
        }
        child_check(t.cpu_usec < 1500000);
        close(hold[1]);
        child_check(read(gone[0], &c, 1) == 0); /* all four have closed it, which the kernel does for them */
        for (int i = 0; i < 20; i++) {
                child_check(proc_tree_walk(&t, getpid(), PROC_LOOK_CPU) == 0 && t.cpu_usec >= before);
                before = t.cpu_usec;
        }
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
        child_check(proc_tree_walk(&t, getpid(), PROC_LOOK_CPU) == 0 && t.cpu_usec >= before);
        proc_tree_deinit(&t);
        return 0;
}

/* A look at something else, between two at processor time, changes nothing of it, nor does one that finds nothing. The child uses none meanwhile. */
static int other_looks_leave_cpu_time(void *arg) {
        ProcTree t = {};
        uint64_t before;
        int p[2];
        char c;
        pid_t pid;

        child_check(pipe(p) == 0);
        pid = fork();
        child_check(pid >= 0);
        if (pid == 0) {
                prctl(PR_SET_PDEATHSIG, SIGKILL);
                burn(200000);
                if (write(p[1], "x", 1) == 1)
                        pause();
                _exit(0);
        }
        child_check(read(p[0], &c, 1) == 1 && kill(pid, SIGSTOP) == 0 && waitpid(pid, NULL, WUNTRACED) == pid);
        child_check(proc_tree_walk(&t, getpid(), PROC_LOOK_CPU) == 0 && t.cpu_usec >= 100000);
        before = t.cpu_usec;
        for (int i = 0; i < 8; i++) {
                child_check(proc_tree_walk(&t, getpid(), PROC_LOOK_TASKS | PROC_LOOK_MEMORY) == 0);
                child_check(proc_tree_walk(&t, getpid(), PROC_LOOK_CPU) == 0);
        }
        child_check(t.cpu_usec == before);
        for (int i = 0; i < 8; i++) { /* a look that leaves it out */
                child_check(proc_tree_walk(&t, 0x7ffffff0, PROC_LOOK_CPU) == 0);
                child_check(proc_tree_walk(&t, getpid(), PROC_LOOK_CPU) == 0);
        }
        child_check(t.cpu_usec == before);
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
        proc_tree_deinit(&t);
        return 0;
}

static void end_holders(size_t n, const pid_t *v) {
        for (size_t i = 0; i < n; i++)
                child_check(kill(v[i], SIGKILL) == 0 && waitpid(v[i], NULL, 0) == v[i]);
}

/* 16 MB that five processes share are 16 MB, not 80. */
static int counts_shared_pages_once(void *arg) {
        char *m = mmap(NULL, 16 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        ProcTree t = {};
        uint64_t all;
        int hold[2];
        pid_t v[5];
        char c;

        memset(m, 1, 16 << 20);
        child_check(pipe(hold) == 0);
        for (int i = 0; i < 5; i++)
                if ((v[i] = fork()) == 0) {
                        close(hold[1]);
                        _exit((int)read(hold[0], &c, 1)); /* until this process ends, and be it before they have come so far */
                }
        child_check(proc_tree_walk(&t, getpid(), PROC_LOOK_MEMORY) == 0 && t.resident_bytes >= 80 << 20);
        all = t.resident_bytes;
        child_check(proc_tree_walk(&t, getpid(), PROC_LOOK_MEMORY | PROC_LOOK_SHARED) == 0);
        child_check(t.resident_bytes > 10 << 20 && t.resident_bytes + (72 << 20) < all); /* what each has for itself counts for each */
        proc_tree_deinit(&t);
        end_holders(5, v);
        return 0;
}

/* n children, each with 8 MB, and with so many page tables of 4 KB: a page of zeros in each 2 MB. */
static void make_holders(size_t n, size_t tables, pid_t *ret) {
        const size_t reach = (size_t)2 << 20;
        int p[2];
        char c;

        child_check(pipe(p) == 0);
        for (size_t i = 0; i < n; i++)
                if ((ret[i] = fork()) == 0) {
                        char *m = mmap(NULL, 8 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
                        const volatile char *t = mmap(NULL, tables * reach, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

                        prctl(PR_SET_PDEATHSIG, SIGKILL);
                        memset(m, 1, 8 << 20);
                        for (size_t k = 0; k < tables; k++)
                                (void)t[k * reach];
                        if (write(p[1], "x", 1) == 1)
                                pause();
                        _exit(0);
                }
        for (size_t i = 0; i < n; i++)
                child_check(read(p[0], &c, 1) == 1);
        close(p[0]);
        close(p[1]);
}

/* A closer look takes the kernel seconds where there are many page tables, and the region goes on meanwhile: none where the tables, with the memory of one
 * process, are too much already. What is told then is not more than was surely held. */
static int tables_need_no_closer_look(void *arg) {
        const Grant grant = {.budget = {.memory_bytes = 16 << 20, .open_files = 10000, .processes = 16, .file_bytes = UINT64_MAX, .scratch_bytes = UINT64_MAX,
                                        .cpu_usec = UINT64_MAX, .wall_usec = UINT64_MAX, .idle_usec = UINT64_MAX}};
        RegionCgroup none = REGION_CGROUP_NULL;
        RegionBudget b;
        pid_t v[2];
        Breach r;

        make_holders(2, 4096, v);
        region_budget_init(&b, &grant, &none, &no_guard);
        region_budget_start(&b, getpid(), clock_mono_usec());
        r = region_budget_tick(&b, clock_mono_usec());
        child_check(r.outcome == OUTCOME_OUT_OF_REGION);
        child_check(b.tree.processes == 2 && b.tree.table_bytes >= 32 << 20);
        child_check(r.used >= b.tree.table_bytes + (8 << 20) && r.used + (6 << 20) < b.tree.resident_bytes);
        child_check(b.peak_memory_bytes == r.used);
        region_budget_deinit(&b);
        end_holders(2, v);
        return 0;
}

/* The control: what forked processes share is found out, where it decides. */
static int shared_pages_need_one(void *arg) {
        const Grant grant = {.budget = {.memory_bytes = 48 << 20, .open_files = 10000, .processes = 16, .file_bytes = UINT64_MAX, .scratch_bytes = UINT64_MAX,
                                        .cpu_usec = UINT64_MAX, .wall_usec = UINT64_MAX, .idle_usec = UINT64_MAX}};
        char *m = mmap(NULL, 16 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        RegionCgroup none = REGION_CGROUP_NULL;
        RegionBudget b;
        pid_t v[3];

        memset(m, 1, 16 << 20);
        make_holders(3, 1, v);
        region_budget_init(&b, &grant, &none, &no_guard);
        region_budget_start(&b, getpid(), clock_mono_usec());
        child_check(region_budget_tick(&b, clock_mono_usec()).outcome == OUTCOME_NONE);
        child_check(b.tree.resident_bytes < 48 << 20);
        region_budget_deinit(&b);
        end_holders(3, v);
        return 0;
}

/* A process that waits between vfork(2) and its execution has no memory of its own, however long it waits: who starts a program holds nothing twice. */
static int a_vfork_holds_nothing(void *arg) {
        const Grant grant = {.budget = {.memory_bytes = 48 << 20, .open_files = 10000, .processes = 16, .file_bytes = UINT64_MAX, .scratch_bytes = UINT64_MAX,
                                        .cpu_usec = UINT64_MAX, .wall_usec = UINT64_MAX, .idle_usec = UINT64_MAX}};
        RegionCgroup none = REGION_CGROUP_NULL;
        RegionBudget b;
        int p[2];
        char c;
        pid_t pid;

        child_check(pipe(p) == 0);
        pid = fork();
        child_check(pid >= 0);
        if (pid == 0) {
                char *m = mmap(NULL, 32 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

                memset(m, 1, 32 << 20);
                if (vfork() == 0) {
                        prctl(PR_SET_PDEATHSIG, SIGKILL);
                        if (write(p[1], "x", 1) == 1)
                                pause();
                        _exit(0);
                }
                _exit(0);
        }
        child_check(read(p[0], &c, 1) == 1);
        region_budget_init(&b, &grant, &none, &no_guard);
        region_budget_start(&b, getpid(), clock_mono_usec());
        child_check(region_budget_tick(&b, clock_mono_usec()).outcome == OUTCOME_NONE);
        child_check(b.tree.tasks == 2 && b.tree.processes == 1);
        child_check(b.tree.resident_bytes >= 32 << 20 && b.tree.resident_bytes < 48 << 20);
        region_budget_deinit(&b);
        child_check(kill(pid, SIGKILL) == 0 && waitpid(pid, NULL, 0) == pid);
        return 0;
}

Test(region_proc, a_vfork_holds_nothing) {
        child_assert_ok(a_vfork_holds_nothing, NULL);
}
Test(region_proc, tables_need_no_closer_look) { // I-66
        child_assert_ok(tables_need_no_closer_look, NULL);
}
Test(region_proc, shared_pages_need_one) {
        child_assert_ok(shared_pages_need_one, NULL);
}
Test(region_proc, counts_shared_pages_once) {
        child_assert_ok(counts_shared_pages_once, NULL);
}
Test(region_proc, sees_the_tree) {
        child_assert_ok(sees_the_tree, NULL);
}
Test(region_proc, other_looks_leave_cpu_time) { // I-24
        child_assert_ok(other_looks_leave_cpu_time, NULL);
}

Test(region_proc, keeps_cpu_time) {
        child_assert_ok(keeps_cpu_time, NULL);
}
Test(region_proc, a_process_that_is_not_there) {
        ProcTree t = {};

        cr_assert_eq(proc_start_ticks(0x7ffffff0), 0);
        cr_assert_eq(proc_fd_count(0x7ffffff0), 0);
        cr_assert_eq(proc_tree_walk(&t, 0x7ffffff0, PROC_LOOK_TASKS), 0);
        cr_assert_eq(t.tasks, 0);
}

/* A task that exits is blocked at one look, and gone at a later one. */
Test(region_proc, one_wait_is_told_from_many) { // I-63
        const ProcBlocked none = {}, one = {.blocked = 1, .switches = 7}, again = {.blocked = 1, .switches = 8};
        const ProcBlocked beside = {.blocked = 1, .running = 1, .switches = 7}, two = {.blocked = 2, .switches = 7};
        const struct {
                const char *name;
                const ProcBlocked *b;
                uint64_t progress, now;
                bool old;
        } looks[] = {
                {"the first look", &one, 0, 1000, false},         {"the same wait", &one, 0, 1099, false},     {"as old as asked", &one, 0, 1100, true},
                {"it was woken", &again, 0, 1101, false},         {"and waits anew", &again, 0, 1200, false},  {"long enough", &again, 0, 1201, true},
                {"nothing is blocked", &none, 0, 1202, false},    {"a first look again", &one, 0, 1300, false}, {"one runs beside it", &beside, 0, 1350, false},
                {"it runs no more", &one, 0, 1400, false},        {"its age begins there", &one, 0, 1450, false}, {"one more is blocked", &two, 0, 1480, false},
                {"both, not yet", &two, 0, 1550, false},          {"both", &two, 0, 1580, true},               {"something moved on", &two, 1, 1700, false},
        };
        ProcWait w = {};

        for (size_t i = 0; i < ARRAY_SIZE(looks); i++)
                cr_assert_eq(proc_wait_look(&w, looks[i].b, looks[i].progress, looks[i].now, 100), looks[i].old, "%s", looks[i].name);
        w = (ProcWait){};
        cr_assert(proc_wait_look(&w, &one, 0, 5, 0), "who waits for nothing knows at once");
}
