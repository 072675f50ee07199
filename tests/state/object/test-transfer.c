/* Objects between stores: files, moves, imports of every kind, forks, and whose signatures count (O-8, O-9, O-13, O-20,
 * O-37, O-39..O-43). */
#include "audit/audit.h"
#include "ledger/signed-note.h"
#include "object/bundle.h"
#include "object/select.h"
#include "tests/state/object/cycle-fixture.h"

#define LOOP "{\"do\": {\"skill\": \"x\"}, \"until\": {\"success\": 1000}, \"with\": {\"rest\": {\"elapsed\": {\"for\": \"1s\"}}}}"

static int export_to(Node *n, const char *id, bool move, Buf *ret) {
        Txn *t = store_fixture_begin(&n->s, true);

        return node_end(n, t, object_export(t, id, move, WHO, ret, &n->s.d));
}

static void exported(Node *n, const char *id, bool move, Buf *ret) {
        cr_assert_eq(export_to(n, id, move, ret), 0, "%s", n->s.d.text);
}

static int import_of(Node *n, const Buf *file, json_t **ret) {
        _cleanup_object_bundle_ ObjectBundle b = OBJECT_BUNDLE_NULL;
        int r = object_bundle_parse(file->data, file->n, &b, &n->s.d);
        Txn *t;

        *ret = NULL;
        if (r != 0)
                return object_code(r);
        t = store_fixture_begin(&n->s, true);
        return node_end(n, t, object_import(t, &b, WHO, 0, ret, &n->s.d));
}

static void imported(Node *n, const Buf *file, const char *how, bool eligible, const char *row) {
        _cleanup_json_ json_t *o = NULL;

        cr_assert_eq(import_of(n, file, &o), 0, "%s: %s", row, n->s.d.text);
        cr_assert_str_eq(json_str(o, "how"), how, "%s", row);
        cr_assert_eq(json_is_true(json_object_get(o, "eligible")), eligible, "%s", row);
}

static int trust(Node *n, const Node *of, bool revoke) {
        _cleanup_json_ json_t *o = NULL;
        char vkey[VKEY_MAX];
        Txn *t = store_fixture_begin(&n->s, true);

        note_vkey(store_origin(of->s.store), store_public_key(of->s.store), vkey);
        return node_end(n, t, object_trust(t, vkey, revoke, WHO, &o, &n->s.d));
}

static void sound(Node *n, const char *id, const char *row) {
        AuditReport a;

        if (id)
                node_holds(n, id, row);
        cr_assert_eq(audit_run(n->s.store, &a) ?: audit_fold(n->s.store, &a, &n->s.d), 0, "%s: %s; expected %s; found %s", row, a.what, a.expected, a.found);
}

/* Rounds of the object's skill. */
static void rounds(Node *n, const char *id, int k) {
        for (int i = 0; i < k; i++) {
                _cleanup_json_ json_t *o = NULL;

                do {
                        json_decref(o);
                        n->now += SECOND;
                        cr_assert_eq(node_cycle(n, id, &o), 0, "%s", n->s.d.text);
                } while (!json_object_get(o, "perform"));
                node_perform(n, id, o, "n", SUCCESS, NULL);
        }
}

typedef struct Pair {
        Node a, b;
        char id[REGION_ID_MAX];
} Pair;

static void pair_init(Pair *p) {
        node_init(&p->a);
        node_init(&p->b);
        node_create(&p->a, LOOP, p->id);
        rounds(&p->a, p->id, 2);
        cr_assert_eq(trust(&p->b, &p->a, false), 0, "%s", p->b.s.d.text);
        cr_assert_eq(trust(&p->a, &p->b, false), 0, "%s", p->a.s.d.text);
}

static void pair_deinit(Pair *p) {
        node_deinit(&p->a);
        node_deinit(&p->b);
}
#define _cleanup_pair_ _cleanup_(pair_deinit)

