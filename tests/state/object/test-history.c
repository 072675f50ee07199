#include "audit/audit.h"
#include "record/rows.h"
#include "tests/state/object/object-fixture.h"

#include <errno.h>

/* A random history of one object, by the way that all verbs take; the same for the same seed. */
static void random_step(Appending *a, uint64_t *state) {
        ObjectState s = a->memory.state;
        unsigned roll;

        *state ^= *state << 13;
        *state ^= *state >> 7;
        *state ^= *state << 17;
        roll = (unsigned)(*state >> 11);
        a->now_usec += roll % 5000;
        if (roll % 3 == 0)
                appended(a, ENTRY_INPUT, json_pack("{s:s, s:i}", "from", "test", "input", (int)(roll % 1000)));
        else if (s == OBJECT_INSTANTIATED || s == OBJECT_REENTRY)
                appended(a, ENTRY_EVALUATION, NULL);
        else if (s == OBJECT_EVALUATION && roll % 2)
                appended(a, ENTRY_DORMANT, sleep_data(roll % 5 ? "{\"elapsed\":{\"for\":\"1s\"}}" : "{\"prerequisite\":{\"slot\":\"a\"}}", 0, a->memory.object));
        else if (s == OBJECT_EVALUATION)
                appended(a, ENTRY_STARTED, json_pack("{s:s, s:[], s:i, s:i, s:i}", "skill", "x", "args", "deadline_usec", 1000, "step", 0, "attempt", 1));
        else if (s == OBJECT_EXECUTION) {
                _cleanup_json_ json_t *outcome = json_pack("{s:s, s:i}", "kind", roll % 4 ? "failure" : "success", "latency_usec", 5);
                Diag d = {0};

                cr_assert_eq(append_entry(a, ENTRY_OUTCOME, outcome, NULL, NULL, &d), 0, "%s", d.text);
        } else if (s == OBJECT_DORMANT)
                appended(a, ENTRY_REENTRY, json_pack("{s:{s:{s:i}}, s:{}}", "trigger", "elapsed", "for_usec", 1000000, "evidence"));
}

static json_t *lines_of(Txn *t, const ObjectRow *row) {
        json_t *lines = json_array();

        for (uint64_t n = 0; n < row->n; n++) {
                uint64_t seq;
                Bytes line;

                cr_assert_eq(object_entry_seq(t, row->object, n, &seq), 0);
                cr_assert_eq(body_get(t, seq, NULL, &line), 0);
                json_array_append_new(lines, json_stringn(line.p, line.n));
        }
        return lines;
}

// O-6: no prior entry is ever overwritten, whatever is done; O-7: each is signed, and its chain holds
// O-17, O-54: the fold from the newest checkpoint is the fold from the first entry, and a rebuild has the same bytes
Test(object_history, random_histories) {
        for (unsigned seed = 1; seed <= 4; seed++) {
                _cleanup_store_fixture_ StoreFixture f;
                _cleanup_json_ json_t *before = json_array(), *answer = NULL;
                uint64_t state = seed * UINT64_C(0x9e3779b97f4a7c15);
                char id[REGION_ID_MAX];
                AuditReport report;
                Txn *t;

                store_fixture_init(&f, STORE_WRITE);
                t = store_fixture_begin(&f, true);
                created(t, id);
                store_fixture_commit(&f, t);
                for (unsigned round = 0; round < 30; round++) {
                        _cleanup_json_ json_t *now = NULL, *whole = NULL, *part = NULL;
                        _cleanup_memory_ ObjectMemory m = OBJECT_MEMORY_NULL;
                        _cleanup_appending_ Appending a;

                        t = store_fixture_begin(&f, true);
                        wake_forget();
                        opened(t, id, &a);
                        for (unsigned i = 0; i < 8; i++)
                                random_step(&a, &state);
                        cr_assert_eq(object_memory(t, &a.row, true, &m, &f.d), 0, "%s", f.d.text);
                        cr_assert(memory_to_json(&m, &whole) == 0 && memory_to_json(&a.memory, &part) == 0);
                        cr_assert(json_equal(whole, part), "seed %u, round %u: %s\n%s", seed, round, json_dumps(whole, 0), json_dumps(part, 0));
                        now = lines_of(t, &a.row);
                        for (size_t i = 0; i < json_array_size(before); i++)
                                cr_assert(json_equal(json_array_get(before, i), json_array_get(now, i)), "seed %u: entry %zu is another one", seed, i);
                        json_decref(before);
                        before = json_incref(now);
                        wake_same(t, "in between");
                        store_fixture_commit(&f, t);
                }
                t = store_fixture_begin(&f, true);
                {
                        _cleanup_object_row_ ObjectRow row = {0};
                        _cleanup_json_ json_t *now = NULL;

                        cr_assert_eq(object_end(t, id, "uid:0", "requested", &answer, &f.d), 0, "%s", f.d.text);
                        cr_assert_eq(object_get(t, id, &row, &f.d), 0);
                        cr_assert_gt(row.checkpoint, 128);
                        now = lines_of(t, &row);
                        for (size_t i = 0; i < json_array_size(now); i++) {
                                _cleanup_entry_ Entry e = ENTRY_NULL;

                                cr_assert_eq(entry_parse(json_text(json_array_get(now, i)), json_string_length(json_array_get(now, i)), &e, &f.d), 0, "%s", f.d.text);
                                cr_assert_eq(entry_verify(&e, store_public_key(f.store), &f.d), 0, "%s", f.d.text);
                        }
                }
                store_fixture_commit(&f, t);
                cr_assert_eq(audit_run(f.store, &report), 0, "%s; expected %s; found %s", report.what, report.expected, report.found);
                cr_assert_eq(audit_fold(f.store, &report, &f.d), 0, "%s; expected %s; found %s", report.what, report.expected, report.found);
        }
}

