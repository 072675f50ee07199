/* Parents and children: scopes, aggregates, answers that are late, double or missing, and levels (O-24..O-28, O-53). */
#include "audit/audit.h"
#include "tests/state/object/cycle-fixture.h"

#define CHILDREN_MAX 8

typedef struct Family {
        Node n;
        char parent[REGION_ID_MAX];
        char child[CHILDREN_MAX][REGION_ID_MAX]; /* by the number in their args: the order of ids is another one */
        size_t children;
} Family;

/* The children of the open delegation, by their first arg. */
static void family_read(Family *f) {
        _cleanup_memory_ ObjectMemory m = OBJECT_MEMORY_NULL;
        const char *id;
        json_t *child;

        node_memory(&f->n, f->parent, &m);
        f->children = 0;
        json_object_foreach(json_object_get(json_object_get(m.fold, "delegation"), "children"), id, child) {
                const json_t *intent = json_object_get(json_object_get(child, "intent"), "do");
                const char *arg = json_text(json_array_get(json_object_get(intent, "args"), 0));

                cr_assert(arg && f->children < CHILDREN_MAX);
                snprintf(f->child[atoi(arg)], REGION_ID_MAX, "%s", id);
                f->children++;
        }
}

/* A parent whose children have args "0", "1" …, and which sleeps until they answer. */
static void family_init(Family *f, const char *gather, size_t children) {
        _cleanup_free_ char *intent = NULL;
        char list[1000] = "";

        *f = (Family){0};
        node_init(&f->n);
        for (size_t i = 0; i < children; i++)
                snprintf(list + strlen(list), sizeof(list) - strlen(list), "%s{\"do\": {\"skill\": \"x\", \"args\": [\"%zu\"]}, \"with\": {\"attempts\": 1}}", i > 0 ? ", " : "", i);
        cr_assert_geq(asprintf(&intent, "{\"do\": {\"delegate\": [%s], \"gather\": %s}}", list, gather), 0);
        node_create(&f->n, intent, f->parent);
        cr_assert_str_eq(node_act(&f->n, f->parent), "delegation");
        cr_assert_str_eq(node_act(&f->n, f->parent), "dormancy");
        family_read(f);
        cr_assert_eq(f->children, children);
}

static void family_deinit(Family *f) {
        node_deinit(&f->n);
}
#define _cleanup_family_ _cleanup_(family_deinit)

/* The child's execution and its end: 's' success, 'f' failure (one attempt is all it has). */
static void family_answer(Family *f, const char *child, char how) {
        node_execute(&f->n, child, NULL, how == 's' ? "{\"kind\": \"success\", \"latency_usec\": 1, \"value\": 7}" : FAILURE, NULL);
        cr_assert_str_eq(node_act(&f->n, child), "termination");
}

static void family_sound(Family *f, const char *row) {
        AuditReport a;

        node_holds(&f->n, f->parent, row);
        for (size_t i = 0; i < f->children; i++)
                node_holds(&f->n, f->child[i], row);
        cr_assert_eq(audit_run(f->n.s.store, &a) ?: audit_fold(f->n.s.store, &a, &f->n.s.d), 0, "%s: %s; expected %s; found %s", row, a.what, a.expected, a.found);
}

// O-26, O-28: an aggregate closes with the answer that decides it, and is an outcome of the parent's step.
Test(children, aggregates) {
        static const struct {
                const char *gather, *answers; /* in order, 's', 'f'; '!': the time of the delegation is over */
                const char *kind;             /* of the closed aggregate; NULL: open */
                const char *then;             /* the parent's action after its reentry */
        } rows[] = {
                {"{}", "ss", NULL, NULL},
                {"{}", "sss", "success", "termination"},
                {"{}", "sfs", "partial", "dormancy"},
                {"{}", "fff", "partial", "dormancy"},
                {"{\"mode\": \"any\"}", "s", "success", "termination"},
                {"{\"mode\": \"any\"}", "ff", NULL, NULL},
                {"{\"mode\": \"any\"}", "ffs", "success", "termination"},
                {"{\"mode\": \"any\"}", "fff", "failure", "dormancy"},
                {"{\"mode\": \"quorum\", \"n\": 2}", "s", NULL, NULL},
                {"{\"mode\": \"quorum\", \"n\": 2}", "sfs", "success", "termination"},
                {"{\"mode\": \"quorum\", \"n\": 2}", "ff", "failure", "dormancy"},
                {"{\"mode\": \"collect\"}", "ff", NULL, NULL},
                {"{\"mode\": \"collect\"}", "fsf", "success", "termination"},
                {"{\"within\": \"1h\"}", "s!", "partial", "dormancy"},
                {"{\"mode\": \"any\", \"within\": \"1h\"}", "f!", "failure", "dormancy"},
                {"{\"mode\": \"collect\", \"within\": \"1h\"}", "!", "success", "termination"},
        };

        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                _cleanup_memory_ ObjectMemory m = OBJECT_MEMORY_NULL;
                _cleanup_free_ char *name = NULL;
                _cleanup_family_ Family f;
                const json_t *closed;

                cr_assert_geq(asprintf(&name, "%s %s", rows[i].gather, rows[i].answers), 0);
                family_init(&f, rows[i].gather, 3);
                for (const char *a = rows[i].answers; *a; a++)
                        if (*a == '!')
                                f.n.now += 3601 * SECOND;
                        else
                                family_answer(&f, f.child[a - rows[i].answers], *a);
                cr_assert_str_eq(node_act(&f.n, f.parent), rows[i].kind ? "reentry" : "none", "%s", name);
                node_memory(&f.n, f.parent, &m);
                closed = json_object_get(json_object_get(m.fold, "closed"), "1");
                cr_assert_eq(closed != NULL, rows[i].kind != NULL, "%s", name);
                if (rows[i].kind) {
                        cr_assert_str_eq(json_str(closed, "kind"), rows[i].kind, "%s", name);
                        cr_assert_str_eq(node_act(&f.n, f.parent), rows[i].then, "%s", name);
                }
                family_sound(&f, name);
        }
}

