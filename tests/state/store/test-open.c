#include "audit/audit.h"
#include "base/io.h"
#include "engine/engine.h"
#include "ledger/anchor.h"
#include "ledger/ledger.h"
#include "store/hooks.h"
#include "store/store-internal.h"
#include "tests/support/child.h"
#include "tests/support/store-fixture.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>

static uint64_t put(StoreFixture *f, int value) {
        _cleanup_json_ json_t *v = json_integer(value), *schema = json_object();
        uint64_t seq, version;
        Txn *t = store_fixture_begin(f, true);

        cr_assert_eq(engine_slot_define(t, "uid:0", NULL, "n", schema, &seq, &f->d), 0, "%s", f->d.text);
        cr_assert_eq(engine_slot_put(t, "uid:0", "n", v, -1, &seq, &version, &f->d), 0, "%s", f->d.text);
        store_fixture_commit(f, t);
        return version;
}

static void expect(const char *dir, StoreMode mode, int code, const char *word) {
        Store *s = NULL;
        Diag d = {0};
        int r = store_open(dir, mode, &s, &d);

        store_free(s);
        cr_assert_eq(r, code, "%s: %d, not %d: %s", dir, r, code, d.text);
        cr_assert(strstr(d.text, word), "\"%s\" has no \"%s\"", d.text, word);
}

Test(open, what_is_no_store_is_refused) {
        _cleanup_store_fixture_ StoreFixture f;
        char path[PATH_MAX];

        store_fixture_init(&f, STORE_WRITE);
        snprintf(path, sizeof(path), "%.4000s/none", f.temp.path);
        expect(path, STORE_READ, STORE_E_MISSING, "there is none");
        cr_assert_eq(mkdir(path, 0700), 0);
        expect(path, STORE_READ, STORE_E_MISSING, "data.mdb");
        strcat(path, "/file");
        cr_assert_eq(io_write_file(AT_FDCWD, path, "x", 1, 0600, false), 0);
        expect(path, STORE_WRITE, STORE_E_MISSING, "not a folder");
        *strrchr(path, '/') = 0; /* there, with another's file in it: not taken over */
        expect(path, STORE_WRITE, STORE_E_MISSING, "data.mdb");
        cr_assert_eq(access(path, F_OK), 0);
        strcat(path, "/data.mdb");
        cr_assert_eq(io_write_file(AT_FDCWD, path, "", 0, 0600, false), 0);
        *strrchr(path, '/') = 0;
        expect(path, STORE_WRITE, STORE_E_DAMAGED, "truncated");
}

Test(open, a_newer_version_is_refused) {
        _cleanup_store_fixture_ StoreFixture f;
        uint8_t version[8];
        Txn *t;

        store_fixture_init(&f, STORE_WRITE);
        t = store_fixture_begin(&f, true);
        be64_put(version, STORE_VERSION + 1);
        cr_assert_eq(table_put(t, TABLE_META, BYTES_STR("version"), BYTES(version, 8)), 0);
        store_fixture_commit(&f, t);
        store_fixture_close(&f);
        expect(f.dir, STORE_READ, STORE_E_VERSION, "newer Lethe");
        expect(f.dir, STORE_WRITE, STORE_E_VERSION, "newer Lethe");
}

