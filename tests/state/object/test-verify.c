/* What `verify` finds: entries that were edited, cut, reordered or added behind the supervisor's back, rows that lie, and
 * effects without an entry (O-5..O-9, O-46, O-54). */
#include "audit/audit.h"
#include "engine/fold-slot.h"
#include "ledger/signed-note.h"
#include "store/hooks.h"
#include "tests/state/object/cycle-fixture.h"

typedef struct Fixture {
        Node n;
        char id[REGION_ID_MAX];
} Fixture;

static void fixture_init(Fixture *f) {
        node_init(&f->n);
        node_create(&f->n, "{\"do\": {\"skill\": \"x\"}, \"until\": {\"success\": 3}, \"with\": {\"rest\": {\"elapsed\": {\"for\": \"1s\"}}}}", f->id);
        node_execute(&f->n, f->id, "n", SUCCESS, NULL);
        cr_assert_str_eq(node_act(&f->n, f->id), "dormancy");
        f->n.now += 2 * SECOND;
        cr_assert_str_eq(node_act(&f->n, f->id), "reentry");
}

static void fixture_deinit(Fixture *f) {
        node_deinit(&f->n);
}
#define _cleanup_fixture_ _cleanup_(fixture_deinit)

/* The codes of what is found, "bad_chain row"; owned. */
static char *findings(Fixture *f) {
        _cleanup_json_ json_t *found = NULL;
        Txn *t = store_fixture_begin(&f->n.s, false);
        Buf b = {0};

        cr_assert_eq(object_verify(t, f->id, &found, &f->n.s.d), 0, "%s", f->n.s.d.text);
        store_abort(t);
        cr_assert_eq(buf_add_str(&b, ""), 0);
        for (size_t i = 0; i < json_array_size(json_object_get(found, "findings")); i++)
                cr_assert_eq(buf_printf(&b, "%s%s", i > 0 ? " " : "", json_str(json_array_get(json_object_get(found, "findings"), i), "code")), 0);
        cr_assert_eq(json_is_true(json_object_get(found, "holds")), b.n == 0);
        return b.data;
}

/* The first broken check of `lethe verify`, "" when all hold. */
static void state_of(Fixture *f, char ret[static 64]) {
        _cleanup_json_ json_t *found = NULL;
        Txn *t = store_fixture_begin(&f->n.s, false);

        cr_assert_eq(audit_state(t, &found, &f->n.s.d), 0, "%s", f->n.s.d.text);
        store_abort(t);
        snprintf(ret, 64, "%s", json_str(json_object_get(found, "first"), "check"));
}

static uint64_t seq_of(Txn *t, const char *id, uint64_t n) {
        uint64_t seq;

        cr_assert_eq(object_entry_seq(t, id, n, &seq), 0);
        return seq;
}

/* Writes the body of an event anew. */
static void put_body(Txn *t, uint64_t seq, const char *line, size_t n) {
        _cleanup_free_ uint8_t *v = calloc(1, BODY_NONCE_BYTES + n);
        uint8_t key[8];

        memcpy(v + BODY_NONCE_BYTES, line, n);
        cr_assert_eq(table_put(t, TABLE_BODY, seq_key(seq, key), BYTES(v, BODY_NONCE_BYTES + n)), 0);
}

static void line_of(Txn *t, const char *id, uint64_t n, Buf *ret) {
        Bytes body;

        cr_assert_eq(body_get(t, seq_of(t, id, n), NULL, &body), 0);
        cr_assert_eq(buf_add(ret, body.p, body.n), 0);
}

static int sign_own(void *userdata, const void *msg, size_t n, uint8_t ret[static ENTRY_SIG_BYTES]) {
        return store_sign(userdata, msg, n, ret);
}

/* An entry that only the holder of the key could make, and that no cycle made. */
static void forge(Fixture *f, Txn *t, uint64_t at, EntryKind kind, ObjectState state, uint64_t prev_of) {
        _cleanup_entry_ Entry before = ENTRY_NULL, e = ENTRY_NULL;
        _cleanup_buf_ Buf line = {0}, old = {0};
        char keyid[ENTRY_KEYID_LEN + 1];
        Store *s = txn_store(t);
        Diag d;

        line_of(t, f->id, prev_of, &old);
        cr_assert_eq(entry_parse(old.data, old.n, &before, &d), 0, "%s", d.text);
        append_keyid(s, keyid);
        cr_assert_eq(entry_make(&(EntryNew){.object = f->id, .n = at, .time_usec = 1, .prev = before.hash, .node = store_origin(s),
                                            .trace = f->id, .kind = kind, .state = state},
                                keyid, sign_own, s, &e, &d), 0, "%s", d.text);
        cr_assert_eq(entry_print(&e, &line), 0);
        put_body(t, seq_of(t, f->id, at), line.data, line.n);
}

