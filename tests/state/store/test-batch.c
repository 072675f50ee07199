#include "base/clock.h"
#include "base/id.h"
#include "dispatch/dispatch.h"
#include "ledger/ledger.h"
#include "tests/state/store/slot-fixture.h"
#include "tests/state/store/write-log.h"
#include "tests/support/thread.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#else
#define SANITIZED 0
#endif

/* What one thread does in its turn, and what became of it. */
typedef struct Member {
        Store *store;
        const char *slot;
        int number;
        int (*more)(Txn *t); /* before the put; may be NULL */
        bool abort;
        pthread_t thread;
        _Atomic pid_t tid;
        int r;
        uint64_t version;
        Diag d;
} Member;

static void *member(void *arg) {
        Member *m = arg;
        Txn *t;

        atomic_store(&m->tid, (pid_t)syscall(SYS_gettid));
        m->r = store_begin(m->store, true, &t, &m->d);
        if (m->r != 0)
                return NULL;
        m->r = m->more ? m->more(t) : 0;
        if (m->r == 0)
                m->r = slot_put(t, m->slot, m->number, &m->version, &m->d);
        if (m->r != 0 || m->abort)
                store_abort(t);
        else
                m->r = store_commit(t, &m->d);
        return NULL;
}

/* The caller has a transaction open; the members come to stand in line behind it, in their order. */
static void line_up(Member *m, size_t n) {
        for (size_t i = 0; i < n; i++) {
                cr_assert_eq(pthread_create(&m[i].thread, NULL, member, &m[i]), 0);
                thread_until_it_waits(&m[i].tid);
        }
}

static void join(Member *m, size_t n) {
        for (size_t i = 0; i < n; i++)
                pthread_join(m[i].thread, NULL);
}

static uint64_t size_of(StoreFixture *f) {
        Txn *t = store_fixture_begin(f, false);
        uint64_t size;

        cr_assert_eq(ledger_state(t, &size, NULL), 0);
        store_abort(t);
        return size;
}

// A reader waits for no writer: it sees what was committed before, while one is at work and others stand in line.
Test(batch, a_reader_waits_for_nobody) {
        _cleanup_store_fixture_ StoreFixture f;
        uint64_t version;
        Member m[2];
        Txn *t;

        store_fixture_init(&f, STORE_SUPERVISE);
        slot_define(&f, "n");
        t = store_fixture_begin(&f, true);
        for (int i = 0; i < 2; i++)
                m[i] = (Member){.store = f.store, .slot = "n", .number = i};
        line_up(m, 2);
        cr_assert_eq(slot_put(t, "n", -1, &version, &f.d), 0);
        cr_assert_eq(slot_version(&f, "n"), 0);
        store_fixture_commit(&f, t);
        join(m, 2);
        cr_assert_eq(slot_version(&f, "n"), 3);
}

// Those who waited while one wrote are committed together with it: one flush of the data, one checkpoint.
Test(batch, who_waits_is_taken_along) {
        enum { N = 8 };
        _cleanup_store_fixture_ StoreFixture f;
        Member m[N];
        char file[PATH_MAX];
        size_t n_ops, flushes = 0;
        uint64_t version;
        Op *ops;
        Txn *t;

        store_fixture_init(&f, STORE_SUPERVISE);
        slot_define(&f, "n");
        t = store_fixture_begin(&f, true);
        for (int i = 0; i < N; i++)
                m[i] = (Member){.store = f.store, .slot = "n", .number = i};
        line_up(m, N);
        cr_assert_eq(slot_put(t, "n", -1, &version, &f.d), 0);
        snprintf(file, sizeof(file), "%.4000s/data.mdb", f.dir);
        write_log_start(file);
        store_fixture_commit(&f, t);
        join(m, N);
        write_log_stop(&ops, &n_ops);
        for (size_t i = 0; i < n_ops; i++)
                flushes += ops[i].kind == OP_SYNC;
        write_log_free(ops, n_ops);
        cr_assert_eq(flushes, 1, "%zu flushes for one batch", flushes);
        for (int i = 0; i < N; i++) {
                cr_assert_eq(m[i].r, 0, "member %d: %s", i, m[i].d.text);
                cr_assert_eq(m[i].version, i + 2, "member %d wrote version %" PRIu64 ": turns are in the order of asking", i, m[i].version);
        }
        reopened_is_whole(&f);
        cr_assert_eq(slot_version(&f, "n"), N + 1);
}

/* A region that says one line, and what it is answered. */
typedef struct Sayer {
        Member member; /* first */
        Grant grant;
        char region[REGION_ID_MAX];
        const char *line;
        Dispatch *dispatch;
        Buf reply;
} Sayer;