/* A store of version 2 that lacks a table which came later gets it, and stays one: what else differs is not store/'s to put right. */
Test(open, a_store_of_version_2_stays_one) {
        _cleanup_store_fixture_ StoreFixture f;
        bool newest = true;
        uint8_t version[8];
        MDB_txn *txn;
        Bytes v;
        Txn *t;

        store_fixture_init(&f, STORE_WRITE);
        cr_assert_eq(mdb_txn_begin(f.store->env, NULL, 0, &txn), 0);
        for (Table later = TABLE_VERDICT; later < TABLE_COUNT_; later++)
                cr_assert_eq(mdb_drop(txn, f.store->dbi[later], 1), 0);
        cr_assert_eq(mdb_txn_commit(txn), 0);
        t = store_fixture_begin(&f, true);
        be64_put(version, 2);
        cr_assert_eq(table_put(t, TABLE_META, BYTES_STR("version"), BYTES(version, 8)), 0);
        store_fixture_commit(&f, t);
        store_fixture_close(&f);

        store_fixture_open(&f, STORE_READ);
        t = store_fixture_begin(&f, false);
        for (Table later = TABLE_VERDICT; later < TABLE_COUNT_; later++) {
                uint64_t n = 1;

                cr_expect_eq(table_get(t, later, BYTES_STR("x"), &v), -ENOENT, "%s", table_name(later));
                cr_expect_eq(table_rows(t, later, &n), 0, "%s", table_name(later));
                cr_expect_eq(n, 0, "%s", table_name(later));
        }
        store_abort(t);
        store_fixture_close(&f);

        store_fixture_open(&f, STORE_WRITE);
        t = store_fixture_begin(&f, true);
        for (Table later = TABLE_VERDICT; later < TABLE_COUNT_; later++)
                cr_expect_eq(table_put(t, later, BYTES_STR("x"), BYTES_STR("y")), 0, "%s", table_name(later));
        cr_expect_eq(store_is_newest(t, &newest), 0);
        cr_expect_not(newest);
        cr_expect_eq(store_made_newest(t), 0);
        cr_expect_eq(store_is_newest(t, &newest), 0);
        cr_expect(newest);
        store_abort(t);
}

// G-25: who has the store open while a newer Lethe makes it its own neither writes to it nor reads of it any more, and says why
Test(open, a_newer_lethe_comes_while_it_is_open) {
        _cleanup_store_fixture_ StoreFixture f;
        uint8_t version[8];
        Txn *t;

        store_fixture_init(&f, STORE_WRITE);
        t = store_fixture_begin(&f, true);
        be64_put(version, STORE_VERSION + 1);
        cr_assert_eq(table_put(t, TABLE_META, BYTES_STR("version"), BYTES(version, 8)), 0);
        store_fixture_commit(&f, t);
        for (int write = 0; write < 2; write++) {
                cr_expect_eq(store_begin(f.store, write, &t, &f.d), STORE_E_VERSION);
                cr_expect(strstr(f.d.text, "made by a newer Lethe"), "%s", f.d.text);
        }
        store_fixture_close(&f);
        cr_expect_eq(store_open(f.dir, STORE_READ, &f.store, &f.d), STORE_E_VERSION);
}

/* What a Lethe of version 1 left: no tables of records. Who reads finds them empty, who writes makes them, and what the redo file has is kept. */
Test(open, a_store_of_version_1_goes_on) {
        static const char *const dropped[] = {"scope", "rec", "change", "ref", "rref", "term", "doc", "wait", "unapplied", "run", "note", "object", "due", "wake"};
        _cleanup_store_fixture_ StoreFixture f;
        uint8_t version[8];
        uint64_t n;
        Bytes v;
        Txn *t;

        store_fixture_init(&f, STORE_WRITE);
        for (size_t i = 0; i < ARRAY_SIZE(dropped); i++) {
                MDB_txn *txn;
                MDB_dbi dbi;

                cr_assert_eq(mdb_txn_begin(f.store->env, NULL, 0, &txn), 0);
                cr_assert_eq(mdb_dbi_open(txn, dropped[i], 0, &dbi), 0);
                cr_assert_eq(mdb_drop(txn, dbi, 1), 0);
                cr_assert_eq(mdb_txn_commit(txn), 0);
        }
        t = store_fixture_begin(&f, true);
        be64_put(version, 1);
        cr_assert_eq(table_put(t, TABLE_META, BYTES_STR("version"), BYTES(version, 8)), 0);
        store_fixture_commit(&f, t);
        store_fixture_close(&f);

        store_fixture_open(&f, STORE_READ);
        t = store_fixture_begin(&f, false);
        cr_expect_eq(table_get(t, TABLE_REC, BYTES_STR("x"), &v), -ENOENT);
        cr_expect_eq(table_rows(t, TABLE_NOTE, &n), 0);
        cr_expect_eq(n, 0);
        store_abort(t);
        store_fixture_close(&f);

        store_fixture_open(&f, STORE_WRITE);
        t = store_fixture_begin(&f, true);
        cr_expect_eq(table_put(t, TABLE_REC, BYTES_STR("x"), BYTES_STR("y")), 0);
        cr_assert_eq(table_get(t, TABLE_META, BYTES_STR("version"), &v), 0);
        cr_expect_eq(be64_get(v.p), STORE_VERSION);
        store_fixture_commit(&f, t);
        store_fixture_close(&f);

        store_fixture_open(&f, STORE_READ);
        t = store_fixture_begin(&f, false);
        cr_expect_eq(table_get(t, TABLE_REC, BYTES_STR("x"), &v), 0);
        store_abort(t);
}

