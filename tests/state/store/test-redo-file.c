/* The redo file (store/wal.h) that is not as it was written, or not of the data.mdb beside it: what was not told is never brought into a state that it
 * does not belong to. */
#include "base/clock.h"
#include "base/id.h"
#include "engine/engine.h"
#include "tests/state/store/redo-fixture.h"

#include <inttypes.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

/* Nobody was told anything of what is in a record that does not hold together: the store is as it was before, or as it is with all of it. */
static bool with_redo(StoreFixture *f, const Image *data, const char *redo, size_t n_redo, uint64_t size, const char *what, size_t which) {
        char when[80];
        uint64_t now;

        snprintf(when, sizeof(when), "%s %zu", what, which);
        image_put_back(f, data, redo, n_redo);
        store_fixture_open(f, STORE_SUPERVISE);
        now = whole(f, when);
        store_fixture_close(f);
        cr_assert(now == size || now == size + N_ENTRIES, "%s: %" PRIu64 " entries", when, now);
        return now > size;
}

// Every byte of the record flipped, and the file cut at every length: it counts whole or not at all.
Test(wal_file, flipped_and_cut) {
        _cleanup_image_ Image i = {};
        _cleanup_free_ char *redo = NULL;
        _cleanup_store_fixture_ StoreFixture f;
        uint64_t size;
        size_t n;

        setenv("LETHE_ANCHOR", "/dev/null/none", 1);
        wal_init(&f);
        setenv("LETHE_ANCHOR", "/dev/null/none", 1); /* the anchor is of a later time than most */
        size = size_of(f.store);
        leave(&f, 0);
        image_take(&f, &i);
        for (n = i.n_redo; i.redo[n - 1] == 0; n--)
                ;
        redo = malloc(i.n_redo + 4096);
        cr_assert_neq(redo, NULL);
        cr_assert(with_redo(&f, &i, i.redo, i.n_redo, size, "whole", 0), "the record does not count");
        for (size_t at = 0; at < n; at++) {
                memcpy(redo, i.redo, i.n_redo);
                redo[at] ^= (char)(1 << at % 8);
                cr_assert(!with_redo(&f, &i, redo, i.n_redo, size, "flipped", at), "byte %zu was flipped, and the record counts", at);
        }
        for (size_t cut = 0; cut < n; cut += cut < 200 ? 1 : 61)
                cr_assert(!with_redo(&f, &i, i.redo, cut, size, "cut", cut), "cut at %zu, and the record counts", cut);
        cr_assert(with_redo(&f, &i, i.redo, n, size, "cut behind it", n));
        memcpy(redo, i.redo, i.n_redo);
        memset(redo + i.n_redo, 'x', 4096);
        cr_assert(with_redo(&f, &i, redo, i.n_redo + 4096, size, "too large", 0));
}

// A byte of one record flipped: those before it count, it and those behind it do not.
Test(wal_file, chain_flipped) {
        _cleanup_image_ Image i = {};
        _cleanup_free_ char *redo = NULL;
        _cleanup_store_fixture_ StoreFixture f;
        size_t begins[4] = {0}, n = 1, end;
        uint64_t size;

        setenv("LETHE_ANCHOR", "/dev/null/none", 1);
        wal_init(&f);
        setenv("LETHE_ANCHOR", "/dev/null/none", 1);
        size = size_of(f.store);
        leave_chain(&f, 3);
        image_take(&f, &i);
        for (end = i.n_redo; i.redo[end - 1] == 0; end--)
                ;
        for (size_t at = 4096; at < end; at += 4096)
                if (memcmp(i.redo + at, i.redo, 8) == 0)
                        begins[n++] = at;
        cr_assert_eq(n, 3);
        begins[3] = end;
        redo = malloc(i.n_redo);
        for (size_t k = 0; k < 3; k++)
                for (size_t at = begins[k]; at < begins[k] + 136 + 40; at += k == 1 ? 1 : 7) {
                        uint64_t now;

                        memcpy(redo, i.redo, i.n_redo);
                        redo[at] ^= (char)(1 << at % 8);
                        image_put_back(&f, &i, redo, i.n_redo);
                        store_fixture_open(&f, STORE_SUPERVISE);
                        now = whole(&f, "flipped");
                        cr_assert_eq(now, size + k * N_ENTRIES, "byte %zu of record %zu: %" PRIu64, at - begins[k], k, now);
                        store_fixture_close(&f);
                }
}

static bool wal_is_wiped(StoreFixture *f) {
        _cleanup_image_ Image now = {};

        image_take(f, &now);
        return memcmp(now.redo, (char[8]){0}, 8) == 0;
}