#define HELLO "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"hello\",\"params\":{\"protocol\":1}}"
#define NOTE "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"note.add\",\"params\":{\"text\":\"t\"}}"
#define RECORD "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"memory.save\",\"params\":{\"kind\":\"memory_substrate\",\"type\":\"episodic\",\"payload\":{\"summary\":\"s\"}}}"

static void *sayer(void *arg) {
        Sayer *s = arg;

        atomic_store(&s->member.tid, (pid_t)syscall(SYS_gettid));
        s->member.r = dispatch_line(s->dispatch, s->line, strlen(s->line), &s->reply, &s->member.d);
        return NULL;
}

static void sayer_init(StoreFixture *f, Sayer *s, const char *line) {
        static MemoryRight memory = {(char *)"default", {[MEMORY_WRITE] = MEMORY_ALL}};
        RegionStart start = {.region = s->region, .skill_name = "sayer", .skill_digest = "sha256:0", .tier = "namespaces"};
        _cleanup_json_ json_t *copies = NULL;
        uint64_t seq;
        Txn *t;

        *s = (Sayer){.grant = {.skill_name = (char *)"sayer", .notes = (char *)"default", .memory = &memory, .n_memory = 1}, .line = line};
        cr_assert_eq(region_id_new(clock_real_usec(), s->region), 0);
        start.region = s->region;
        t = store_fixture_begin(f, true);
        cr_assert_eq(engine_region_start(t, &start, &seq, &copies, &f->d), 0, "%s", f->d.text);
        store_fixture_commit(f, t);
        cr_assert_eq(dispatch_new(f->store, &s->grant, s->region, copies, &s->dispatch), 0);
        cr_assert_eq(dispatch_line(s->dispatch, HELLO, strlen(HELLO), &s->reply, &f->d), 0);
        s->reply.n = 0;
}

static void sayer_end(StoreFixture *f, Sayer *s) {
        _cleanup_json_ json_t *none = json_object();
        uint64_t released, ended;
        Txn *t = store_fixture_begin(f, true);

        cr_assert_eq(dispatch_memory_end(s->dispatch, t, true, "exited"), 0);
        cr_assert_eq(engine_region_end(t, &(RegionEnd){s->region, true, none, none}, &released, &ended, &f->d), 0, "%s", f->d.text);
        store_fixture_commit(f, t);
        dispatch_free(s->dispatch);
        buf_deinit(&s->reply);
}

// What regions say at the same time is on the disk with one flush for all of them, and each is told after it; a save of memory is judged in the midst of them
// and taken back, without a flush of its own and without harm to the others (I-24).
Test(batch, what_regions_say_is_taken_along) {
        enum { N = 8 };
        static const char *const lines[] = {NOTE, RECORD};
        _cleanup_store_fixture_ StoreFixture f;
        static Sayer s[N];
        char file[PATH_MAX];
        size_t n_ops, flushes = 0;
        uint64_t version;
        Op *ops;
        Txn *t;

        store_fixture_init(&f, STORE_SUPERVISE);
        slot_define(&f, "n");
        for (int i = 0; i < N; i++)
                sayer_init(&f, &s[i], lines[i % 2]);
        t = store_fixture_begin(&f, true);
        for (int i = 0; i < N; i++) {
                cr_assert_eq(pthread_create(&s[i].member.thread, NULL, sayer, &s[i]), 0);
                thread_until_it_waits(&s[i].member.tid);
        }
        cr_assert_eq(slot_put(t, "n", -1, &version, &f.d), 0);
        snprintf(file, sizeof(file), "%.4000s/data.mdb", f.dir);
        write_log_start(file);
        store_fixture_commit(&f, t);
        for (int i = 0; i < N; i++)
                pthread_join(s[i].member.thread, NULL);
        write_log_stop(&ops, &n_ops);
        for (size_t i = 0; i < n_ops; i++)
                flushes += ops[i].kind == OP_SYNC;
        write_log_free(ops, n_ops);
        cr_assert_eq(flushes, 1, "%zu flushes for one batch", flushes);
        for (int i = 0; i < N; i++) {
                cr_assert_eq(s[i].member.r, 0, "region %d: %s", i, s[i].member.d.text);
                cr_assert(s[i].reply.n > 0 && strstr(s[i].reply.data, "\"result\""), "region %d: %.*s", i, (int)s[i].reply.n, s[i].reply.data);
                sayer_end(&f, &s[i]);
        }
        reopened_is_whole(&f);
}

