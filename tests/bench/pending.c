/* Runs: benchmarks. What a durable commit of governed memory costs while nothing is pending and while very much is: the same notes, in turns, into two stores
 * that differ in nothing else. Time on the wall and of the processor.
 *
 *   pending DIR ROUNDS ITEMS [SORT]
 *
 * Half of the items cannot tell two rows apart, the other half are about rows that are not there. The notes: one that has nothing in common with any item, one
 * of whose words half of them are made, one about a row that half of them may mean. */
#include "stats.h"

#include "belief/promote.h"
#include "engine/scope.h"

#include <string.h>
#include <sys/stat.h>

#define ROWS 200U

enum { UNRELATED, COMMON, BETWEEN, SORTS };
static const char *const sorts[] = {"unrelated", "common words", "a row between two"};

static void say(char *ret, size_t n, size_t sort, unsigned round) {
        if (sort == UNRELATED)
                snprintf(ret, n, "issue lamp_%u: a lamp went out in hall %u", round, round);
        else if (sort == COMMON)
                snprintf(ret, n, "issue disk_full_s%u: the disk of server s%u is full", round, round);
        else
                snprintf(ret, n, "issue disk_full_a: the disk of server one is full\ndetail: day %u", round);
}

typedef struct Side {
        Store *store;
        NoteRun run;
        uint64_t *wall[SORTS], *cpu[SORTS];
} Side;

_noreturn_ static void fail(const char *what, const char *why) {
        fprintf(stderr, "pending: %s: %s\n", what, why);
        exit(1);
}

static uint64_t cpu_nsec(void) {
        struct timespec t;

        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
        return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static Txn *begin(Store *s) {
        Diag d = {};
        Txn *t;

        if (store_begin(s, true, &t, &d) != 0)
                fail("store", d.text);
        return t;
}

static void end(Txn *t) {
        Diag d = {};

        if (store_commit(t, &d) != 0)
                fail("store", d.text);
}

static void add(Txn *t, const Side *s, const char *text) {
        uint64_t number;
        Diag d = {};

        if (engine_note_add(t, s->run.id, NOTE_AGENT, text, strlen(text), NULL, &number, &d) != 0)
                fail(text, d.text);
}

static Promoted promote(const Side *s, unsigned batch) {
        Promoting p = {.run = s->run.id, .batch = batch, .policy = &RESOLVE_POLICY_DEFAULT, .who = "uid:0"};
        bool of_store;
        Promoted sum;
        Diag d = {};

        if (belief_promote(s->store, &p, &sum, &of_store, &d) != 0)
                fail("promote", d.text);
        return sum;
}

static void new_run(Txn *t, Side *s) {
        Diag d = {};

        if (engine_run_begin(t, "uid:0", NULL, NULL, "bench", NULL, &s->run, &d) != 0)
                fail("run", d.text);
}

static void open_side(const char *path, unsigned items, unsigned rounds, Side *s) {
        static const char *const ails[] = {"leaks memory", "drops frames", "hangs at start", "reports a wrong length"};
        char text[256];
        Diag d = {};
        Txn *t;

        if (store_open(path, STORE_WRITE, &s->store, &d) != 0)
                fail(path, d.text);
        for (unsigned i = 0, n = 0; i < ROWS + 2 + items; i += n) {
                t = begin(s->store);
                new_run(t, s);
                for (n = 0; n < 500 && i + n < ROWS + 2 + items; n++) {
                        unsigned k = i + n;

                        if (k < ROWS)
                                snprintf(text, sizeof text, "issue the_issue_%u: the part p%u %s", k, k, ails[k % 4]);
                        else if (k < ROWS + 2)
                                snprintf(text, sizeof text, "issue disk_full_%c: the disk of server %s is full", "ab"[k - ROWS], k == ROWS ? "one" : "two");
                        else if (k % 2)
                                snprintf(text, sizeof text, "resolved: the disk of a server\nWho said it: %u", k);
                        else
                                snprintf(text, sizeof text, "resolved: the fan%u of rack%u\nref: the fan%u", k, k, k);
                        add(t, s, text);
                }
                end(t);
                promote(s, PROMOTE_BATCH_MAX);
        }
        for (size_t k = 0; k < SORTS; k++) {
                s->wall[k] = calloc(rounds, sizeof(uint64_t));
                s->cpu[k] = calloc(rounds, sizeof(uint64_t));
                if (!s->wall[k] || !s->cpu[k])
                        fail("rounds", "no memory");
        }
}

static void commit(Side *s, size_t sort, unsigned round) {
        uint64_t wall, cpu;
        Promoted sum;
        char text[256];
        Txn *t = begin(s->store);

        say(text, sizeof text, sort, round);
        new_run(t, s); /* a promotion looks at all notes of its run */
        add(t, s, text);
        end(t);
        wall = bench_nsec();
        cpu = cpu_nsec();
        sum = promote(s, 1);
        if (sum.committed != 1)
                fail(text, "not committed");
        s->cpu[sort][round] = cpu_nsec() - cpu;
        s->wall[sort][round] = bench_nsec() - wall;
}

int main(int argc, char **argv) {
        unsigned rounds = argc > 3 ? (unsigned)atoi(argv[2]) : 0, items = argc > 3 ? (unsigned)atoi(argv[3]) : 0;
        int only = argc > 4 ? atoi(argv[4]) : -1;
        char path[4096], name[96];
        Side sides[2] = {};

        if (rounds == 0 || only >= SORTS)
                return 2;
        if (mkdir(argv[1], 0700) < 0)
                fail(argv[1], "it is there");
        for (unsigned i = 0; i < 2; i++) {
                snprintf(path, sizeof path, "%s/%s", argv[1], i ? "many" : "none");
                open_side(path, i ? items : 0, rounds, &sides[i]);
        }
        for (unsigned round = 0; round < rounds; round++)
                for (size_t k = 0; k < SORTS; k++)
                        for (unsigned i = 0; i < 2 && (only < 0 || k == (size_t)only); i++)
                                commit(&sides[(i + round) % 2], k, round);
        for (size_t k = 0; k < SORTS; k++)
                for (unsigned i = 0; i < 2; i++) {
                        if (only >= 0 && k != (size_t)only)
                                continue;
                        snprintf(name, sizeof name, "%s, %u pending", sorts[k], i ? items : 0);
                        bench_print(name, sides[i].wall[k], rounds, 1);
                        snprintf(name, sizeof name, "%s, %u pending, processor", sorts[k], i ? items : 0);
                        bench_print(name, sides[i].cpu[k], rounds, 1);
                        free(sides[i].wall[k]);
                        free(sides[i].cpu[k]);
                }
        for (unsigned i = 0; i < 2; i++)
                store_free(sides[i].store);
        return 0;
}