// O-8, O-43: the head in the row is compared with the entries at each reading
Test(object_history, the_head_is_kept) {
        static const struct {
                const char *name, *member;
        } bad[] = {{"another head", "head"}, {"fewer entries", "n"}, {"another state", "state"}};

        for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
                _cleanup_store_fixture_ StoreFixture f;
                _cleanup_object_row_ ObjectRow row = {0};
                _cleanup_memory_ ObjectMemory m = OBJECT_MEMORY_NULL;
                _cleanup_appending_ Appending a;
                _cleanup_json_ json_t *o = NULL;
                _cleanup_free_ char *text = NULL;
                char id[REGION_ID_MAX], key[REGION_ID_MAX + 3], head[65];
                size_t n;
                int r;
                Txn *t;

                store_fixture_init(&f, STORE_WRITE);
                t = store_fixture_begin(&f, true);
                created(t, id);
                opened(t, id, &a);
                appended(&a, ENTRY_EVALUATION, NULL);
                cr_assert_eq(object_row_get(t, id, &o), 0);
                memset(head, '0', 64);
                head[64] = '\0';
                json_object_set_new(o, bad[i].member, i == 0 ? json_string(head) : i == 1 ? json_u64(1) : json_string("dormant"));
                cr_assert_eq(json_canonical(o, &text, &n), 0);
                memcpy(key, id, REGION_ID_MAX);
                memcpy(key + REGION_ID_MAX, "row", 3);
                cr_assert_eq(table_put(t, TABLE_OBJECT, BYTES(key, sizeof(key)), BYTES(text, n)), 0);
                cr_assert_eq(object_get(t, id, &row, &f.d), 0);
                r = object_memory(t, &row, false, &m, &f.d);
                cr_expect_eq(r, ENGINE_E_BAD_CHAIN, "%s: %d", bad[i].name, r);
                store_abort(t);
        }
}

// O-43: of two that read one head only one appends
Test(object_history, two_evaluators_of_one_head) {
        _cleanup_store_fixture_ StoreFixture f;
        _cleanup_appending_ Appending a, b;
        char id[REGION_ID_MAX];
        uint64_t before;
        Txn *t;

        store_fixture_init(&f, STORE_WRITE);
        t = store_fixture_begin(&f, true);
        created(t, id);
        before = events(t);
        store_fixture_commit(&f, t);
        t = store_fixture_begin(&f, true);
        opened(t, id, &a);
        opened(t, id, &b);
        appended(&a, ENTRY_EVALUATION, NULL);
        cr_expect_eq(append_entry(&b, ENTRY_EVALUATION, NULL, NULL, NULL, &f.d), -EUCLEAN);
        store_abort(t);
        t = store_fixture_begin(&f, false);
        cr_expect_eq(events(t), before);
        wake_same(t, "after");
        store_abort(t);
}

static int sign_with_store(void *userdata, const void *msg, size_t n, uint8_t ret[static ENTRY_SIG_BYTES]) {
        return store_sign(userdata, msg, n, ret);
}

