#include "engine/payload.h"

enum { STATEMENT = 2048, TEXT = 4096, LONG_TEXT = 16 * 1024, PAGE = 512 * 1024 };

static const char *const severities[] = {"low", "medium", "high", "critical", NULL};
static const char *const outcomes[] = {"passed", "failed", "partial", NULL};
static const char *const lifecycles[] = {"active", "superseded", "invalidated", NULL};

#define EPISODIC "episodic"
#define SEMANTIC "semantic"
#define OBSERVATIONAL "observational"
const char *const payload_types[] = {EPISODIC, SEMANTIC, OBSERVATIONAL, NULL};

const PayloadField payload_fields[] = {
        /* governed memory (G-23) */
        {KIND_PLAN, OP_UPSERT, NULL, "content", PAYLOAD_TEXT, true, 2 * LONG_TEXT, NULL},
        {KIND_CONSTRAINT, OP_UPSERT, NULL, "statement", PAYLOAD_LINE, true, STATEMENT, NULL},
        {KIND_CONSTRAINT, OP_UPSERT, NULL, "why", PAYLOAD_TEXT, false, TEXT, NULL},
        {KIND_CONSTRAINT, OP_INVALIDATE, NULL, "why", PAYLOAD_TEXT, false, TEXT, NULL},
        {KIND_ISSUE, OP_UPSERT, NULL, "title", PAYLOAD_LINE, true, STATEMENT, NULL},
        {KIND_ISSUE, OP_UPSERT, NULL, "detail", PAYLOAD_TEXT, false, LONG_TEXT, NULL},
        {KIND_ISSUE, OP_UPSERT, NULL, "severity", PAYLOAD_CHOICE, false, 0, severities},
        {KIND_ISSUE, OP_RESOLVE, NULL, "resolution", PAYLOAD_TEXT, false, LONG_TEXT, NULL},
        {KIND_DECISION, OP_APPEND, NULL, "decision", PAYLOAD_LINE, true, STATEMENT, NULL},
        {KIND_DECISION, OP_APPEND, NULL, "why", PAYLOAD_TEXT, false, TEXT, NULL},
        {KIND_DECISION, OP_APPEND, NULL, "alternatives", PAYLOAD_LINES, false, STATEMENT, NULL},
        {KIND_DECISION, OP_INVALIDATE, NULL, "why", PAYLOAD_TEXT, false, TEXT, NULL},
        {KIND_DECISION, OP_INVALIDATE, NULL, "superseded_by", PAYLOAD_ID, false, 0, NULL},
        {KIND_RESULT, OP_APPEND, NULL, "summary", PAYLOAD_LINE, true, STATEMENT, NULL},
        {KIND_RESULT, OP_APPEND, NULL, "task", PAYLOAD_ID, false, 0, NULL},
        {KIND_RESULT, OP_APPEND, NULL, "outcome", PAYLOAD_CHOICE, false, 0, outcomes},
        {KIND_RESULT, OP_APPEND, NULL, "detail", PAYLOAD_TEXT, false, LONG_TEXT, NULL},
        {KIND_TASK_STATE, OP_UPSERT, NULL, "status", PAYLOAD_LINE, true, 128, NULL},
        {KIND_TASK_STATE, OP_UPSERT, NULL, "detail", PAYLOAD_TEXT, false, LONG_TEXT, NULL},
        {KIND_LEARNING, OP_APPEND, NULL, "statement", PAYLOAD_LINE, true, STATEMENT, NULL},
        {KIND_LEARNING, OP_APPEND, NULL, "why", PAYLOAD_TEXT, false, TEXT, NULL},
        /* the memory service (M-6, M-7, M-8) */
        {KIND_MEMORY, OP_SAVE, EPISODIC, "summary", PAYLOAD_TEXT, true, LONG_TEXT, NULL},
        {KIND_MEMORY, OP_SAVE, EPISODIC, "context", PAYLOAD_TEXT, false, LONG_TEXT, NULL},
        {KIND_MEMORY, OP_SAVE, EPISODIC, "participants", PAYLOAD_LINES, false, 256, NULL},
        {KIND_MEMORY, OP_SAVE, SEMANTIC, "subject", PAYLOAD_LINE, true, STATEMENT, NULL},
        {KIND_MEMORY, OP_SAVE, SEMANTIC, "predicate", PAYLOAD_LINE, true, STATEMENT, NULL},
        {KIND_MEMORY, OP_SAVE, SEMANTIC, "object", PAYLOAD_TEXT, true, LONG_TEXT, NULL},
        {KIND_MEMORY, OP_SAVE, SEMANTIC, "confidence", PAYLOAD_SHARE, false, 0, NULL},
        {KIND_MEMORY, OP_SAVE, OBSERVATIONAL, "subject", PAYLOAD_LINE, true, STATEMENT, NULL},
        {KIND_MEMORY, OP_SAVE, OBSERVATIONAL, "observed", PAYLOAD_TEXT, true, LONG_TEXT, NULL},
        {KIND_MEMORY, OP_SAVE, OBSERVATIONAL, "source", PAYLOAD_LINE, true, STATEMENT, NULL},
        {KIND_MEMORY, OP_SAVE, OBSERVATIONAL, "at", PAYLOAD_LINE, false, 64, NULL},
        {KIND_KNOWLEDGE, OP_SAVE, NULL, "title", PAYLOAD_LINE, true, STATEMENT, NULL},
        {KIND_KNOWLEDGE, OP_SAVE, NULL, "text", PAYLOAD_TEXT, true, PAGE, NULL},
        {KIND_KNOWLEDGE, OP_SAVE, NULL, "tags", PAYLOAD_LINES, false, 64, NULL},
        {KIND_SKILL, OP_SAVE, NULL, "name", PAYLOAD_LINE, true, 256, NULL},
        {KIND_SKILL, OP_SAVE, NULL, "description", PAYLOAD_TEXT, false, LONG_TEXT, NULL},
        {KIND_SKILL, OP_SAVE, NULL, "steps", PAYLOAD_STEPS, true, LONG_TEXT, NULL},
        {KIND_SKILL, OP_SAVE, NULL, "trigger", PAYLOAD_LINE, false, STATEMENT, NULL},
        /* kernels (M-29): the whole kernel after the patch */
        {KIND_AGENT_KERNEL, OP_PATCH, NULL, "rules", PAYLOAD_RULES, true, TEXT, lifecycles},
        {KIND_WORLD_KERNEL, OP_PATCH, NULL, "rules", PAYLOAD_RULES, true, TEXT, lifecycles},
};
const size_t n_payload_fields = ARRAY_SIZE(payload_fields);
