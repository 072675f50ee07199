#include "tests/governed/pipeline.h"

#include "base/clock.h"
#include "record/event.h"

#include <criterion/logging.h>
#include <lmdb.h>

/* What is asked of the store. */
static unsigned reads;

int __real_mdb_get(MDB_txn *t, MDB_dbi dbi, MDB_val *key, MDB_val *value);
int __real_mdb_cursor_get(MDB_cursor *c, MDB_val *key, MDB_val *value, MDB_cursor_op op);
int __wrap_mdb_get(MDB_txn *t, MDB_dbi dbi, MDB_val *key, MDB_val *value);
int __wrap_mdb_cursor_get(MDB_cursor *c, MDB_val *key, MDB_val *value, MDB_cursor_op op);

int __wrap_mdb_get(MDB_txn *t, MDB_dbi dbi, MDB_val *key, MDB_val *value) {
        reads++;
        return __real_mdb_get(t, dbi, key, value);
}

int __wrap_mdb_cursor_get(MDB_cursor *c, MDB_val *key, MDB_val *value, MDB_cursor_op op) {
        reads++;
        return __real_mdb_cursor_get(c, key, value, op);
}

/* LETHE_PENDING: how many wait. What the commits take is told, not judged: the bench does that. */
static unsigned many(void) {
        const char *s = getenv("LETHE_PENDING");

        return s ? (unsigned)atoi(s) : 2000;
}

static void fill(Pipe *p, unsigned n) {
        char text[200];

        for (unsigned done = 0; done < n;) {
                NoteRun run = pipe_begin(p, "crowd");
                Txn *t = store_fixture_begin(&p->f, true);

                for (unsigned i = 0; i < 500 && done < n; i++, done++) {
                        uint64_t number;

                        if (done % 2)
                                snprintf(text, sizeof(text), "resolved: the disk of a server\nWho said it: %u", done);
                        else
                                snprintf(text, sizeof(text), "resolved: the fan%u of rack%u\nref: the fan%u", done, done, done);
                        cr_assert_eq(engine_note_add(t, run.id, NOTE_AGENT, text, strlen(text), NULL, &number, &p->f.d), 0);
                }
                store_fixture_commit(&p->f, t);
                pipe_promote(p, run.id, 64, NULL);
                cr_assert_eq(p->sum.pending, p->sum.notes);
        }
}

/* Attempts of the events from `from` on. */
static unsigned most_attempts(Pipe *p, uint64_t from) {
        _cleanup_txn_ Txn *t = store_fixture_begin(&p->f, false);
        unsigned most = 0;
        uint64_t n, last;

        cr_assert_eq(ledger_state(t, &n, &last), 0);
        for (uint64_t i = from; i < n; i++) {
                _cleanup_json_ json_t *entry = NULL;

                cr_assert_eq(event_get(t, i, &entry), 0);
                most = MAX(most, (unsigned)json_array_size(json_object_get(entry, "failed")));
        }
        return most;
}

typedef struct Cost {
        double usec;    /* of one durable commit */
        unsigned reads; /* of rows, the most in one */
        unsigned attempts;
} Cost;

/* Of n commits; the notes are there already. */
static Cost commits(Pipe *p, const char *before, const char *after, unsigned n) {
        uint64_t from = pipe_rows(p, TABLE_EVENT), all = 0;
        NoteRun run = pipe_begin(p, "crowd");
        Cost cost = {0};
        char text[200];

        for (unsigned i = 0; i < n; i++) {
                uint64_t began;

                snprintf(text, sizeof(text), "%s%u%s%u", before, i, after, i);
                pipe_note(p, run.id, NOTE_AGENT, text);
                reads = 0;
                began = clock_mono_usec();
                pipe_promote(p, run.id, 1, NULL);
                all += clock_mono_usec() - began;
                cost.reads = MAX(cost.reads, reads);
                cr_assert_eq(p->sum.committed, 1, "%s: %s", text, pipe_word(p->last, "code"));
        }
        cost.usec = (double)all / n;
        cost.attempts = most_attempts(p, from);
        return cost;
}

enum { UNRELATED, COMMON, BETWEEN, SORTS };