static void row_put(Txn *t, const char *id, const char *member, json_t *value) {
        _cleanup_json_ json_t *row = NULL;
        uint8_t key[64];

        cr_assert_eq(object_row_get(t, id, &row), 0);
        json_object_set_new(row, member, value);
        memcpy(key, id, REGION_ID_MAX);
        memcpy(key + REGION_ID_MAX, "row", 3);
        cr_assert_eq(json_row_put(t, TABLE_OBJECT, BYTES(key, REGION_ID_MAX + 3), row), 0);
}

// O-6, O-7, O-8, O-18: the attacks on a chain, each by an attacker who writes the store's file.
Test(verify, attacks_on_the_chain) {
        enum { NOTHING, EDIT, SIGNATURE, DROP, SWAP, REPEAT, MOVE, HEAD, STATE, CUT, BEHIND, KEY, ROWS };
        static const struct {
                const char *name, *finds;
        } rows[ROWS] = {
                [NOTHING] = {"nothing", ""},
                [EDIT] = {"an edited entry", "bad_chain"},
                [SIGNATURE] = {"a signature of another entry", "bad_signature"},
                [DROP] = {"an entry that is gone", "bad_chain"},
                [SWAP] = {"two entries in another order", "bad_chain"},
                [REPEAT] = {"an entry in the place of another", "bad_chain"},
                [MOVE] = {"a forged entry with a forbidden move", "bad_chain"},
                [HEAD] = {"a row with another head", "row"},
                [STATE] = {"a row with another state", "row"},
                [CUT] = {"a row that forgot the last entry", "row"},
                [BEHIND] = {"a row that counts one more", "bad_chain"},
                [KEY] = {"a signer whom nobody knows", "unknown_signer"},
        };

        for (int i = 0; i < ROWS; i++) {
                _cleanup_free_ char *found = NULL;
                _cleanup_buf_ Buf one = {0}, two = {0};
                _cleanup_fixture_ Fixture f;
                uint64_t n;
                char *sig;
                Txn *t;

                fixture_init(&f);
                n = node_entries(&f.n, f.id);
                t = store_fixture_begin(&f.n.s, true);
                line_of(t, f.id, 2, &one);
                line_of(t, f.id, 3, &two);
                sig = strrchr(one.data, ' ');
                switch (i) {
                case EDIT:
                        *strstr(one.data, "\"x\"") = '\'';
                        put_body(t, seq_of(t, f.id, 2), one.data, one.n);
                        break;
                case SIGNATURE: /* both end with 88 characters */
                        memcpy(sig, strrchr(two.data, ' '), strlen(sig));
                        put_body(t, seq_of(t, f.id, 2), one.data, one.n);
                        break;
                case DROP:
                        cr_assert_eq(body_del(t, seq_of(t, f.id, 2)), 0);
                        break;
                case SWAP:
                        put_body(t, seq_of(t, f.id, 2), two.data, two.n);
                        put_body(t, seq_of(t, f.id, 3), one.data, one.n);
                        break;
                case REPEAT:
                        put_body(t, seq_of(t, f.id, 3), one.data, one.n);
                        break;
                case MOVE:
                        forge(&f, t, n - 1, ENTRY_INSTANTIATED, OBJECT_INSTANTIATED, n - 2);
                        break;
                case HEAD:
                        row_put(t, f.id, "head", json_string("00000000000000000000000000000000000000000000000000000000000000aa"));
                        break;
                case STATE:
                        row_put(t, f.id, "state", json_string("dormant"));
                        break;
                case CUT:
                        row_put(t, f.id, "n", json_u64(n - 1));
                        break;
                case BEHIND:
                        row_put(t, f.id, "n", json_u64(n + 1));
                        break;
                case KEY: {
                        char *keyid = sig - ENTRY_KEYID_LEN;

                        memcpy(keyid, memcmp(keyid, "0", 1) == 0 ? "1" : "0", 1);
                        put_body(t, seq_of(t, f.id, 2), one.data, one.n);
                        break;
                }
                case NOTHING:
                case ROWS:
                        break;
                }
                store_fixture_commit(&f.n.s, t);
                found = findings(&f);
                if (*rows[i].finds)
                        cr_assert(strstr(found, rows[i].finds), "%s: found \"%s\"", rows[i].name, found);
                else
                        cr_assert_str_eq(found, "", "%s: found \"%s\"", rows[i].name, found);
        }
}