/* What the next cycle would do on this node, as text; nothing is appended. */
static char *next_action(Node *n, const char *id) {
        _cleanup_json_ json_t *local = node_local(n), *needs = NULL, *facts = NULL, *o = NULL;
        _cleanup_memory_ ObjectMemory m = OBJECT_MEMORY_NULL;
        _cleanup_(selected_deinit) Selected s = {0};
        _cleanup_object_row_ ObjectRow row = {0};
        Txn *t = store_fixture_begin(&n->s, false);
        Diag d = {0};

        cr_assert_eq(object_get(t, id, &row, &d) ?: object_memory(t, &row, false, &m, &d), 0, "%s", d.text);
        cr_assert_eq(select_needs(&m, &needs) ?: object_facts(t, &row, needs, &facts), 0);
        store_abort(t);
        json_object_set_new(local, "facts", json_incref(facts));
        cr_assert_eq(select_action(&m, local, &s, &d), 0, "%s", d.text);
        o = json_pack("{s:s, s:s, s:O?}", "action", object_action_name(s.action), "reason", s.reason, "data", s.data);
        return json_dumps(o, JSON_SORT_KEYS);
}

// O-13, O-36, O-37, O-39, O-40: a file on a fresh node gives the same bytes, the same next action, and the same object.
Test(transfer, a_file_is_the_object) {
        static const char *const intents[] = {
                LOOP,
                "{\"do\": {\"steps\": [{\"wait\": {\"elapsed\": {\"for\": \"1h\"}}}, {\"skill\": \"x\", \"args\": [\"a\", \"b\"]}]}}",
                "{\"do\": {\"delegate\": [{\"do\": {\"skill\": \"x\"}}, {\"do\": {\"skill\": \"y\"}}]}}",
        };

        for (size_t i = 0; i < ARRAY_SIZE(intents); i++)
                for (int cycles = 0; cycles < 4; cycles++) {
                        _cleanup_free_ char *here = NULL, *there = NULL, *kinds = NULL;
                        _cleanup_buf_ Buf first = {0}, second = {0}, again = {0};
                        _cleanup_node_ Node a, b;
                        char id[REGION_ID_MAX];

                        node_init(&a);
                        node_init(&b);
                        cr_assert_eq(trust(&b, &a, false), 0);
                        node_create(&a, intents[i], id);
                        for (int k = 0; k < cycles; k++) {
                                _cleanup_json_ json_t *o = NULL;

                                cr_assert_eq(node_cycle(&a, id, &o), 0, "%s", a.s.d.text);
                                if (json_object_get(o, "perform"))
                                        node_perform(&a, id, o, NULL, k % 2 ? FAILURE : SUCCESS, NULL);
                        }
                        exported(&a, id, false, &first);
                        exported(&a, id, false, &again);
                        cr_assert(first.n == again.n && memcmp(first.data, again.data, first.n) == 0, "two exports of one object differ");
                        imported(&b, &first, "new", true, intents[i]);
                        exported(&b, id, false, &second);
                        cr_assert(first.n == second.n && memcmp(first.data, second.data, first.n) == 0, "%s: not the same bytes", intents[i]);
                        b.now = a.now;
                        here = next_action(&a, id);
                        there = next_action(&b, id);
                        /* of delegations the numbers of new objects are another matter; nothing else names the node */
                        cr_assert_str_eq(here, there, "%s", intents[i]);
                        kinds = node_kinds(&b, id);
                        cr_assert_null(strstr(kinds + 1, "instantiated"), "instantiated twice");
                        sound(&b, id, intents[i]);
                }
}