// I-24: a save that is judged writes nothing and flushes nothing, alone too; with the region's end it is there.
Test(batch, a_judgement_costs_no_flush) {
        _cleanup_store_fixture_ StoreFixture f;
        char file[PATH_MAX];
        size_t n_ops, n_said;
        Sayer s;
        Op *ops;

        store_fixture_init(&f, STORE_SUPERVISE);
        sayer_init(&f, &s, RECORD);
        snprintf(file, sizeof(file), "%.4000s/data.mdb", f.dir);
        write_log_start(file);
        for (int i = 0; i < 3; i++)
                cr_assert_eq(dispatch_line(s.dispatch, RECORD, strlen(RECORD), &s.reply, &f.d), 0, "%s", f.d.text);
        write_log_stop(&ops, &n_ops);
        write_log_free(ops, n_ops);
        cr_assert_eq(n_ops, 0, "%zu writes and flushes", n_ops);
        n_said = 0;
        for (const char *at = s.reply.data; (at = memmem(at, (size_t)(s.reply.data + s.reply.n - at), "\"held\":true", 11)); at++)
                n_said++;
        cr_assert_eq(n_said, 3, "%.*s", (int)s.reply.n, s.reply.data);
        sayer_end(&f, &s);
        reopened_is_whole(&f);
}

/* Rows of each kind of change: replaced, added, deleted, replaced again. */
static int changes(Txn *t) {
        uint64_t version;
        Diag d;
        int r = slot_put(t, "a", 77, &version, &d);

        if (r == 0)
                r = table_put(t, TABLE_META, BYTES_STR("kept"), BYTES_STR("other"));
        if (r == 0)
                r = table_del(t, TABLE_META, BYTES_STR("gone"));
        if (r == 0)
                r = table_add(t, TABLE_META, BYTES_STR("new"), BYTES_STR("1"));
        if (r == 0)
                r = table_put(t, TABLE_META, BYTES_STR("new"), BYTES_STR("2"));
        return r == 0 && table_add(t, TABLE_META, BYTES_STR("new"), BYTES_STR("3")) != -EEXIST ? -EUCLEAN : r;
}

static void row_is(StoreFixture *f, const char *key, const char *value) {
        Txn *t = store_fixture_begin(f, false);
        Bytes v;
        int r = table_get(t, TABLE_META, BYTES_STR(key), &v);

        cr_assert_eq(r, value ? 0 : -ENOENT, "row %s: %d", key, r);
        if (value)
                cr_assert(v.n == strlen(value) && memcmp(v.p, value, v.n) == 0, "row %s", key);
        store_abort(t);
}

// One that aborts leaves nothing, wherever it stands in the line, and those around it lose nothing.
Test(batch, an_abort_harms_nobody) {
        enum { N = 4 };

        for (int leader = 0; leader < 2; leader++)
                for (unsigned aborts = 0; aborts < 1U << N; aborts++) {
                        _cleanup_store_fixture_ StoreFixture f;
                        uint64_t version, size, kept = !leader;
                        Member m[N];
                        Txn *t;

                        store_fixture_init(&f, STORE_SUPERVISE);
                        slot_define(&f, "a");
                        t = store_fixture_begin(&f, true);
                        cr_assert_eq(table_put(t, TABLE_META, BYTES_STR("kept"), BYTES_STR("first")), 0);
                        cr_assert_eq(table_put(t, TABLE_META, BYTES_STR("gone"), BYTES_STR("there")), 0);
                        store_fixture_commit(&f, t);
                        size = size_of(&f);
                        t = store_fixture_begin(&f, true);
                        for (int i = 0; i < N; i++) {
                                m[i] = (Member){.store = f.store, .slot = "a", .number = i, .abort = aborts >> i & 1};
                                m[i].more = m[i].abort ? changes : NULL;
                                kept += !m[i].abort;
                        }
                        line_up(m, N);
                        cr_assert_eq(slot_put(t, "a", -1, &version, &f.d), 0);
                        if (leader)
                                store_abort(t);
                        else
                                store_fixture_commit(&f, t);
                        join(m, N);
                        for (int i = 0; i < N; i++)
                                cr_assert_eq(m[i].r, 0, "leader %d, aborts %x, member %d: %s", leader, aborts, i, m[i].d.text);
                        cr_assert_eq(slot_version(&f, "a"), kept);
                        cr_assert_eq(size_of(&f), size + kept);
                        row_is(&f, "kept", "first");
                        row_is(&f, "gone", "there");
                        row_is(&f, "new", NULL);
                        t = store_fixture_begin(&f, true); /* not rows that an audit knows */
                        cr_assert_eq(table_del(t, TABLE_META, BYTES_STR("kept")) | table_del(t, TABLE_META, BYTES_STR("gone")), 0);
                        store_fixture_commit(&f, t);
                        reopened_is_whole(&f);
                        cr_assert_eq(slot_version(&f, "a"), kept);
                }
}