Test(open, the_key_file_must_be_the_key_and_private) {
        _cleanup_store_fixture_ StoreFixture f;
        char path[PATH_MAX];

        store_fixture_init(&f, STORE_WRITE);
        store_fixture_close(&f);
        snprintf(path, sizeof(path), "%.4000s/key", f.dir);
        cr_assert_eq(chmod(path, 0640), 0);
        expect(f.dir, STORE_WRITE, STORE_E_KEY, "chmod 600");
        cr_assert_eq(io_write_file(AT_FDCWD, path, "01234567890123456789012345678901", 32, 0600, false), 0);
        expect(f.dir, STORE_WRITE, STORE_E_KEY, "not the key of this ledger");
        cr_assert_eq(io_write_file(AT_FDCWD, path, "x", 1, 0600, false), 0);
        expect(f.dir, STORE_WRITE, STORE_E_KEY, "1 bytes");
        cr_assert_eq(unlink(path), 0);
        expect(f.dir, STORE_WRITE, STORE_E_KEY, "cannot be opened");
        store_fixture_open(&f, STORE_READ); /* reading needs no key */
}

// Nothing of the store is inherited by what is executed (KERNEL: an inherited descriptor reaches the payload).
Test(open, no_descriptor_outlives_exec) {
        _cleanup_store_fixture_ StoreFixture f;
        struct dirent *e;
        unsigned n = 0;
        DIR *d;

        store_fixture_init(&f, STORE_SUPERVISE);
        d = opendir("/proc/self/fd");
        cr_assert(d);
        while ((e = readdir(d))) {
                char at[PATH_MAX];
                ssize_t k = readlinkat(dirfd(d), e->d_name, at, sizeof(at) - 1);

                if (k < 0)
                        continue;
                at[k] = 0;
                if (strncmp(at, f.temp.path, strlen(f.temp.path)) == 0 && strstr(at, "/store")) {
                        n++;
                        cr_assert(fcntl(atoi(e->d_name), F_GETFD) & FD_CLOEXEC, "%s has no FD_CLOEXEC", at);
                }
        }
        closedir(d);
        cr_assert_geq(n, 4, "data, lock, folder, place: %u seen", n);
}

