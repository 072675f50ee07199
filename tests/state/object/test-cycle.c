/* Cycles: selection and what it appends, executions that are settled, and what other processes do meanwhile (O-10..O-15,
 * O-19..O-23, O-29..O-38, O-43..O-47). */
#include "audit/audit.h"
#include "engine/fold.h"
#include "tests/state/object/cycle-fixture.h"

#define RUN "{\"do\": {\"skill\": \"x\"}}"

static void sound(Node *n, const char *id, const char *row) {
        AuditReport a;

        node_holds(n, id, row);
        cr_assert_eq(audit_run(n->s.store, &a) ?: audit_fold(n->s.store, &a, &n->s.d), 0, "%s: %s; expected %s; found %s", row, a.what, a.expected, a.found);
}

// O-10, O-12, O-14, O-19, O-21, O-35, O-36, O-37: a whole life, with the store opened anew before each step.
Test(cycle, a_life) {
        _cleanup_free_ char *kinds = NULL;
        _cleanup_node_ Node n;
        char id[REGION_ID_MAX];

        node_init(&n);
        node_create(&n, "{\"do\": {\"steps\": [{\"skill\": \"a\"}, {\"wait\": {\"elapsed\": {\"for\": \"1m\"}}}, {\"skill\": \"b\"}]}}", id);
        node_restart(&n);
        node_execute(&n, id, "one", SUCCESS, NULL);
        node_restart(&n);
        cr_assert_str_eq(node_act(&n, id), "dormancy");
        node_restart(&n);
        cr_assert_str_eq(node_act(&n, id), "none");
        n.now += 61 * SECOND;
        cr_assert_str_eq(node_act(&n, id), "reentry");
        node_restart(&n);
        node_execute(&n, id, "two", SUCCESS, NULL);
        node_restart(&n);
        cr_assert_str_eq(node_act(&n, id), "termination");
        kinds = node_kinds(&n, id);
        cr_assert_str_eq(kinds, "instantiated evaluation started outcome dormant reentry evaluation started outcome terminated");
        cr_assert(node_versions(&n, "one") == 1 && node_versions(&n, "two") == 1);
        sound(&n, id, "a life");
}
