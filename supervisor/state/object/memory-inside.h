/* Runs: supervisor, CLI. Between the files of the fold, memory*.c. */
#pragma once

#include "object/memory.h"

#include <errno.h>

#define JSON_TIME_MAX ((uint64_t)JSON_INTEGER_MOST) /* usec; triggers have numbers, and this is the year 2255 */

/* The work of memory_apply(), on a copy of the memory that a failure throws away. The fold is a shallow copy, and all
 * below is shared. */
int memory_take_first(ObjectMemory *m, const Entry *e, Diag *reterr);
int memory_take_started(ObjectMemory *m, const Entry *e, Diag *reterr);
int memory_take_mutation(ObjectMemory *m, const Entry *e, Diag *reterr);
int memory_take_dormant(ObjectMemory *m, const Entry *e, Diag *reterr);
int memory_take_reentry(ObjectMemory *m, const Entry *e, Diag *reterr);
int memory_take_end(ObjectMemory *m, const Entry *e, Diag *reterr);
int memory_take_outcome(ObjectMemory *m, const Entry *e, Diag *reterr);
int memory_take_delegation(ObjectMemory *m, const Entry *e, Diag *reterr);
int memory_take_child(ObjectMemory *m, const Entry *e, Diag *reterr);

/* Is the child's answer awaited, and does it come late? Returns 0 or OBJECT_E_SYNTAX. */
int memory_check_child(const ObjectMemory *m, const char *id, bool *ret_late, Diag *reterr);

typedef struct Tally { /* of the children of a delegation */
        uint64_t all, ended, successes;
} Tally;
Tally memory_tally(const json_t *children);
/* O-26. OUTCOME_KIND_COUNT_: the aggregate is open. */
OutcomeKind memory_aggregate(const json_t *delegation, const Tally *t);
/* The names of members, sorted: jansson's order depends on the history. *ret: owned, names borrowed. */
int memory_keys(const json_t *o, const char ***ret, size_t *ret_n);

/* The end of an attempt at the present step: its descriptor, and the run of non-successes. */
int memory_take_result(ObjectMemory *m, OutcomeKind k, json_t *descriptor, uint64_t time_usec);
/* The present step is done; the last one ends the round. */
int memory_step_done(ObjectMemory *m);
/* A time for KIND in "counts", while the object is dormant. */
int memory_count(ObjectMemory *m, const char *kind, uint64_t time_usec);

/* The parts of a descriptor that a fold keeps; value: with the value when it is short enough. */
json_t *outcome_kept(const json_t *outcome, bool value);
/* The canonical bytes of v; SIZE_MAX: no canonical form (numbers beyond the range). Returns 0 or -ENOMEM. */
int outcome_bytes(const json_t *v, size_t *ret);

/* Equal in canonical form: a new entry may have 1.0 where the same entry, parsed again, has 1. Returns 1, 0,
 * -ENOMEM. */
int outcome_same(const json_t *a, const json_t *b);

/* The actions of an intent, in their order: the elements of "steps", or "do" itself. */
size_t memory_steps(const json_t *intent);
const json_t *memory_step(const json_t *intent, size_t i);

/* The member "data" of an entry. */
static inline const json_t *memory_data(const Entry *e) {
        return json_object_get(e->json, "data");
}
static inline int memory_put(ObjectMemory *m, const char *member, json_t *v) {
        return json_object_set_new_nocheck(m->fold, member, v) < 0 ? -ENOMEM : 0;
}
static inline int memory_put_number(ObjectMemory *m, const char *member, uint64_t v) {
        return memory_put(m, member, json_u64(v));
}
static inline void memory_drop(ObjectMemory *m, const char *member) {
        json_object_del(m->fold, member);
}
static inline uint64_t memory_add(uint64_t a, uint64_t b) {
        return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}