// O-8, O-20, O-42: what an import is, by what is here.
Test(transfer, imports) {
        enum { COPY, MOVE };
        static const struct {
                const char *name;
                int how;       /* of the first export from a to b */
                int there, here; /* rounds at b and at a after it */
                const char *back; /* how the import of b's file at a is */
                bool eligible;
        } rows[] = {
                {"a copy that did nothing", COPY, 0, 0, "equal", true},
                {"a copy that went on", COPY, 2, 0, "ahead", true},
                {"an old copy", COPY, 0, 2, "behind", true},
                {"two histories", COPY, 1, 1, "forked", false},
                {"a move, and back at once", MOVE, 0, 0, "equal", true},
                {"a move, and back later", MOVE, 3, 0, "ahead", true},
        };

        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                _cleanup_buf_ Buf out = {0}, back = {0};
                _cleanup_json_ json_t *o = NULL;
                _cleanup_pair_ Pair p;

                pair_init(&p);
                exported(&p.a, p.id, rows[i].how == MOVE, &out);
                if (rows[i].how == MOVE) {
                        cr_assert_eq(node_cycle(&p.a, p.id, &o), ENGINE_E_NOT_ELIGIBLE, "%s: an object that is away was evaluated", rows[i].name);
                        cr_assert(strstr(p.a.s.d.text, "away"), "%s", p.a.s.d.text);
                }
                imported(&p.b, &out, "new", true, rows[i].name);
                p.b.now = p.a.now;
                rounds(&p.b, p.id, rows[i].there);
                rounds(&p.a, p.id, rows[i].here);
                exported(&p.b, p.id, rows[i].how == MOVE, &back);
                imported(&p.a, &back, rows[i].back, rows[i].eligible, rows[i].name);
                imported(&p.a, &back, rows[i].eligible && strcmp(rows[i].back, "behind") != 0 ? "equal" : rows[i].back, rows[i].eligible, rows[i].name);
                if (rows[i].eligible) {
                        p.a.now = MAX(p.a.now, p.b.now);
                        rounds(&p.a, p.id, 1);
                } else {
                        cr_assert_eq(node_cycle(&p.a, p.id, &o), ENGINE_E_NOT_ELIGIBLE, "%s", rows[i].name);
                        cr_assert(strstr(p.a.s.d.text, "forked"), "%s", p.a.s.d.text);
                }
                sound(&p.a, p.id, rows[i].name);
        }
}

// O-8: an object that is away and comes back older than its known head is not evaluated.
Test(transfer, an_older_copy_is_behind) {
        _cleanup_buf_ Buf old = {0}, moved = {0}, back = {0};
        _cleanup_json_ json_t *o = NULL;
        _cleanup_pair_ Pair p;

        pair_init(&p);
        exported(&p.a, p.id, false, &old);
        rounds(&p.a, p.id, 1);
        exported(&p.a, p.id, true, &moved);
        imported(&p.a, &old, "behind", false, "old");
        cr_assert_eq(node_cycle(&p.a, p.id, &o), ENGINE_E_NOT_ELIGIBLE);
        imported(&p.b, &moved, "new", true, "moved");
        p.b.now = p.a.now;
        rounds(&p.b, p.id, 1);
        exported(&p.b, p.id, true, &back);
        imported(&p.a, &back, "ahead", true, "back");
        p.a.now = p.b.now;
        rounds(&p.a, p.id, 1);
        sound(&p.a, p.id, "behind");
}

