/* Runs: supervisor, CLI. The classes and kinds of records, the operations of each kind, and the state after each
 * operation. Pure. The tables in kind.c are the only ones. */
#pragma once

#include "base/id.h" /* scope_name_valid() */
#include "base/util.h"

/* A byte of the tables' keys; the upper half is the class. The values never change. */
typedef enum Kind {
        KIND_NONE = 0,
        KIND_AGENT_KERNEL = 0x11,
        KIND_WORLD_KERNEL = 0x12,
        KIND_PLAN = 0x21,
        KIND_CONSTRAINT = 0x22,
        KIND_ISSUE = 0x23,
        KIND_DECISION = 0x24,
        KIND_RESULT = 0x25,
        KIND_TASK_STATE = 0x26,
        KIND_LEARNING = 0x27,
        KIND_CCS = 0x31,      /* the state of a cognitive session (cognition/) */
        KIND_EVIDENCE = 0x32, /* what the session was told and did */
        KIND_MEMORY = 0x41,
        KIND_KNOWLEDGE = 0x51,
        KIND_SKILL = 0x61,
        KIND_WORKING = 0x71, /* in no table (M-9) */
} Kind;

typedef enum Class {
        CLASS_KERNEL = 1,
        CLASS_CANON,
        CLASS_CCS,
        CLASS_MEMORY,
        CLASS_KNOWLEDGE,
        CLASS_SKILL,
        CLASS_WORKING,
        CLASS_OBJECT, /* reserved */
} Class;

typedef enum Op {
        OP_NONE = 0,
        /* governed memory */
        OP_UPSERT = 1,
        OP_APPEND,
        OP_INVALIDATE,
        OP_RESOLVE,
        /* memory service */
        OP_SAVE = 16,
        OP_ARCHIVE,
        OP_RESTORE,
        OP_REMOVE, /* by a digest; leaves a tombstone */
        OP_DELETE, /* by request; leaves nothing */
        /* kernels */
        OP_PATCH = 32,
} Op;

typedef enum RecordState {
        RECORD_NONE = 0, /* no such record */
        RECORD_OPEN,
        RECORD_RESOLVED,
        RECORD_ACTIVE,
        RECORD_INVALIDATED,
        RECORD_SUPERSEDED,
        RECORD_ARCHIVED,
        RECORD_REMOVED,
        RECORD_STATE_COUNT_,
} RecordState;

#define RECORD_ID_MAX 65 /* with the NUL */
#define SCOPE_NAME_MAX 65

/* Names in events, on the command line and on the pipe: "issues", "memory_substrate", "upsert", "open". NULL for an
 * unknown value. */
const char *kind_name(Kind k);
const char *class_name(Class c);
const char *op_name(Op op);
const char *record_state_name(RecordState s);
/* Open or active. */
bool record_state_live(RecordState s);
/* An unknown name gives KIND_NONE, OP_NONE, RECORD_NONE. */
Kind kind_from_name(const char *name);
Op op_from_name(const char *name);
RecordState record_state_from_name(const char *name);
static inline Class kind_class(Kind k) {
        return (Class)(k >> 4);
}
/* All kinds in the order of their numbers; KIND_NONE ends it. */
extern const Kind kinds[];

/* Operations of governed memory that make a row, or end one. */
static inline bool op_creates(Op op) {
        return op == OP_UPSERT || op == OP_APPEND;
}
static inline bool op_ends(Op op) {
        return op == OP_RESOLVE || op == OP_INVALIDATE;
}

/* Does the kind have the operation (G-39: 7 buckets x 4 operations)? */
bool kind_has_op(Kind k, Op op);
/* The state after `op`; RECORD_NONE: refused (M-39, G-33..G-38). From RECORD_NONE: a new record. OP_DELETE leads to
 * RECORD_REMOVED; the row is deleted, too. */
RecordState kind_next_state(Kind k, Op op, RecordState from);
/* May a record of kind `from` refer to a record of kind `to` (M-23, M-30, M-57)? */
bool kind_may_refer(Kind from, Kind to);

/* "[a-z][a-z0-9_]{1,63}" for canon (G-22); for the other classes "[a-z0-9][a-z0-9._-]{0,63}". */
bool record_id_valid(Kind k, const char *id);
/* The rule in words, for messages. */
const char *record_id_rule(Kind k);