// A damaged header says no number of a transaction. It does not stay for ever, where each reader would look at it with the writers' lock. It goes at once when
// it is not of the state that is there, and else with the next commit: everybody who comes before that is told.
Test(wal_file, damaged_header_goes) {
        _cleanup_image_ Image committed = {}, left = {};
        _cleanup_store_fixture_ StoreFixture f;
        Txn *rest, *t;

        setenv("LETHE_ANCHOR", "/dev/null/none", 1);
        wal_init(&f);
        setenv("LETHE_ANCHOR", "/dev/null/none", 1);
        cr_assert_eq(live_ahead(f.store, &rest, &f.d), 0, "%s", f.d.text);
        store_commit_rest(rest);
        store_fixture_close(&f);
        image_take(&f, &committed);
        committed.redo[0] ^= 1;
        for (int writes = 0; writes < 2; writes++) {
                image_put_back(&f, &committed, committed.redo, committed.n_redo);
                store_fixture_open(&f, STORE_SUPERVISE);
                cr_assert(!wal_is_wiped(&f));
                if (writes) {
                        t = store_fixture_begin(&f, true);
                        cr_assert_eq(life(t, &f.d), 0, "%s", f.d.text);
                        store_fixture_commit(&f, t);
                } else
                        size_of(f.store);
                cr_assert(wal_is_wiped(&f), "after a %s", writes ? "commit" : "look");
                store_fixture_close(&f);
        }
        leave(&f, 0);
        image_take(&f, &left);
        left.redo[0] ^= 1;
        image_put_back(&f, &left, left.redo, left.n_redo);
        store_fixture_open(&f, STORE_SUPERVISE);
        size_of(f.store);
        cr_assert(!wal_is_wiped(&f), "nobody else is told of the damage");
        t = store_fixture_begin(&f, true);
        cr_assert_eq(life(t, &f.d), 0, "%s", f.d.text);
        store_fixture_commit(&f, t);
        cr_assert(wal_is_wiped(&f));
        whole(&f, "after it");
}

// A record of another store, or of another time of this one, does not count.
Test(wal_file, of_another_store_or_time) {
        _cleanup_image_ Image first = {}, left = {}, later = {}, other = {};
        _cleanup_store_fixture_ StoreFixture f, g;
        uint64_t size;
        Txn *rest;

        wal_init(&g);
        leave(&g, 0);
        image_take(&g, &other);
        wal_init(&f);
        setenv("LETHE_ANCHOR", "/dev/null/none", 1);
        size = size_of(f.store);
        store_fixture_close(&f);
        image_take(&f, &first);
        leave(&f, 0);
        image_take(&f, &left);
        store_fixture_open(&f, STORE_SUPERVISE);
        for (int k = 0; k < 2; k++) {
                cr_assert_eq(live_ahead(f.store, &rest, &f.d), 0);
                store_commit_rest(rest);
        }
        leave(&f, 0);
        image_take(&f, &later);
        cr_assert(!with_redo(&f, &first, other.redo, other.n_redo, size, "of another store", 0));
        cr_assert(!with_redo(&f, &first, later.redo, later.n_redo, size, "newer than the data", 0));
        cr_assert(with_redo(&f, &first, left.redo, left.n_redo, size, "of this state", 0));
        /* The same number of a transaction, after another past. */
        image_put_back(&f, &first, first.redo, first.n_redo);
        store_fixture_open(&f, STORE_SUPERVISE);
        for (int k = 0; k < 3; k++) {
                cr_assert_eq(live_ahead(f.store, &rest, &f.d), 0);
                store_commit_rest(rest);
        }
        size = size_of(f.store);
        store_fixture_close(&f);
        image_deinit(&first);
        first = (Image){};
        image_take(&f, &first);
        cr_assert(!with_redo(&f, &first, later.redo, later.n_redo, size, "of another past", 0));
}

