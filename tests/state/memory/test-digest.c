#include "memory/digest.h"
#include "memory/propose.h"
#include "tests/state/engine/cleanup-fixture.h"

#include <criterion/criterion.h>

#define OF(pass, more) "{\"version\":1,\"pass\":" pass ",\"blocked\":[],\"proposals\":[" more "]}"
#define STEP(op, kind, id, reason) "{\"op\":\"" op "\",\"kind\":\"" kind "\",\"id\":\"" id "\",\"reason\":" reason "}"
#define MEMORY "memory_substrate"
#define SUPERSEDED "{\"reason\":\"superseded_by\",\"kind\":\"" MEMORY "\",\"id\":\"new\"}"

static int digest(Txn *t, const char *proposed, json_t **ret_scan, Diag *d) {
        _cleanup_json_ json_t *scan = NULL, *answer = NULL, *report = NULL;
        int r;

        cr_assert_eq(memory_scan(t, SCOPE_DEFAULT, REASONS_DEFAULT, &scan, d), 0, "%s", d->text);
        if (proposed)
                answer = json_loads(proposed, 0, NULL);
        else
                cr_assert_eq(propose(scan, &answer), 0);
        cr_assert_not_null(answer, "%s", proposed);
        r = memory_digest(t, &(Digest){.scope = SCOPE_DEFAULT, .reasons = REASONS_DEFAULT, .automatic = REASONS_DEFAULT,
                                         .automatic_removal = REASONS_DEFAULT, .apply = true, .scan = scan,
                                       .proposed = answer,
                                       .who = ME}, &report, d);
        if (ret_scan)
                *ret_scan = json_incref(scan);
        return r;
}

// M-27, M-37, M-40, M-43, M-47: whatever the routine says is judged; what is refused changes nothing, and what is wrong is no proposal
Test(digest, a_routine_may_say_anything) {
        static const struct {
                const char *proposed;
                int code;
        } rows[] = {
                {"{}", ENGINE_E_BAD_PAYLOAD},
                {OF("2", ""), ENGINE_E_BAD_PAYLOAD},                     /* another pass */
                {OF("\"1\"", ""), ENGINE_E_BAD_PAYLOAD},
                {OF("1", "1"), ENGINE_E_BAD_PAYLOAD},
                {OF("1", STEP("delete", MEMORY, "old", SUPERSEDED)), ENGINE_E_BAD_PAYLOAD},
                {OF("1", STEP("save", MEMORY, "old", SUPERSEDED)), ENGINE_E_BAD_PAYLOAD},
                {OF("1", STEP("archive", "dreams", "old", SUPERSEDED)), ENGINE_E_BAD_PAYLOAD},
                {OF("1", STEP("archive", MEMORY, "Old One", SUPERSEDED)), ENGINE_E_BAD_PAYLOAD},
                {OF("1", STEP("archive", MEMORY, "old", "\"because\"")), ENGINE_E_BAD_PAYLOAD},
                {OF("1", STEP("archive", MEMORY, "old", "{\"reason\":\"old_age\"}")), ENGINE_E_BAD_PAYLOAD},
                {OF("1", STEP("archive", MEMORY, "old", "{\"reason\":\"superseded_by\"}")), ENGINE_E_BAD_PAYLOAD},
                {OF("1", STEP("archive", MEMORY, "old", "{\"reason\":\"superseded_by\",\"kind\":\"" MEMORY "\",\"id\":\"new\",\"note\":\"trust me\"}")),
                 ENGINE_E_BAD_PAYLOAD},
                {OF("1", STEP("archive", MEMORY, "old", "{\"reason\":\"unsupported_since\",\"pass\":1}")), ENGINE_E_BAD_PAYLOAD}, /* not asked for */
                {OF("1", STEP("archive", MEMORY, "new", SUPERSEDED)), ENGINE_E_CONFLICT}, /* does not hold */
                {OF("1", STEP("remove", MEMORY, "old", SUPERSEDED)), ENGINE_E_BAD_STATE},
                {OF("1", STEP("archive", "world_model_kernel", "kernel", SUPERSEDED)), ENGINE_E_BAD_OPERATION},
                {OF("1", STEP("archive", "issues", "an_issue", SUPERSEDED)), ENGINE_E_BAD_OPERATION},
                {OF("1", STEP("archive", MEMORY, "old", SUPERSEDED) "," STEP("remove", MEMORY, "old", SUPERSEDED)), ENGINE_E_BAD_STATE},
                {OF("1", STEP("archive", MEMORY, "old", SUPERSEDED) "," STEP("archive", MEMORY, "old", SUPERSEDED)), ENGINE_E_CONFLICT},
        };
        _cleanup_store_fixture_ StoreFixture f;
        uint64_t before, after;
        Diag d = {0};
        Txn *t;

        store_fixture_init(&f, STORE_WRITE);
        t = store_fixture_begin(&f, true);
        cr_assert_eq(save(t, 'm', "old", "", &d), 0);
        cr_assert_eq(save(t, 'm', "new", "m/old strong supersedes", &d), 0);
        cr_assert_eq(table_rows(t, TABLE_CHANGE, &before), 0);
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                cr_expect_eq(digest(t, rows[i].proposed, NULL, &d), rows[i].code, "row %zu: %s", i, d.text);
                cr_assert_eq(table_rows(t, TABLE_CHANGE, &after), 0);
                cr_expect_eq(before, after, "row %zu", i);
        }
        cr_expect_eq(digest(t, NULL, NULL, &d), 0, "%s", d.text); /* what propose() makes of it is taken */
        cr_expect_eq(state_of(t, 'm', "old"), RECORD_ARCHIVED);
        store_fixture_commit(&f, t);
}

