/* Runs: supervisor, CLI. Wake triggers and conditions (O-30, O-31; schema/object.md):
 *
 *   TRIGGER    {"elapsed": {"for": DURATION} | {"at": usec}}
 *            | {"outcomes": {"kind": KIND, "n": n, "within"?: DURATION}}   entries since the object fell asleep
 *            | {"prerequisite": CONDITION}
 *            | {"event": {"type": TYPE, "match"?: {MEMBER: value}}}        of the node's ledger, since it fell asleep
 *            | {"policy": {"allows": ACTION-NAME} | {"not": DIGEST}}
 *            | {"any": [TRIGGER...]} | {"all": [TRIGGER...]}
 *   CONDITION  {"slot": NAME, "is"?: "set"|"unset", "equals"?: value, "above"?: number, "below"?: number, "version"?: n}
 *            | {"object": ID, "state"?: "terminated", "status"?: KIND}
 *   KIND       a descriptor's kind (memory.h), "child", "closed" (an aggregate closed), "input"
 *
 * Complete form: durations as *_usec numbers. At most TRIGGER_NODES_MAX nodes. */
#pragma once

#include "object/entry.h"

#define TRIGGER_NODES_MAX 64

/* As intent_complete(). Refuses empty any and all, n of 0, an object that waits for itself, times beyond year 9999,
 * types of events that are not recorded ("object.*" and unknown words). OBJECT_E_INTENT with a message. */
int trigger_complete(const json_t *trigger, const char *self, json_t **ret, Diag *reterr);
int condition_complete(const json_t *condition, const char *self, json_t **ret, Diag *reterr);

/* What a node sees at an encounter (O-32); borrowed. */
typedef struct TriggerView {
        uint64_t now_usec;
        uint64_t since_usec;   /* the time of the dormant entry */
        const json_t *counts;  /* KIND -> [usec of each, oldest first], since then: memory.h */
        const json_t *facts;   /* {"slots": {NAME: {"version","value"?}|null}, "objects": {ID: {"state","status"?}|null},
                                  "events": [{"type","seq","match": the trigger's member}]} of trigger_needs() */
        const json_t *policy;  /* {"ref","verdict","allows": {ACTION: bool}} */
} TriggerView;
/* Returns 1 with *ret = {"trigger": the smallest part that holds, "evidence": {...}}; 0 with *ret = {"unmet": [TRIGGER...]},
 * each with "until"? usec; -errno. A pure function of its arguments (O-11). */
int trigger_holds(const json_t *trigger, const TriggerView *v, json_t **ret);
int condition_holds(const json_t *condition, const json_t *facts, json_t **ret_evidence);
/* What has to be looked up for trigger_holds(): {"slots": [NAME], "objects": [ID], "events": [{"type","match"?}]}, and
 * the earliest time at which it may hold by the clock alone (UINT64_MAX: never). */
int trigger_needs(const json_t *trigger, uint64_t since_usec, json_t **ret_needs, uint64_t *ret_due_usec);