/* A second entry of the object, wrong in one way, recorded as if it were right. */
static void record_wrong(StoreFixture *f, Txn *t, const char *id, const char *how) {
        _cleanup_object_row_ ObjectRow row = {0};
        _cleanup_entry_ Entry e = ENTRY_NULL;
        _cleanup_buf_ Buf line = {0};
        char keyid[ENTRY_KEYID_LEN + 1], head[HASH_HEX_MAX];
        uint8_t prev[32] = {1};
        bool moves = strcmp(how, "moves") == 0, cut = strcmp(how, "prev") == 0;

        cr_assert_eq(object_get(t, id, &row, &f->d), 0);
        append_keyid(f->store, keyid);
        cr_assert_eq(entry_make(&(EntryNew){.object = strcmp(how, "object") == 0 ? "01000000000000000000000005" : id, .n = strcmp(how, "n") == 0 ? 2 : 1,
                                            .time_usec = NOW, .prev = cut ? prev : row.head, .node = store_origin(f->store), .trace = id,
                                            .kind = moves ? ENTRY_REENTRY : ENTRY_EVALUATION, .state = moves ? OBJECT_REENTRY : OBJECT_EVALUATION},
                                keyid, sign_with_store, f->store, &e, &f->d), 0, "%s", f->d.text);
        if (strcmp(how, "signature") == 0)
                e.sig[7] ^= 1;
        cr_assert_eq(entry_print(&e, &line), 0);
        hex_encode(strcmp(how, "hash") == 0 ? prev : e.hash, 32, head);
        cr_assert_eq(fold_slot_append(t, &(Event){.type = "object.entry", .who = "uid:0", .payload = line.data, .n_payload = line.n,
                                                  .fields = json_pack("{s:s, s:i, s:s, s:s, s:s, s:s, s:s}", "object", id, "n", 1, "kind",
                                                                      strcmp(how, "kind") == 0 ? "mutation" : entry_kind_name(e.kind), "state",
                                                                      strcmp(how, "state") == 0 ? "dormant" : object_state_name(e.state), "head", head,
                                                                      "keyid", keyid, "trace", id)}, NULL), 0);
}

// O-7, O-8, O-18: the audit folds the lines of entries a second time: a wrong line, and a wrong row, is found
Test(object_history, the_audit_of_entries) {
        static const struct {
                const char *how, *what;
        } bad[] = {
                {"right", NULL},
                {"prev", "does not follow the previous entry"},
                {"n", "another number"},
                {"object", "another object"},
                {"hash", "another hash"},
                {"kind", "another kind, state or key"},
                {"state", "another kind, state or key"},
                {"moves", "forbidden move"},
                {"signature", "does not verify"},
                {"row", "table object differs"},
                {"no row", "table object"},
        };

        for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
                _cleanup_store_fixture_ StoreFixture f;
                char id[REGION_ID_MAX], key[REGION_ID_MAX + 3];
                AuditReport report;
                Bytes v;
                Txn *t;
                int r;

                store_fixture_init(&f, STORE_WRITE);
                t = store_fixture_begin(&f, true);
                created(t, id);
                memcpy(key, id, REGION_ID_MAX);
                memcpy(key + REGION_ID_MAX, "row", 3);
                if (strcmp(bad[i].how, "row") == 0) {
                        _cleanup_free_ char *text = NULL;

                        cr_assert_eq(table_get(t, TABLE_OBJECT, BYTES(key, sizeof(key)), &v), 0);
                        text = strndup(v.p, v.n);
                        memset(strstr(text, "\"head\":\"") + 8, '0', 64);
                        cr_assert_eq(table_put(t, TABLE_OBJECT, BYTES(key, sizeof(key)), BYTES(text, strlen(text))), 0);
                } else if (strcmp(bad[i].how, "no row") == 0)
                        cr_assert_eq(table_del_prefix(t, TABLE_OBJECT, BYTES(id, REGION_ID_LEN)), 0);
                else
                        record_wrong(&f, t, id, bad[i].how);
                store_fixture_commit(&f, t);
                r = audit_run(f.store, &report);
                cr_expect_eq(r, bad[i].what ? AUDIT_E_BROKEN : 0, "%s: %d %s %s", bad[i].how, r, report.what, report.found);
                cr_expect(!bad[i].what || strstr(report.what, bad[i].what), "%s: %s", bad[i].how, report.what);
        }
}
