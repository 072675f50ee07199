#include "request/rate.h"

#include "base/cache.h"
#include "base/clock.h"
#include "base/proc.h"
#include "scrub/wipe.h"

#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define RATE_NAME "overwrite"
#define RATE_SMALL (12UL << 20) /* one thread */
#define RATE_LARGE (8UL << 20)  /* for each thread of more */
#define RATE_THREADS 8
#define RATE_TINY (64UL << 10)  /* of each of several processes */
#define RATE_SEVERAL 16
#define RATE_TRIES(often) ((often) ? 2 : 3) /* a try of little memory is short, and varies more */
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

/* Processor time, not wall-clock time: load on the machine makes the result no slower. */
static uint64_t rate_now(void) {
        struct timespec t;

        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
        return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static uint64_t rate_nanoseconds(struct timeval a, struct timeval b) {
        return (uint64_t)(a.tv_sec + b.tv_sec) * 1000000000 + (uint64_t)(a.tv_usec + b.tv_usec) * 1000;
}

/* A waiting process with touched memory, like a region's process; traced up to its exit stop. */
typedef struct RateChild {
        pid_t pid;           /* 0: no process */
        uint64_t used;       /* nanoseconds of processor time so far */
        uint64_t start, end; /* of the memory */
        bool common;         /* the measuring process maps the memory, too, until the end of the child */
} RateChild;

/* Nanoseconds of processor time, and pages. */
typedef struct RateEnd {
        uint64_t pages;
        uint64_t looked;      /* to stop, look at and continue */
        uint64_t wiped;       /* to overwrite once and read back */
        uint64_t once, often; /* further passes: one, and RATE_PASSES */
        uint64_t gone;        /* the kernel's end of the processes */
        bool hidden;          /* no frames were shown */
} RateEnd;

static void rate_touch(char *m, size_t bytes) {
        madvise(m, bytes, MADV_NOHUGEPAGE);
        for (size_t i = 0; i < bytes; i += SCAN_PAGE)
                m[i] = 1;
}

static bool rate_start(RateChild *c, size_t bytes, bool common) {
        char *m = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        const pid_t parent = getpid();
        int said[2];
        bool ok;

        if (m == MAP_FAILED)
                return false;
        if (pipe2(said, O_CLOEXEC) < 0) {
                munmap(m, bytes);
                return false;
        }
        c->start = (uint64_t)(uintptr_t)m;
        c->end = c->start + bytes;
        c->common = common;
        if (common)
                rate_touch(m, bytes);
        c->pid = fork();
        if (c->pid == 0) {
                uint64_t used;

                /* The child has all descriptors, with the locks of a store, and must not outlive its parent. */
                if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
                        _exit(1);
                if (!common)
                        rate_touch(m, bytes);
                used = rate_now();
                if (write(said[1], &used, sizeof(used)) != sizeof(used))
                        _exit(1);
                for (;;)
                        pause();
        }
        close(said[1]);
        if (!common)
                munmap(m, bytes);
        c->pid = MAX(c->pid, 0);
        ok = c->pid > 0 && read(said[0], &c->used, sizeof(c->used)) == sizeof(c->used) &&
             ptrace(PTRACE_SEIZE, c->pid, 0, PTRACE_O_TRACEEXIT) == 0;
        close(said[0]);
        return ok;
}

static bool rate_wipe(const Wipe *w, PageScan *s, uint64_t *nsec) {
        const uint64_t begun = rate_now();
        WipeCount count = {};

        wipe_runs(w, s, &s->own, &count);
        *nsec += rate_now() - begun;
        return count.overwritten == s->own.bytes;
}

/* The child is at its exit stop, or will be. */
static bool rate_reap(RateChild *c, struct rusage *ret) {
        const pid_t pid = c->pid;
        int status = 0;

        c->pid = 0;
        do
                ptrace(PTRACE_CONT, pid, 0, 0);
        while (wait4(pid, &status, __WALL, ret) == pid && WIFSTOPPED(status));
        return WIFEXITED(status) || WIFSIGNALED(status);
}

/* Only the touched memory: this program has many more areas than most programs of a region. */
static bool rate_look(const RateChild *c, PageScan *s) {
        if (scan_begin_plain(s, c->pid, NULL) == 0 && scan_private(s, c->start, c->end) == 0)
                return true;
        scan_end(s);
        return scan_begin(s, c->pid) == 0 && scan_private(s, c->start, c->end) == 0; /* before Linux 6.7 */
}

/* Works like the guard (scrub/tracer/exit-overwrite.c). often: RATE_PASSES passes; or NULL. */
static bool rate_end_one(RateChild *c, const Wipe *once, const Wipe *often, PageScan *s, RateEnd *e) {
        uint64_t begun = rate_now(), wiped = 0;
        struct rusage all;
        int status;
        bool ok = waitpid(c->pid, &status, __WALL) == c->pid && WIFSTOPPED(status) && rate_look(c, s);

        ok = ok && rate_wipe(once, s, &wiped);
        if (ok)
                scan_moved(s);
        e->looked += rate_now() - begun - wiped;
        e->wiped += wiped;
        e->pages += (c->common ? s->common.bytes : s->own.bytes) / SCAN_PAGE;
        e->hidden |= s->frames.n == 0;
        ok = ok && (!often || (rate_wipe(once, s, &e->once) && rate_wipe(often, s, &e->often)));
        begun = rate_now();
        scan_end(s);
        ok = rate_reap(c, &all) && ok;
        e->looked += rate_now() - begun;
        e->gone += rate_nanoseconds(all.ru_utime, all.ru_stime) -
                   MIN(c->used, rate_nanoseconds(all.ru_utime, all.ru_stime));
        return ok;
}

static bool rate_end(RateChild *c, size_t n, const Wipe *often, RateEnd *ret) {
        uint64_t begun = rate_now();
        RateEnd e = {};
        PageScan s = {};
        bool ok = true;
        Wipe once;

        if (wipe_init(&once, 1) < 0)
                return false;
        for (size_t i = 0; i < n; i++)
                kill(c[i].pid, SIGKILL);
        e.looked = rate_now() - begun;
        for (size_t i = 0; ok && i < n; i++)
                ok = rate_end_one(&c[i], &once, often, &s, &e);
        scan_deinit(&s);
        wipe_deinit(&once);
        *ret = e;
        return ok && e.pages > 0;
}

/* Measures n processes with `bytes` of memory each: the least of some tries. common: the measuring process maps the
 * memory, too. */
static bool rate_try(size_t n, size_t bytes, bool common, const Wipe *often, RateEnd *ret) {
        RateEnd best = {
                .looked = UINT64_MAX, .wiped = UINT64_MAX, .once = UINT64_MAX, .often = UINT64_MAX, .gone = UINT64_MAX};
        bool ok = true;

        for (int i = 0; ok && i < RATE_TRIES(often); i++) {
                RateChild c[RATE_SEVERAL] = {};
                RateEnd e;

                for (size_t k = 0; ok && k < n; k++)
                        ok = rate_start(&c[k], bytes, common);
                ok = ok && rate_end(c, n, often, &e);
                for (size_t k = 0; k < n; k++) {
                        if (c[k].pid > 0) {
                                kill(c[k].pid, SIGKILL);
                                rate_reap(&c[k], &(struct rusage){});
                        }
                        if (c[k].common)
                                munmap((void *)(uintptr_t)c[k].start, bytes);
                }
                if (ok)
                        best = (RateEnd){e.pages,
                                         MIN(best.looked, e.looked),
                                         MIN(best.wiped, e.wiped),
                                         MIN(best.once, e.once),
                                         MIN(best.often, e.often),
                                         MIN(best.gone, e.gone),
                                         e.hidden};
        }
        *ret = best;
        return ok;
}

/* The cost of each pass after the first. The two times come from separate measurements, and the first may be slower by
 * chance. Each pass writes every byte, so a pass costs at least a quarter of the average. */
static uint64_t rate_of_pass(uint64_t first, uint64_t all) {
        const uint64_t behind = all > first ? (all - first) / (RATE_PASSES - 1) : 0;

        return MAX(behind, all / RATE_PASSES / 4);
}

static uint64_t rate_least(uint64_t v) {
        return MAX(v, (uint64_t)1);
}

/* small, large: one process; threads: that overwrite the large process. many: processes of few pages. common: a process
 * that has its pages in common with the measuring process. Pure. */
static void rate_derive(const RateEnd *small, const RateEnd *large, unsigned threads, const RateEnd *many,
                        const RateEnd *common, WipeRate *r) {
        uint64_t pages, mapped;

        r->page = rate_least((small->looked + small->wiped) / small->pages);
        r->page_large = rate_least((large->looked + large->wiped / threads) / large->pages);
        r->pass = rate_least(rate_of_pass(small->once, small->often) / small->pages);
        r->pass_large = rate_least(rate_of_pass(large->once, large->often) / large->pages / threads);
        r->gone = rate_least(MAX(small->gone / small->pages, large->gone / large->pages));
        pages = many->pages * r->gone;
        r->process_gone = rate_least((many->gone - MIN(pages, many->gone * 3 / 4)) / RATE_SEVERAL);
        pages = many->pages * r->page;
        r->process = r->process_gone + rate_least((many->looked + many->wiped -
                                                   MIN(pages, (many->looked + many->wiped) * 3 / 4)) /
                                                  RATE_SEVERAL);
        mapped = common->looked + common->wiped + common->gone / (r->one_by_one ? 1 : r->processors);
        r->mapped = rate_least((mapped - MIN(r->process, mapped / 2)) / common->pages);
}

static bool rate_measure(WipeRate *ret) {
        const unsigned threads = (unsigned)MIN(rate_processors(), (uint64_t)RATE_THREADS);
        RateEnd small, large, several, common;
        Wipe often;
        bool ok;

        if (wipe_init(&often, RATE_PASSES) < 0)
                return false;
        ok = rate_try(1, RATE_SMALL, false, &often, &small) &&
             rate_try(RATE_SEVERAL, RATE_TINY, false, NULL, &several) &&
             rate_try(1, RATE_SMALL / 3, true, NULL, &common);
        large = small;
        ok = ok && (threads == 1 || rate_try(1, threads * RATE_LARGE, false, &often, &large));
        wipe_deinit(&often);
        wipe_forget();
        if (!ok)
                return false;
        *ret = (WipeRate){.processors = rate_processors(), .one_by_one = small.hidden, .measured = true};
        rate_derive(&small, &large, threads, &several, &common, ret);
        return true;
}

/* The last file that was read: a daemon asks for each run. A new file replaces the old file by name. */
static struct {
        pthread_mutex_t lock;
        uint64_t dev, inode;
        struct timespec changed;
        RateKept kept;
} rate_last = {.lock = PTHREAD_MUTEX_INITIALIZER};

static bool rate_was_read(const struct stat *st, RateKept *ret) {
        bool same;

        pthread_mutex_lock(&rate_last.lock);
        same = rate_last.inode == st->st_ino && rate_last.dev == st->st_dev &&
               rate_last.changed.tv_sec == st->st_ctim.tv_sec && rate_last.changed.tv_nsec == st->st_ctim.tv_nsec;
        if (same)
                *ret = rate_last.kept;
        pthread_mutex_unlock(&rate_last.lock);
        return same;
}

static bool rate_read(const char *store_dir, RateKept *ret) {
        _cleanup_free_ uint8_t *bytes = NULL;
        char path[PATH_MAX];
        struct stat st;
        size_t n = 0;
        int dir;
        bool ok;

        if (snprintf(path, sizeof(path), "%s/cache/" RATE_NAME, store_dir) >= (int)sizeof(path) || lstat(path, &st) < 0)
                return false;
        if (rate_was_read(&st, ret))
                return true;
        dir = cache_open(store_dir);
        ok = dir >= 0 && cache_get(dir, RATE_NAME, sizeof(*ret), &bytes, &n) == 0 && n == sizeof(*ret);
        closep(&dir);
        if (!ok)
                return false;
        memcpy(ret, bytes, sizeof(*ret));
        pthread_mutex_lock(&rate_last.lock);
        rate_last.dev = st.st_dev;
        rate_last.inode = st.st_ino;
        rate_last.changed = st.st_ctim;
        rate_last.kept = *ret;
        pthread_mutex_unlock(&rate_last.lock);
        return true;
}

static void rate_keep(const char *store_dir, const RateKept *k) {
        int dir = cache_open(store_dir);

        if (dir >= 0)
                cache_put(dir, RATE_NAME, k, sizeof(*k));
        closep(&dir);
}

void rate_get(const char *store_dir, bool measure, WipeRate *ret) {
        RateKept here, kept = {};
        bool there;

        rate_here(&here);
        there = store_dir && rate_read(store_dir, &kept);
        there = there && memcmp(kept.boot, here.boot, sizeof(here.boot)) == 0 &&
                memcmp(kept.version, here.version, sizeof(here.version)) == 0 && kept.processors == here.processors &&
                kept.rate.processors == here.processors;
        if (measure && !(there && here.real_usec - kept.real_usec < RATE_AGE_USEC) && rate_measure(&here.rate)) {
                if (store_dir)
                        rate_keep(store_dir, &here);
                kept = here;
                there = true;
        }
        *ret = there ? kept.rate : wipe_rate_unknown;
}

bool rate_is_needed(const Grant *g) {
        return g->cancel_declared || g->cancel_ceiling_usec > 0 || (g->sub_skills && *g->sub_skills);
}