// O-9: entries of unknown and of revoked keys are here and are not evaluated; trust decides, at once.
Test(transfer, whose_signatures_count) {
        _cleanup_json_ json_t *o = NULL;
        _cleanup_buf_ Buf file = {0}, third = {0};
        _cleanup_node_ Node a, b, c;
        char id[REGION_ID_MAX];

        node_init(&a);
        node_init(&b);
        node_init(&c);
        node_create(&a, LOOP, id);
        rounds(&a, id, 1);
        exported(&a, id, false, &file);
        imported(&b, &file, "new", false, "unknown");
        b.now = a.now;
        cr_assert_eq(node_cycle(&b, id, &o), ENGINE_E_NOT_ELIGIBLE);
        cr_assert(strstr(b.s.d.text, "unknown_signer"), "%s", b.s.d.text);
        exported(&b, id, false, &third); /* the key travels with the object */
        imported(&c, &third, "new", false, "third");
        cr_assert_eq(trust(&b, &a, false), 0, "%s", b.s.d.text);
        rounds(&b, id, 1);
        cr_assert_eq(trust(&b, &a, true), 0, "%s", b.s.d.text);
        cr_assert_eq(node_cycle(&b, id, &o), ENGINE_E_NOT_ELIGIBLE, "the key was revoked");
        imported(&b, &file, "behind", false, "revoked");
        cr_assert_eq(trust(&b, &a, false), 0, "%s", b.s.d.text);
        rounds(&b, id, 1);
        cr_assert_eq(trust(&b, &b, true), ENGINE_E_BAD_OPERATION, "a store revokes its own key");
        sound(&b, id, "trusted again");
        sound(&c, NULL, "third");
}

// O-9, O-43: a key id has 32 bits, so that two keys can have the same: whole keys are compared.
Test(transfer, keys_that_look_alike) {
        _cleanup_json_ json_t *o = NULL;
        _cleanup_object_bundle_ ObjectBundle bundle = OBJECT_BUNDLE_NULL;
        _cleanup_buf_ Buf file = {0};
        char vkey[VKEY_MAX], keyid[NOTE_KEYID_MAX];
        _cleanup_node_ Node a, b;
        char id[REGION_ID_MAX];
        Txn *t;

        node_init(&a);
        node_init(&b);
        node_create(&a, LOOP, id);
        exported(&a, id, false, &file);
        cr_assert_eq(object_bundle_parse(file.data, file.n, &bundle, &b.s.d), 0, "%s", b.s.d.text);
        note_vkey(store_origin(a.s.store), store_public_key(a.s.store), vkey);
        note_keyid(store_origin(a.s.store), store_public_key(a.s.store), keyid);
        cr_assert_eq(trust(&b, &a, false), 0);
        vkey[strlen(vkey) - 3] ^= 1; /* another key under the id that is trusted */
        json_object_set_new(bundle.keys, keyid, json_string(vkey));
        t = store_fixture_begin(&b.s, true);
        cr_assert_eq(node_end(&b, t, object_import(t, &bundle, WHO, 0, &o, &b.s.d)), ENGINE_E_UNKNOWN_SIGNER, "a key that looks like a trusted one");
        sound(&b, NULL, "alike");
}

// O-40: another object under the same id is refused, whoever signed it.
Test(transfer, another_object_with_the_same_id) {
        _cleanup_buf_ Buf file = {0};
        _cleanup_json_ json_t *o = NULL, *intent = json_of(LOOP);
        _cleanup_node_ Node a, b;
        char id[REGION_ID_MAX], same[REGION_ID_MAX];
        uint64_t before;
        Txn *t;

        node_init(&a);
        node_init(&b);
        cr_assert_eq(trust(&a, &b, false), 0);
        node_create(&a, LOOP, id);
        rounds(&a, id, 1);
        t = store_fixture_begin(&b.s, true);
        cr_assert_eq(node_end(&b, t, object_create(t, &(ObjectNew){.who = WHO, .intent = intent, .policy = "p1", .now_usec = b.now, .id = id}, same, NULL, &b.s.d)), 0, "%s",
                     b.s.d.text);
        exported(&b, id, false, &file);
        before = node_entries(&a, id);
        cr_assert_eq(import_of(&a, &file, &o), ENGINE_E_BAD_BUNDLE, "%s", a.s.d.text);
        cr_assert_eq(node_entries(&a, id), before);
        rounds(&a, id, 1);
        sound(&a, id, "the same id");
}

