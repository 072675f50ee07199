#include "store/table.h"

#include "tests/support/child.h"
#include "tests/support/store-fixture.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static void check(Txn *t, const char *key, const char *value_or_null) {
        Bytes v;
        int r = table_get(t, TABLE_REC, BYTES_STR(key), &v);

        if (!value_or_null) {
                cr_expect_eq(r, -ENOENT, "%s: %d", key, r);
                return;
        }
        cr_assert_eq(r, 0, "%s: %d", key, r);
        cr_expect(v.n == strlen(value_or_null) && memcmp(v.p, value_or_null, v.n) == 0, "%s: %.*s", key, (int)v.n, (const char *)v.p);
}

static void put(Txn *t, const char *key, const char *value) {
        cr_assert_eq(table_put(t, TABLE_REC, BYTES_STR(key), BYTES_STR(value)), 0);
}

/* What a failed projection wrote goes, what stood before it stays: in the transaction and after it (G-26). */
Test(save, what_was_written_since_is_taken_back) {
        _cleanup_store_fixture_ StoreFixture f;
        Save outer, inner;
        Txn *t;

        store_fixture_init(&f, STORE_WRITE);
        t = store_fixture_begin(&f, true);
        put(t, "a", "1");
        put(t, "b", "1");
        table_save(t, &outer);
        put(t, "a", "2");
        cr_assert_eq(table_del(t, TABLE_REC, BYTES_STR("b")), 0);
        put(t, "c", "2");
        table_save(t, &inner);
        put(t, "c", "3");
        put(t, "d", "3");
        cr_assert_eq(table_restore(t, &inner), 0);
        check(t, "c", "2");
        check(t, "d", NULL);
        table_save(t, &inner);
        put(t, "e", "4");
        table_keep(t, &inner);
        check(t, "e", "4");
        cr_assert_eq(table_restore(t, &outer), 0);
        put(t, "f", "5");
        store_fixture_commit(&f, t);

        t = store_fixture_begin(&f, true);
        check(t, "a", "1");
        check(t, "b", "1");
        check(t, "c", NULL);
        check(t, "e", NULL);
        check(t, "f", "5");
        table_save(t, &outer);
        cr_assert_eq(table_del_prefix(t, TABLE_REC, BYTES_STR("")), 0);
        check(t, "a", NULL);
        table_keep(t, &outer);
        store_fixture_commit(&f, t);
        t = store_fixture_begin(&f, true);
        check(t, "a", NULL);
        check(t, "f", NULL);
        store_abort(t);
}

Test(save, a_prefix_takes_no_neighbour) {
        static const char *const keys[] = {"a", "ab", "abc", "abd", "ac", "b"};
        _cleanup_store_fixture_ StoreFixture f;
        Txn *t;

        store_fixture_init(&f, STORE_WRITE);
        t = store_fixture_begin(&f, true);
        for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
                put(t, keys[i], keys[i]);
        cr_assert_eq(table_del_prefix(t, TABLE_REC, BYTES_STR("ab")), 0);
        for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
                check(t, keys[i], i >= 1 && i <= 3 ? NULL : keys[i]);
        store_abort(t);
}

/* Beside the tables and on no disk: nothing of it is left in the store's folder. */
Test(save, a_scratch_has_tables_of_its_own) {
        _cleanup_store_fixture_ StoreFixture f;
        _cleanup_store_ Store *s = NULL;
        Txn *t, *u;
        DIR *dir;
        Diag d;

        store_fixture_init(&f, STORE_WRITE);
        t = store_fixture_begin(&f, true);
        cr_assert_eq(store_scratch(f.store, &s, &d), 0, "%s", d.text);
        cr_assert_eq(store_begin(s, true, &u, &d), 0, "%s", d.text);
        put(u, "a", "scratch");
        put(t, "a", "store");
        check(u, "a", "scratch");
        check(t, "a", "store");
        store_abort(u);
        store_abort(t);
        dir = opendir(f.dir);
        cr_assert_not_null(dir);
        for (struct dirent *e; (e = readdir(dir));)
                cr_expect(strncmp(e->d_name, ".scratch", 8) != 0, "%s", e->d_name);
        closedir(dir);
}

