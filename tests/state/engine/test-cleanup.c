#include "cleanup-fixture.h"
#include "record/event.h"
#include "engine/fold.h"

#include <criterion/criterion.h>
#include <errno.h>

typedef struct World {
        StoreFixture f;
        Txn *t;
        Diag d;
} World;

/* Records as "k/page m/fact strong; …" a line each. */
static void make(World *w, const char *const *lines) {
        store_fixture_init(&w->f, STORE_WRITE);
        w->t = store_fixture_begin(&w->f, true);
        for (; *lines; lines++) {
                char kind = (*lines)[0], id[65];
                int n = 0;

                cr_assert_eq(sscanf(*lines, "%*c/%64s%n", id, &n), 1);
                cr_assert_eq(save(w->t, kind, id, *lines + n, &w->d), 0, "%s: %s", *lines, w->d.text);
        }
}

/* Whatever was done: the tables are what the ledger folds to (G-29). */
static void done(World *w) {
        FoldResult fold;

        cr_assert_eq(engine_fold_compare(w->t, &fold, &w->d), 0, "%s", w->d.text);
        cr_expect(fold.differ == 0, "table %s, row %s %s", table_name(fold.table), fold.key, fold.how);
        store_fixture_commit(&w->f, w->t);
        store_fixture_deinit(&w->f);
}

// M-46, M-20, M-54: what supports a record, what keeps it from removal, what deletion takes with it: by strength, state of the source, kernel
Test(cleanup, reference_matrix) {
        static const struct {
                const char *name, *refs; /* of the source s to the target t */
                char kind;
                bool archived;
                unsigned strong, weak;
                bool blocks, holds;
        } rows[] = {
                {"strong, active", "m/target strong", 'm', false, 1, 0, true, true},
                {"weak, active", "m/target weak", 'm', false, 0, 1, true, false},
                {"strong, archived", "m/target strong", 'm', true, 1, 0, true, true},
                {"weak, archived", "m/target weak", 'm', true, 0, 1, false, false},
                {"strong, of a page", "m/target strong about", 'k', false, 1, 0, true, true},
                {"weak, of an archived page", "m/target weak about", 'k', true, 0, 1, false, false},
                {"strong, of a skill", "m/target strong", 's', false, 1, 0, true, true},
                {"strong, of a kernel", "m/target strong", 'A', false, 1, 0, true, true},
                {"weak, of a kernel", "m/target weak", 'W', false, 0, 1, true, true},
                {"superseding", "m/target strong supersedes", 'm', false, 0, 0, false, false},
                {"both strengths", "m/target strong a; m/target weak b", 'm', false, 1, 1, true, true},
                {"the same twice, of both strengths", "m/target weak; m/target strong; m/target weak", 'm', false, 1, 0, true, true}, /* M-57 */
        };

        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                static const char *const lines[] = {"m/target", "m/broken", NULL};
                _cleanup_free_ Dependent *deps = NULL;
                _cleanup_free_ Ref *blockers = NULL;
                _cleanup_json_ json_t *went = NULL;
                char refs[128];
                size_t n, n_deps;
                Support s;
                RecordKey k;
                World w;

                make(&w, lines);
                snprintf(refs, sizeof(refs), "%s%s", rows[i].refs, rows[i].archived ? "; m/broken weak z" : "");
                cr_assert_eq(save(w.t, rows[i].kind, "source", refs, &w.d), 0, "%s: %s", rows[i].name, w.d.text);
                if (rows[i].archived) {
                        char step[64];

                        snprintf(step, sizeof(step), "archive %c/source broken_ref m/broken", rows[i].kind);
                        cr_assert_eq(engine_delete(w.t, &(Deletion){.kind = KIND_MEMORY, .id = "broken", .who = ME}, &went, &w.d), 0, "%s", w.d.text);
                        cr_assert_eq(pass(w.t, 0, REASONS_DEFAULT, step, &w.d), 0, "%s: %s", rows[i].name, w.d.text);
                        json_decref(TAKE_PTR(went));
                }
                k = key_of(w.t, 'm', "target");
                cr_assert_eq(graph_support(w.t, &k, &s), 0);
                cr_expect(s.strong == rows[i].strong && s.weak == rows[i].weak, "%s: %lu %lu", rows[i].name, s.strong, s.weak);
                cr_expect_float_eq(s.score, rows[i].strong + 0.35 * rows[i].weak, 1e-12, "%s", rows[i].name);
                cr_assert_eq(graph_blockers(w.t, &k, &blockers, &n), 0);
                cr_expect_eq(n > 0, rows[i].blocks, "%s", rows[i].name);
                cr_assert_eq(graph_dependents(w.t, &k, &deps, &n_deps), 0);
                cr_assert_eq(n_deps, 1, "%s", rows[i].name); /* all of them are told */
                cr_expect_eq(deps[0].holds, rows[i].holds, "%s", rows[i].name);
                cr_expect_eq(engine_delete(w.t, &(Deletion){.kind = KIND_MEMORY, .id = "target", .who = ME}, &went, &w.d), rows[i].holds
                             ? ENGINE_E_DEPENDENTS : 0,
                             "%s: %s", rows[i].name, w.d.text);
                if (rows[i].holds) {
                        bool kernel = rows[i].kind == 'A' || rows[i].kind == 'W';

                        cr_expect_eq(engine_delete(w.t, &(Deletion){.kind = KIND_MEMORY, .id = "target", .cascade = true, .who = ME}, &went, &w.d),
                                     kernel ? ENGINE_E_DEPENDENTS : 0, "%s: %s", rows[i].name, w.d.text);
                        cr_expect_eq(state_of(w.t, rows[i].kind, "source"), kernel ? RECORD_ACTIVE : RECORD_NONE, "%s", rows[i].name);
                        cr_expect_eq(state_of(w.t, 'm', "target"), kernel ? RECORD_ACTIVE : RECORD_NONE, "%s", rows[i].name);
                }
                done(&w);
        }
}