static int region_start(Fixture *f, Txn *t, const char *region, const char *trace, uint64_t *seq) {
        /* what an engine without the check would record */
        json_t *fields = json_pack("{s:{s:s, s:s}, s:s, s:{s:s}, s:[s], s:[s], s:i, s:s, s:s, s:s}", "skill", "name", "x", "digest", "sha256:0", "tier", "namespaces", "grant", "commit",
                                   "success", "reads", "n", "writes", "n", "supervisor", 1, "start", "cold", "object", f->id, "trace", trace);

        return fold_slot_append(t, &(Event){.type = "region.allocated", .region = region, .fields = fields}, seq);
}

static int region_writes(Txn *t, const char *region, uint64_t version) {
        json_t *fields = json_pack("{s:s, s:o}", "slot", "n", "version", json_u64(version));
        uint64_t proposed;
        int r = fold_slot_append(t, &(Event){.type = "slot.proposed", .region = region, .fields = fields, .payload = "1", .n_payload = 1}, &proposed);
        _cleanup_json_ json_t *o = NULL;

        if (r == 0)
                r = event_get(t, proposed, &o);
        return r ?: fold_slot_append(t, &(Event){.type = "slot.written", .region = region,
                                                 .fields = json_pack("{s:s, s:o, s:o}", "slot", "n", "version", json_u64(version), "proposed", json_u64(proposed)),
                                                 .commitment = json_object_get(o, "body")}, NULL);
}

static int region_ends(Fixture *f, Txn *t, const char *region, const char *trace, bool kept) {
        int r = fold_slot_append(t, &(Event){.type = "region.released", .region = region, .fields = json_object()}, NULL);

        return r ?: fold_slot_append(t, &(Event){.type = "invocation.ended", .region = region,
                                                 .fields = json_pack("{s:s, s:i, s:s, s:s, s:b}", "outcome", "exited", "exit_code", 0, "object", f->id, "trace", trace, "kept", kept)},
                                     NULL);
}

// O-46: an effect in the ledger without an entry of the object is found, by the object's verify and by that of the store.
Test(verify, effects_without_an_entry) {
        enum { NONE, NO_ENTRY, OLD_TRACE, AFTER, ROWS };
        static const struct {
                const char *name, *finds, *store;
        } rows[ROWS] = {
                [NONE] = {"all effects have entries", "", ""},
                [NO_ENTRY] = {"a region with a trace of no entry writes", "effect_without_entry effect_without_entry", "object"},
                [OLD_TRACE] = {"a second region for an execution that is over", "effect_without_entry effect_without_entry", "object"},
                [AFTER] = {"a region that keeps its changes after the outcome", "effect_without_entry", "object"},
        };

        for (int i = 0; i < ROWS; i++) {
                _cleanup_free_ char *found = NULL;
                _cleanup_json_ json_t *o = NULL, *before = NULL;
                char region[REGION_ID_MAX], trace[REGION_ID_MAX], check[64];
                _cleanup_fixture_ Fixture f;
                Txn *t;

                fixture_init(&f);
                before = node_last(&f.n, f.id, "outcome");
                region_id_new(f.n.now, region);
                region_id_new(f.n.now, trace);
                if (i == OLD_TRACE)
                        snprintf(trace, sizeof(trace), "%s", json_str(before, "trace"));
                if (i == AFTER) { /* the region began in good order */
                        cr_assert_eq(node_cycle(&f.n, f.id, &o), 0, "%s", f.n.s.d.text);
                        snprintf(trace, sizeof(trace), "%s", json_str(json_object_get(o, "perform"), "trace"));
                        snprintf(region, sizeof(region), "%s", trace);
                }
                t = store_fixture_begin(&f.n.s, true);
                if (i != NONE)
                        cr_assert_eq(region_start(&f, t, region, trace, NULL), 0);
                if (i == AFTER)
                        cr_assert_eq(node_outcome_in(&f.n, t, f.id, trace, NULL, FAILURE, NULL), 0, "%s", f.n.s.d.text);
                if (i != NONE)
                        cr_assert_eq(region_writes(t, region, 2) ?: region_ends(&f, t, region, trace, true), 0);
                store_fixture_commit(&f.n.s, t);
                found = findings(&f);
                cr_assert_str_eq(found, rows[i].finds, "%s", rows[i].name);
                state_of(&f, check);
                cr_assert_str_eq(check, rows[i].store, "%s", rows[i].name);
        }
}