// O-9, O-40: a stranger's object with the id gives way to the trusted one, and the rows stay a fold of the ledger.
Test(transfer, a_stranger_cannot_take_an_id) {
        _cleanup_buf_ Buf file = {0}, false_one = {0}, again = {0};
        _cleanup_json_ json_t *o = NULL, *intent = json_of(LOOP);
        char id[REGION_ID_MAX], same[REGION_ID_MAX];
        _cleanup_node_ Node a, b, stranger;
        Txn *t;

        node_init(&a);
        node_init(&b);
        node_init(&stranger);
        cr_assert_eq(trust(&b, &a, false), 0);
        node_create(&a, LOOP, id);
        rounds(&a, id, 2);
        t = store_fixture_begin(&stranger.s, true);
        cr_assert_eq(node_end(&stranger, t, object_create(t, &(ObjectNew){.who = WHO, .intent = intent, .policy = "p1", .now_usec = stranger.now, .id = id}, same, NULL, &stranger.s.d)),
                     0, "%s", stranger.s.d.text);
        rounds(&stranger, id, 3);
        exported(&stranger, id, false, &false_one);
        exported(&a, id, false, &file);
        imported(&b, &false_one, "new", false, "the stranger's");
        imported(&b, &file, "replaced", true, "the trusted one");
        cr_assert_eq(import_of(&b, &false_one, &o), ENGINE_E_BAD_BUNDLE, "%s", b.s.d.text);
        exported(&b, id, false, &again);
        cr_assert(file.n == again.n && memcmp(file.data, again.data, file.n) == 0, "not the same bytes");
        b.now = a.now;
        rounds(&b, id, 1);
        sound(&b, id, "replaced");
}

// O-42: a fork is kept, whole; one head goes on, the other history is evidence: with more entries than one can hold.
Test(transfer, adopting_a_head) {
        static const struct {
                const char *name;
                bool own;              /* this store's head goes on */
                int here, there;       /* rounds since the copy */
        } rows[] = {
                {"the own head", true, 1, 2},
                {"the other head", false, 1, 2},
                {"the own head, beside a long history", true, 1, 120},
                {"the other head, instead of a long history", false, 120, 1},
        };

        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                _cleanup_json_ json_t *o = NULL, *list = NULL, *none = NULL;
                _cleanup_object_row_ ObjectRow before = {0}, after = {0}, there = {0};
                _cleanup_buf_ Buf out = {0}, back = {0}, again = {0};
                char head[HASH_HEX_MAX];
                size_t evidence = 0, entries = 0;
                uint64_t common;
                _cleanup_pair_ Pair p;
                Txn *t;

                pair_init(&p);
                exported(&p.a, p.id, false, &out);
                common = node_entries(&p.a, p.id);
                imported(&p.b, &out, "new", true, rows[i].name);
                p.b.now = p.a.now;
                rounds(&p.b, p.id, rows[i].there);
                rounds(&p.a, p.id, rows[i].here);
                exported(&p.b, p.id, false, &back);
                imported(&p.a, &back, "forked", false, rows[i].name);
                node_row(&p.a, p.id, &before);
                node_row(&p.b, p.id, &there);
                hex_encode(rows[i].own ? before.head : there.head, ENTRY_HASH_BYTES, head);
                head[12] = '\0';
                t = store_fixture_begin(&p.a.s, true);
                cr_assert_eq(node_end(&p.a, t, object_adopt(t, p.id, "0000000000000000", WHO, &none, &p.a.s.d)), ENGINE_E_NO_VALUE, "%s", rows[i].name);
                t = store_fixture_begin(&p.a.s, true);
                cr_assert_eq(node_end(&p.a, t, object_adopt(t, p.id, head, WHO, &o, &p.a.s.d)), 0, "%s: %s", rows[i].name, p.a.s.d.text);
                t = store_fixture_begin(&p.a.s, false);
                cr_assert_eq(object_get(t, p.id, &after, &p.a.s.d) ?: object_history(t, &after, 0, &list, &p.a.s.d), 0, "%s", p.a.s.d.text);
                store_abort(t);
                for (size_t k = 0; k < json_array_size(list); k++) {
                        const json_t *e = json_array_get(list, k), *lines = json_object_get(json_object_get(e, "data"), "entries");

                        if (strcmp(json_str(e, "kind"), "adopted") != 0)
                                continue;
                        entries++;
                        evidence += json_array_size(lines);
                }
                cr_assert_eq(evidence, (rows[i].own ? there.n : before.n) - common, "%s: %zu lines of evidence", rows[i].name, evidence);
                if (evidence > 400)
                        cr_assert_geq(entries, 2, "%s: %zu lines in one entry", rows[i].name, evidence);
                cr_assert_str_eq(json_str(json_array_get(list, (rows[i].own ? before.n : there.n) - 1), "hash"), hex_encode(rows[i].own ? before.head : there.head, ENTRY_HASH_BYTES, head),
                                 "%s: not the head that was to go on", rows[i].name);
                cr_assert_eq(after.state, rows[i].own ? before.state : there.state, "%s", rows[i].name);
                p.a.now = MAX(p.a.now, p.b.now);
                rounds(&p.a, p.id, 1);
                sound(&p.a, p.id, rows[i].name);
                exported(&p.a, p.id, false, &again);
                imported(&p.b, &again, rows[i].own ? "forked" : "ahead", !rows[i].own, rows[i].name);
                sound(&p.b, p.id, rows[i].name);
        }
}

