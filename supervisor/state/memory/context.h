/* Runs: supervisor, CLI. The context for an agent at the beginning of a turn, in tiers that are never mixed (M-3, M-4,
 * G-51): core (active rules and statements of the kernels), belief (rows of governed memory that hold now), and
 * advisory lanes, marked as advisory. Excluded: working state, notes, pending items, archived and removed records. The
 * same function serves `lethe context` and a region (G-73). */
#pragma once

#include "engine/past.h"

#define CONTEXT_LANE_STANDARD 10 /* records of each advisory lane, and rows of results and of learnings */
#define CONTEXT_LANE_MAX 100

typedef enum ContextTier {
        CONTEXT_CORE,
        CONTEXT_BELIEF,
        CONTEXT_MEMORY,
        CONTEXT_KNOWLEDGE,
        CONTEXT_SKILL,
        CONTEXT_TIERS,
} ContextTier;
#define CONTEXT_ALL ((1U << CONTEXT_TIERS) - 1)

typedef struct ContextAsk {
        const char *scope;
        const char *query; /* the search that fills the advisory lanes; NULL: the newest records of each lane */
        unsigned lane;     /* records of each lane */
        unsigned tiers;    /* 1 << ContextTier | …: the caller's rights; other tiers are empty, and named in `withheld` */
        size_t bytes;      /* of the JSON of all rules, rows and records together; SIZE_MAX: no limit */
        size_t look;       /* rows of a bucket, and records of a lane, that may be read; SIZE_MAX: no limit */
        uint64_t now_usec;
        uint64_t upto;     /* the context after this event, of the rows of then; no query (M-64). PAST_NOW: the
                            * present one */
} ContextAsk;

/* {"scope","kernels":{"agent":version,"world":version},"core":[{"kernel","id","statement"} or {"kernel","id","section",
 * "subject","predicate","object","sources"}],"belief":{bucket:[{"id","state","version",…}]},"advisory":[{"lane":"memory"
 * |"knowledge"|"skill","advisory":true,"records":[{"id","type"?,"payload","version","time","score"?}]}],"withheld":
 * [{"tier","grant"}],"cut":[tier or bucket]}. kernels: of a served core alone. cut: parts that have more than bytes or
 * look allowed; a bucket and a lane may use half of the bytes that are left. With upto also "at", and "erased" in place
 * of a payload that is erased since. Returns 0, ENGINE_E_NO_SCOPE,
 * ENGINE_E_BAD_QUERY, -EUCLEAN, -errno. */
int memory_context(Txn *t, const ContextAsk *ask, json_t **ret, Diag *reterr);
/* The context of a scope that is not there yet. Returns 0, ENGINE_E_BAD_QUERY, -ENOMEM. */
int memory_context_empty(const ContextAsk *ask, json_t **ret, Diag *reterr);

/* For context.c: an answer under construction. */
typedef struct Context {
        Txn *t;
        const ContextAsk *ask;
        uint64_t scope;
        size_t left; /* bytes */
        json_t *cut;
        Diag *reterr;
} Context;
static inline bool context_is_past(const ContextAsk *ask) {
        return ask->upto != PAST_NOW;
}
/* payload NULL: erased. Returns 0 or -1. */
static inline int context_put_content(json_t *o, json_t *payload) {
        return payload ? json_object_set(o, "payload", payload) : json_object_set_new(o, "erased", json_true());
}
/* 1 << Class | …: the caller's tiers. */
unsigned context_classes(const ContextAsk *ask);
/* Takes o into list when `*room` has space for it. Returns 1, 0 when the space is used up, -ENOMEM. */
int context_take(json_t *list, json_t *o, size_t *room);
/* Notes that a part has more. Returns 0 or -ENOMEM. */
int context_cut(Context *c, const char *part);
/* Returns 0, ENGINE_E_BAD_QUERY with a message. */
int context_check_query(const ContextAsk *ask, Diag *reterr);
/* Adds a lane; takes records. Returns 0 or -ENOMEM. */
int context_lane_put(json_t *lanes, Kind kind, json_t *records);
/* The lanes of the caller's rights, appended to `lanes`. */
int context_lanes(Context *c, json_t *lanes);