// An older copy of the whole store in its place, and a store whose history was rewritten.
Test(open, a_store_behind_its_anchor_is_refused) {
        _cleanup_store_fixture_ StoreFixture f;
        _cleanup_free_ char *old = NULL, *new = NULL;
        char path[PATH_MAX];
        size_t n_old, n_new;

        store_fixture_init(&f, STORE_WRITE);
        put(&f, 1);
        snprintf(path, sizeof(path), "%.4000s/data.mdb", f.dir);
        cr_assert_eq(io_read_file(AT_FDCWD, path, 1UL << 30, &old, &n_old), 0);
        put(&f, 2);
        store_fixture_close(&f);
        cr_assert_eq(io_read_file(AT_FDCWD, path, 1UL << 30, &new, &n_new), 0);
        cr_assert_eq(io_write_file(AT_FDCWD, path, old, n_old, 0600, false), 0);
        expect(f.dir, STORE_READ, STORE_E_ROLLBACK, "an older copy");
        expect(f.dir, STORE_WRITE, STORE_E_ROLLBACK, "an older copy");

        /* The old copy goes on to the same size and beyond: its root there is another. */
        setenv("LETHE_ANCHOR", "/dev/null/none", 1);
        store_fixture_open(&f, STORE_WRITE);
        put(&f, 3);
        store_fixture_close(&f);
        snprintf(path, sizeof(path), "%.4000s/anchor", f.temp.path);
        setenv("LETHE_ANCHOR", path, 1);
        expect(f.dir, STORE_READ, STORE_E_ROLLBACK, "history was rewritten");
        setenv("LETHE_ANCHOR", "/dev/null/none", 1);
        store_fixture_open(&f, STORE_WRITE);
        put(&f, 4);
        store_fixture_close(&f);
        setenv("LETHE_ANCHOR", path, 1);
        expect(f.dir, STORE_READ, STORE_E_ROLLBACK, "history was rewritten");

        snprintf(path, sizeof(path), "%.4000s/data.mdb", f.dir);
        cr_assert_eq(io_write_file(AT_FDCWD, path, new, n_new, 0600, false), 0);
        store_fixture_open(&f, STORE_READ);
}

typedef struct Race {
        const char *dir;
        int number;
} Race;

static int open_and_write(void *arg) {
        _cleanup_json_ json_t *schema = json_object(), *v = json_integer(1);
        const Race *race = arg;
        uint64_t seq, version;
        Store *s;
        Txn *t;
        Diag d = {0};

        if (store_open(race->dir, STORE_SUPERVISE, &s, &d) != 0) {
                child_say("open: %s", d.text);
                return 1;
        }
        for (int i = 0; i < 40; i++) {
                child_check(store_begin(s, true, &t, &d) == 0);
                child_check(engine_slot_define(t, "uid:0", NULL, "race", schema, &seq, &d) == 0);
                child_check(engine_slot_put(t, "uid:0", "race", v, -1, &seq, &version, &d) == 0);
                child_check(store_commit(t, &d) == 0);
        }
        store_free(s);
        return 0;
}

// Several processes make the same store at once and write to it at once: one store, every write of each in it, nothing
// left beside it.
Test(open, processes_race_to_create_and_write) {
        _cleanup_temp_dir_ TempDir temp = TEMP_DIR_NULL;
        char dir[PATH_MAX], anchor[PATH_MAX];
        Race race = {.dir = dir};
        pid_t pids[4];
        AuditReport a;
        struct dirent *e;
        Store *s;
        Diag d;
        DIR *list;

        cr_assert_eq(temp_dir_make(&temp), 0);
        snprintf(dir, sizeof(dir), "%.4000s/store", temp.path);
        snprintf(anchor, sizeof(anchor), "%.4000s/anchor", temp.path);
        setenv("LETHE_ANCHOR", anchor, 1);
        for (size_t i = 0; i < ARRAY_SIZE(pids); i++) {
                pids[i] = fork();
                if (pids[i] == 0)
                        _exit(open_and_write(&race));
        }
        for (size_t i = 0; i < ARRAY_SIZE(pids); i++) {
                int status;

                cr_assert_eq(waitpid(pids[i], &status, 0), pids[i]);
                cr_assert_eq(status, 0, "process %zu ended with %#x", i, status);
        }
        cr_assert_eq(store_open(dir, STORE_READ, &s, &d), 0, "%s", d.text);
        cr_assert_eq(audit_run(s, &a), 0, "%s: %s, %s", a.what, a.expected, a.found);
        cr_assert_eq(a.versions, 4 * 40);
        store_free(s);
        list = opendir(temp.path);
        while ((e = readdir(list)))
                cr_assert(!strstr(e->d_name, ".new."), "%s was left", e->d_name);
        closedir(list);
}