// Each system call of a batch's commit fails in turn: all of its members are told so, with the reason, and nobody else.
Test(batch, a_failed_commit_fails_all_members) {
        static const int errors[] = {ENOSPC, EIO};
        enum { N = 3 };
        unsigned points = 0;

        for (size_t e = 0; e < ARRAY_SIZE(errors); e++)
                for (unsigned point = 1;; point++) {
                        _cleanup_store_fixture_ StoreFixture f;
                        char file[PATH_MAX];
                        uint64_t version, acknowledged;
                        bool happened;
                        Member m[N];
                        Txn *t;
                        int r;

                        store_fixture_init(&f, STORE_SUPERVISE);
                        snprintf(file, sizeof(file), "%.4000s/data.mdb", f.dir);
                        lengthen(file);
                        slot_define(&f, "n");
                        t = store_fixture_begin(&f, true);
                        for (int i = 0; i < N; i++)
                                m[i] = (Member){.store = f.store, .slot = "n", .number = i};
                        line_up(m, N);
                        cr_assert_eq(slot_put(t, "n", -1, &version, &f.d), 0);
                        fail_after(file, point, errors[e], point & 1);
                        r = store_commit(t, &f.d);
                        join(m, N);
                        happened = fail_happened();
                        fail_after(file, 0, 0, false);
                        cr_assert_eq(r != 0, happened, "point %u: the leader was told %d", point, r);
                        cr_assert(!happened || strstr(f.d.text, "cannot commit"), "%s", f.d.text);
                        for (int i = 0; i < N; i++) {
                                cr_assert_eq(m[i].r, r, "point %u: member %d was told %d, the leader %d", point, i, m[i].r, r);
                                if (happened)
                                        cr_assert_str_eq(m[i].d.text, f.d.text);
                        }
                        acknowledged = happened ? 0 : N + 1;
                        reopened_is_whole(&f);
                        cr_assert_geq(slot_version(&f, "n"), acknowledged);
                        t = store_fixture_begin(&f, true);
                        cr_assert_eq(slot_put(t, "n", 9, &version, &f.d), 0);
                        store_fixture_commit(&f, t);
                        if (!happened)
                                break;
                        points++;
                }
        cr_assert_geq(points, 6, "only %u failure points were met", points);
}

#define TOO_LARGE (600UL << 20)
static const void *large;

/* More than there is memory for: LMDB fails within the member's work, and its transaction with it. */
static int more_than_fits(Txn *t) {
        return table_put(t, TABLE_META, BYTES_STR("large"), BYTES(large, TOO_LARGE));
}

// When LMDB itself fails in one member's work, nothing of the batch can be kept: all are told, and the next batch is as good as ever.
Test(batch, a_transaction_that_breaks_fails_all_members) {
        _cleanup_store_fixture_ StoreFixture f;
        struct rlimit before, little = {400UL << 20, RLIM_INFINITY};
        uint64_t version;
        Member m[3];
        Txn *t;

        store_fixture_init(&f, STORE_SUPERVISE);
        if (SANITIZED)
                cr_skip_test("a sanitizer takes more memory than is left here");
        slot_define(&f, "n");
        large = mmap(NULL, TOO_LARGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        cr_assert_neq(large, MAP_FAILED);
        t = store_fixture_begin(&f, true);
        for (int i = 0; i < 3; i++)
                m[i] = (Member){.store = f.store, .slot = "n", .number = i, .more = i == 1 ? more_than_fits : NULL};
        line_up(m, 3);
        cr_assert_eq(slot_put(t, "n", -1, &version, &f.d), 0);
        getrlimit(RLIMIT_DATA, &before);
        little.rlim_max = before.rlim_max;
        cr_assert_eq(setrlimit(RLIMIT_DATA, &little), 0);
        cr_assert_eq(store_commit(t, &f.d), -ENOMEM, "%s", f.d.text);
        join(m, 3);
        setrlimit(RLIMIT_DATA, &before);
        cr_assert(strstr(f.d.text, "cannot commit"), "%s", f.d.text);
        cr_assert_eq(m[0].r, -ENOMEM);
        cr_assert_eq(m[1].r, -ENOMEM);
        cr_assert_eq(m[2].r, 0, "who came after it is in another batch: %s", m[2].d.text);
        cr_assert_eq(slot_version(&f, "n"), 1);
        reopened_is_whole(&f);
        cr_assert_eq(slot_version(&f, "n"), 1);
        munmap((void *)large, TOO_LARGE);
}