static void save_by_region(Txn *t, const char *id, char to, bool may, Diag *d) {
        _cleanup_json_ json_t *p = json_pack("{s:s}", "summary", "s"), *refs = json_pack("[{s:s, s:s, s:s}]", "kind", kind_name(kind_of(to)), "id", "old", "role",
                                                                                        REF_ROLE_SUPERSEDES);
        Mutated m;

        cr_assert_eq(engine_mutate(t, &(Mutation){.kind = KIND_MEMORY, .op = OP_SAVE, .id = id, .expect = MUTATION_ANY, .payload = p, .refs = refs, .type = "episodic",
                                                  .region = "01m83r2a9mf0n86hjsjzn80p87", .may_supersede = may}, &m, d), 0, "%s", d->text);
}

// I-98: a region's reference that ends a record of another family is acted upon when its event says that the region might save that family
Test(digest, a_reference_without_the_right_ends_nothing) {
        static const struct {
                char to;
                bool may, ends;
        } rows[] = {{'k', false, false}, {'k', true, true}, {'m', false, true} /* of its own family */, {'s', false, false}};

        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                char proposed[400];
                _cleanup_json_ json_t *scan = NULL;
                const json_t *edge, *o;
                _cleanup_store_fixture_ StoreFixture f;
                Diag d = {0};
                size_t k;
                Txn *t;

                store_fixture_init(&f, STORE_WRITE);
                t = store_fixture_begin(&f, true);
                cr_assert_eq(save(t, rows[i].to, "old", "", &d), 0);
                save_by_region(t, "new", rows[i].to, rows[i].may, &d);
                snprintf(proposed, sizeof(proposed), OF("1", STEP("archive", "%s", "old", SUPERSEDED)), kind_name(kind_of(rows[i].to)));
                if (!rows[i].ends)
                        cr_expect_eq(digest(t, proposed, NULL, &d), ENGINE_E_CONFLICT, "row %zu: %s", i, d.text);
                cr_expect_eq(digest(t, NULL, &scan, &d), 0, "row %zu: %s", i, d.text);
                cr_expect_eq(state_of(t, rows[i].to, "old"), rows[i].ends ? RECORD_ARCHIVED : RECORD_ACTIVE, "row %zu", i);
                json_array_foreach(json_object_get(scan, "records"), k, o) {
                        edge = json_array_get(json_object_get(o, "in"), 0);
                        if (edge)
                                cr_expect_eq(json_is_false(json_object_get(edge, "granted")), !rows[i].ends, "row %zu", i);
                }
                save_by_region(t, "new", rows[i].to, true, &d); /* anew, by whom may */
                cr_expect_eq(digest(t, NULL, NULL, &d), 0, "row %zu: %s", i, d.text);
                cr_expect_neq(state_of(t, rows[i].to, "old"), RECORD_ACTIVE, "row %zu", i);
                store_fixture_commit(&f, t);
        }
}

static unsigned roll(uint32_t *dice, unsigned n) {
        *dice = *dice * 1664525U + 1013904223U;
        return (*dice >> 16) % n;
}

