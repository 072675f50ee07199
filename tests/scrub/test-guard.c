/* The guard alone, with programs that end in every way there is (I-12, I-29, I-34). */
#include "tests/scrub/guarded.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#define MB (1024ULL * 1024)

typedef struct Row {
        const char *way, *arg;
        uint64_t least;     /* bytes that must be overwritten */
        uint64_t processes, threads;
        int kill;           /* the test kills it, once it says that it is ready */
} Row;

static const Row rows[] = {
        {"exit", "", MB / 2, 1, 1, 0},
        {"segv", "", MB, 1, 1, 0},
        {"abort", "", MB, 1, 1, 0},
        {"cpu", "", MB, 1, 1, 0},
        {"wait", "", MB, 1, 1, SIGKILL},
        {"wait", "", MB, 1, 1, SIGTERM},
        {"spin", "", MB, 1, 5, SIGKILL},
        {"threads", "", MB, 1, 6, 0},
        {"leader", "", MB, 1, 2, 0},
        {"protect", "", 3 * MB, 1, 1, 0},
        {"lock", "", MB / 2, 1, 1, 0},
        {"huge", "", 8 * MB, 1, 1, 0},
        {"zero-page", "", 64 * 1024, 1, 1, 0},
        {"areas", "", 10000 * 4096ULL, 1, 1, 0},
        {"signal", "", MB, 1, 1, 0},
};

static void show(const Row *r, const Guarded *g) {
        const GuardEvidence *v = g->evidence;

        cr_log_info("%s %s: held %lu overwritten %lu verified %lu missed %lu %lu %lu %lu %lu %lu lost %lu images %lu frames %lu usec %lu\n", r->way, r->arg,
                    v->bytes_held, v->bytes_overwritten, v->bytes_verified, v->bytes_missed[0], v->bytes_missed[1], v->bytes_missed[2],
                    v->bytes_missed[3], v->bytes_missed[4], v->bytes_missed[5], v->processes_missed, v->exec_images, v->frames_checked, v->scrub_usec);
}

static void end_it(Guarded *g, const Row *r) {
        char line[64];

        guarded_go(g);
        if (r->kill) {
                guarded_hear(g, line, sizeof(line));
                kill(g->traced, r->kill);
        }
        guarded_expect(g, GUARD_EMPTY);
}

/* What the traced task left in memory that another task keeps: no word of the secret. */
Test(guard, every_end_is_overwritten) {
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                const Row *r = &rows[i];
                Guarded g;
                uint64_t left;

                guarded_start(&g, 0, 1, 2, -1, (const char *[]){"keep", r->way, r->arg, NULL});
                end_it(&g, r);
                left = guarded_secrets(g.prey);
                show(r, &g);
                cr_expect(left == 0, "%s: %lu words left", r->way, left);
                cr_expect(g.evidence->bytes_overwritten >= r->least, "%s: %lu bytes", r->way, g.evidence->bytes_overwritten);
                cr_expect(guarded_missed(&g) == 0 && g.evidence->registers_missed == 0, "%s: something missed", r->way);
                cr_expect(g.evidence->processes == r->processes && g.evidence->threads == r->threads, "%s: %lu processes, %lu threads", r->way,
                          g.evidence->processes, g.evidence->threads);
                guarded_end(&g);
        }
}
