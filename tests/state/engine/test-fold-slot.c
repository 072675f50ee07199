#include "engine/fold-slot.h"
#include "engine/fold.h"
#include "engine/skill.h"
#include "tests/state/engine/gather-fixture.h"

#include <errno.h>
#include <sodium.h>

/* Random histories on one store, folded into another, whose rows must be the same bytes. What is random comes from a seed, which every message
 * has. */

static const Table tables[] = {TABLE_SLOT, TABLE_HIST, TABLE_HELD, TABLE_SKILL, TABLE_GATHER, TABLE_VERDICT};
static const char *const slots[] = {"p", "p/q", "q", "first", "cas", "quorum", "sure", "chosen", NULL};
static const char *const rules[] = {NULL, NULL, NULL, "first/3", "cas/2", "quorum:2/4", "confidence:0.4/3", "priority:s-1,s-0/2"};
static const char *const skills[] = {"s-0", "s-1", "s-2"};

#define REGIONS 8

typedef struct World {
        StoreFixture f;
        uint32_t seed;
        uint64_t x; /* state of the generator */
        char alive[REGIONS][REGION_ID_MAX];
        size_t n_alive;
} World;

static uint32_t random_below(World *w, uint32_t n) {
        w->x = w->x * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        return (uint32_t)(w->x >> 33) % n;
}

static void do_begin(World *w) {
        const char *const words[] = {NULL, "invocation", "invocation-tree"};
        Begin b = {.skill = skills[random_below(w, 3)], .key_scope = words[random_below(w, 3)], .writes = slots};

        if (w->n_alive == REGIONS)
                return;
        gather_begin(&w->f, &b, w->alive[w->n_alive++]);
}

static void do_propose(World *w) {
        static const double sure[] = {0, 0.3, 0.5, 0.9, 1, 2};
        size_t slot = random_below(w, ARRAY_SIZE(rules));
        char value[] = {(char)('a' + random_below(w, 3)), 0};
        bool by_confidence = rules[slot] && strncmp(rules[slot], "conf", 4) == 0;

        if (w->n_alive == 0)
                return;
        gather_propose(&w->f, w->alive[random_below(w, (uint32_t)w->n_alive)], slots[slot], value, (int64_t)random_below(w, 4) - 1,
                       by_confidence == (random_below(w, 9) > 0) ? sure[random_below(w, 6)] : -1);
}

static void forget(World *w, size_t i) {
        memmove(w->alive[i], w->alive[i + 1], (w->n_alive - i - 1) * sizeof(w->alive[0]));
        w->n_alive--;
}

static void do_end(World *w) {
        size_t i = w->n_alive ? random_below(w, (uint32_t)w->n_alive) : 0;

        if (w->n_alive == 0)
                return;
        gather_end(&w->f, w->alive[i], random_below(w, 4) > 0);
        forget(w, i);
}

static void do_put(World *w) {
        _cleanup_json_ json_t *v = json_integer(random_below(w, 5));
        Txn *t = store_fixture_begin(&w->f, true);
        uint64_t seq, version;

        cr_assert_geq(engine_slot_put(t, "uid:0", slots[random_below(w, ARRAY_SIZE(rules))], v, (int64_t)random_below(w, 5) - 3, &seq, &version, &w->f.d), 0);
        store_fixture_commit(&w->f, t);
}

static void do_decide(World *w) {
        gather_decided(&w->f, slots[3 + random_below(w, 5)], NULL);
}

static void do_register(World *w) {
        static const char none[] = "sha256:4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945"; /* of [] */
        char folder[] = {'/', (char)('0' + random_below(w, 4)), 0};
        _cleanup_json_ json_t *files = json_array();
        SkillRecord record = {.name = skills[random_below(w, 3)], .folder = folder, .digest = none, .files = files};
        Txn *t = store_fixture_begin(&w->f, true);
        uint64_t seq;
        bool fresh;

        cr_assert_eq(engine_skill_register(t, "uid:0", &record, &seq, &fresh), 0);
        store_fixture_commit(&w->f, t);
}

/* What was not committed never was. */
static void do_abort(World *w) {
        _cleanup_json_ json_t *v = json_true();
        Txn *t = store_fixture_begin(&w->f, true);
        uint64_t seq, version;

        cr_assert_geq(engine_slot_put(t, "uid:0", "p", v, -1, &seq, &version, &w->f.d), 0);
        store_abort(t);
}

/* The supervisor dies, and the next one recovers what it left. */
static void do_crash(World *w) {
        _cleanup_json_ json_t *evidence = json_object();

        store_fixture_close(&w->f);
        store_fixture_open(&w->f, STORE_SUPERVISE);
        while (w->n_alive > 0 && random_below(w, 5) > 0) {
                size_t i = random_below(w, (uint32_t)w->n_alive);
                Txn *t = store_fixture_begin(&w->f, true);

                cr_assert_eq(engine_region_recover(t, w->alive[i], evidence, &w->f.d), 0);
                store_fixture_commit(&w->f, t);
                forget(w, i);
        }
}