// O-26, O-28: late answers stand in the parent's memory, marked; nobody answers twice; a missing answer is a signal.
Test(children, late_double_and_missing_answers) {
        static const struct {
                const char *name;
                bool ended; /* the parent is terminated when the answer comes */
        } rows[] = {{"the parent goes on", false}, {"the parent is terminated", true}};

        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                _cleanup_json_ json_t *note = NULL;
                _cleanup_family_ Family f;
                uint64_t before;

                family_init(&f, rows[i].ended ? "{\"mode\": \"any\"}" : "{\"within\": \"1h\"}", 2);
                family_answer(&f, f.child[0], 's');
                if (!rows[i].ended)
                        f.n.now += 3601 * SECOND; /* child 1: non_response */
                cr_assert_str_eq(node_act(&f.n, f.parent), "reentry", "%s", rows[i].name);
                cr_assert_str_eq(node_act(&f.n, f.parent), rows[i].ended ? "termination" : "dormancy", "%s", rows[i].name);
                before = node_entries(&f.n, f.parent);
                family_answer(&f, f.child[1], 's');
                cr_assert_eq(node_entries(&f.n, f.parent), before + 1, "%s: the late answer is not there", rows[i].name);
                note = node_last(&f.n, f.parent, "child");
                cr_assert(json_is_true(json_object_get(json_object_get(note, "data"), "late")), "%s", rows[i].name);
                cr_assert_str_eq(json_str(json_object_get(note, "data"), "child"), f.child[1], "%s", rows[i].name);
                family_sound(&f, rows[i].name);
                if (!rows[i].ended) { /* the remainder goes to a new child (O-50) */
                        char old[REGION_ID_MAX];

                        strcpy(old, f.child[1]);
                        f.n.now += 3600 * SECOND;
                        cr_assert_str_eq(node_act(&f.n, f.parent), "reentry", "%s", rows[i].name);
                        cr_assert_str_eq(node_act(&f.n, f.parent), "delegation", "%s", rows[i].name);
                        family_read(&f);
                        cr_assert_eq(f.children, 1, "%s: not the remainder alone", rows[i].name);
                        cr_assert_str_neq(f.child[1], old, "%s", rows[i].name);
                }
        }
}

// O-24, O-25: links in both directions; a child has a part of the parent's scope, and not its depth.
Test(children, lineage_and_scope) {
        _cleanup_memory_ ObjectMemory child = OBJECT_MEMORY_NULL;
        _cleanup_json_ json_t *o = NULL;
        const json_t *up, *scope;
        _cleanup_node_ Node n;
        char parent[REGION_ID_MAX], wide[REGION_ID_MAX];
        const char *id;
        json_t *intent;

        node_init(&n);
        cr_assert_eq(node_create_within(&n, "{\"do\": {\"delegate\": [{\"do\": {\"skill\": \"x\"}}]}}",
                                        "{\"skills\": [\"x\", \"y\"], \"writes\": [\"a\"], \"depth\": 2, \"fanout\": 3}", parent), 0, "%s", n.s.d.text);
        cr_assert_str_eq(node_act(&n, parent), "delegation");
        o = node_last(&n, parent, "delegation");
        json_object_foreach(json_object_get(json_object_get(o, "data"), "children"), id, intent)
                node_memory(&n, id, &child);
        up = json_object_get(child.context, "parent");
        scope = json_object_get(child.context, "scope");
        cr_assert_str_eq(json_str(up, "object"), parent);
        cr_assert_eq(json_number(up, "serial"), 1);
        cr_assert_eq(json_number(scope, "depth"), 1);
        cr_assert_eq(json_array_size(json_object_get(scope, "skills")), 1);
        cr_assert(json_text_is(json_array_get(json_object_get(scope, "skills"), 0), "x"));
        cr_assert_eq(node_create_within(&n, "{\"do\": {\"delegate\": [{\"do\": {\"skill\": \"z\"}}]}}", "{\"skills\": [\"x\"], \"depth\": 1}", wide), ENGINE_E_BEYOND_SCOPE);
}

