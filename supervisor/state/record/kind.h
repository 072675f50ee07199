/* Runs: supervisor, CLI. What there is besides slots: classes, the kinds of records in each, what can be done to a record of a kind, and which state that
 * leads to. Pure; the tables stand in kind.c and are the only ones. */
#pragma once

#include "base/id.h" /* scope_name_valid() */
#include "base/util.h"

/* One byte of the tables' keys: its upper half is the class. Values stay as they are for ever. */
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
        KIND_MEMORY = 0x41,
        KIND_KNOWLEDGE = 0x51,
        KIND_SKILL = 0x61,
        KIND_WORKING = 0x71, /* in no table (M-9) */
} Kind;

typedef enum Class {
        CLASS_KERNEL = 1,
        CLASS_CANON,
        CLASS_CCS,    /* reserved */
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
        OP_REMOVE, /* by a digest: leaves a tombstone */
        OP_DELETE, /* by request: leaves nothing */
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

/* Names as they stand in events, on the command line and on the pipe: "issues", "memory_substrate", "upsert", "open". NULL for what is none. */
const char *kind_name(Kind k);
const char *class_name(Class c);
const char *op_name(Op op);
const char *record_state_name(RecordState s);
/* Neither closed nor put away: open or active. */
bool record_state_live(RecordState s);
/* KIND_NONE, OP_NONE, RECORD_NONE for a name that is none; CLASS 0. */
Kind kind_from_name(const char *name);
Op op_from_name(const char *name);
RecordState record_state_from_name(const char *name);
static inline Class kind_class(Kind k) {
        return (Class)(k >> 4);
}
/* All kinds in the order of their numbers; KIND_NONE ends it. */
extern const Kind kinds[];

/* Is this something that can be done to a record of this kind at all (G-39: 7 buckets x 4 operations)? */
bool kind_has_op(Kind k, Op op);
/* The state that op leads to from this one; RECORD_NONE: it is refused (M-39, G-33..G-38). From RECORD_NONE: a new record. OP_DELETE leads to
 * RECORD_REMOVED, and the row goes, too. */
RecordState kind_next_state(Kind k, Op op, RecordState from);
/* May a record of this kind refer to one of that kind (M-23, M-30, M-57)? */
bool kind_may_refer(Kind from, Kind to);

/* "[a-z][a-z0-9_]{1,63}" of canon (G-22); of the others "[a-z0-9][a-z0-9._-]{0,63}". */
bool record_id_valid(Kind k, const char *id);
/* The rule in words, for messages. */
const char *record_id_rule(Kind k);