static void step(World *w) {
        uint32_t what = random_below(w, 100);

        (what < 18   ? do_begin
         : what < 60 ? do_propose
         : what < 80 ? do_end
         : what < 87 ? do_put
         : what < 92 ? do_decide
         : what < 95 ? do_register
         : what < 98 ? do_abort
                     : do_crash)(w);
}

static void world_init(World *w, uint32_t seed, bool ruled) {
        *w = (World){.seed = seed, .x = seed};
        store_fixture_init(&w->f, STORE_SUPERVISE);
        for (size_t i = 0; i < ARRAY_SIZE(rules); i++)
                gather_define(&w->f, slots[i], ruled ? rules[i] : NULL);
}

/* All entries from `from` on; what they do goes into the other store. */
static uint64_t fold_into(World *w, StoreFixture *other, uint64_t from) {
        _cleanup_walk_ LedgerWalk walk = {0};
        Txn *t = store_fixture_begin(&w->f, false), *into = store_fixture_begin(other, true);
        uint64_t seq;
        Bytes e;
        int r;

        cr_assert_eq(ledger_walk(t, from, &walk), 0);
        while ((r = ledger_next(&walk, &seq, &e)) == 0) {
                _cleanup_json_ json_t *o = NULL;

                cr_assert_eq(event_get(t, seq, &o), 0);
                r = fold_slot_event(into, seq, o);
                cr_assert_eq(r, 0, "seed %u, entry %lu: %d: %.*s", w->seed, (unsigned long)seq, r, (int)e.n, (const char *)e.p);
                from = seq + 1;
        }
        cr_assert_eq(r, -ENOENT);
        ledger_walk_deinit(&walk);
        store_abort(t);
        store_fixture_commit(other, into);
        return from;
}

static void same_rows(const World *w, Txn *a, Txn *b, Table table) {
        _cleanup_cursor_ Cursor *ca = NULL, *cb = NULL;
        Bytes ka, va, kb, vb;
        int ra, rb;

        cr_assert(cursor_open(a, table, BYTES(NULL, 0), &ca) == 0 && cursor_open(b, table, BYTES(NULL, 0), &cb) == 0);
        for (unsigned row = 0;; row++) {
                ra = cursor_next(ca, &ka, &va);
                rb = cursor_next(cb, &kb, &vb);
                cr_assert(ra == 0 || ra == -ENOENT);
                cr_assert_eq(ra, rb, "seed %u, table %s: another number of rows", w->seed, table_name(table));
                if (ra != 0)
                        return;
                cr_assert(ka.n == kb.n && memcmp(ka.p, kb.p, ka.n) == 0, "seed %u, table %s: key of row %u", w->seed, table_name(table), row);
                cr_assert(va.n == vb.n && memcmp(va.p, vb.p, va.n) == 0, "seed %u, table %s: row %.*s", w->seed, table_name(table), (int)ka.n,
                          (const char *)ka.p);
        }
}

static void compare(World *w, StoreFixture *other) {
        Txn *a = store_fixture_begin(&w->f, false), *b = store_fixture_begin(other, false);

        for (size_t i = 0; i < ARRAY_SIZE(tables); i++)
                same_rows(w, a, b, tables[i]);
        store_abort(a);
        store_abort(b);
}

/* Rows are lost, in the store itself, and come back. */
static void lose_and_rebuild(World *w, StoreFixture *other) {
        FoldResult fold;
        Txn *t = store_fixture_begin(&w->f, true);

        cr_assert_eq(engine_fold_compare(t, &fold, &w->f.d), 0, "seed %u: %s", w->seed, w->f.d.text);
        cr_assert_eq(fold.differ, 0, "seed %u, table %s: %s %s", w->seed, table_name(fold.table), fold.key, fold.how);
        for (size_t i = 0; i < ARRAY_SIZE(tables); i++)
                if (random_below(w, 2) == 0)
                        cr_assert_eq(table_del_prefix(t, tables[i], BYTES(NULL, 0)), 0);
        store_fixture_commit(&w->f, t);
        t = store_fixture_begin(&w->f, true);
        cr_assert_eq(engine_fold_rebuild(t, &fold, &w->f.d), 0, "seed %u: %s", w->seed, w->f.d.text);
        store_fixture_commit(&w->f, t);
        compare(w, other);
}

/* One history, folded at several moments of it, and once more as a whole. */
static void history(uint32_t seed, bool ruled, int steps) {
        _cleanup_store_fixture_ StoreFixture other, whole;
        uint64_t next = 0;
        World w;

        world_init(&w, seed, ruled);
        store_fixture_init(&other, STORE_SUPERVISE);
        store_fixture_init(&whole, STORE_SUPERVISE);
        for (int i = 0; i < steps; i++) {
                step(&w);
                if (random_below(&w, 20) == 0) {
                        next = fold_into(&w, &other, next);
                        compare(&w, &other);
                }
        }
        fold_into(&w, &other, next);
        compare(&w, &other);
        fold_into(&w, &whole, 0);
        compare(&w, &whole);
        lose_and_rebuild(&w, &whole);
        do_crash(&w);
        while (w.n_alive > 0) /* of the crash: an audit wants their supervisor to live */
                do_crash(&w);
        gather_audit(&w.f);
        store_fixture_deinit(&w.f);
}

