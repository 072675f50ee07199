#include "record/kind.h"

#include <string.h>

#define MEMORY_OPS {OP_SAVE, OP_ARCHIVE, OP_RESTORE, OP_REMOVE, OP_DELETE}

static const struct {
        Kind kind;
        const char *name;
        Op ops[6]; /* OP_NONE ends it */
} table[] = {
        {KIND_AGENT_KERNEL, "agent_model_kernel", {OP_PATCH}},
        {KIND_WORLD_KERNEL, "world_model_kernel", {OP_PATCH}},
        {KIND_PLAN, "plan", {OP_UPSERT, OP_DELETE}},
        {KIND_CONSTRAINT, "constraints", {OP_UPSERT, OP_INVALIDATE, OP_DELETE}},
        {KIND_ISSUE, "issues", {OP_UPSERT, OP_RESOLVE, OP_DELETE}},
        {KIND_DECISION, "decisions", {OP_APPEND, OP_INVALIDATE, OP_DELETE}},
        {KIND_RESULT, "results", {OP_APPEND, OP_DELETE}},
        {KIND_TASK_STATE, "task_state", {OP_UPSERT, OP_DELETE}},
        {KIND_LEARNING, "learnings", {OP_APPEND, OP_DELETE}},
        {KIND_CCS, "ccs", {OP_SAVE}},
        {KIND_EVIDENCE, "evidence", {OP_SAVE, OP_DELETE}},
        {KIND_MEMORY, "memory_substrate", MEMORY_OPS},
        {KIND_KNOWLEDGE, "knowledge_projections", MEMORY_OPS},
        {KIND_SKILL, "skill_artifacts", MEMORY_OPS},
        {KIND_WORKING, "working_state", {OP_NONE}},
};

const Kind kinds[] = {
        KIND_AGENT_KERNEL, KIND_WORLD_KERNEL, KIND_PLAN, KIND_CONSTRAINT, KIND_ISSUE, KIND_DECISION, KIND_RESULT,
        KIND_TASK_STATE, KIND_LEARNING, KIND_CCS, KIND_EVIDENCE, KIND_MEMORY, KIND_KNOWLEDGE, KIND_SKILL, KIND_WORKING,
        KIND_NONE,
};

static const char *const op_names[] = {
        [OP_UPSERT] = "upsert", [OP_APPEND] = "append", [OP_INVALIDATE] = "invalidate", [OP_RESOLVE] = "resolve",
        [OP_SAVE] = "save", [OP_ARCHIVE] = "archive", [OP_RESTORE] = "restore", [OP_REMOVE] = "remove",
        [OP_DELETE] = "delete", [OP_PATCH] = "patch",
};

static const char *const state_names[RECORD_STATE_COUNT_] = {
        [RECORD_OPEN] = "open", [RECORD_RESOLVED] = "resolved", [RECORD_ACTIVE] = "active",
        [RECORD_INVALIDATED] = "invalidated", [RECORD_SUPERSEDED] = "superseded", [RECORD_ARCHIVED] = "archived",
        [RECORD_REMOVED] = "removed",
};

static const char *const class_names[] = {
        [CLASS_KERNEL] = "kernel",   [CLASS_CANON] = "canon",         [CLASS_CCS] = "ccs",
        [CLASS_MEMORY] = "memory",   [CLASS_KNOWLEDGE] = "knowledge", [CLASS_SKILL] = "skill",
        [CLASS_WORKING] = "working", [CLASS_OBJECT] = "object",
};

/* The state after each operation, by state. All other combinations are refused. */
static const struct {
        Kind kind; /* KIND_NONE: all kinds that have the operation */
        Op op;
        RecordState from, to;
} moves[] = {
        {KIND_PLAN, OP_UPSERT, RECORD_NONE, RECORD_ACTIVE},
        {KIND_PLAN, OP_UPSERT, RECORD_ACTIVE, RECORD_ACTIVE},
        {KIND_CONSTRAINT, OP_UPSERT, RECORD_NONE, RECORD_ACTIVE},
        {KIND_CONSTRAINT, OP_UPSERT, RECORD_ACTIVE, RECORD_ACTIVE},
        {KIND_CONSTRAINT, OP_UPSERT, RECORD_INVALIDATED, RECORD_ACTIVE}, /* G-33 */
        {KIND_CONSTRAINT, OP_INVALIDATE, RECORD_ACTIVE, RECORD_INVALIDATED},
        {KIND_ISSUE, OP_UPSERT, RECORD_NONE, RECORD_OPEN},
        {KIND_ISSUE, OP_UPSERT, RECORD_OPEN, RECORD_OPEN},
        {KIND_ISSUE, OP_UPSERT, RECORD_RESOLVED, RECORD_OPEN}, /* by its explicit id only (G-34) */
        {KIND_ISSUE, OP_RESOLVE, RECORD_OPEN, RECORD_RESOLVED},
        {KIND_DECISION, OP_APPEND, RECORD_NONE, RECORD_ACTIVE},
        {KIND_DECISION, OP_INVALIDATE, RECORD_ACTIVE, RECORD_SUPERSEDED},
        {KIND_RESULT, OP_APPEND, RECORD_NONE, RECORD_ACTIVE},
        {KIND_TASK_STATE, OP_UPSERT, RECORD_NONE, RECORD_ACTIVE},
        {KIND_TASK_STATE, OP_UPSERT, RECORD_ACTIVE, RECORD_ACTIVE},
        {KIND_LEARNING, OP_APPEND, RECORD_NONE, RECORD_ACTIVE},
        {KIND_NONE, OP_SAVE, RECORD_NONE, RECORD_ACTIVE},
        {KIND_NONE, OP_SAVE, RECORD_ACTIVE, RECORD_ACTIVE},
        {KIND_NONE, OP_ARCHIVE, RECORD_ACTIVE, RECORD_ARCHIVED},
        {KIND_NONE, OP_RESTORE, RECORD_ARCHIVED, RECORD_ACTIVE},
        {KIND_NONE, OP_REMOVE, RECORD_ARCHIVED, RECORD_REMOVED},
        {KIND_NONE, OP_DELETE, RECORD_ACTIVE, RECORD_REMOVED},
        {KIND_NONE, OP_DELETE, RECORD_OPEN, RECORD_REMOVED}, /* from here on rows of governed memory (M-66) */
        {KIND_NONE, OP_DELETE, RECORD_RESOLVED, RECORD_REMOVED},
        {KIND_NONE, OP_DELETE, RECORD_INVALIDATED, RECORD_REMOVED},
        {KIND_NONE, OP_DELETE, RECORD_SUPERSEDED, RECORD_REMOVED},
        {KIND_NONE, OP_DELETE, RECORD_ARCHIVED, RECORD_REMOVED},
        {KIND_NONE, OP_DELETE, RECORD_REMOVED, RECORD_REMOVED}, /* a tombstone can be deleted, too */
        {KIND_NONE, OP_PATCH, RECORD_ACTIVE, RECORD_ACTIVE},
};

