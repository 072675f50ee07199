/* Runs: supervisor, CLI. Between the files of selection, select*.c. */
#pragma once

#include "object/memory-inside.h"
#include "object/select.h"

typedef struct Selection {
        const ObjectMemory *m;      /* borrowed, as all here but refused and out */
        const json_t *local, *policy;
        const json_t *with;         /* of the intent */
        uint64_t now;
        const char *node, *ref;     /* of local and of the policy */
        char *refused;              /* why the proposal was not taken; owned */
        Selected *out;
} Selection;

/* A rule decides (1, *out is set), or leaves the decision to the next rule (0). -errno. */
typedef int (*SelectRule)(Selection *s);
int select_next(Selection *s);
int select_split(Selection *s);
int select_step(Selection *s);

/* The decision; takes data. Returns 1, -ENOMEM: data is NULL. */
int select_take(Selection *s, ObjectAction a, const char *reason, json_t *data);
/* Dormancy on a trigger, which is taken; NULL: out of memory. Returns 1 or -errno. */
int select_dormancy(Selection *s, const char *reason, json_t *trigger);
/* Dormancy until the policy is another one, or termination where the policy says so (O-15). */
int select_denied(Selection *s);
/* Does the local policy allow the action? */
bool select_allows(const Selection *s, ObjectAction a);
/* The trust scope, with no more depth and fanout than the policy allows (O-25). *ret: new. Returns 0 or -ENOMEM. */
int select_scope(const Selection *s, json_t **ret);
/* A delegation to new children; action: complete, with "delegate" and "gather". Returns 1 or -ENOMEM. */
int select_delegation(Selection *s, const char *reason, const json_t *action, bool proposed);
/* Does with.may of the intent name this proposal? */
bool select_may(const ObjectMemory *m, const char *what);
/* The earliest of the deadlines; UINT64_MAX: none. */
uint64_t select_deadline_usec(const Selection *s);
const json_t *select_facts(const Selection *s);