// A store of before there was such a file gets one; what is not a file of ours in its place is refused, and nothing is written through it.
Test(wal_file, missing_and_replaced) {
        _cleanup_store_fixture_ StoreFixture f;
        struct stat st;
        Txn *rest;

        wal_init(&f);
        store_fixture_close(&f);
        cr_assert_eq(unlink(file_in(&f, "redo")), 0);
        store_fixture_open(&f, STORE_READ);
        whole(&f, "without it");
        store_fixture_close(&f);
        cr_assert_lt(stat(file_in(&f, "redo"), &st), 0, "a reader made it");
        store_fixture_open(&f, STORE_WRITE);
        cr_assert_eq(stat(file_in(&f, "redo"), &st), 0);
        cr_assert_eq(st.st_size, WAL_BYTES);
        cr_assert_eq(st.st_mode & 07777, 0600);
        /* Gone while it is open: nobody would find what is in it. */
        cr_assert_eq(unlink(file_in(&f, "redo")), 0);
        cr_assert_eq(live_ahead(f.store, &rest, &f.d), 0);
        cr_assert_null(rest, "told of what nobody can find");
        whole(&f, "gone while it is open");
        store_fixture_close(&f);
        cr_assert_eq(symlink("vkey", file_in(&f, "redo")), 0);
        for (StoreMode m = STORE_READ; m <= STORE_SUPERVISE; m++) {
                cr_assert_eq(store_open(f.dir, m, &f.store, &f.d), STORE_E_DAMAGED);
                cr_assert(strstr(f.d.text, "redo is a symbolic link"), "%s", f.d.text);
        }
        cr_assert_eq(unlink(file_in(&f, "redo")), 0);
        cr_assert_eq(mkfifo(file_in(&f, "redo"), 0600), 0);
        cr_assert_eq(store_open(f.dir, STORE_SUPERVISE, &f.store, &f.d), STORE_E_DAMAGED);
        cr_assert(strstr(f.d.text, "redo is not a regular file"), "%s", f.d.text);
        cr_assert_eq(unlink(file_in(&f, "redo")), 0);
        store_fixture_open(&f, STORE_SUPERVISE);
        whole(&f, "made anew");
}

static void begin_region(StoreFixture *f, char id[static REGION_ID_MAX]) {
        const RegionStart s = {.region = id, .skill_name = "s", .skill_digest = "sha256:0", .tier = "namespaces"};
        _cleanup_json_ json_t *copies = NULL;
        uint64_t seq;
        Txn *rest, *t = store_fixture_begin(f, true);

        cr_assert_eq(region_id_new(clock_real_usec(), id), 0);
        cr_assert_eq(engine_region_start(t, &s, &seq, &copies, &f->d), 0, "%s", f->d.text);
        cr_assert_eq(store_commit_ahead(t, &rest, &f->d), 0, "%s", f->d.text);
        store_commit_rest(rest);
}

static void end_region(StoreFixture *f, const char *id) {
        _cleanup_json_ json_t *none = json_object(), *ended = json_pack("{s:s}", "outcome", "exited");
        Txn *t = store_fixture_begin(f, true);

        cr_assert_eq(engine_region_end(t, &(RegionEnd){id, true, none, ended}, NULL, NULL, &f->d), 0, "%s", f->d.text);
        store_fixture_commit(f, t);
}

// An older data.mdb, put back alone, is the store of that time. A region of which the beginning has a record, and the end a commit without one, is not in it:
// neither whole nor half (I-17).
Test(wal_file, an_older_data_file_alone) {
        enum { COMMITTED, TOGETHER, BROUGHT_IN, WAYS };

        wal_checkpoint_after_usec = UINT_MAX;
        for (int way = 0; way < WAYS; way++) {
                _cleanup_image_ Image older = {}, now = {};
                _cleanup_store_fixture_ StoreFixture f;
                char id[REGION_ID_MAX];
                uint64_t size;

                wal_init(&f);
                setenv("LETHE_ANCHOR", "/dev/null/none", 1); /* else it is refused */
                size = size_of(f.store);
                store_fixture_close(&f);
                image_take(&f, &older);
                store_fixture_open(&f, STORE_SUPERVISE);
                store_keep_ahead(f.store, way == COMMITTED ? 0 : CHAIN);
                begin_region(&f, id);
                if (way == BROUGHT_IN)
                        size_of(f.store);
                end_region(&f, id);
                cr_assert_gt(whole(&f, "both"), size + 2);
                store_fixture_close(&f);
                image_take(&f, &now);
                for (StoreMode m = STORE_READ; m <= STORE_SUPERVISE; m++) {
                        image_put_back(&f, &older, now.redo, now.n_redo);
                        store_fixture_open(&f, m);
                        cr_assert_eq(whole(&f, "an older data.mdb"), size, "way %d, mode %d: the beginning came along", way, m);
                        store_fixture_close(&f);
                }
        }
}

// The record of a commit is out of the file a moment after one without a record came behind it, and so is one that was committed together with more, in a
// process that goes on and writes nothing.
Test(wal_file, taken_out_soon) {
        _cleanup_store_fixture_ StoreFixture f;
        char id[REGION_ID_MAX];

        wal_checkpoint_after_usec = 1000;
        wal_init(&f);
        store_keep_ahead(f.store, CHAIN);
        begin_region(&f, id);
        end_region(&f, id);
        for (int i = 0;; i++) {
                _cleanup_image_ Image now = {};

                image_take(&f, &now);
                if (memcmp(now.redo, (char[8]){0}, 8) == 0)
                        break;
                cr_assert_lt(i, 12000, "it stays there");
                usleep(10000);
        }
        whole(&f, "after it");
}
