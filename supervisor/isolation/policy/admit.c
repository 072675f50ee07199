#include "policy/admit.h"

#include "base/size.h"

#include <inttypes.h>

#define ADMIT_PAGE 4096
#define ADMIT_LARGE (UINT64_C(16) << 20) /* bytes of a process from which the guard has more than one thread */
/* The work of removing scratch, control groups, pipes and namespaces of a region, in ends of processes. */
#define ADMIT_FIXED_ENDS 24
/* Under multipass the guard requests and fills pages of kernel buffers (6 MiB) and names (1,536): all on the first
 * processor, a quarter on each of up to eight others (scrub/tracer/refill.c). A name takes a third of a page's time. */
#define ADMIT_REFILL_PAGES 2048
#define ADMIT_REFILL_OTHERS 8
/* Processes that end in turn use a single processor, and each waiting process is inspected until the end before: half
 * of its own time more. */
#define ADMIT_ONE_BY_ONE(nsec) ((nsec) / 2 * 3)
/* A region forks between two looks at its mappings, and several ends disturb each other. */
#define ADMIT_MAPPING 3
#define ADMIT_MARGIN 2
#define ADMIT_BOUND_MOST_USEC UINT64_C(3600000000) /* of a bound that nobody limits: doubling has an end */

const WipeRate wipe_rate_unknown = {.page = 2700, .page_large = 2700, .pass = 1700, .pass_large = 1700, .gone = 500,
                                    .mapped = 300,
                                    .process = 180000, .process_gone = 80000, .processors = 1};

static uint64_t admit_refill(const WipeRate *rate) {
        const uint64_t others = MIN(rate->processors - 1, (uint64_t)ADMIT_REFILL_OTHERS);

        return ADMIT_REFILL_PAGES * (4 + others) / 4 * (rate->page + rate->gone);
}

/* A region divides its memory among its processes freely. Either a single process has all memory: several threads
 * overwrite the memory, and then the memory is returned. Or each process has too little for a second thread, and a
 * single process has the rest: other processors return the memory of a process while the next process is
 * overwritten. */
static uint64_t admit_pages(const WipeRate *rate, uint64_t bytes, uint64_t further, uint64_t processes) {
        const uint64_t large = rate->page_large + further * rate->pass_large + rate->gone;
        const uint64_t small = rate->page + further * rate->pass + rate->gone / rate->processors;
        const uint64_t pages = bytes / ADMIT_PAGE, apart = MIN(bytes, processes * ADMIT_LARGE) / ADMIT_PAGE;

        return MAX(pages * large, apart * small + (pages - apart) * large);
}

uint64_t admit_predict(const WipeRate *rate, uint64_t bytes, Discipline d, unsigned passes, uint64_t processes) {
        const uint64_t end = rate->process - rate->process_gone + rate->process_gone / rate->processors;
        uint64_t nsec = ADMIT_FIXED_ENDS * end +
                        processes * (rate->one_by_one && processes > 1 ? ADMIT_ONE_BY_ONE(rate->process) : end);

        if (d != DISCIPLINE_NONE)
                nsec += admit_pages(rate, bytes, passes > 1 ? passes - 1 : 0, processes);
        if (d == DISCIPLINE_MULTIPASS)
                nsec += admit_refill(rate);
        return nsec / 1000;
}

uint64_t admit_bytes(const Grant *g) {
        const uint64_t all = (uint64_t)MAX(sysconf(_SC_PHYS_PAGES), 1L) * (uint64_t)MAX(sysconf(_SC_PAGESIZE), 1L);
        const uint64_t held = MIN(g->budget.memory_bytes, all);

        /* the scratch is a folder, not memory */
        return g->tier == TIER_LANDLOCK || g->min_tier == TIER_LANDLOCK ? held + MIN(g->budget.scratch_bytes, all)
                                                                        : held;
}

uint64_t admit_callbacks_usec(const Grant *g) {
        const uint64_t bound = g->cancel_bound_usec - MIN(g->grace_usec, g->cancel_bound_usec),
                       kept = MAX(bound / 4, MIN(ADMIT_MARGIN * g->teardown_usec, bound));

        return bound - kept;
}

uint64_t admit_mappings(const Grant *g, uint64_t bound_usec) {
        const uint64_t busy = g->grace_usec + g->teardown_usec + (g->n_releases > 0 ? admit_callbacks_usec(g) : 0);
        const uint64_t left = bound_usec > busy ? bound_usec - busy : 0;

        return g->mapping_nsec == 0 ? UINT64_MAX : admit_bytes(g) / ADMIT_PAGE + left * 1000 / g->mapping_nsec;
}

