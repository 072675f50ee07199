/* Runs: supervisor, CLI. Wake triggers and conditions (O-30, O-31; schema/object.md):
 *
 *   TRIGGER    {"elapsed": {"for": DURATION} | {"at": usec}}
 *            | {"outcomes": {"kind": KIND, "n": n, "within"?: DURATION}}   entries since the beginning of dormancy
 *            | {"prerequisite": CONDITION}
 *            | {"event": {"type": TYPE, "match"?: {MEMBER: value}}}        of the node's ledger, since then
 *            | {"policy": {"allows": ACTION-NAME} | {"not": DIGEST}}
 *            | {"any": [TRIGGER...]} | {"all": [TRIGGER...]}
 *   CONDITION  {"slot": NAME, "is"?: "set"|"unset", "equals"?: value, "above"?: number, "below"?: number,
 *               "version"?: n}
 *            | {"object": ID, "state"?: "terminated", "status"?: KIND}
 *   KIND       a descriptor's kind (memory.h), "child", "closed" (an aggregate closed), "input"
 *
 * Complete form: durations as *_usec numbers; "is" of a slot's condition and "state" of an object's are said. At most
 * TRIGGER_NODES_MAX nodes, TRIGGER_DEPTH_MAX levels. "at": json_u64(), or text of a date in UTC (2026-12-01T08:00);
 * "version": at least n. "within": the last of n outcomes comes at most so long after the first of the n. */
#pragma once

#include "object/entry.h"

#define TRIGGER_NODES_MAX 64
#define TRIGGER_DEPTH_MAX 8
#define TRIGGER_OUTCOMES_MAX 64 /* n of outcomes: memory.h keeps so many times of each kind */
#define TRIGGER_MATCH_MAX 8     /* members of "match": texts, integers, booleans and null */

/* As intent_complete(). Refuses empty any and all, n of 0, an object that waits for its own end, times beyond year
 * 9999, types of events without a record ("object.*" and unknown words). OBJECT_E_INTENT with a message. */
int trigger_complete(const json_t *trigger, const char *self, json_t **ret, Diag *reterr);
int condition_complete(const json_t *condition, const char *self, json_t **ret, Diag *reterr);

/* The view of a node at an encounter (O-32); borrowed. */
typedef struct TriggerView {
        uint64_t now_usec;
        uint64_t since_usec;   /* the time of the dormant entry */
        const json_t *counts;  /* KIND -> [usec of each, oldest first], since then: memory.h */
        const json_t *facts;   /* {"slots": {NAME: {"version","value"?}|null},
                                  "objects": {ID: {"state","status"?}|null},
                                  "events": [{"type","seq","match": the trigger's member}]} of trigger_needs() */
        const json_t *policy;  /* {"ref","verdict","allows": {ACTION: bool}} */
        bool backoff;          /* of a backoff: a time "at" is a length after since_usec, too */
} TriggerView;
/* Returns 1 with *ret = {"trigger": the smallest part that holds, "evidence": {...}}; 0 with *ret = {"unmet":
 * [TRIGGER...]}, each with "until"? usec; -errno. A pure function of the arguments (O-11). A clock before since_usec was
 * set back, and each wait of a length is over. */
int trigger_holds(const json_t *trigger, const TriggerView *v, json_t **ret);
/* Returns 1 with *ret_evidence = {"slot","version"} or {"object","state","status"?}; 0; -errno. */
int condition_holds(const json_t *condition, const json_t *facts, json_t **ret_evidence);
/* The facts to look up for trigger_holds(): {"slots": [NAME], "objects": [ID], "events": [{"type","match"?}],
 * "policy": bool (the trigger depends on policy)}, and the earliest time at which the clock alone may make the trigger
 * hold (UINT64_MAX: never). */
int trigger_needs(const json_t *trigger, uint64_t since_usec, json_t **ret_needs, uint64_t *ret_due_usec);
/* The earliest time after `after_usec` at which the trigger may hold, whatever happens until then; UINT64_MAX: none.
 * For an object that was due, and did not wake. */
uint64_t trigger_next(const json_t *trigger, uint64_t since_usec, uint64_t after_usec);
/* The time from which an elapsed trigger holds: "at", or "for_usec" after since_usec. */
uint64_t trigger_elapsed_due(const json_t *elapsed, uint64_t since_usec);
/* The needs of a condition alone: {"slots","objects","events": [],"policy": false}. */
int condition_needs(const json_t *condition, json_t **ret_needs);
