#include "tests/state/store/redo-fixture.h"

#include "audit/audit.h"
#include "base/clock.h"
#include "base/id.h"
#include "base/io.h"
#include "engine/engine.h"
#include "ledger/ledger.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sys/wait.h>

int life(Txn *t, Diag *reterr) {
        _cleanup_json_ json_t *none = json_object(), *ended = json_pack("{s:s}", "outcome", "exited"), *copies = NULL;
        char id[REGION_ID_MAX];
        const RegionStart s = {.region = id, .skill_name = "s", .skill_digest = "sha256:0", .tier = "namespaces"};
        uint64_t seq;
        int r = region_id_new(clock_real_usec(), id);

        if (r == 0)
                r = engine_region_start(t, &s, &seq, &copies, reterr);
        if (r == 0)
                r = engine_event(t, id, "handle.issued", none, &seq);
        return r == 0 ? engine_region_end(t, &(RegionEnd){id, true, none, ended}, NULL, NULL, reterr) : r;
}

int live_ahead(Store *s, Txn **ret_rest, Diag *reterr) {
        Txn *t;
        int r = store_begin(s, true, &t, reterr);

        if (r != 0)
                return r;
        r = life(t, reterr);
        if (r != 0) {
                store_abort(t);
                return r;
        }
        return store_commit_ahead(t, ret_rest, reterr);
}

uint64_t size_of(Store *s) {
        uint64_t size;
        Diag d = {};
        Txn *t;

        cr_assert_eq(store_begin(s, false, &t, &d), 0, "%s", d.text);
        cr_assert_eq(ledger_state(t, &size, NULL), 0);
        store_abort(t);
        return size;
}

uint64_t whole(StoreFixture *f, const char *when) {
        AuditReport a;

        cr_assert_eq(audit_run(f->store, &a), 0, "%s: %s; expected %s; found %s", when, a.what, a.expected, a.found);
        return a.entries;
}

const char *file_in(const StoreFixture *f, const char *name) {
        static char path[2][PATH_MAX + 16];
        static unsigned turn;
        char *p = path[turn++ % 2];

        snprintf(p, sizeof(path[0]), "%s/%s", f->dir, name);
        return p;
}

void wal_init(StoreFixture *f) {
        Txn *rest;

        store_fixture_init(f, STORE_SUPERVISE);
        cr_assert_eq(live_ahead(f->store, &rest, &f->d), 0);
        store_commit_rest(rest);
}

/* A process opens the store, does `work` and is killed. work returns 0 when all was as it should be. */
static void do_and_die(StoreFixture *f, int (*work)(Store *s, unsigned n), unsigned n) {
        int status;
        pid_t pid;

        store_fixture_close(f);
        pid = fork();
        if (pid == 0) {
                Diag d = {};
                Store *s;

                if (store_open(f->dir, STORE_SUPERVISE, &s, &d) != 0 || work(s, n) != 0)
                        _exit(1);
                raise(SIGKILL);
        }
        cr_assert_eq(waitpid(pid, &status, 0), pid);
        cr_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "it ended with %x", status);
}

static int leave_last(Store *s, unsigned before) {
        Txn *rest = NULL;
        Diag d = {};
        int r = 0;

        for (unsigned i = 0; r == 0 && i <= before; i++) {
                store_commit_rest(rest);
                r = live_ahead(s, &rest, &d);
        }
        return r == 0 && rest ? 0 : -1;
}

void leave(StoreFixture *f, unsigned before) {
        do_and_die(f, leave_last, before);
}

static int leave_all(Store *s, unsigned n) {
        Txn *rest = NULL;
        Diag d = {};
        int r = 0;

        wal_checkpoint_after_usec = UINT_MAX;
        store_keep_ahead(s, CHAIN);
        for (unsigned i = 0; r == 0 && !rest && i < n; i++)
                r = live_ahead(s, &rest, &d);
        return r == 0 && !rest ? 0 : -1;
}

void leave_chain(StoreFixture *f, unsigned n) {
        do_and_die(f, leave_all, n);
}

void image_deinit(Image *i) {
        free(i->data);
        free(i->redo);
}

void image_take(StoreFixture *f, Image *ret) {
        cr_assert_eq(io_read_file(AT_FDCWD, file_in(f, "data.mdb"), 64UL << 20, &ret->data, &ret->n_data), 0);
        cr_assert_eq(io_read_file(AT_FDCWD, file_in(f, "redo"), 64UL << 20, &ret->redo, &ret->n_redo), 0);
}

void image_put_back(StoreFixture *f, const Image *data, const char *redo, size_t n_redo) {
        cr_assert_eq(io_write_file(AT_FDCWD, file_in(f, "data.mdb"), data->data, data->n_data, 0600, false), 0);
        cr_assert_eq(io_write_file(AT_FDCWD, file_in(f, "redo"), redo, n_redo, 0600, false), 0);
        unlink(file_in(f, "lock.mdb"));
}
