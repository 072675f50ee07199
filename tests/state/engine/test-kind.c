#include "record/kind.h"

#include <criterion/criterion.h>
#include <string.h>

/* The 7 buckets and 4 operations: which there are (G-32..G-39). */
Test(kind, operations_of_buckets) {
        static const Kind buckets[] = {KIND_PLAN, KIND_CONSTRAINT, KIND_ISSUE, KIND_DECISION, KIND_RESULT, KIND_TASK_STATE, KIND_LEARNING};
        static const Op ops[] = {OP_UPSERT, OP_APPEND, OP_INVALIDATE, OP_RESOLVE};
        static const char *const allowed[] = {"u...", "u.i.", "u..r", ".ai.", ".a..", "u...", ".a.."};

        for (size_t b = 0; b < ARRAY_SIZE(buckets); b++)
                for (size_t o = 0; o < ARRAY_SIZE(ops); o++)
                        cr_expect_eq(kind_has_op(buckets[b], ops[o]), allowed[b][o] != '.', "%s %s", kind_name(buckets[b]), op_name(ops[o]));
        for (size_t b = 0; b < ARRAY_SIZE(buckets); b++)
                for (Op op = OP_SAVE; op <= OP_PATCH; op++)
                        cr_expect_eq(kind_has_op(buckets[b], op), op == OP_DELETE, "%s %d", kind_name(buckets[b]), op); // M-66
}

/* Which state an operation leads to, from each state there is: a letter of the state's name, '.' for what is refused. */
Test(kind, lifecycles_of_buckets) { // G-32..G-38
        static const char letters[RECORD_STATE_COUNT_] = {'-', 'o', 'r', 'a', 'i', 's', 'A', 'R'};
        static const struct {
                Kind kind;
                Op op;
                const char *to; /* from: none, open, resolved, active, invalidated, superseded, archived, removed */
        } rows[] = {
                {KIND_PLAN, OP_UPSERT, "a..a...."},       {KIND_CONSTRAINT, OP_UPSERT, "a..aa..."}, {KIND_CONSTRAINT, OP_INVALIDATE, "...i...."},
                {KIND_ISSUE, OP_UPSERT, "ooo....."},      {KIND_ISSUE, OP_RESOLVE, ".r......"},     {KIND_DECISION, OP_APPEND, "a......."},
                {KIND_DECISION, OP_INVALIDATE, "...s...."}, {KIND_RESULT, OP_APPEND, "a......."},   {KIND_TASK_STATE, OP_UPSERT, "a..a...."},
                {KIND_LEARNING, OP_APPEND, "a......."},   {KIND_AGENT_KERNEL, OP_PATCH, "...a...."}, {KIND_WORLD_KERNEL, OP_PATCH, "...a...."},
                {KIND_PLAN, OP_DELETE, ".RRRRRRR"},       {KIND_ISSUE, OP_DELETE, ".RRRRRRR"},      {KIND_RESULT, OP_DELETE, ".RRRRRRR"}, // M-66
        };

        for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
                for (RecordState from = RECORD_NONE; from < RECORD_STATE_COUNT_; from++) {
                        RecordState to = kind_next_state(rows[i].kind, rows[i].op, from);

                        cr_expect_eq(to ? letters[to] : '.', rows[i].to[from], "%s %s from %d", kind_name(rows[i].kind), op_name(rows[i].op), from);
                }
}

/* The whole table of the memory service: 4 states x 4 moves, and what saves and deletes (M-39). */
Test(kind, lifecycle_of_memory) {
        static const Kind families[] = {KIND_MEMORY, KIND_KNOWLEDGE, KIND_SKILL};
        static const RecordState states[] = {RECORD_NONE, RECORD_ACTIVE, RECORD_ARCHIVED, RECORD_REMOVED};
        static const struct {
                Op op;
                RecordState to[4];
        } rows[] = {
                {OP_SAVE, {RECORD_ACTIVE, RECORD_ACTIVE, RECORD_NONE, RECORD_NONE}},
                {OP_ARCHIVE, {RECORD_NONE, RECORD_ARCHIVED, RECORD_NONE, RECORD_NONE}},
                {OP_RESTORE, {RECORD_NONE, RECORD_NONE, RECORD_ACTIVE, RECORD_NONE}},
                {OP_REMOVE, {RECORD_NONE, RECORD_NONE, RECORD_REMOVED, RECORD_NONE}},
                {OP_DELETE, {RECORD_NONE, RECORD_REMOVED, RECORD_REMOVED, RECORD_REMOVED}},
        };

        for (size_t f = 0; f < ARRAY_SIZE(families); f++)
                for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
                        for (size_t s = 0; s < ARRAY_SIZE(states); s++)
                                cr_expect_eq(kind_next_state(families[f], rows[i].op, states[s]), rows[i].to[s], "%s %s from %s", kind_name(families[f]),
                                             op_name(rows[i].op), states[s] ? record_state_name(states[s]) : "none");
}