/* One descriptor is left, and LMDB needs more. */
static int scratch_without_descriptors(void *arg) {
        Store *s = NULL, *beside = arg;
        Diag d = {0};
        int next = dup(0);

        child_check(next >= 0);
        close(next);
        child_check(setrlimit(RLIMIT_NOFILE, &(struct rlimit){(rlim_t)next + 1, (rlim_t)next + 1}) == 0);
        child_check(store_scratch(beside, &s, &d) != 0);
        return s != NULL;
}

Test(save, a_scratch_that_cannot_be_made_is_an_error) {
        _cleanup_store_fixture_ StoreFixture f;

        store_fixture_init(&f, STORE_WRITE);
        child_assert_ok(scratch_without_descriptors, f.store);
}

#define KEYS 120
#define VALUE_MAX 5000 /* more than a page holds */

typedef struct Wanted {
        size_t n; /* 0: not there */
        char fill;
} Wanted;

typedef struct Update {
        Wanted was, now;
        int result;
        char bytes[VALUE_MAX];
} Update;

static int change(void *user, Bytes was, Bytes *ret) {
        Update *u = user;

        cr_assert_eq(was.p != NULL, u->was.n > 0);
        cr_assert_eq(was.n, u->was.n);
        for (size_t i = 0; i < was.n; i++)
                cr_assert_eq(((const char *)was.p)[i], u->was.fill);
        if (u->result == 0)
                u->now = (Wanted){0};
        memset(u->bytes, u->now.fill, u->now.n);
        *ret = BYTES(u->bytes, u->now.n);
        return u->result;
}

static void expect(Txn *t, const Wanted *rows, const char *when) {
        for (unsigned i = 0; i < KEYS; i++) {
                uint8_t key[8];
                Bytes v = {0};
                int r;

                be64_put(key, i);
                r = table_get(t, TABLE_REC, BYTES(key, 8), &v);
                cr_assert_eq(r, rows[i].n ? 0 : -ENOENT, "%s: row %u", when, i);
                cr_assert_eq(v.n, rows[i].n, "%s: row %u", when, i);
                for (size_t k = 0; k < v.n; k++)
                        cr_assert_eq(((const char *)v.p)[k], rows[i].fill, "%s: row %u", when, i);
        }
}

/* Rows of all lengths, made, changed, taken away and left alone, within what is saved and out of it: each is what the last change made of it (G-26). */
Test(save, updates) {
        _cleanup_store_fixture_ StoreFixture f;
        static Wanted rows[KEYS], saved[KEYS];
        static Update u;
        uint64_t seed = 9;
        bool in = false;
        Cursor *c = NULL; /* one for several updates, in whatever order */
        Save save;
        Txn *t;

        store_fixture_init(&f, STORE_WRITE);
        t = store_fixture_begin(&f, true);
        for (unsigned round = 0; round < 20000; round++) {
                uint8_t key[8];
                unsigned i;

                seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
                i = (unsigned)(seed >> 33) % KEYS;
                be64_put(key, i);
                u.was = rows[i];
                u.now = (Wanted){.n = 1 + (seed >> 40) % (round % 50 ? 600 : VALUE_MAX), .fill = (char)('a' + (seed >> 50) % 26)};
                u.result = (seed >> 56) % 8 == 0 ? -EDOM : (seed >> 56) % 8 > 2;
                if (!c)
                        cr_assert_eq(cursor_open(t, TABLE_REC, BYTES(NULL, 0), &c), 0);
                cr_assert_eq(cursor_update(c, BYTES(key, 8), change, &u), MIN(u.result, 0));
                if (round % 11 == 0)
                        cursor_free(TAKE_PTR(c));
                if (u.result >= 0)
                        rows[i] = u.now;
                if (round % 97 == 96) {
                        cursor_free(TAKE_PTR(c));
                        if (in && round % 2) {
                                cr_assert_eq(table_restore(t, &save), 0);
                                memcpy(rows, saved, sizeof(rows));
                        } else if (in)
                                table_keep(t, &save);
                        expect(t, rows, "in the transaction");
                        in = !in;
                        if (in) {
                                table_save(t, &save);
                                memcpy(saved, rows, sizeof(rows));
                        }
                }
        }
        cursor_free(c);
        if (in)
                table_keep(t, &save);
        store_fixture_commit(&f, t);
        t = store_fixture_begin(&f, false);
        expect(t, rows, "after it");
        store_abort(t);
}