// O-26: a child that ended elsewhere answers when it comes back; so does one that ended while its parent was away.
Test(transfer, answers_over_stores) {
        enum { CHILD_AWAY, PARENT_AWAY, ROWS };
        static const char *const names[ROWS] = {"the child was away", "the parent was away"};

        for (int row = 0; row < ROWS; row++) {
                _cleanup_memory_ ObjectMemory m = OBJECT_MEMORY_NULL;
                _cleanup_buf_ Buf out = {0}, back = {0};
                _cleanup_json_ json_t *note = NULL;
                char parent[REGION_ID_MAX], child[REGION_ID_MAX] = "";
                const char *id;
                json_t *intent;
                uint64_t before;
                _cleanup_pair_ Pair p;
                Node *where;

                pair_init(&p);
                node_create(&p.a, "{\"do\": {\"delegate\": [{\"do\": {\"skill\": \"x\"}}]}}", parent);
                cr_assert_str_eq(node_act(&p.a, parent), "delegation");
                cr_assert_str_eq(node_act(&p.a, parent), "dormancy");
                node_memory(&p.a, parent, &m);
                json_object_foreach(json_object_get(json_object_get(m.fold, "delegation"), "children"), id, intent)
                        snprintf(child, sizeof(child), "%s", id);
                exported(&p.a, row == CHILD_AWAY ? child : parent, true, &out);
                imported(&p.b, &out, "new", true, names[row]);
                where = row == CHILD_AWAY ? &p.b : &p.a;
                where->now = p.a.now;
                node_execute(where, child, NULL, SUCCESS, NULL);
                cr_assert_str_eq(node_act(where, child), "termination", "%s", names[row]);
                exported(&p.b, row == CHILD_AWAY ? child : parent, row == PARENT_AWAY, &back);
                imported(&p.a, &back, row == CHILD_AWAY ? "ahead" : "equal", true, names[row]);
                note = node_last(&p.a, parent, "child");
                cr_assert_str_eq(json_str(json_object_get(note, "data"), "status"), "success", "%s", names[row]);
                before = node_entries(&p.a, parent);
                imported(&p.a, &back, row == CHILD_AWAY ? "equal" : "behind", true, names[row]); /* no second answer */
                cr_assert_eq(node_entries(&p.a, parent), before, "%s: the child answered twice", names[row]);
                cr_assert_str_eq(node_act(&p.a, parent), "reentry", "%s", names[row]);
                cr_assert_str_eq(node_act(&p.a, parent), "termination", "%s", names[row]);
                sound(&p.a, parent, names[row]);
        }
}

