/* Runs: supervisor, CLI. Selection (O-10..O-15): the next action as a pure function of intent, local policy result and
 * memory. Equal inputs give the equal action on any node (O-11). */
#pragma once

#include "object/memory.h"

typedef enum ObjectAction { /* O-12: exactly six, and none */
        ACTION_NONE, /* an encounter whose conditions do not hold: nothing is appended (O-33) */
        ACTION_EXECUTION, ACTION_MUTATION, ACTION_DELEGATION, ACTION_DORMANCY, ACTION_REENTRY, ACTION_TERMINATION,
        ACTION_COUNT_,
} ObjectAction;
const char *object_action_name(ObjectAction a);

/* The local policy result: {"now": usec, "node": origin, "policy": {"ref", "verdict": "allowed"|"denied", "rule"?,
 * "on_denied": "dormant"|"terminate", "depth": n, "fanout": n, "max_objects"?: n, "allows": {ACTION: bool}}, "facts": of trigger.h,
 * "interrupted"?: true (a started execution of this node has no living region and left no effect)}. */
typedef struct Selected {
        ObjectAction action;
        const char *reason; /* static: a word for `why` and the entries */
        json_t *data;       /* of the entry to append (entry.h), without what only the performer knows; owned */
        json_t *unmet;      /* with ACTION_NONE; owned */
} Selected;
void selected_deinit(Selected *s);
#define _cleanup_selected_ _cleanup_(selected_deinit)
/* data of select_action():
 *   EXECUTION    of ENTRY_STARTED: {"skill", "entry"?, "args", "input"?, "timeout_usec", "deadline_usec": now +
 *                timeout_usec, "step", "attempt"}
 *   DELEGATION   {"delegate": [complete intents], "gather": complete, "serial", "proposed"?: true}: the performer makes
 *                the children, and puts "children": {ID: intent} in the place of "delegate"
 *   further ones as in entry.h
 * Each may have "refused_next": why a proposal was not taken. */
/* Does an entry `evaluation` come first, between the state and the entry of the action? */
bool select_evaluates_first(ObjectState from, ObjectAction a);
/* The order of the rules is in schema/object.md, "Selection". Returns 0, OBJECT_E_MOVE for a terminated object (O-20),
 * -errno. */
int select_action(const ObjectMemory *m, const json_t *local, Selected *ret, Diag *reterr);
/* Slots, objects and events that select_action() looks for in "facts" of local, in the present state: as of
 * trigger_needs(). */
int select_needs(const ObjectMemory *m, json_t **ret_needs);

/* O-51: the delay after a non-success, usec: clamp(min, base * 2^(weight10/10) * (1 + latency/target), max), in
 * integers only: equal on each node. */
uint64_t backoff_delay_usec(const json_t *pace, uint64_t weight10, uint64_t latency_usec);
/* Weights times ten: timeout and non_response 10, failure 7, partial 3, the rest as in schema/object.md. */
unsigned backoff_weight10(OutcomeKind k);
