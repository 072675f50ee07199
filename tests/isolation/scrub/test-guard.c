/* The guard alone, with programs that end in every way there is (I-12, I-29, I-34). */
#include "tests/isolation/scrub/guarded.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#define MB (1024ULL * 1024)

typedef struct Row {
        const char *way, *arg;
        uint64_t least; /* bytes that must be overwritten */
        uint64_t processes, threads;
        int kill;       /* the test kills it, once it says that it is ready */
} Row;

static const Row ends[] = {
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
        {"big", "64", 64 * MB, 1, 1, 0},
};

static const struct Setting {
        const char *name;
        uid_t uid;
        bool without_scan;
        unsigned passes;
} settings[] = {
        {"root", 0, false, 1},
        {"root, old kernel", 0, true, 1},
        {"root, three passes", 0, false, 3},
        {"user", 65534, false, 1},
        {"user, old kernel", 65534, true, 4},
};

static void end_it(Guarded *g, const Row *r) {
        char line[64];

        guarded_go(g);
        if (r->kill) {
                guarded_hear(g, line, sizeof(line));
                kill(g->traced, r->kill);
        }
        guarded_expect(g, GUARD_EMPTY);
}

static void check_end(const struct Setting *s, const Row *r) {
        const GuardEvidence *v;
        Guarded g;
        uint64_t left;

        guarded_start(&g, 0, s->passes, 2, -1, (const char *[]){"keep", r->way, r->arg, NULL});
        end_it(&g, r);
        v = g.evidence;
        left = guarded_secrets(g.prey);
        cr_expect(left == 0, "%s, %s: %lu words left", s->name, r->way, left);
        cr_expect(v->bytes_overwritten >= r->least, "%s, %s: %lu bytes", s->name, r->way, v->bytes_overwritten);
        cr_expect(v->bytes_verified == v->bytes_overwritten && v->bytes_held == v->bytes_overwritten);
        cr_expect(guarded_missed(&g) == 0 && v->registers_missed == 0, "%s, %s: %lu missed", s->name, r->way, guarded_missed(&g));
        cr_expect(v->processes == r->processes && v->threads == r->threads, "%s, %s: %lu processes, %lu threads", s->name, r->way,
                  v->processes, v->threads);
        cr_expect(v->state == GUARD_STATE_EMPTY && v->passes == s->passes);
        cr_expect(!(v->facts & GUARD_FACT_SCAN) == s->without_scan || !guarded_has_scan());
        cr_expect((s->uid == 0) == (v->frames_checked * 4096 >= r->least), "%s, %s: %lu frames", s->name, r->way, v->frames_checked);
        guarded_end(&g);
}

/* Another task keeps the memory that the traced one ended with: no word of the secret is in it. */
Test(guard, every_end_is_overwritten) {
        for (size_t i = 0; i < ARRAY_SIZE(settings); i++) {
                if (settings[i].uid == 0 && geteuid() != 0)
                        continue;
                guarded_uid = settings[i].uid;
                guarded_without_scan = settings[i].without_scan;
                for (size_t k = 0; k < ARRAY_SIZE(ends); k++)
                        check_end(&settings[i], &ends[k]);
        }
}

static int end_status(Guarded *g) {
        int status;

        cr_assert(waitpid(g->prey, &status, 0) == g->prey);
        return status;
}

/* What the program sees is what it sees without a guard. */
Test(guard, signals_and_ends_pass_through) {
        char line[64];
        Guarded g;

        guarded_start(&g, 0, 1, 2, -1, (const char *[]){"signal", NULL});
        guarded_go(&g);
        guarded_hear(&g, line, sizeof(line));
        cr_expect(atoi(line) == SIGUSR1);
        guarded_hear(&g, line, sizeof(line));
        cr_expect(atoi(line) == SIGTRAP);
        guarded_expect(&g, GUARD_EMPTY);
        cr_expect(end_status(&g) == 0);
        guarded_end(&g);

        guarded_start(&g, 0, 1, 2, -1, (const char *[]){"segv", NULL});
        guarded_go(&g);
        guarded_expect(&g, GUARD_EMPTY);
        cr_expect((end_status(&g) & 0x7f) == SIGSEGV);
        guarded_end(&g);
}

/* A stopped program stays stopped, its parent sees it, and it goes on with SIGCONT; one that is killed while stopped is overwritten. */
Test(guard, job_control_passes_through) {
        for (int how = 0; how < 2; how++) {
                char line[64];
                Guarded g;
                int status;

                guarded_start(&g, 0, 1, 2, -1, (const char *[]){"stop", NULL});
                guarded_go(&g);
                guarded_hear(&g, line, sizeof(line));
                cr_assert(waitpid(g.prey, &status, WUNTRACED) == g.prey && WIFSTOPPED(status) && WSTOPSIG(status) == SIGSTOP);
                cr_expect(g.evidence->processes == 0);
                kill(g.prey, how == 0 ? SIGCONT : SIGKILL);
                if (how == 0) {
                        guarded_hear(&g, line, sizeof(line));
                        cr_expect(atoi(line) == 1);
                }
                guarded_expect(&g, GUARD_EMPTY);
                status = end_status(&g);
                cr_expect(how == 0 ? status == 0 : WTERMSIG(status) == SIGKILL, "%x", status);
                cr_expect(g.evidence->bytes_overwritten > MB && guarded_missed(&g) == 0);
                guarded_end(&g);
        }
}
