#include "audit/audit.h"
#include "engine/fold.h"
#include "tests/support/child.h"
#include "tests/support/store-fixture.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

/* The history is lived in a child, in which Criterion's own asserts would hang. */
#undef cr_assert_eq
#undef cr_assert_geq
#define cr_assert_eq(a_, b_, ...) child_check((a_) == (b_))
#define cr_assert_geq(a_, b_, ...) child_check((a_) >= (b_))
#include "tests/state/engine/history.h"

enum { STEPS = 500, LIVES_MAX = 5 };

/* Goes on with the history until it has so many steps. Between two lives only the store remembers. last: in the transaction in which it comes to so many it
 * is killed, so that some are, however fast the machine is. */
static _noreturn_ void live(const char *dir, uint64_t seed, _Atomic unsigned *steps, unsigned last) {
        History h = {.state = seed};
        Store *s = NULL;
        Txn *t;
        Diag d;

        child_check(store_open(dir, STORE_WRITE, &s, &d) == 0);
        while (*steps < STEPS) {
                unsigned n = 1 + history_roll(&h, 40);

                child_check(store_begin(s, true, &t, &d) == 0);
                for (unsigned i = 0; i < n; i++)
                        history_step(t, &h);
                if (*steps + n >= last)
                        raise(SIGKILL);
                if (history_roll(&h, 4) == 0)
                        store_abort(t);
                else
                        child_check(store_commit(t, &d) == 0);
                *steps += n;
        }
        store_free(s);
        child_exit(0);
}

/* True when it was through; else it was killed, `usec` after its start. */
static bool life(const char *dir, uint64_t seed, _Atomic unsigned *steps, unsigned last, unsigned usec) {
        pid_t pid = fork();
        int status = -1;

        if (pid == 0)
                live(dir, seed, steps, last);
        cr_assert_gt(pid, 0);
        if (usec) {
                usleep(usec);
                kill(pid, SIGKILL);
        }
        cr_assert(waitpid(pid, &status, 0) == pid);
        cr_assert(WIFEXITED(status) ? WEXITSTATUS(status) == 0 : WTERMSIG(status) == SIGKILL, "status %#x", status);
        return WIFEXITED(status);
}

static void holds(StoreFixture *f, uint64_t seed) {
        FoldResult fold;
        AuditReport a;
        Diag d;
        Txn *t;
        int r;

        store_fixture_open(f, STORE_WRITE);
        t = store_fixture_begin(f, false);
        r = engine_fold_compare(t, &fold, &d);
        store_abort(t);
        cr_assert(r == 0 && !fold.how, "seed %lu: %d, table %s, key %s: %s", seed, r, table_name(fold.table), fold.key, fold.how);
        r = audit_run(f->store, &a);
        cr_assert(r == 0, "seed %lu: %d, entry %lu: %s; expected %s; found %s", seed, r, (unsigned long)a.seq, a.what, a.expected, a.found);
        store_fixture_close(f);
}

/* However often, and wherever, the process that lives a history is killed: the tables are the fold of the ledger (G-29, G-26), and the ledger is whole.
 * LETHE_HISTORIES: how many. */
Test(fold_crash, of_a_history_with_sudden_ends) {
        const char *many = getenv("LETHE_HISTORIES");
        _Atomic unsigned *steps = mmap(NULL, sizeof(*steps), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        unsigned histories = many ? (unsigned)atoi(many) : 5, killed = 0;

        cr_assert(steps != MAP_FAILED);
        for (uint64_t seed = 1; seed <= histories; seed++) {
                _cleanup_store_fixture_ StoreFixture f;
                History dice = {.state = seed * UINT64_C(0x9e3779b97f4a7c15)};
                bool through = false;

                store_fixture_init(&f, STORE_WRITE);
                store_fixture_close(&f);
                *steps = 0;
                for (unsigned n = 1; !through; n++) {
                        through = life(f.dir, dice.state + n, steps, n == 1 ? history_roll(&dice, STEPS) : UINT_MAX,
                                       n > 1 && n < LIVES_MAX ? 1000 + history_roll(&dice, 20 * 1000) : 0);
                        killed += !through;
                        holds(&f, seed);
                }
                cr_expect_geq(*steps, (unsigned)STEPS);
        }
        cr_expect_geq(killed, histories, "%u killed in %u histories", killed, histories);
        cr_log_info("%u killed in %u histories", killed, histories);
        munmap((void *)steps, sizeof(*steps));
}