// M-27, M-37, M-39, M-40, M-43, M-44, M-45: each step that a pass refuses, with its code, and nothing done
Test(cleanup, a_pass_judges_anew) {
        static const char *const lines[] = {"m/base", "m/new m/base strong supersedes", "k/page m/base strong", "m/lost", "k/broken m/lost weak", "m/plain",
                                            "A/kernel", NULL};
        static const struct {
                uint64_t number;
                unsigned admitted;
                const char *steps;
                int code;
                const char *words;
        } rows[] = {
                {0, REASONS_DEFAULT, "archive k/page broken_ref m/base", ENGINE_E_CONFLICT, "does not hold"},
                {0, REASONS_DEFAULT, "archive m/plain superseded_by m/new", ENGINE_E_CONFLICT, "does not hold"},
                {0, REASONS_DEFAULT, "archive k/page retired_dependency m/base", ENGINE_E_CONFLICT, "does not hold"},
                {0, REASONS_DEFAULT | 1U << REASON_UNSUPPORTED_SINCE, "archive m/plain unsupported_since", ENGINE_E_CONFLICT, "does not hold"},
                {0, REASONS_DEFAULT, "archive m/plain unsupported_since", ENGINE_E_NOT_GRANTED, "is not approved"},
                {0, 0, "archive m/base superseded_by m/new", ENGINE_E_NOT_GRANTED, "is not approved"},
                {0, 1U << REASON_BROKEN_REF, "archive m/base superseded_by m/new", ENGINE_E_NOT_GRANTED, "is not approved"},
                {0, REASONS_DEFAULT, "remove m/base superseded_by m/new", ENGINE_E_BAD_STATE, "active"},
                {0, REASONS_DEFAULT, "save m/base superseded_by m/new", ENGINE_E_BAD_OPERATION, "only archives"},
                {0, REASONS_DEFAULT, "archive A/kernel superseded_by m/new", ENGINE_E_BAD_OPERATION, "inviolate"},
                {0, REASONS_DEFAULT, "archive m/nothing superseded_by m/new", ENGINE_E_NO_RECORD, "nothing"},
                {2, REASONS_DEFAULT, "archive m/base superseded_by m/new", ENGINE_E_CONFLICT, "the next pass"},
                {7, REASONS_DEFAULT, "archive m/base superseded_by m/new", ENGINE_E_CONFLICT, "the next pass"},
                {0, REASONS_DEFAULT, "archive m/base superseded_by m/new;remove m/base superseded_by m/new", ENGINE_E_BAD_STATE, "active"},
                {0, REASONS_DEFAULT, "archive m/base superseded_by m/new;archive m/base superseded_by m/new", ENGINE_E_CONFLICT, "twice"},
                {0, REASONS_DEFAULT, "archive m/base superseded_by m/new;archive m/plain broken_ref m/new", ENGINE_E_CONFLICT, "does not hold"},
        };
        _cleanup_json_ json_t *went = NULL;
        uint64_t before, after;
        World w;

        make(&w, lines);
        cr_assert_eq(engine_delete(w.t, &(Deletion){.kind = KIND_MEMORY, .id = "lost", .who = ME}, &went, &w.d), 0, "%s", w.d.text);
        cr_assert_eq(pass(w.t, 0, 0, "", &w.d), 0); /* pass 1 does nothing: then 2 is the next, and rows ask for it by 0 */
        cr_assert_eq(table_rows(w.t, TABLE_CHANGE, &before), 0);
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                uint64_t number = rows[i].number == 2 ? 1 : rows[i].number; /* a repeated one */

                cr_expect_eq(pass(w.t, number, rows[i].admitted, rows[i].steps, &w.d), rows[i].code, "row %zu: %s", i, w.d.text);
                cr_expect(strstr(w.d.text, rows[i].words) != NULL, "row %zu: %s", i, w.d.text);
                cr_assert_eq(table_rows(w.t, TABLE_CHANGE, &after), 0);
                cr_expect_eq(before, after, "row %zu", i);
                cr_expect_eq(state_of(w.t, 'm', "base"), RECORD_ACTIVE, "row %zu", i);
        }
        cr_expect_eq(engine_pass(w.t, &(Pass){.routine = "sweep", .scope = SCOPE_DEFAULT, .number = 2, .who = ME}, &after, &w.d), ENGINE_E_NOT_GRANTED);
        cr_expect_eq(engine_mutate(w.t, &(Mutation){.kind = KIND_MEMORY, .op = OP_ARCHIVE, .id = "base", .expect = MUTATION_ANY, .who = ME}, &(Mutated){0},
                                   &w.d),
                     ENGINE_E_BAD_OPERATION);
        cr_expect_eq(engine_mutate(w.t, &(Mutation){.kind = KIND_MEMORY, .op = OP_DELETE, .id = "base", .expect = MUTATION_ANY, .who = ME}, &(Mutated){0},
                                   &w.d),
                     ENGINE_E_BAD_OPERATION);
        cr_expect_eq(engine_delete(w.t, &(Deletion){.kind = KIND_AGENT_KERNEL, .id = "kernel", .who = ME}, &went, &w.d), ENGINE_E_BAD_OPERATION); /* M-31 */
        done(&w);
}

