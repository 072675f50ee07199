/* The same guard for several regions, which saves the cost of making and ending a guard each time. Between two
 * regions the guard is as new: no descriptor, no task, no byte of the last region in its memory, stack, registers or
 * evidence page. In case of doubt, and after any rare event, the guard ends instead. */
#include "scrub/tracer/state.h"

#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define REGIONS_MAX 64
#define BYTES_MAX (8ULL << 20) /* of a region: more is overwritten by threads, which have stacks of their own */
#define PROCESSES_MAX 64
#define KEPT_MAX 4096          /* elements of an array that is kept, empty */
#define STACK_MAX (72 * 1024)   /* at most a single buffer of 32 KB is live on the stack; the rest is small */

static bool again_is_ordinary(const GuardEvidence *e) {
        uint64_t odd = e->processes_missed | e->registers_missed;

        for (size_t i = 0; i < GUARD_MISSED_COUNT; i++)
                odd |= e->bytes_missed[i];
        return odd == 0 && e->state == GUARD_STATE_EMPTY && !(e->facts & GUARD_FACT_ORPHANED) &&
               e->bytes_held <= BYTES_MAX && e->processes <= PROCESSES_MAX && e->passes == 1;
}

bool again_may(const Tracer *g) {
        siginfo_t info;

        return g->attached && g->empty && !g->odd && !g->orphaned && !g->killed && !g->hurries && !g->pause.active &&
               g->tier == 2 && g->n_tasks == 0 && g->n_moving == 0 && !g->ending && g->n_kept == 0 &&
               g->n_queues == 0 && g->regions < REGIONS_MAX && again_is_ordinary(g->evidence) &&
               waitid(P_ALL, 0, &info, WEXITED | WSTOPPED | WNOHANG | WNOWAIT | __WALL) < 0 && errno == ECHILD;
}

static void *again_forget_array(void *v, size_t n, size_t size) {
        if (v)
                explicit_bzero(v, n * size);
        return v;
}

static Runs again_forget_runs(const Runs *r) {
        return (Runs){.v = again_forget_array(r->v, r->max, sizeof(*r->v)), .max = r->max};
}

/* Small arrays stay: the next region needs them at once. */
static void again_forget_scan(PageScan *s) {
        if (s->max_areas > KEPT_MAX || s->own.max > KEPT_MAX || s->common.max > KEPT_MAX || s->frames.max > KEPT_MAX ||
            s->found.max > KEPT_MAX || s->odd.max > 0 || s->common_frames.v || s->kernel_frames.v) {
                scan_deinit(s);
                return;
        }
        *s = (PageScan){.areas = again_forget_array(s->areas, s->max_areas, sizeof(*s->areas)),
                        .max_areas = s->max_areas,
                        .frames = {.v = again_forget_array(s->frames.v, s->frames.max, sizeof(*s->frames.v)),
                                   .max = s->frames.max},
                        .own = again_forget_runs(&s->own),
                        .common = again_forget_runs(&s->common), .found = again_forget_runs(&s->found)};
}

/* Below the caller's frame. */
static void __attribute__((noinline)) again_forget_stack(void) {
        unsigned char below[STACK_MAX];

        explicit_bzero(below, sizeof(below));
}

static void again_forget_registers(void) {
#if defined(__x86_64__)
        __asm__ volatile(
                "pxor %%xmm0, %%xmm0\n\tpxor %%xmm1, %%xmm1\n\tpxor %%xmm2, %%xmm2\n\tpxor %%xmm3, %%xmm3\n\t"
                "pxor %%xmm4, %%xmm4\n\tpxor %%xmm5, %%xmm5\n\tpxor %%xmm6, %%xmm6\n\tpxor %%xmm7, %%xmm7\n\t"
                "pxor %%xmm8, %%xmm8\n\tpxor %%xmm9, %%xmm9\n\tpxor %%xmm10, %%xmm10\n\tpxor %%xmm11, %%xmm11\n\t"
                "pxor %%xmm12, %%xmm12\n\tpxor %%xmm13, %%xmm13\n\tpxor %%xmm14, %%xmm14\n\tpxor %%xmm15, %%xmm15" ::
                        : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10",
                          "xmm11", "xmm12", "xmm13", "xmm14", "xmm15");
#elif defined(__aarch64__)
        __asm__ volatile(
                "movi v0.2d, #0\n\tmovi v1.2d, #0\n\tmovi v2.2d, #0\n\tmovi v3.2d, #0\n\tmovi v4.2d, #0\n\tmovi v5.2d, #0\n\t"
                "movi v6.2d, #0\n\tmovi v7.2d, #0\n\tmovi v16.2d, #0\n\tmovi v17.2d, #0\n\tmovi v18.2d, #0\n\tmovi v19.2d, #0\n\t"
                "movi v20.2d, #0\n\tmovi v21.2d, #0\n\tmovi v22.2d, #0\n\tmovi v23.2d, #0\n\tmovi v24.2d, #0\n\tmovi v25.2d, #0\n\t"
                "movi v26.2d, #0\n\tmovi v27.2d, #0\n\tmovi v28.2d, #0\n\tmovi v29.2d, #0\n\tmovi v30.2d, #0\n\tmovi v31.2d, #0" ::
                        : "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v16", "v17", "v18", "v19", "v20", "v21",
                          "v22", "v23", "v24", "v25", "v26", "v27", "v28", "v29", "v30", "v31");
#endif
}

int again(Tracer *g) {
        const struct {
                GuardEvidence *evidence;
                void (*take_sent)(Tracer *);
                int control, fd_max;
                dev_t pipe_dev;
                unsigned regions;
        } was = {g->evidence, g->take_sent, g->control, g->fd_max, g->pipe_dev, g->regions};
        PageScan scan;

        if (syscall(SYS_close_range, GUARD_FD_EVIDENCE, ~0U, 0) < 0)
                return -errno;
        free(g->kept);
        free(g->init_objects.v);
        scan_deinit(&g->other);
        wipe_deinit(&g->wipe);
        wipe_forget();
        again_forget_scan(&g->scan);
        scan = g->scan;
        explicit_bzero(g, sizeof(*g));
        *g = (Tracer){.control = was.control, .evidence = was.evidence, .fd_max = was.fd_max, .pipe_dev = was.pipe_dev,
                      .regions = was.regions + 1, .take_sent = was.take_sent, .scan = scan};
        guard_begin(g);
        explicit_bzero(g->evidence, sizeof(*g->evidence));
        g->evidence->version = GUARD_VERSION;
        again_forget_stack();
        again_forget_registers();
        guard_tell(g, GUARD_AS_NEW, 0, 0);
        return 0;
}
