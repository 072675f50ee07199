#include "tests/governed/pipeline.h"

#include "engine/payload.h"

static const char *payload_for(Kind k, Op op) {
        static char text[200];
        const char *main = payload_main(k, op);

        if (op == OP_RESOLVE || op == OP_INVALIDATE || !main)
                return "{}";
        snprintf(text, sizeof(text), "{\"%s\":\"words of their own\"}", main);
        return text;
}

/* A note in the grammar that says the same: an advisor's word alone changes nothing (G-65). */
static const char *note_for(Kind k, Op op, const char *id) {
        static const char *const words[] = {[KIND_PLAN] = "plan", [KIND_CONSTRAINT] = "constraint", [KIND_ISSUE] = "issue", [KIND_DECISION] = "decision",
                                            [KIND_RESULT] = "result", [KIND_TASK_STATE] = "task", [KIND_LEARNING] = "learning"};
        static char text[200];

        if (op == OP_RESOLVE || op == OP_INVALIDATE)
                snprintf(text, sizeof(text), "%s %s %s", op_name(op), k == KIND_ISSUE ? "" : words[k], id ? id : "");
        else
                snprintf(text, sizeof(text), "%s %s: words of their own", words[k], id && k != KIND_PLAN ? id : "");
        return text;
}

static const char *request(Kind k, Op op, const char *id) {
        static char text[600];
        char target[100] = "";

        if (id)
                snprintf(target, sizeof(target), ",\"target_id\":\"%s\"", id);
        snprintf(text, sizeof(text), "{\"decision\":\"accept\",\"bucket\":\"%s\",\"operation\":\"%s\",\"payload\":%s%s,\"confidence\":0.9}", kind_name(k),
                 op_name(op), payload_for(k, op), target);
        return text;
}

// G-22, G-24, G-32..G-39, G-41: 7 buckets x 4 operations, each through a request; what is not listed leaves neither event nor row
Test(buckets, seven_by_four) {
        static const struct {
                Kind kind;
                bool may[4]; /* upsert, append, invalidate, resolve */
                bool remembers; /* how it was called */
        } table[] = {
                {KIND_PLAN, {true, false, false, false}, false},   {KIND_CONSTRAINT, {true, false, true, false}, true},
                {KIND_ISSUE, {true, false, false, true}, true},    {KIND_DECISION, {false, true, true, false}, true},
                {KIND_RESULT, {false, true, false, false}, false}, {KIND_TASK_STATE, {true, false, false, false}, false},
                {KIND_LEARNING, {false, true, false, false}, false},
        };
        static const Op ops[] = {OP_UPSERT, OP_APPEND, OP_INVALIDATE, OP_RESOLVE};

        for (size_t i = 0; i < ARRAY_SIZE(table); i++)
                for (size_t j = 0; j < ARRAY_SIZE(ops); j++) {
                        bool ends = ops[j] == OP_INVALIDATE || ops[j] == OP_RESOLVE;
                        const char *id = table[i].kind == KIND_PLAN ? "main" : "row_a";
                        _cleanup_json_ json_t *row = NULL;
                        uint64_t events, rows;
                        _cleanup_pipe_ Pipe p;

                        pipe_init(&p);
                        if (ends && table[i].may[j]) {
                                const Op makes = kind_has_op(table[i].kind, OP_APPEND) ? OP_APPEND : OP_UPSERT;

                                pipe_say(&p, note_for(table[i].kind, makes, id), request(table[i].kind, makes, id));
                        }
                        events = pipe_rows(&p, TABLE_EVENT);
                        rows = pipe_rows(&p, TABLE_REC);
                        pipe_say(&p, table[i].may[j] ? note_for(table[i].kind, ops[j], id) : PIPE_NO_CUE, request(table[i].kind, ops[j], id));
                        if (table[i].may[j]) {
                                pipe_expect(p.last, "committed", "");
                                row = pipe_row(&p, kind_name(table[i].kind), id);
                                cr_expect_eq(json_integer_value(json_object_get(row, "version")), ends ? 2 : 1, "%s %s", kind_name(table[i].kind),
                                             op_name(ops[j]));
                                cr_expect_eq(json_object_get(row, "aliases") && json_object_get(row, "phrases"), table[i].remembers, "%s", kind_name(table[i].kind));
                                cr_expect_eq(json_object_get(row, "aliases") || json_object_get(row, "phrases"), table[i].remembers, "%s", kind_name(table[i].kind));
                        } else {
                                pipe_expect(p.last, "invalid", "operation_not_allowed");
                                cr_expect_eq(pipe_rows(&p, TABLE_EVENT), events, "%s %s", kind_name(table[i].kind), op_name(ops[j]));
                                cr_expect_eq(pipe_rows(&p, TABLE_REC), rows);
                                cr_expect_eq(pipe_rows(&p, TABLE_WAIT), 0);
                        }
                        pipe_holds(&p);
                }
}

/* The life of a row, step by step: what each leads to, its state and its version; where it is refused, both stay. */
typedef struct Step {
        Op op;
        const char *id, *outcome, *code, *state;
        unsigned version;
        bool reactivated;
} Step;