bool admit_mapped(const Grant *g, uint64_t mappings, uint64_t *bound_usec) {
        while (mappings > admit_mappings(g, *bound_usec) && *bound_usec < g->cancel_most_usec)
                *bound_usec = MIN(*bound_usec * 2, g->cancel_most_usec);
        return mappings <= admit_mappings(g, *bound_usec);
}

int admit(Grant *g, const WipeRate *rate, uint64_t above, Diag *reterr) {
        const char *of;
        char bound[SIZE_TEXT_MAX], size[SIZE_TEXT_MAX], takes[SIZE_TEXT_MAX], least[SIZE_TEXT_MAX],
                speed[SIZE_TEXT_MAX], discipline[DISCIPLINE_TEXT_MAX];
        const uint64_t bytes = admit_bytes(g);
        uint64_t need, ceiling = g->cancel_ceiling_usec ?: UINT64_MAX;

        g->teardown_usec = admit_predict(rate, bytes, g->discipline, g->passes, g->budget.processes);
        need = ADMIT_MARGIN * g->teardown_usec;
        if (g->n_releases > 0 && above == 0)
                /* the callbacks get a quarter of the whole, or half */
                need += g->cancel_declared ? (need + 2) / 3 : need;
        need += g->grace_usec;
        if (above > 0)
                ceiling = MIN(ceiling, above);
        while (!g->cancel_declared && g->cancel_bound_usec < need && g->cancel_bound_usec < ceiling)
                g->cancel_bound_usec *= 2;
        g->cancel_bound_usec = MIN(g->cancel_bound_usec, ceiling);
        g->cancel_most_usec = g->cancel_declared ? g->cancel_bound_usec : MIN(ceiling, (uint64_t)ADMIT_BOUND_MOST_USEC);
        g->mapping_nsec = g->discipline == DISCIPLINE_NONE ? 0 : ADMIT_MAPPING * rate->mapped;
        if (need <= g->cancel_bound_usec)
                return 0;
        of = above > 0 && g->cancel_bound_usec == above ? " (of the region above)"
             : g->cancel_declared                       ? ""
                                                        : " (the policy's ceiling)";
        return diag(reterr, GRANT_E_BOUNDS,
                    "cancel bound %s%s: to overwrite %s (%s) of up to %" PRIu64
                    " process%s is predicted to take %s on this machine (%s: %s a second), and %s are to fit%s%s; "
                    "declare a larger cancel_bound, or ask for less memory or fewer processes",
                    duration_format(g->cancel_bound_usec, bound), of, size_format(bytes, size),
                    discipline_format(g->discipline, g->passes, discipline), g->budget.processes,
                    g->budget.processes == 1 ? "" : "es", duration_format(g->teardown_usec, takes),
                    rate->measured ? "measured" : "nobody has measured it",
                    size_format(ADMIT_PAGE * UINT64_C(1000000000) / MAX(rate->page + rate->gone, (uint64_t)1), speed),
                    duration_format(need, least), g->n_releases > 0 ? ", with the time of release callbacks" : "",
                    g->grace_usec > 0 ? ", with the grace" : "");
}

uint64_t admit_beyond(const WipeRate *rate, const Grant *g, const Grant *above) {
        const uint64_t as_above =
                admit_predict(rate, admit_bytes(g), above->discipline, above->passes, g->budget.processes);

        return g->teardown_usec > as_above ? g->teardown_usec - as_above : 0;
}

int admit_together(const Grant *above, uint64_t beyond, Diag *reterr) {
        char bound[SIZE_TEXT_MAX], takes[SIZE_TEXT_MAX], least[SIZE_TEXT_MAX];
        const uint64_t all = above->teardown_usec + beyond, need = ADMIT_MARGIN * all;

        if (need <= above->cancel_bound_usec)
                return 0;
        return diag(reterr, GRANT_E_BOUNDS,
                    "cancel bound %s (of the region above): to overwrite that region and all below it, which are "
                    "overwritten more often, is predicted to take %s, and %s are to fit; declare a larger "
                    "cancel_bound there, or run fewer of them at once",
                    duration_format(above->cancel_bound_usec, bound), duration_format(all, takes),
                    duration_format(need, least));
}