// O-25: the policy's depth counts from the first object on, whatever the trust scope allows.
Test(children, generations_are_bounded_by_policy) {
        _cleanup_memory_ ObjectMemory child = OBJECT_MEMORY_NULL;
        _cleanup_json_ json_t *o = NULL;
        _cleanup_node_ Node n;
        char id[REGION_ID_MAX];
        const char *first = "";
        json_t *intent;

        node_init(&n);
        n.depth = 2;
        cr_assert_eq(node_create_within(&n, "{\"do\": {\"delegate\": [{\"do\": {\"skill\": \"x\"}, \"with\": {\"may\": [\"delegate\"]}}]}}", "{\"skills\": [\"x\"], \"depth\": 16}", id), 0,
                     "%s", n.s.d.text);
        cr_assert_str_eq(node_act(&n, id), "delegation");
        o = node_last(&n, id, "delegation");
        json_object_foreach(json_object_get(json_object_get(o, "data"), "children"), first, intent)
                node_memory(&n, first, &child);
        cr_expect_eq(json_number(json_object_get(child.context, "scope"), "depth"), 1);
}

/* Drives the object and all below it until nothing is to be done; returns the number of executions. */
static size_t drive(Node *n) {
        size_t executions = 0;
        bool more = true;

        for (int round = 0; more && round < 200; round++) {
                char id[REGION_ID_MAX] = "";
                int r;

                more = false;
                for (;;) {
                        _cleanup_object_row_ ObjectRow row = {0};
                        _cleanup_json_ json_t *o = NULL;
                        Txn *t = store_fixture_begin(&n->s, false);

                        r = object_row_next(t, *id ? id : NULL, id);
                        store_abort(t);
                        if (r == -ENOENT)
                                break;
                        cr_assert_eq(r, 0);
                        node_row(n, id, &row);
                        if (row.state == OBJECT_TERMINATED)
                                continue;
                        cr_assert_eq(node_cycle(n, id, &o), 0, "%s", n->s.d.text);
                        if (strcmp(json_str(o, "action"), "none") == 0)
                                continue;
                        more = true;
                        if (json_object_get(o, "perform")) {
                                char slot[64];

                                snprintf(slot, sizeof(slot), "done/%s", id);
                                node_perform(n, id, o, slot, SUCCESS, NULL);
                                cr_assert_eq(node_versions(n, slot), 1, "an effect twice");
                                executions++;
                        }
                }
        }
        cr_assert_not(more, "the objects come to no end");
        return executions;
}

// O-27, O-36, O-53: three levels below the first; every answer arrives at the level above.
Test(children, three_levels) {
        static const char leaf[] = "{\"do\": {\"skill\": \"x\"}}";
        _cleanup_free_ char *two = NULL, *three = NULL, *four = NULL;
        _cleanup_object_row_ ObjectRow row = {0};
        _cleanup_node_ Node n;
        char id[REGION_ID_MAX];
        AuditReport a;

        node_init(&n);
        cr_assert_geq(asprintf(&two, "{\"do\": {\"delegate\": [%s, %s]}}", leaf, leaf), 0);
        cr_assert_geq(asprintf(&three, "{\"do\": {\"delegate\": [%s, %s], \"gather\": {\"mode\": \"collect\"}}}", two, leaf), 0);
        cr_assert_geq(asprintf(&four, "{\"do\": {\"steps\": [{\"delegate\": [%s, %s]}, {\"skill\": \"x\"}]}}", three, two), 0);
        node_create(&n, four, id);
        cr_assert_eq(drive(&n), 2 + 1 + 2 + 1);
        node_row(&n, id, &row);
        cr_assert_eq(row.state, OBJECT_TERMINATED);
        node_holds(&n, id, "three levels");
        cr_assert_eq(audit_run(n.s.store, &a) ?: audit_fold(n.s.store, &a, &n.s.d), 0, "%s; expected %s; found %s", a.what, a.expected, a.found);
}

// O-24, O-26: an object that calls another its parent is no child of it, and changes nothing there.
Test(children, a_false_child) {
        _cleanup_json_ json_t *intent = json_of("{\"do\": {\"skill\": \"x\"}}");
        char id[REGION_ID_MAX];
        _cleanup_family_ Family f;
        uint64_t before;
        Txn *t;

        family_init(&f, "{\"mode\": \"any\"}", 2);
        before = node_entries(&f.n, f.parent);
        t = store_fixture_begin(&f.n.s, true);
        cr_assert_eq(node_end(&f.n, t, object_create(t, &(ObjectNew){.who = WHO, .intent = intent, .policy = "p1", .now_usec = f.n.now, .parent = f.parent, .serial = 1}, id, NULL,
                                                     &f.n.s.d)), 0, "%s", f.n.s.d.text);
        family_answer(&f, id, 's');
        cr_assert_eq(node_entries(&f.n, f.parent), before, "a false child answered");
        cr_assert_str_eq(node_act(&f.n, f.parent), "none");
        family_answer(&f, f.child[0], 's');
        cr_assert_str_eq(node_act(&f.n, f.parent), "reentry");
        family_sound(&f, "a false child");
}