static void live(Kind k, const Step *steps, size_t n) {
        _cleanup_pipe_ Pipe p;

        pipe_init(&p);
        for (size_t i = 0; i < n; i++) {
                const Step *s = &steps[i];
                _cleanup_json_ json_t *row = NULL;
                const json_t *o = pipe_say(&p, strcmp(s->code, "bad_target") == 0 || strcmp(s->code, "missing_field") == 0 ? PIPE_NO_CUE : note_for(k, s->op, s->id),
                                         request(k, s->op, s->id));

                pipe_expect(o, s->outcome, s->code);
                cr_expect_eq(json_is_true(json_object_get(o, "reactivated")), s->reactivated, "step %zu", i);
                row = pipe_row(&p, kind_name(k), k == KIND_PLAN ? "main" : "row_a");
                cr_expect_str_eq(pipe_word(row, "state"), s->state, "step %zu", i);
                cr_expect_eq(json_integer_value(json_object_get(row, "version")), s->version, "step %zu", i);
                if (s->version) { /* G-40: what made it, and what was last */
                        cr_expect_leq(json_integer_value(json_object_get(row, "created")), json_integer_value(json_object_get(row, "last")));
                        cr_expect_eq(json_integer_value(json_object_get(row, "created")) == json_integer_value(json_object_get(row, "last")), s->version == 1);
                }
        }
        pipe_holds(&p);
}

// G-32: one row, keyed main, replaced, version goes up; another id is refused
Test(life, of_the_plan) {
        live(KIND_PLAN, (Step[]){{OP_UPSERT, "other", "invalid", "bad_target", "", 0, false},
                                 {OP_UPSERT, NULL, "committed", "", "active", 1, false},
                                 {OP_UPSERT, "main", "committed", "", "active", 2, false},
                                 {OP_UPSERT, "other", "invalid", "bad_target", "active", 2, false},
                                 {OP_UPSERT, NULL, "committed", "", "active", 3, false}}, 5);
}

// G-33, G-40
Test(life, of_a_constraint) {
        live(KIND_CONSTRAINT, (Step[]){{OP_UPSERT, "row_a", "committed", "", "active", 1, false},
                                       {OP_UPSERT, "row_a", "committed", "", "active", 2, false},
                                       {OP_INVALIDATE, "row_a", "committed", "", "invalidated", 3, false},
                                       {OP_UPSERT, "row_a", "committed", "", "active", 4, true}}, 4);
}

// G-34: open until it is resolved, and opened again by its id
Test(life, of_an_issue) {
        live(KIND_ISSUE, (Step[]){{OP_UPSERT, "row_a", "committed", "", "open", 1, false},
                                  {OP_UPSERT, "row_a", "committed", "", "open", 2, false},
                                  {OP_RESOLVE, "row_a", "committed", "", "resolved", 3, false},
                                  {OP_UPSERT, "row_a", "committed", "", "open", 4, true},
                                  {OP_RESOLVE, "row_a", "committed", "", "resolved", 5, false},
                                  {OP_RESOLVE, "row_a", "invalid", "bad_state", "resolved", 5, false}}, 6);
}

// G-35: an id is used once; what was superseded stays
Test(life, of_a_decision) {
        live(KIND_DECISION, (Step[]){{OP_APPEND, "row_a", "committed", "", "active", 1, false},
                                     {OP_APPEND, "row_a", "invalid", "exists", "active", 1, false},
                                     {OP_INVALIDATE, "row_a", "committed", "", "superseded", 2, false},
                                     {OP_APPEND, "row_a", "invalid", "exists", "superseded", 2, false}}, 4);
}

// G-36, G-37, G-38
Test(life, of_the_others) {
        live(KIND_RESULT, (Step[]){{OP_APPEND, "row_a", "committed", "", "active", 1, false},
                                  {OP_APPEND, "row_a", "invalid", "exists", "active", 1, false}}, 2);
        live(KIND_LEARNING, (Step[]){{OP_APPEND, "row_a", "committed", "", "active", 1, false},
                                  {OP_APPEND, "row_a", "invalid", "exists", "active", 1, false}}, 2);
        live(KIND_TASK_STATE, (Step[]){{OP_UPSERT, NULL, "invalid", "missing_field", "", 0, false},
                                       {OP_UPSERT, "row_a", "committed", "", "active", 1, false},
                                       {OP_UPSERT, "row_a", "committed", "", "active", 2, false}}, 3);
}

// G-36: several results of one task are several rows; G-37: of a task's states the last in the ledger holds
Test(life, results_add_up_and_the_last_state_holds) {
        _cleanup_json_ json_t *task = NULL, *one = NULL, *two = NULL;
        _cleanup_pipe_ Pipe p;

        pipe_init(&p);
        pipe_say(&p, "result build_docs: the manual builds", NULL);
        one = pipe_row(&p, "results", pipe_word(p.last, "id"));
        pipe_say(&p, "result build_docs: the manual builds", NULL);
        two = pipe_row(&p, "results", pipe_word(p.last, "id"));
        cr_expect(one && two && strcmp(pipe_word(one, "id"), pipe_word(two, "id")) != 0);
        pipe_say(&p, "task build_docs: started", NULL);
        pipe_say(&p, "task build_docs: done", NULL);
        task = pipe_row(&p, "task_state", "build_docs");
        cr_expect_str_eq(pipe_word(json_object_get(task, "payload"), "status"), "done");
        cr_expect_eq(json_integer_value(json_object_get(task, "version")), 2);
}