// M-34..M-38, M-45, M-51, M-58: archived by one pass, removed by a later one, restored in between; a chain downstream; the tombstone has no payload
Test(cleanup, serve_client_its_states) {
        static const char *const lines[] = {"m/base", "k/page m/base strong", "m/new m/base strong supersedes", NULL};
        _cleanup_json_ json_t *payload = NULL, *again = NULL;
        _cleanup_record_ Record rec = RECORD_NULL;
        uint64_t archived;
        RecordKey k;
        Mutated m;
        World w;

        make(&w, lines);
        k = key_of(w.t, 'm', "base");
        cr_assert_eq(record_get(w.t, &k, &rec), 0);
        cr_assert_eq(record_payload(w.t, &rec, &payload), 0);
        record_deinit(&rec);
        cr_assert_eq(pass(w.t, 1, REASONS_DEFAULT, "archive m/base superseded_by m/new", &w.d), 0, "%s", w.d.text);
        cr_expect_eq(state_of(w.t, 'm', "base"), RECORD_ARCHIVED);
        cr_assert_eq(record_get(w.t, &k, &rec), 0);
        cr_expect_eq(pass_of_archival(w.t, &rec, &archived), 0);
        cr_expect_eq(archived, 1);
        record_deinit(&rec);
        /* the page leans on it: no removal, but the page may go now */
        cr_expect_eq(pass(w.t, 2, REASONS_DEFAULT, "remove m/base superseded_by m/new", &w.d), ENGINE_E_DEPENDENTS, "%s", w.d.text);
        cr_assert_eq(pass(w.t, 2, REASONS_DEFAULT, "archive k/page retired_dependency m/base", &w.d), 0, "%s", w.d.text);
        /* back, with the same payload, and archived again by a new pass only (M-35, M-51) */
        cr_assert_eq(engine_mutate(w.t, &(Mutation){.kind = KIND_MEMORY, .op = OP_RESTORE, .id = "base", .expect = MUTATION_ANY, .who = ME}, &m, &w.d), 0,
                     "%s", w.d.text);
        cr_assert_eq(record_get(w.t, &k, &rec), 0);
        cr_assert_eq(record_payload(w.t, &rec, &again), 0);
        cr_expect(json_equal(payload, again) && rec.state == RECORD_ACTIVE);
        record_deinit(&rec);
        cr_expect_eq(pass(w.t, 2, REASONS_DEFAULT, "archive m/base superseded_by m/new", &w.d), ENGINE_E_CONFLICT);
        cr_assert_eq(pass(w.t, 3, REASONS_DEFAULT, "archive m/base superseded_by m/new", &w.d), 0, "%s", w.d.text);
        /* the page's reason names the first archival: it is looked up anew */
        cr_expect_eq(pass(w.t, 4, REASONS_DEFAULT, "remove k/page broken_ref m/base", &w.d), ENGINE_E_CONFLICT);
        cr_assert_eq(pass(w.t, 4, REASONS_DEFAULT, "remove k/page retired_dependency m/base", &w.d), 0, "%s", w.d.text);
        cr_assert_eq(pass(w.t, 5, REASONS_DEFAULT, "remove m/base superseded_by m/new", &w.d), 0, "%s", w.d.text);
        json_decref(TAKE_PTR(again));
        cr_assert_eq(record_get(w.t, &k, &rec), 0); /* the tombstone */
        cr_expect_eq(rec.state, RECORD_REMOVED);
        cr_expect_eq(record_payload(w.t, &rec, &again), -ENOENT);
        cr_expect_eq(engine_mutate(w.t, &(Mutation){.kind = KIND_MEMORY, .op = OP_RESTORE, .id = "base", .expect = MUTATION_ANY, .who = ME}, &m, &w.d),
                     ENGINE_E_BAD_STATE);
        cr_expect_eq(pass(w.t, 6, REASONS_DEFAULT, "archive m/base superseded_by m/new", &w.d), ENGINE_E_BAD_STATE);
        cr_expect_eq(save(w.t, 'k', "late", "m/base weak", &w.d), ENGINE_E_BAD_REF); /* M-57: what was removed is not there */
        done(&w);
}