static int as_another_user(void *arg) {
        StoreFixture *f = arg;
        AuditReport a;
        Store *s = NULL;
        Diag d = {0};
        int r;

        child_check(setresgid(65534, 65534, 65534) == 0 && setresuid(65534, 65534, 65534) == 0);
        setenv("LETHE_ANCHOR", "/dev/null/none", 1);
        r = store_open(f->dir, STORE_WRITE, &s, &d);
        child_say("write: %d %s", r, d.text);
        child_check(r == STORE_E_READ_ONLY);
        r = store_open(f->dir, STORE_READ, &s, &d);
        child_say("read: %d %s", r, d.text);
        child_check(r == 0);
        r = audit_run(s, &a);
        child_say("audit: %d %s", r, a.what);
        store_free(s);
        return r;
}

// Whoever may read the files but not write them can read, audit and export.
Test(open, a_store_of_another_user_can_be_read) {
        _cleanup_store_fixture_ StoreFixture f;
        char path[PATH_MAX];
        struct stat above;

        if (geteuid() != 0)
                cr_skip_test("needs root to become another user");
        store_fixture_init(&f, STORE_WRITE);
        put(&f, 1);
        store_fixture_close(&f);
        cr_assert_eq(chmod(f.temp.path, 0755), 0);
        cr_assert_eq(stat(dirname(strcpy(path, f.temp.path)), &above), 0);
        cr_assert_eq(chmod(path, (above.st_mode & 07777) | 0055), 0); /* may be everybody's /tmp: nothing is taken from it */
        cr_assert_eq(chmod(f.dir, 0755), 0);
        snprintf(path, sizeof(path), "%.4000s/data.mdb", f.dir);
        cr_assert_eq(chmod(path, 0644), 0);
        child_assert_ok(as_another_user, &f);
}

// The supervisor's place: taken while it lives, free when it ended, whoever asks.
Test(place, a_lock_is_free_when_its_owner_ended) {
        _cleanup_store_fixture_ StoreFixture f;
        uint64_t lock;

        store_fixture_init(&f, STORE_SUPERVISE);
        lock = store_own_lock(f.store);
        cr_assert_neq(lock, 0);
        cr_assert(!store_lock_is_free(f.store, lock));
        store_fixture_close(&f);
        store_fixture_open(&f, STORE_SUPERVISE);
        cr_assert_neq(store_own_lock(f.store), lock);
        cr_assert(store_lock_is_free(f.store, lock));
        cr_assert(!store_lock_is_free(f.store, store_own_lock(f.store)));
}

// However it ends: of supervisors in processes of their own each is alive until it is killed, and nothing of them is left to clear away.
Test(place, a_lock_is_free_when_its_owner_was_killed) {
        enum { N = 3 };
        _cleanup_store_fixture_ StoreFixture f;
        char alive[PATH_MAX];
        uint64_t lock[N];
        struct stat st;
        pid_t pid[N];
        int p[2];

        store_fixture_init(&f, STORE_SUPERVISE);
        cr_assert_eq(pipe(p), 0);
        for (int i = 0; i < N; i++) {
                pid[i] = fork();
                if (pid[i] == 0) {
                        Store *s;
                        Diag d;

                        if (store_open(f.dir, STORE_SUPERVISE, &s, &d) != 0)
                                _exit(1);
                        lock[i] = store_own_lock(s);
                        if (write(p[1], &lock[i], sizeof(lock[i])) == sizeof(lock[i]))
                                pause();
                        _exit(1);
                }
                cr_assert_eq(read(p[0], &lock[i], sizeof(lock[i])), sizeof(lock[i]));
        }
        for (int i = 0; i < N; i++) {
                for (int k = 0; k < N; k++)
                        cr_assert_eq(store_lock_is_free(f.store, lock[k]), k < i, "%d of %d killed: %d", i, N, k);
                kill(pid[i], SIGKILL);
                waitpid(pid[i], NULL, 0);
        }
        cr_assert(store_lock_is_free(f.store, lock[N - 1]));
        cr_assert(!store_lock_is_free(f.store, store_own_lock(f.store)));
        snprintf(alive, sizeof(alive), "%.4000s/run/alive", f.dir);
        cr_assert(stat(alive, &st) == 0 && st.st_size == 0);
        close(p[0]);
        close(p[1]);
}