// G-29: the fold of a history, and of each beginning of it, gives the rows that are there, byte by byte.
Test(fold_slot, random_histories) {
        uint32_t seed = randombytes_random();

        for (uint32_t i = 0; i < 6; i++)
                history(seed + i, true, 150);
}

// G-29: one in which no slot has a rule, as stores of earlier versions have it: their rows have not a byte more.
Test(fold_slot, histories_without_rules) {
        static const char *const members[] = {"type", "time", "region", "slot", "version", "body", "clock_behind_usec"};
        uint32_t seed = randombytes_random();
        World w;
        Txn *t;
        Bytes v;
        unsigned n;

        for (uint32_t i = 0; i < 2; i++)
                history(seed + i, false, 120);
        world_init(&w, seed, false);
        do_begin(&w);
        cr_assert_eq(gather_propose(&w.f, w.alive[0], "p", "x", 0, -1), 0);
        _cleanup_json_ json_t *o = gather_event(&w.f, "slot.proposed", &n);
        cr_assert_eq(n, 1);
        for (void *i = json_object_iter(o); i; i = json_object_iter_next(o, i)) {
                bool known = false;

                for (size_t k = 0; k < ARRAY_SIZE(members); k++)
                        known |= strcmp(members[k], json_object_iter_key(i)) == 0;
                cr_expect(known, "member %s", json_object_iter_key(i));
        }
        t = store_fixture_begin(&w.f, false);
        cr_assert_eq(table_get(t, TABLE_SLOT, BYTES_STR("p"), &v), 0);
        cr_assert_eq(v.n, 6 * 8 + REGION_ID_LEN);
        store_abort(t);
        store_fixture_deinit(&w.f);
}

// G-29: what cannot follow is not folded, and changes nothing but what the caller aborts.
Test(fold_slot, entries_that_cannot_be) {
        static const char *const rows[] = {
                "{\"type\":7}",
                "{}",
                "{\"type\":\"slot.defined\"}",
                "{\"type\":\"slot.defined\",\"slot\":\"No\"}",
                "{\"type\":\"slot.defined\",\"slot\":\"a\"}",
                "{\"type\":\"slot.proposed\",\"slot\":\"a\",\"version\":1}",
                "{\"type\":\"slot.proposed\",\"slot\":\"none\",\"version\":1,\"region\":\"01kfabcdefghjkmnpqrstvwxyz\"}",
                "{\"type\":\"slot.proposed\",\"slot\":\"a\",\"version\":1,\"region\":\"x\"}",
                "{\"type\":\"slot.proposed\",\"slot\":\"a\",\"region\":\"01kfabcdefghjkmnpqrstvwxyz\"}",
                "{\"type\":\"slot.written\",\"slot\":\"none\",\"version\":1}",
                "{\"type\":\"slot.written\",\"slot\":\"a\"}",
                "{\"type\":\"slot.written\",\"slot\":\"a\",\"version\":1,\"proposed\":9,\"region\":\"01kfabcdefghjkmnpqrstvwxyz\"}",
                "{\"type\":\"slot.discarded\",\"slot\":\"a\",\"proposed\":9,\"region\":\"01kfabcdefghjkmnpqrstvwxyz\"}",
                "{\"type\":\"slot.discarded\",\"slot\":\"a\",\"proposed\":9}",
                "{\"type\":\"slot.gathered\",\"slot\":\"a\",\"proposed\":9,\"region\":\"01kfabcdefghjkmnpqrstvwxyz\"}",
                "{\"type\":\"slot.gathered\",\"slot\":\"a\",\"proposed\":9,\"tree\":\"x\",\"region\":\"01kfabcdefghjkmnpqrstvwxyz\"}",
                "{\"type\":\"slot.arbitrated\",\"slot\":\"a\",\"proposals\":[],\"winner\":null}",
                "{\"type\":\"slot.arbitrated\",\"slot\":\"a\",\"proposals\":[{\"seq\":9}],\"winner\":null}",
                "{\"type\":\"slot.arbitrated\",\"slot\":\"a\",\"proposals\":[7],\"winner\":null}",
                "{\"type\":\"skill.registered\"}",
                "{\"type\":\"skill.registered\",\"skill\":{\"name\":\"\"}}",
        };
        _cleanup_store_fixture_ StoreFixture f;

        store_fixture_init(&f, STORE_SUPERVISE);
        gather_define(&f, "a", "first/2");
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                _cleanup_json_ json_t *o = json_loads(rows[i], 0, NULL);
                Txn *t = store_fixture_begin(&f, true);

                cr_assert_not_null(o, "%s", rows[i]);
                cr_expect_eq(fold_slot_event(t, 7, o), -EUCLEAN, "%s", rows[i]);
                store_abort(t);
        }
}