static uint64_t closed_by(Txn *t, char kind, const char *id) {
        RecordKey k = key_of(t, kind, id);
        _cleanup_record_ Record rec = RECORD_NULL;
        uint64_t seq = 0;

        cr_assert_eq(record_get(t, &k, &rec), 0);
        cr_assert_eq(json_get_u64(json_object_get(rec.row, "closed"), &seq), 0);
        return seq;
}

/* The next pass, of one step or of none. */
static int pass_of(World *w, const PassStep *s, const char *unsupported) {
        _cleanup_json_ json_t *record = unsupported ? json_pack("{s:{s:{s:i}}}", "unsupported", "memory_substrate", unsupported, 1) : json_object();
        uint64_t scope, last, seq;

        cr_assert_eq(scope_get(w->t, SCOPE_DEFAULT, &scope), 0);
        cr_assert_eq(pass_last(w->t, scope, &last, &seq), 0);
        return engine_pass(w->t, &(Pass){.routine = "digest", .scope = SCOPE_DEFAULT, .number = last + 1, .admitted = UINT32_MAX, .admitted_removal = UINT32_MAX,
                                         .steps = s, .n = s != NULL, .record = record, .who = ME}, &seq, &w->d);
}

// M-21, M-28, M-34, M-44: a reason holds by what is live, and to the letter: its event, its pass, its scope; nobody but a pass removes, nobody patches by force
Test(cleanup, a_reason_is_that_of_now) {
        static const char *const lines[] = {"m/lost", "m/old", "m/new m/old strong supersedes; m/lost weak", "m/base", "k/page m/base strong",
                                            "m/next m/base strong supersedes", "m/alone", "m/held", "k/leans m/held weak", NULL};
        _cleanup_json_ json_t *went = NULL, *rules = json_pack("{s:[]}", "rules");
        uint64_t first;
        PassStep s;
        Mutated m;
        World w;

        make(&w, lines);
        cr_assert_eq(engine_delete(w.t, &(Deletion){.kind = KIND_MEMORY, .id = "lost", .who = ME}, &went, &w.d), 0, "%s", w.d.text);
        /* what takes another one's place does so while it is active itself */
        cr_assert_eq(pass(w.t, 0, REASONS_DEFAULT, "archive m/new broken_ref m/lost", &w.d), 0, "%s", w.d.text);
        cr_expect_eq(pass(w.t, 0, REASONS_DEFAULT, "archive m/old superseded_by m/new", &w.d), ENGINE_E_CONFLICT, "%s", w.d.text);
        /* what retired, was restored and retired again did so by the newer event */
        cr_assert_eq(pass(w.t, 0, REASONS_DEFAULT, "archive m/base superseded_by m/next", &w.d), 0, "%s", w.d.text);
        first = closed_by(w.t, 'm', "base");
        cr_assert_eq(engine_mutate(w.t, &(Mutation){.kind = KIND_MEMORY, .op = OP_RESTORE, .id = "base", .expect = MUTATION_ANY, .who = ME}, &m, &w.d), 0);
        cr_assert_eq(pass(w.t, 0, REASONS_DEFAULT, "archive m/base superseded_by m/next", &w.d), 0, "%s", w.d.text);
        s = step_of(w.t, "archive k/page retired_dependency m/base");
        cr_expect_eq(s.reason.event, closed_by(w.t, 'm', "base"));
        s.reason.event = first;
        cr_expect_eq(pass_of(&w, &s, NULL), ENGINE_E_CONFLICT, "%s", w.d.text);
        s = step_of(w.t, "archive k/page retired_dependency m/base");
        s.key.scope++;
        cr_expect_eq(pass_of(&w, &s, NULL), ENGINE_E_CROSS_SCOPE, "%s", w.d.text);
        /* what was alone at a pass, and is: a weak reference is one, and the pass is the one that is on record */
        s = step_of(w.t, "archive m/held unsupported_since");
        s.reason.pass = 1;
        cr_assert_eq(pass_of(&w, NULL, "held"), 0, "%s", w.d.text);
        cr_expect_eq(pass_of(&w, &s, NULL), ENGINE_E_CONFLICT, "%s", w.d.text);
        s = step_of(w.t, "archive m/alone unsupported_since");
        s.reason.pass = 2;
        cr_assert_eq(pass_of(&w, NULL, "alone"), 0, "%s", w.d.text);
        cr_expect_eq(pass_of(&w, &s, NULL), ENGINE_E_CONFLICT, "%s", w.d.text);
        s.reason.pass = 1;
        cr_expect_eq(pass_of(&w, &s, NULL), 0, "%s", w.d.text);
        cr_expect_eq(state_of(w.t, 'm', "alone"), RECORD_ARCHIVED);

        cr_expect_eq(engine_mutate(w.t, &(Mutation){.kind = KIND_MEMORY, .op = OP_REMOVE, .id = "alone", .expect = MUTATION_ANY, .who = ME}, &m, &w.d),
                     ENGINE_E_BAD_OPERATION);
        cr_expect_eq(engine_mutate(w.t, &(Mutation){.kind = KIND_WORLD_KERNEL, .op = OP_PATCH, .id = "kernel", .expect = MUTATION_ANY, .payload = rules, .who = ME},
                                   &m, &w.d),
                     ENGINE_E_CONFLICT);
        done(&w);
}

