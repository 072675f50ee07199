/* Runs: lethe-guard. Finds pages of shared anonymous memory that exist without an entry in the process's page table. A
 * process may map 500 MB and touch a single page: then the rest never existed. Or a process wrote the rest and has
 * ended: then it exists.
 *
 * A read fault maps the existing pages in the window around its address (fault-around, mm/memory.c do_fault_around),
 * and makes only the page it reads. So a single page of each window is read, and then the page tables show the existing
 * pages. A page locked by the kernel at that moment is left out. A second look reads a second page of each window and
 * must find no new page: else the object cannot be judged. */
#include "scrub/tracer/state.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/sysinfo.h>

#define WINDOW_MAX (64UL << 10) /* the kernel's default; changeable through debugfs */
#define LOOKS 2
#define CREATION_MAX (64ULL << 20) /* memory that the looks at an area may take */

static uint64_t holes_faults(void) {
        struct rusage u;

        return getrusage(RUSAGE_THREAD, &u) < 0 ? UINT64_MAX : (uint64_t)u.ru_minflt;
}

/* The bytes of a window (at least a page), measured with own memory: existing pages without table entries. */
static uint64_t holes_window(void) {
        static uint64_t known;
        uint64_t n = 1, faults;
        volatile char *w;
        char *m;

        if (known > 0)
                return known;
        known = SCAN_PAGE;
        m = mmap(NULL, 2 * WINDOW_MAX, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (m == MAP_FAILED)
                return known;
        w = (char *)(((uintptr_t)m + WINDOW_MAX - 1) / WINDOW_MAX * WINDOW_MAX);
        madvise(m, 2 * WINDOW_MAX, MADV_NOHUGEPAGE);
        for (uint64_t i = 0; i < WINDOW_MAX; i += SCAN_PAGE)
                w[i] = 1;
        if (madvise((char *)w, WINDOW_MAX, MADV_DONTNEED) == 0) { /* out of the page table; the pages stay */
                (void)w[0];
                faults = holes_faults();
                while (n < WINDOW_MAX / SCAN_PAGE && faults != UINT64_MAX) {
                        (void)w[n * SCAN_PAGE];
                        if (holes_faults() != faults)
                                break;
                        n++;
                }
                while (known * 2 <= n * SCAN_PAGE)
                        known *= 2;
        }
        munmap(m, 2 * WINDOW_MAX);
        return known;
}

/* Pages in swap have no page table entry either, and no window maps them. With swap in use, smaps tells. */
static bool holes_none_swapped(PageScan *s, const Area *a) {
        struct sysinfo info;

        return (sysinfo(&info) == 0 && info.freeswap == info.totalswap) || scan_none_swapped(s, a);
}

/* Reads the first absent page of each window. Pages that read as zeros, new or not, are appended to *empty. */
static int holes_read(Tracer *g, const Runs *absent, uint64_t window, Runs *empty, uint64_t *ret_read) {
        uint64_t before = UINT64_MAX;

        *ret_read = 0;
        for (size_t i = 0; i < absent->n; i++)
                for (uint64_t at = absent->v[i].start; at < absent->v[i].end; at = (at / window + 1) * window) {
                        AddressRun one = {at, at + SCAN_PAGE};
                        const Runs page = {.v = &one, .n = 1, .bytes = SCAN_PAGE};

                        if (at / window == before)
                                continue;
                        before = at / window;
                        g->evidence->beats++;
                        *ret_read += SCAN_PAGE;
                        if (wipe_count_nonzero(&g->scan, &page) == 0 && runs_add(empty, one.start, one.end) < 0)
                                return -ENOMEM;
                }
        return 0;
}

static bool holes_is_in(const Runs *r, uint64_t at, size_t *i) {
        while (*i < r->n && r->v[*i].end <= at)
                ++*i;
        return *i < r->n && r->v[*i].start <= at;
}

/* The pages of `all` that are in neither of the two. */
static int holes_without(const Runs *all, const Runs *empty, const Runs *empty_too, Runs *ret) {
        size_t j = 0, k = 0;

        for (size_t i = 0; i < all->n; i++)
                for (uint64_t at = all->v[i].start; at < all->v[i].end; at += SCAN_PAGE)
                        if (!holes_is_in(empty, at, &j) && !holes_is_in(empty_too, at, &k) &&
                            runs_add(ret, at, at + SCAN_PAGE) < 0)
                                return -ENOMEM;
        return 0;
}

int holes_look(Tracer *g, const Area *a, const Runs *absent, Runs *ret_present) {
        const uint64_t window = holes_window();
        Runs shown[LOOKS] = {}, hidden[LOOKS] = {}, empty[LOOKS] = {};
        uint64_t read[LOOKS] = {};
        int r = 0;

        if (absent->bytes / window > CREATION_MAX / LOOKS / SCAN_PAGE || !holes_none_swapped(&g->scan, a))
                return -EOPNOTSUPP;
        /* no fault maps the object's page behind a guard page, and no write through this process reaches it */
        if (g->scan.guarded)
                return -EFAULT;
        for (size_t i = 0; r == 0 && i < LOOKS; i++) {
                r = holes_read(g, i == 0 ? absent : &hidden[i - 1], window, &empty[i], &read[i]);
                r = r ?: scan_shared(&g->scan, a, &shown[i], &hidden[i]);
        }
        if (r == 0 && shown[1].bytes != shown[0].bytes + read[1])
                r = -EAGAIN;
        if (r == 0 && !holes_none_swapped(&g->scan, a)) /* a page swapped out in between was missed by both looks */
                r = -EAGAIN;
        r = r ?: holes_without(&shown[1], &empty[0], &empty[1], ret_present);
        for (size_t i = 0; i < LOOKS; i++) {
                runs_deinit(&shown[i]);
                runs_deinit(&hidden[i]);
                runs_deinit(&empty[i]);
        }
        return r;
}