// O-9, O-26: the answer of a child whose signer nobody trusts waits for trust.
Test(transfer, an_answer_waits_for_trust) {
        _cleanup_memory_ ObjectMemory m = OBJECT_MEMORY_NULL;
        _cleanup_buf_ Buf out = {0}, back = {0}, up = {0};
        char parent[REGION_ID_MAX], child[REGION_ID_MAX] = "";
        _cleanup_json_ json_t *o = NULL;
        _cleanup_node_ Node a, b, c;
        const char *id;
        json_t *intent;

        node_init(&a);
        node_init(&b);
        node_init(&c);
        cr_assert_eq(trust(&b, &a, false), 0);
        cr_assert_eq(trust(&c, &a, false), 0);
        node_create(&a, "{\"do\": {\"delegate\": [{\"do\": {\"skill\": \"x\"}}]}}", parent);
        cr_assert_str_eq(node_act(&a, parent), "delegation");
        cr_assert_str_eq(node_act(&a, parent), "dormancy");
        node_memory(&a, parent, &m);
        json_object_foreach(json_object_get(json_object_get(m.fold, "delegation"), "children"), id, intent)
                snprintf(child, sizeof(child), "%s", id);
        exported(&a, child, true, &out);
        imported(&b, &out, "new", true, "child");
        node_execute(&b, child, NULL, SUCCESS, NULL);
        cr_assert_str_eq(node_act(&b, child), "termination");
        exported(&b, child, false, &back);
        cr_assert_eq(import_of(&a, &back, &o), ENGINE_E_UNKNOWN_SIGNER, "entries of an untrusted key went behind those here");
        exported(&a, parent, true, &up);
        imported(&c, &up, "new", true, "parent");
        imported(&c, &back, "new", false, "back");
        c.now = a.now;
        cr_assert_str_eq(node_act(&c, parent), "none", "an untrusted key answered");
        cr_assert_eq(trust(&c, &b, false), 0);
        cr_assert_str_eq(node_act(&c, parent), "reentry");
        cr_assert_str_eq(node_act(&c, parent), "termination");
        sound(&c, parent, "trust");
}

/* Copies the store's folder, while the store is closed. */
static void node_copy(Node *from, Node *to) {
        char command[4 * PATH_MAX];

        store_fixture_close(&from->s);
        store_fixture_close(&to->s);
        snprintf(command, sizeof(command), "rm -rf %.4000s && cp -a %.4000s %.4000s", to->s.dir, from->s.dir, to->s.dir);
        cr_assert_eq(system(command), 0);
        setenv("LETHE_ANCHOR", "", 1);
        store_fixture_open(&to->s, STORE_SUPERVISE);
        store_fixture_open(&from->s, STORE_SUPERVISE);
}

// O-8, O-42: a store that was restored from a backup meets its own later entries: it takes them, or the object is forked.
Test(transfer, own_entries_of_another_history) {
        for (int went_on = 0; went_on < 2; went_on++) {
                _cleanup_json_ json_t *o = NULL;
                _cleanup_buf_ Buf file = {0};
                _cleanup_node_ Node a, old;
                char id[REGION_ID_MAX];

                node_init(&a);
                node_init(&old);
                node_create(&a, LOOP, id);
                rounds(&a, id, 1);
                node_copy(&a, &old);
                rounds(&a, id, 2);
                exported(&a, id, false, &file);
                old.now = a.now;
                rounds(&old, id, went_on);
                imported(&old, &file, went_on ? "forked" : "ahead", !went_on, "restored");
                if (went_on)
                        cr_assert_eq(node_cycle(&old, id, &o), ENGINE_E_NOT_ELIGIBLE);
                else
                        rounds(&old, id, 1);
        }
}