// O-9: a key that is not trusted is a finding of its object; a store whose row says so is in order.
Test(verify, unknown_signers) {
        _cleanup_object_bundle_ ObjectBundle bundle = OBJECT_BUNDLE_NULL;
        _cleanup_json_ json_t *o = NULL, *trusted = NULL;
        _cleanup_free_ char *found = NULL, *later = NULL;
        char check[64], vkey[VKEY_MAX];
        _cleanup_fixture_ Fixture f;
        Fixture here = {0};
        _cleanup_buf_ Buf file = {0};
        Txn *t;

        fixture_init(&f);
        node_init(&here.n);
        strcpy(here.id, f.id);
        t = store_fixture_begin(&f.n.s, true);
        cr_assert_eq(node_end(&f.n, t, object_export(t, f.id, false, WHO, &file, &f.n.s.d)), 0, "%s", f.n.s.d.text);
        cr_assert_eq(object_bundle_parse(file.data, file.n, &bundle, &f.n.s.d), 0, "%s", f.n.s.d.text);
        t = store_fixture_begin(&here.n.s, true);
        cr_assert_eq(node_end(&here.n, t, object_import(t, &bundle, WHO, 0, &o, &here.n.s.d)), 0, "%s", here.n.s.d.text);
        found = findings(&here);
        cr_assert_str_eq(found, "unknown_signer");
        state_of(&here, check);
        cr_assert_str_eq(check, "");
        note_vkey(store_origin(f.n.s.store), store_public_key(f.n.s.store), vkey);
        t = store_fixture_begin(&here.n.s, true);
        cr_assert_eq(node_end(&here.n, t, object_trust(t, vkey, false, WHO, &trusted, &here.n.s.d)), 0, "%s", here.n.s.d.text);
        later = findings(&here);
        cr_assert_str_eq(later, "");
        node_deinit(&here.n);
}

// O-54: checkpoints are the fold of the entries before; the oldest entries are still there and read.
Test(verify, many_entries_have_true_checkpoints) {
        _cleanup_free_ char *kinds = NULL;
        _cleanup_memory_ ObjectMemory whole = OBJECT_MEMORY_NULL, part = OBJECT_MEMORY_NULL;
        _cleanup_json_ json_t *a = NULL, *b = NULL;
        _cleanup_object_row_ ObjectRow row = {0};
        _cleanup_node_ Node n;
        char id[REGION_ID_MAX];
        Txn *t;

        node_init(&n);
        node_create(&n, "{\"do\": {\"skill\": \"x\"}, \"until\": {\"success\": 100}, \"with\": {\"rest\": {\"elapsed\": {\"for\": \"1s\"}}}}", id);
        for (int i = 0; i < 40; i++) {
                _cleanup_json_ json_t *o = NULL;

                n.now += 2 * SECOND;
                cr_assert_eq(node_cycle(&n, id, &o), 0, "%s", n.s.d.text);
                if (json_object_get(o, "perform"))
                        node_perform(&n, id, o, NULL, i % 3 ? SUCCESS : FAILURE, NULL);
                n.now += 3600 * SECOND;
        }
        node_row(&n, id, &row);
        cr_assert_gt(row.checkpoint, 0);
        kinds = node_kinds(&n, id);
        cr_assert_eq(strncmp(kinds, "instantiated ", 13), 0);
        node_memory(&n, id, &whole);
        t = store_fixture_begin(&n.s, false);
        cr_assert_eq(object_memory(t, &row, false, &part, &n.s.d), 0, "%s", n.s.d.text);
        store_abort(t);
        cr_assert_eq(memory_to_json(&whole, &a) ?: memory_to_json(&part, &b), 0);
        cr_assert(json_equal(a, b));
        node_holds(&n, id, "many entries");
}