static void commit_each(Pipe *p, unsigned stage, Cost ret[static SORTS]) {
        char before[80];

        snprintf(before, sizeof(before), "issue lamp_%u_", stage);
        ret[UNRELATED] = commits(p, before, ": a lamp went out in room ", 6);
        snprintf(before, sizeof(before), "issue disk_%u_", stage);
        ret[COMMON] = commits(p, before, ": the disk of a server is full in room ", 6);
        ret[BETWEEN] = commits(p, "issue disk_full_a: the disk of server one is full\ndetail: day ", ", ", 6);
}

// G-47, G-49: of items that are alike, a commit tries a few; the next have their turn when these are stuck
Test(crowd, the_alike_take_turns) {
        unsigned stuck = 0, tried = 0, untried = 0;
        uint64_t id = 0;
        _cleanup_pipe_ Pipe p;
        Wait w;
        Txn *t;

        pipe_init(&p);
        pipe_say(&p, "issue disk_full_a: the disk of server one is full", NULL);
        pipe_say(&p, "issue disk_full_b: the disk of server two is full", NULL);
        fill(&p, 32);
        cr_expect_eq(commits(&p, "issue disk_full_a: the disk of server one is full\ndetail: day 9", ", 9", 1).attempts, SETTLE_ALIKE_MOST);
        cr_expect_eq(commits(&p, "issue disk_full_a: the disk of server one is full\ndetail: day 9", ", 9", WAIT_ATTEMPTS_MAX).attempts, SETTLE_ALIKE_MOST);
        t = store_fixture_begin(&p.f, false);
        for (; wait_next(t, id, 0, 0, &w) == 0; id = w.id + 1) {
                stuck += w.state == WAIT_STUCK;
                tried += w.state == WAIT_OPEN && w.attempts > 0;
                untried += w.state == WAIT_OPEN && w.attempts == 0;
        }
        store_abort(t);
        cr_expect(stuck == SETTLE_ALIKE_MOST && tried == SETTLE_ALIKE_MOST && untried == 32 - 2 * SETTLE_ALIKE_MOST, "%u stuck, %u tried, %u not", stuck, tried,
                  untried);
        pipe_holds(&p);
}

// G-46, G-47, G-49: however many wait, a commit reads a bounded number of rows, and tries none that it does not concern; none is lost
Test(crowd, many_wait) {
        static const char *const names[] = {"that has nothing to do with them", "of whose words half of them are", "about a row that half of them may mean"};
        Cost none[SORTS], some[SORTS], crowded[SORTS];
        uint64_t id = 0, open = 0, tried = 0;
        unsigned n = many();
        _cleanup_pipe_ Pipe p;
        Wait w;

        pipe_init(&p);
        pipe_say(&p, "issue disk_full_a: the disk of server one is full", NULL);
        pipe_say(&p, "issue disk_full_b: the disk of server two is full", NULL);
        commit_each(&p, 0, none);
        fill(&p, n / 10);
        commit_each(&p, 1, some);
        fill(&p, n - n / 10);
        commit_each(&p, 2, crowded);
        for (unsigned k = 0; k < SORTS; k++) {
                cr_log_info("%u pending: a commit %s takes %.0f us (%.0f us without them: %.2f times) and reads %u rows (%u, with a tenth of them %u)", n, names[k],
                            crowded[k].usec, none[k].usec, crowded[k].usec / none[k].usec, crowded[k].reads, none[k].reads, some[k].reads);
                cr_expect_leq(crowded[k].attempts, k == BETWEEN ? SETTLE_ALIKE_MOST : 0, "a commit %s: %u attempts", names[k], crowded[k].attempts);
                /* a few more rows of the index for each of its words, and none of what waits */
                cr_expect_leq(crowded[k].reads, some[k].reads + 100, "a commit %s: %u rows, with a tenth of the items %u", names[k], crowded[k].reads,
                              some[k].reads);
        }
        cr_expect_leq(crowded[UNRELATED].reads, none[UNRELATED].reads + 100, "%u rows, %u where nothing waits", crowded[UNRELATED].reads, none[UNRELATED].reads);
        {
                _cleanup_txn_ Txn *t = store_fixture_begin(&p.f, false);

                for (; wait_next(t, id, 0, 0, &w) == 0; id = w.id + 1) {
                        open++;
                        tried += w.attempts > 0;
                }
        }
        cr_expect_eq(open, n, "each is there");
        cr_expect_leq(tried, 2 * SETTLE_ALIKE_MOST, "%lu have had an attempt", tried);
        pipe_holds(&p);
}
