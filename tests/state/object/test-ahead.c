/* Cycles that are made ahead of the writer's turn: the same entries as in the turn, and none from an older view (O-11, O-43). */
#include "tests/state/object/cycle-fixture.h"

#define WAITS "{\"do\": {\"wait\": {\"elapsed\": {\"for\": \"1h\"}}}, \"with\": {\"rest\": {\"elapsed\": {\"for\": \"1h\"}}}, \"until\": \"never\"}"
#define NEEDS "{\"do\": {\"steps\": [{\"wait\": {\"prerequisite\": {\"slot\": \"ready\", \"equals\": 7}}}, {\"skill\": \"x\"}]}}"

/* A cycle as its performer has it: both ways share all but `ahead`. */
typedef struct Planned {
        char id[REGION_ID_MAX], trace[REGION_ID_MAX];
        json_t *local; /* owned */
        ObjectCycle c;
} Planned;

static void planned_init(Planned *p, Node *n, const char *id) {
        *p = (Planned){.local = node_local(n)};
        strcpy(p->id, id);
        region_id_new(clock_real_usec(), p->trace);
        p->c = (ObjectCycle){.local = p->local, .who = WHO, .trace = p->trace, .lock = store_own_lock(n->s.store)};
        p->c.ahead = object_cycle_ahead(n->s.store, p->id, &p->c);
}

static void planned_deinit(Planned *p) {
        object_ahead_free(p->c.ahead);
        json_decref(p->local);
}
#define _cleanup_planned_ _cleanup_(planned_deinit)

/* The answer of the cycle, and the row after it; owned. */
typedef struct Done {
        json_t *answer, *row;
} Done;

static void done_deinit(Done *d) {
        json_decref(d->answer);
        json_decref(d->row);
}
#define _cleanup_done_ _cleanup_(done_deinit)

/* In a transaction that is committed or aborted. */
static void planned_run(Planned *p, Node *n, bool ahead, bool commit, Done *ret) {
        Txn *t = store_fixture_begin(&n->s, true);
        ObjectCycle c = p->c;

        if (!ahead)
                c.ahead = NULL;
        cr_assert_eq(object_cycle(t, p->id, &c, &ret->answer, &n->s.d), 0, "%s", n->s.d.text);
        cr_assert_eq(object_row_get(t, p->id, &ret->row), 0);
        if (commit)
                store_fixture_commit(&n->s, t);
        else
                store_abort(t);
}

static void same(Node *n, Planned *p, Done *made, const char *what) {
        _cleanup_done_ Done plain = {0};

        planned_run(p, n, false, false, &plain);
        planned_run(p, n, true, true, made);
        cr_assert(json_equal(plain.answer, made->answer), "%s: another answer", what);
        cr_assert(json_equal(plain.row, made->row), "%s: another row, and so another head", what);
}

// O-11, O-13: the head is a hash over all entries: equal heads are equal entries. More than two checkpoints are passed.
Test(ahead, makes_the_same_entries) {
        static const char *const intents[] = {WAITS, NEEDS, "{\"do\": {\"skill\": \"x\"}}"};

        for (size_t i = 0; i < ARRAY_SIZE(intents); i++) {
                unsigned ahead = 0, cycles = i == 0 ? 90 : 3;
                _cleanup_node_ Node n;
                char id[REGION_ID_MAX];

                node_init(&n);
                node_create(&n, intents[i], id);
                for (unsigned k = 0; k < cycles; k++, n.now += 3600 * SECOND) {
                        _cleanup_planned_ Planned p;
                        _cleanup_done_ Done made = {0};

                        planned_init(&p, &n, id);
                        ahead += p.c.ahead != NULL;
                        same(&n, &p, &made, intents[i]);
                }
                cr_expect_eq(ahead, i == 0 ? cycles : 1, "%s: %u cycles ahead", intents[i], ahead);
                node_holds(&n, id, intents[i]);
        }
}

// O-43: an entry of another writer between the two: the cycle is made again, on the new head.
Test(ahead, gives_way_to_another_writer) {
        _cleanup_json_ json_t *input = json_integer(1), *answer = NULL, *last = NULL;
        _cleanup_planned_ Planned p;
        _cleanup_done_ Done made = {0};
        _cleanup_node_ Node n;
        char id[REGION_ID_MAX];
        Txn *t;

        node_init(&n);
        node_create(&n, WAITS, id);
        planned_init(&p, &n, id);
        cr_assert(p.c.ahead);
        t = store_fixture_begin(&n.s, true);
        cr_assert_eq(node_end(&n, t, object_input(t, id, WHO, "other", input, &answer, &n.s.d)), 0, "%s", n.s.d.text);
        same(&n, &p, &made, "another writer");
        last = node_last(&n, id, "dormant");
        cr_expect_eq(json_number(last, "n"), 3, "behind the input and the evaluation");
        node_holds(&n, id, "another writer");
}

static void put(Node *n, int value) {
        _cleanup_json_ json_t *v = json_integer(value);
        Txn *t = store_fixture_begin(&n->s, true);
        uint64_t seq, version;

        cr_assert_eq(node_end(n, t, engine_slot_put(t, WHO, "ready", v, -1, &seq, &version, &n->s.d)), 0, "%s", n->s.d.text);
}

// O-11: a slot that changes between the two. The first write woke the object, so the second one leaves the object's row as it is.
Test(ahead, looks_at_the_facts_again) {
        static const char *const rows[] = {"the slot stays", "the slot changes"}, *const actions[] = {"reentry", "none"};

        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                _cleanup_json_ json_t *schema = json_object();
                _cleanup_planned_ Planned p;
                _cleanup_done_ Done made = {0};
                _cleanup_node_ Node n;
                char id[REGION_ID_MAX];
                uint64_t seq;
                Txn *t;

                node_init(&n);
                t = store_fixture_begin(&n.s, true);
                cr_assert_eq(node_end(&n, t, engine_slot_define(t, WHO, NULL, "ready", schema, &seq, &n.s.d)), 0);
                node_create(&n, NEEDS, id);
                cr_assert_str_eq(node_act(&n, id), "dormancy");
                put(&n, 7);
                planned_init(&p, &n, id);
                cr_assert(p.c.ahead);
                if (i == 1)
                        put(&n, 8);
                same(&n, &p, &made, rows[i]);
                cr_expect_str_eq(json_str(made.answer, "action"), actions[i], "%s", rows[i]);
                node_holds(&n, id, rows[i]);
        }
}

// O-12, O-24, O-43: what depends on more than the object itself waits for the turn.
Test(ahead, leaves_the_rest_to_the_turn) {
        static const char *const intents[] = {"{\"do\": {\"delegate\": [{\"do\": {\"skill\": \"x\"}}]}}", "{\"do\": {\"skill\": \"x\"}}"};

        for (size_t i = 0; i < ARRAY_SIZE(intents); i++) {
                _cleanup_planned_ Planned p;
                _cleanup_node_ Node n;
                char id[REGION_ID_MAX];

                node_init(&n);
                node_create(&n, intents[i], id);
                if (i == 1)
                        cr_assert_str_eq(node_act(&n, id), "execution");
                planned_init(&p, &n, id);
                cr_expect_not(p.c.ahead, "%s", intents[i]);
        }
}
