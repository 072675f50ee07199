#include "daemon/rate.h"

#include "base/cache.h"
#include "base/clock.h"
#include "base/proc.h"
#include "scrub/wipe.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define RATE_NAME "overwrite"
#define RATE_SMALL (4UL << 20)  /* one thread */
#define RATE_LARGE (8UL << 20)  /* for each thread of more */
#define RATE_THREADS 8
#define RATE_EXIT (16UL << 20)
#define RATE_TRIES 3
#define RATE_PASSES 3
#define RATE_AGE_USEC 86400000000ULL

typedef struct RateKept {
        char boot[40], version[24];
        uint64_t processors, real_usec;
        WipeRate rate;
} RateKept;

static uint64_t rate_processors(void) {
        cpu_set_t set;

        return sched_getaffinity(0, sizeof(set), &set) < 0 ? 1 : (uint64_t)MAX(CPU_COUNT(&set), 1);
}

static void rate_here(RateKept *ret) {
        *ret = (RateKept){.processors = rate_processors(), .real_usec = clock_real_usec()};
        snprintf(ret->boot, sizeof(ret->boot), "%s", proc_boot_id());
        strncpy(ret->version, LETHE_VERSION, sizeof(ret->version) - 1);
}

/* Time of processors, not of the clock on the wall: what else runs on the machine makes it no slower. */
static uint64_t rate_now(void) {
        struct timespec t;

        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
        return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* The least of some tries, in nanoseconds a page. 0: it cannot be measured. */
static uint64_t rate_of(char *memory, size_t bytes, unsigned passes, unsigned threads) {
        Run run = {.start = (uint64_t)(uintptr_t)memory, .end = (uint64_t)(uintptr_t)memory + bytes};
        const Runs runs = {.v = &run, .n = 1, .bytes = bytes};
        const Scan self = {.pid = getpid()};
        uint64_t best = UINT64_MAX;
        Wipe w;

        for (int i = 0; i < RATE_TRIES; i++) {
                WipeCount count = {0};
                uint64_t begun;

                if (wipe_init(&w, passes) < 0)
                        return 0;
                begun = rate_now();
                wipe_runs(&w, &self, &runs, &count);
                best = MIN(best, rate_now() - begun);
                wipe_deinit(&w);
                if (count.overwritten != bytes)
                        return 0;
        }
        return best / (bytes / SCAN_PAGE) / threads;
}

static uint64_t rate_nanoseconds(struct timeval a, struct timeval b) {
        return (uint64_t)(a.tv_sec + b.tv_sec) * 1000000000 + (uint64_t)(a.tv_usec + b.tv_usec) * 1000;
}

/* The cost of a process's end for each page that it held: a child touches some and is killed. 0: it cannot be measured. */
static uint64_t rate_of_exit(void) {
        const pid_t parent = getpid();
        uint64_t touched = 0, used;
        struct rusage all;
        int said[2];
        pid_t pid;

        if (pipe2(said, O_CLOEXEC) < 0)
                return 0;
        pid = fork();
        if (pid == 0) {
                char *m = mmap(NULL, RATE_EXIT, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

                /* It has our descriptors, with them the locks of a store, and is not to outlive us. */
                if (m == MAP_FAILED || prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
                        _exit(1);
                madvise(m, RATE_EXIT, MADV_NOHUGEPAGE);
                for (size_t i = 0; i < RATE_EXIT; i += SCAN_PAGE)
                        m[i] = 1;
                touched = rate_now();
                if (write(said[1], &touched, sizeof(touched)) != sizeof(touched))
                        _exit(1);
                for (;;)
                        pause();
        }
        close(said[1]);
        if (pid > 0 && read(said[0], &touched, sizeof(touched)) != sizeof(touched))
                touched = 0;
        close(said[0]);
        if (pid < 0)
                return 0;
        kill(pid, SIGKILL);
        if (wait4(pid, NULL, 0, &all) != pid || touched == 0)
                return 0;
        used = rate_nanoseconds(all.ru_utime, all.ru_stime);
        return used > touched ? (used - touched) / (RATE_EXIT / SCAN_PAGE) : 0;
}

/* The cost of each pass behind the first. Both times were measured apart, and the first may have been the slower by chance; each pass writes every
 * byte all the same, so that none is taken to cost less than a quarter of the average. */
static uint64_t rate_of_pass(uint64_t first, uint64_t all) {
        const uint64_t behind = all > first ? (all - first) / (RATE_PASSES - 1) : 0;

        return MAX(MAX(behind, all / RATE_PASSES / 4), (uint64_t)1);
}

static bool rate_measure(WipeRate *ret) {
        const unsigned threads = (unsigned)MIN(rate_processors(), (uint64_t)RATE_THREADS);
        const size_t large = threads > 1 ? threads * RATE_LARGE : RATE_SMALL;
        uint64_t gone, small_passes, large_passes;
        char *m = mmap(NULL, large, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        WipeRate r = {.measured = true};

        if (m == MAP_FAILED)
                return false;
        madvise(m, large, MADV_NOHUGEPAGE);
        for (size_t i = 0; i < large; i += SCAN_PAGE)
                m[i] = 1;
        r.first = rate_of(m, RATE_SMALL, 1, 1);
        small_passes = rate_of(m, RATE_SMALL, RATE_PASSES, 1);
        r.first_large = rate_of(m, large, 1, threads);
        large_passes = rate_of(m, large, RATE_PASSES, threads);
        munmap(m, large);
        gone = rate_of_exit();
        wipe_forget();
        if (gone == 0 || r.first == 0 || r.first_large == 0 || small_passes == 0 || large_passes == 0)
                return false;
        r.pass = rate_of_pass(r.first, small_passes);
        r.pass_large = rate_of_pass(r.first_large, large_passes);
        r.first += gone;
        r.first_large += gone;
        *ret = r;
        return true;
}

void rate_get(const char *store_dir, bool measure, WipeRate *ret) {
        int dir = store_dir ? cache_open(store_dir) : -1;
        _cleanup_free_ uint8_t *bytes = NULL;
        RateKept here, kept = {};
        size_t n = 0;
        bool there;

        rate_here(&here);
        there = dir >= 0 && cache_get(dir, RATE_NAME, sizeof(kept), &bytes, &n) == 0 && n == sizeof(kept);
        if (there)
                memcpy(&kept, bytes, sizeof(kept));
        there = there && memcmp(kept.boot, here.boot, sizeof(here.boot)) == 0 && memcmp(kept.version, here.version, sizeof(here.version)) == 0 &&
                kept.processors == here.processors;
        if (measure && !(there && here.real_usec - kept.real_usec < RATE_AGE_USEC) && rate_measure(&here.rate)) {
                if (dir >= 0)
                        cache_put(dir, RATE_NAME, &here, sizeof(here));
                kept = here;
                there = true;
        }
        closep(&dir);
        *ret = there ? kept.rate : wipe_rate_unknown;
}

bool rate_is_needed(const Grant *g) {
        return g->cancel_declared || g->cancel_ceiling_usec > 0 || (g->sub_skills && *g->sub_skills);
}