/* A state is replaced, never removed but with its session; evidence can be deleted (C-2, C-36). */
Test(kind, lifecycle_of_cognition) {
        for (Op op = OP_NONE; op <= OP_PATCH; op++)
                for (RecordState s = RECORD_NONE; s < RECORD_STATE_COUNT_; s++) {
                        bool save = op == OP_SAVE && (s == RECORD_NONE || s == RECORD_ACTIVE);
                        bool del = op == OP_DELETE && s != RECORD_NONE;

                        cr_expect_eq(kind_next_state(KIND_CCS, op, s), save ? RECORD_ACTIVE : RECORD_NONE, "%d %d", op, s);
                        cr_expect_eq(kind_next_state(KIND_EVIDENCE, op, s), save ? RECORD_ACTIVE : del ? RECORD_REMOVED : RECORD_NONE,
                                     "%d %d", op, s);
                }
}

Test(kind, exactly_six_families_seven_buckets_and_cognition) { // M-1, G-22
        static const char *const names[] = {"agent_model_kernel", "world_model_kernel", "plan", "constraints", "issues", "decisions", "results", "task_state",
                                            "learnings", "ccs", "evidence", "memory_substrate", "knowledge_projections", "skill_artifacts", "working_state"};
        size_t n = 0;

        for (const Kind *k = kinds; *k; k++, n++) {
                cr_assert_str_eq(kind_name(*k), names[n]);
                cr_expect_eq(kind_from_name(names[n]), *k);
                cr_expect_not_null(class_name(kind_class(*k)));
        }
        cr_expect_eq(n, ARRAY_SIZE(names));
        cr_expect_eq(kind_from_name("memory"), KIND_NONE);
        cr_expect_eq(kind_from_name("Issues"), KIND_NONE);
        cr_expect_eq(kind_from_name(""), KIND_NONE);
        cr_expect_eq(op_from_name("drop"), OP_NONE);
        cr_expect_eq(record_state_from_name("none"), RECORD_NONE);
}

/* Rows: from; columns: to (M-23, M-30, M-60). */
Test(kind, who_may_refer_to_whom) {
        for (const Kind *from = kinds; *from; from++)
                for (const Kind *to = kinds; *to; to++) {
                        bool refers = strchr("\1\4\5\6", (int)kind_class(*from)) != NULL, referred = strchr("\4\5\6", (int)kind_class(*to)) != NULL;

                        cr_expect_eq(kind_may_refer(*from, *to), refers && referred, "%s -> %s", kind_name(*from), kind_name(*to));
                }
}

Test(kind, ids) { // G-22
        static const char a63[] = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", a64[] = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
        static const struct {
                const char *id;
                bool canon, memory;
        } rows[] = {
                {"pandas_import_blocker", true, true}, {"a1", true, true},        {"a", false, true},   {"", false, false},       {"1a", false, true},
                {"_a", false, false},                  {"A1", false, false},      {"a-b", false, true}, {"a.b", false, true},     {"a/b", false, false},
                {"../x", false, false},                {"a b", false, false},     {"a\n", false, false}, {"\xc3\xa4x", false, false}, {a63, true, true},
                {a64, false, false},                   {"-a", false, false},
        };

        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                cr_expect_eq(record_id_valid(KIND_ISSUE, rows[i].id), rows[i].canon, "canon %s", rows[i].id);
                cr_expect_eq(record_id_valid(KIND_MEMORY, rows[i].id), rows[i].memory, "memory %s", rows[i].id);
                cr_expect_eq(scope_name_valid(rows[i].id), rows[i].memory, "scope %s", rows[i].id);
        }
}