const char *kind_name(Kind k) {
        for (size_t i = 0; i < ARRAY_SIZE(table); i++)
                if (table[i].kind == k)
                        return table[i].name;
        return NULL;
}

Kind kind_from_name(const char *name) {
        for (size_t i = 0; i < ARRAY_SIZE(table); i++)
                if (strcmp(table[i].name, name) == 0)
                        return table[i].kind;
        return KIND_NONE;
}

const char *class_name(Class c) {
        return (size_t)c < ARRAY_SIZE(class_names) ? class_names[c] : NULL;
}

const char *op_name(Op op) {
        return (size_t)op < ARRAY_SIZE(op_names) ? op_names[op] : NULL;
}

Op op_from_name(const char *name) {
        size_t i = name_index(op_names, ARRAY_SIZE(op_names), name);

        return i < ARRAY_SIZE(op_names) ? (Op)i : OP_NONE;
}

const char *record_state_name(RecordState s) {
        return s < RECORD_STATE_COUNT_ ? state_names[s] : NULL;
}

bool record_state_live(RecordState s) {
        return s == RECORD_OPEN || s == RECORD_ACTIVE;
}

RecordState record_state_from_name(const char *name) {
        return (RecordState)(name_index(state_names, RECORD_STATE_COUNT_, name) % RECORD_STATE_COUNT_);
}

bool kind_has_op(Kind k, Op op) {
        for (size_t i = 0; i < ARRAY_SIZE(table); i++)
                if (table[i].kind == k)
                        for (const Op *o = table[i].ops; o < table[i].ops + ARRAY_SIZE(table[i].ops) && *o; o++)
                                if (*o == op)
                                        return true;
        return false;
}

RecordState kind_next_state(Kind k, Op op, RecordState from) {
        if (kind_has_op(k, op))
                for (size_t i = 0; i < ARRAY_SIZE(moves); i++)
                        if ((moves[i].kind == k || moves[i].kind == KIND_NONE) && moves[i].op == op &&
                            moves[i].from == from)
                                return moves[i].to;
        return RECORD_NONE;
}

/* No record may refer to a kernel (M-30). Governed memory and the memory service stay apart (M-60). Working state has
 * no references at all. */
bool kind_may_refer(Kind from, Kind to) {
        Class c = kind_class(from), d = kind_class(to);

        return (c == CLASS_KERNEL || c == CLASS_MEMORY || c == CLASS_KNOWLEDGE || c == CLASS_SKILL) &&
               (d == CLASS_MEMORY || d == CLASS_KNOWLEDGE || d == CLASS_SKILL);
}

static bool kind_id_made_of(const char *s, bool first_digit, const char *more, size_t least) {
        size_t n = strlen(s);

        if (n < least || n > RECORD_ID_MAX - 1)
                return false;
        for (size_t i = 0; i < n; i++) {
                bool letter = s[i] >= 'a' && s[i] <= 'z', digit = s[i] >= '0' && s[i] <= '9';

                if (!letter && !(digit && (i > 0 || first_digit)) && (i == 0 || !strchr(more, s[i])))
                        return false;
        }
        return true;
}

bool record_id_valid(Kind k, const char *id) {
        return kind_class(k) == CLASS_CANON ? kind_id_made_of(id, false, "_", 2) : kind_id_made_of(id, true, "._-", 1);
}

const char *record_id_rule(Kind k) {
        return kind_class(k) == CLASS_CANON ? "a letter a-z, then 1 to 63 of a-z 0-9 _"
                                            : "a-z or 0-9, then at most 63 of a-z 0-9 . _ -";
}