// M-42, M-44, M-45, M-46, M-49: what is proposed is what the engine finds, reason by reason, over many graphs; and the same each time
Test(digest, proposes_what_holds) {
        static const char *const ids[] = {"a", "b", "c", "d", "e", "f"}, *const strengths[] = {"strong", "weak"}, *const roles[] = {"ref", "supersedes",
                                                                                                                                    "about"};
        static const char letters[] = "mks";
        uint32_t dice = 1;
        size_t all = 0;

        for (int world = 0; world < 60; world++) {
                _cleanup_json_ json_t *scan = NULL, *first = NULL, *again = NULL;
                _cleanup_store_fixture_ StoreFixture f;
                Diag d = {0};
                json_t *o;
                size_t i;
                Txn *t;

                store_fixture_init(&f, STORE_WRITE);
                t = store_fixture_begin(&f, true);
                for (int k = 0; k < 30; k++) {
                        char refs[128] = "";
                        int n;

                        n = roll(&dice, 3);
                        for (int e = 0; e < n; e++)
                                snprintf(refs + strlen(refs), sizeof(refs) - strlen(refs), "%c/%s %s %s;", letters[roll(&dice, 3)], ids[roll(&dice, 6)],
                                         strengths[roll(&dice, 2)], roles[roll(&dice, 3)]);
                        save(t, letters[roll(&dice, 3)], ids[roll(&dice, 6)], refs, &d); /* some are refused */
                        if (roll(&dice, 4) == 0) {
                                _cleanup_json_ json_t *went = NULL;

                                engine_delete(t, &(Deletion){.kind = kind_of(letters[roll(&dice, 3)]), .id = ids[roll(&dice, 6)], .cascade = roll(&dice, 2),
                                                             .who = ME}, &went, &d);
                        }
                        if (roll(&dice, 12) == 0)
                                cr_expect_eq(digest(t, NULL, NULL, &d), 0, "world %d: %s", world, d.text);
                }
                cr_assert_eq(memory_scan(t, SCOPE_DEFAULT, REASONS_DEFAULT, &scan, &d), 0);
                cr_assert_eq(propose(scan, &first), 0);
                cr_assert_eq(propose(scan, &again), 0);
                cr_expect(json_equal(first, again));
                json_array_foreach(json_object_get(scan, "records"), i, o) {
                        const char *id = json_string_value(json_object_get(o, "id")), *kind = json_string_value(json_object_get(o, "kind"));
                        Reason v[REASONS_MAX];
                        size_t n = 0, proposed = 0;
                        uint64_t scope;
                        RecordKey key;

                        cr_assert_eq(scope_get(t, SCOPE_DEFAULT, &scope), 0);
                        key = record_key_of(scope, kind_from_name(kind), id);
                        cr_assert_eq(reasons_of(t, &key, REASONS_DEFAULT, v, &n), 0);
                        for (size_t list = 0; list < 2; list++) {
                                const json_t *steps = json_object_get(first, list ? "blocked" : "proposals");

                                for (size_t s = 0; s < json_array_size(steps); s++) {
                                        const json_t *p = json_array_get(steps, s);

                                        if (strcmp(json_string_value(json_object_get(p, "id")), id) == 0 && strcmp(json_string_value(json_object_get(p,
                                                                                                                                                     "kind")), kind) == 0)
                                                proposed += 1 + json_array_size(json_object_get(p, "also"));
                                }
                        }
                        all += n;
                        cr_expect_eq(proposed, n, "world %d: %s %s: %zu proposed, %zu hold", world, kind, id, proposed, n);
                }
                store_fixture_commit(&f, t);
        }
        cr_expect_gt(all, 25, "%zu", all); /* it was about something */
}

static json_t *edge(unsigned i, const char *role, const char *state) {
        char id[16];

        snprintf(id, sizeof(id), "e%u", i);
        return json_pack("{s:s, s:s, s:s, s:s, s:s}", "kind", MEMORY, "id", id, "strength", "strong", "role", role, "state", state);
}

// M-42, M-49: of more than an answer holds the first ones are proposed, and it says that there are more: whoever saves much keeps no digest from running
Test(digest, more_than_an_answer_holds) {
        const size_t n = 8000, n_edges = 3000;
        _cleanup_json_ json_t *records = json_array(), *scan = NULL, *first = NULL, *answer = NULL;
        const json_t *list;

        for (size_t i = 0; i < n; i++) {
                json_t *in = json_array(), *out = json_array();
                bool archived = i == n / 2; /* one that very many replace and hold on to */
                char id[16];

                for (unsigned k = 0; archived && k < n_edges; k++) {
                        json_array_append_new(in, edge(k, "supersedes", "active"));
                        json_array_append_new(in, edge(k, "ref", "active"));
                }
                json_array_append_new(out, edge(0, "ref", "deleted"));
                snprintf(id, sizeof(id), "r%05zu", n - i);
                json_array_append_new(records, json_pack("{s:s, s:s, s:s, s:o, s:o}", "kind", MEMORY, "id", id, "state", archived ? "archived" : "active", "in", in,
                                                         "out", out));
        }
        scan = json_pack("{s:i, s:s, s:i, s:[s, s], s:O}", "version", PROPOSE_VERSION, "scope", SCOPE_DEFAULT, "pass", 1, "reasons", "broken_ref",
                         "superseded_by", "records", records);
        cr_assert_eq(propose(scan, &answer), 0);
        cr_expect_leq(json_dumpb(answer, NULL, 0, JSON_COMPACT), 262144);
        cr_expect(json_is_true(json_object_get(answer, "cut")));
        list = json_object_get(answer, "proposals");
        cr_expect_gt(json_array_size(list), 500, "%zu", json_array_size(list));
        cr_expect_str_eq(json_string_value(json_object_get(json_array_get(list, 0), "id")), "r00001");
        list = json_object_get(answer, "blocked");
        cr_assert_eq(json_array_size(list), 1);
        cr_expect_eq(json_array_size(json_object_get(json_array_get(list, 0), "also")), REASONS_MAX - 1);
        cr_expect_gt(json_array_size(json_object_get(json_array_get(list, 0), "blockers")), 0);

        json_object_set_new(scan, "records", json_pack("[O]", json_array_get(records, 0)));
        cr_assert_eq(propose(scan, &first), 0);
        cr_expect_eq(json_array_size(json_object_get(first, "proposals")), 1);
        cr_expect_null(json_object_get(first, "cut"));
}