// M-52..M-56: what is deleted with its dependents is gone with its payloads, by one transaction, and the ledger says so
Test(cleanup, cascade) {
        static const char *const lines[] = {"m/root", "k/a m/root strong", "k/b k/a strong", "s/c k/b strong", "m/weak k/b weak", "m/far m/weak strong",
                                            "m/other", NULL};
        static const struct {
                const char *what;
                unsigned depth;
                bool holds;
        } want[] = {{"a", 1, true}, {"b", 2, true}, {"weak", 3, false}, {"c", 3, true}, {"far", 4, false}};
        _cleanup_free_ Dependent *deps = NULL;
        _cleanup_json_ json_t *went = NULL;
        uint64_t seq;
        RecordKey k;
        size_t n;
        World w;

        make(&w, lines);
        k = key_of(w.t, 'm', "root");
        cr_assert_eq(graph_dependents(w.t, &k, &deps, &n), 0);
        cr_assert_eq(n, ARRAY_SIZE(want));
        for (size_t i = 0; i < n; i++)
                cr_expect(strcmp(deps[i].ref.source.id, want[i].what) == 0 && deps[i].depth == want[i].depth && deps[i].holds == want[i].holds,
                          "%zu: %s %u %d", i,
                          deps[i].ref.source.id, deps[i].depth, deps[i].holds);
        cr_expect_eq(engine_delete(w.t, &(Deletion){.kind = KIND_MEMORY, .id = "root", .who = ME}, &went, &w.d), ENGINE_E_DEPENDENTS);
        cr_expect(strstr(w.d.text, "3 records hold") != NULL, "%s", w.d.text);
        cr_assert_eq(engine_delete(w.t, &(Deletion){.kind = KIND_MEMORY, .id = "root", .cascade = true, .reason = "over", .who = ME}, &went, &w.d), 0, "%s",
                     w.d.text);
        cr_expect_eq(json_array_size(went), 4);
        for (size_t i = 0; i < 4; i++) {
                _cleanup_json_ json_t *body = NULL;

                cr_assert_eq(json_get_u64(json_object_get(json_array_get(went, i), "seq"), &seq), 0);
                cr_assert_eq(record_body(w.t, seq, &body), 0);
                cr_expect_str_eq(json_string_value(json_object_get(body, "reason")), "over");
        }
        cr_expect_eq(state_of(w.t, 'm', "root"), RECORD_NONE);
        cr_expect_eq(state_of(w.t, 's', "c"), RECORD_NONE);
        cr_expect_eq(state_of(w.t, 'm', "weak"), RECORD_ACTIVE);
        cr_expect_eq(state_of(w.t, 'm', "far"), RECORD_ACTIVE);
        for (uint64_t s = 0; s < seq; s++) { /* payloads: of those that are left, and of no other */
                _cleanup_json_ json_t *body = NULL;

                if (record_body(w.t, s, &body) == 0 && json_object_get(body, "payload"))
                        n--;
        }
        cr_expect_eq(n, 5 - 3); /* weak, far, other */
        done(&w);
}