static int hold_lock(void *arg) {
        struct flock l = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1};
        const int *fds = arg;

        child_check(fcntl(fds[0], F_SETLK, &l) == 0);
        child_check(write(fds[1], "x", 1) == 1);
        pause();
        return 0;
}

// A foreign lock on LMDB's lock file is waited for, then named; never for ever.
Test(open, a_locked_store_is_refused_in_time) {
        _cleanup_store_fixture_ StoreFixture f;
        char path[PATH_MAX], x;
        int fds[2], go[2];
        pid_t pid;

        store_fixture_init(&f, STORE_WRITE);
        store_fixture_close(&f);
        snprintf(path, sizeof(path), "%.4000s/lock.mdb", f.dir);
        fds[0] = open(path, O_RDWR);
        cr_assert_eq(pipe(go), 0);
        fds[1] = go[1];
        pid = fork();
        if (pid == 0)
                _exit(hold_lock(fds));
        cr_assert_eq(read(go[0], &x, 1), 1);
        expect(f.dir, STORE_READ, STORE_E_LOCKED, "holds lock.mdb");
        cr_assert_eq(kill(pid, SIGKILL), 0);
        cr_assert_eq(waitpid(pid, NULL, 0), pid);
        store_fixture_open(&f, STORE_WRITE);
}

static int small_disk(void *arg) {
        _cleanup_json_ json_t *schema = json_object(), *v = NULL;
        uint64_t seq, version, acknowledged = 0;
        char dir[PATH_MAX], *big = malloc(20000);
        AuditReport a;
        Store *s;
        Txn *t;
        Diag d = {0};
        int r;

        child_check(unshare(CLONE_NEWNS) == 0 && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0);
        child_check(mount("lethe", arg, "tmpfs", 0, "size=700k") == 0);
        snprintf(dir, sizeof(dir), "%s/store", (char *)arg);
        setenv("LETHE_ANCHOR", "/dev/null/none", 1);
        r = store_open(dir, STORE_WRITE, &s, &d);
        child_say("open: %s", d.text);
        child_check(r == 0);
        memset(big, 'x', 19999);
        big[19999] = 0;
        v = json_string(big);
        for (int i = 0;; i++) {
                child_check(i < 200);
                child_check(store_begin(s, true, &t, &d) == 0);
                child_check(engine_slot_define(t, "uid:0", NULL, "big", schema, &seq, &d) == 0);
                r = engine_slot_put(t, "uid:0", "big", v, -1, &seq, &version, &d);
                if (r == 0)
                        r = store_commit(t, &d);
                else
                        store_abort(t);
                if (r != 0)
                        break;
                acknowledged = version;
        }
        child_say("full: %d %s", r, d.text);
        child_check(r == STORE_E_FULL || r == -ENOSPC);
        child_check(acknowledged > 3);
        /* What was acknowledged stands; a smaller write may still fit; nothing is damaged. */
        child_check(audit_run(s, &a) == 0);
        child_check(a.versions == acknowledged);
        store_free(s);
        child_check(store_open(dir, STORE_READ, &s, &d) == 0);
        child_check(audit_run(s, &a) == 0);
        store_free(s);
        free(big);
        umount2(arg, MNT_DETACH);
        return 0;
}

Test(full, a_full_disk_loses_nothing) {
        _cleanup_temp_dir_ TempDir temp = TEMP_DIR_NULL;

        if (geteuid() != 0)
                cr_skip_test("needs root to mount a small disk");
        cr_assert_eq(temp_dir_make(&temp), 0);
        child_assert_ok(small_disk, temp.path);
}