// O-20, O-42: a history that has ended may be the one that goes on, or the one that does not.
Test(transfer, adopting_an_end) {
        for (int own = 0; own < 2; own++)
                for (int ended = 0; ended < 2; ended++) {
                        _cleanup_json_ json_t *o = NULL, *cycle = NULL;
                        _cleanup_object_row_ ObjectRow here = {0}, there = {0}, after = {0};
                        _cleanup_buf_ Buf out = {0}, back = {0};
                        _cleanup_free_ char *name = NULL;
                        char head[HASH_HEX_MAX];
                        _cleanup_pair_ Pair p;
                        Txn *t;

                        cr_assert_geq(asprintf(&name, "%s head, %s ended", own ? "own" : "other", ended ? "this one" : "the other one"), 0);
                        pair_init(&p);
                        exported(&p.a, p.id, false, &out);
                        imported(&p.b, &out, "new", true, name);
                        p.b.now = p.a.now;
                        for (int k = 0; k < 2; k++) {
                                Node *n = k ? &p.a : &p.b; /* a goes on when own is not what ended, and so on */

                                if ((k == own) == ended) {
                                        _cleanup_json_ json_t *end = NULL;

                                        t = store_fixture_begin(&n->s, true);
                                        cr_assert_eq(node_end(n, t, object_end(t, p.id, WHO, "requested", &end, &n->s.d)), 0, "%s: %s", name, n->s.d.text);
                                } else
                                        rounds(n, p.id, 1);
                        }
                        exported(&p.b, p.id, false, &back);
                        imported(&p.a, &back, "forked", false, name);
                        node_row(&p.a, p.id, &here);
                        node_row(&p.b, p.id, &there);
                        hex_encode(own ? here.head : there.head, ENTRY_HASH_BYTES, head);
                        t = store_fixture_begin(&p.a.s, true);
                        cr_assert_eq(node_end(&p.a, t, object_adopt(t, p.id, head, WHO, &o, &p.a.s.d)), 0, "%s: %s", name, p.a.s.d.text);
                        node_row(&p.a, p.id, &after);
                        cr_assert_eq(after.state == OBJECT_TERMINATED, ended, "%s: %s", name, object_state_name(after.state));
                        p.a.now = MAX(p.a.now, p.b.now) + SECOND;
                        cr_assert_eq(node_cycle(&p.a, p.id, &cycle), ended ? ENGINE_E_TERMINATED : 0, "%s: %s", name, p.a.s.d.text);
                        sound(&p.a, p.id, name);
                }
}

// O-38, O-43: an execution does not move, and one that began elsewhere is not settled here.
Test(transfer, executions_stay) {
        _cleanup_json_ json_t *o = NULL, *begun = NULL;
        _cleanup_buf_ Buf moved = {0}, copy = {0};
        _cleanup_pair_ Pair p;

        pair_init(&p);
        do {
                json_decref(begun);
                p.a.now += SECOND;
                cr_assert_eq(node_cycle(&p.a, p.id, &begun), 0, "%s", p.a.s.d.text);
        } while (!json_object_get(begun, "perform"));
        cr_assert_eq(export_to(&p.a, p.id, true, &moved), ENGINE_E_RUNNING, "%s", p.a.s.d.text);
        exported(&p.a, p.id, false, &copy);
        imported(&p.b, &copy, "new", true, "copy");
        p.b.died = true;
        cr_assert_eq(node_cycle(&p.b, p.id, &o), 0, "%s", p.b.s.d.text);
        cr_assert_str_eq(json_str(o, "action"), "none");
        cr_assert_str_eq(json_str(o, "reason"), "running");
        cr_assert_eq(node_region(&p.b, p.id, begun, "n"), 0, "%s", p.b.s.d.text);
        node_perform(&p.a, p.id, begun, "n", SUCCESS, NULL);
        sound(&p.a, p.id, "a");
}