/* Refers to the root and to `n_refs` of its neighbours in the ring, every second time weakly. */
static void save_in_ring(Txn *t, unsigned i, unsigned n, unsigned n_refs) {
        _cleanup_json_ json_t *list = json_array(), *payload = json_pack("{s:s}", "summary", "s");
        Mutated m;
        char id[16];
        Diag d;

        json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:s}", "kind", "memory_substrate", "id", "root", "strength", "strong", "role", "ref"));
        for (unsigned k = 1; k <= n_refs; k++) {
                snprintf(id, sizeof(id), "n%u", (i + k) % n);
                json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:s}", "kind", "memory_substrate", "id", id, "strength", k % 2 ? "strong" : "weak", "role",
                                                      "ref"));
        }
        snprintf(id, sizeof(id), "n%u", i);
        cr_assert_eq(mutate_judged(t, &(Mutation){.kind = KIND_MEMORY, .op = OP_SAVE, .id = id, .expect = MUTATION_ANY, .payload = payload, .refs = list,
                                                  .type = "episodic", .who = ME}, &m, &d), 0, "%s", d.text);
}

// M-54, M-55: records that all hold on to each other go as fast as as many others, and each deletion names who leaned on the record itself
Test(cleanup, cascade_of_a_thicket) {
        static const char *const lines[] = {"m/root", NULL};
        _cleanup_json_ json_t *went = NULL, *entry = NULL;
        const unsigned n = 400, n_refs = 250;
        size_t i;
        json_t *o, *dependents;
        uint64_t seq;
        World w;

        make(&w, lines);
        for (unsigned k = 0; k < n; k++)
                save_in_ring(w.t, k, n, 0);
        for (unsigned k = 0; k < n; k++)
                save_in_ring(w.t, k, n, n_refs);
        cr_assert_eq(engine_delete(w.t, &(Deletion){.kind = KIND_MEMORY, .id = "root", .cascade = true, .who = ME}, &went, &w.d), 0, "%s", w.d.text);
        cr_expect_eq(json_array_size(went), n + 1);
        cr_assert_eq(json_get_u64(json_object_get(json_array_get(went, 0), "seq"), &seq), 0);
        cr_assert_eq(event_get(w.t, seq, &entry), 0);
        dependents = json_object_get(entry, "dependents");
        cr_expect_eq(json_array_size(dependents), n_refs);
        json_array_foreach(dependents, i, o)
                cr_expect(json_string_value(json_object_get(o, "id"))[0] == 'n');
        done(&w);
}
