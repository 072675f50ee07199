/* Runs: supervisor, CLI. Intent and context of an object (O-1..O-3; schema/object.md has the grammar).
 *
 * intent: {"do": ACTION, "with"?: {...}, "until"?: CONDITION, "constraints"?: [CONSTRAINT...]}
 *   ACTION      {"skill": NAME, "entry"?, "args"?: [text...], "input"?: text}
 *             | {"delegate": [intent...], "gather"?: GATHER} | {"wait": TRIGGER}
 *             | {"steps": [ACTION...]} (no steps inside)
 *   with        {"class"?: text, "timeout"?: DURATION (30s),
 *                "pace"?: {"base"?: 1s, "min"?: 1s, "max"?: 1h, "target"?: 10s},
 *                "attempts"?: most non-successes in a row before termination (0: no limit),
 *                "rest"?: TRIGGER between two rounds ({"elapsed": {"for": "1m"}}),
 *                "may"?: ["delegate"|"mutate"|"sleep"|"end"...] proposals that the skill's result may make (none)}
 *   until       {"success": n} ({"success": 1}) | "never" | a CONDITION of trigger.h
 *   GATHER      {"mode"?: "all"|"any"|"quorum"|"collect" (all), "n"?: of quorum, "within"?: DURATION}
 *   CONSTRAINT  {"deadline": usec or DURATION after creation} | {"slots_write": [NAME...]} | {"skills": [NAME...]} |
 *               {"note": text}
 *   DURATION    text of a number and its unit: us, ms, s, m, h or d
 *
 * Complete form of a constraint deadline: {"deadline": usec} is a time (json_u64(); text of a date is read, too), and
 * {"deadline_usec": n} is a time after "created" of the context. Lists of names and
 * constraints are sorted: the order says nothing. All texts are without U+0000.
 *
 * context: {"scope": {"skills": [NAME...]|"*", "reads": [...]|"*", "writes": [...]|"*", "depth": n, "fanout": n},
 *   "policy": text (digest of the policy at creation), "by": "uid:1000", "node", "created": usec,
 *   "parent": {"object", "serial"}|null, "meta"?: object} */
#pragma once

#include "object/entry.h"

/* usec: waits that always hold make at most 100 rounds a second. Older stores and files have less in complete
 * forms: selection takes the least then. */
#define INTENT_PACE_LEAST 10000
#define INTENT_BYTES_MAX (64 * 1024) /* of the complete form, canonical */
#define INTENT_JSON_DEPTH 80         /* levels of JSON; an entry may have ENTRY_DEPTH_MAX */
#define INTENT_STEPS_MAX 64
#define INTENT_CHILDREN_MAX 1024
#define INTENT_DEPTH_MOST 16 /* delegations inside each other */
#define INTENT_ARGS_MAX 256
#define INTENT_TEXT_MAX 4096 /* bytes of an arg; an input has INTENT_INPUT_MAX */
#define INTENT_INPUT_MAX (32 * 1024)
#define INTENT_CONSTRAINTS_MAX 64
#define INTENT_NAMES_MAX 256 /* of a list of names */
#define INTENT_FANOUT_STANDARD 64

/* Checks an intent and gives its complete form: every default filled in, durations as numbers of microseconds with the
 * suffix _usec ("timeout_usec", "base_usec" …; {"elapsed":{"for_usec"}}). Complete form in, the same out. self: the
 * object's id, or NULL. *ret: new. Returns 0, OBJECT_E_INTENT with a message (member, value and rule), -errno. */
int intent_complete(const json_t *intent, const char *self, json_t **ret, Diag *reterr);
/* The same for a trust scope; NULL: the default {"skills": those of the intent, "reads": [], "writes": [], "depth": as
 * deep as the delegations, "fanout": 64}. A missing member has the default. */
int intent_scope_complete(const json_t *scope, const json_t *complete_intent, json_t **ret, Diag *reterr);
/* Is the name in a list of a complete scope: "*", or an array of names? */
bool intent_scope_has(const json_t *list, const json_t *name);
/* Is `scope` within `outer` (O-25), both complete? Returns 0, OBJECT_E_SCOPE with a message, -errno. */
int intent_scope_within(const json_t *scope, const json_t *outer, Diag *reterr);
/* Does the intent need no more than the scope allows (skills, depth, fanout)? Returns 0, OBJECT_E_SCOPE, -errno. */
int intent_within(const json_t *complete_intent, const json_t *scope, Diag *reterr);
/* The scope of a child: that of the parent with depth - 1, and with the skills of the child's intent alone. Returns 0,
 * OBJECT_E_SCOPE: depth is 0, or the child needs more than the parent has; -errno. */
int intent_scope_of_child(const json_t *scope, const json_t *complete_child, json_t **ret);

/* The scope with at most the depth and the fanout of a policy: members "depth" and "fanout", or none. *ret: new.
 * Returns 0 or -ENOMEM. */
int intent_scope_clip(const json_t *scope, const json_t *policy, json_t **ret);

/* O-22, O-23. how: "narrow" (fewer steps or children, a step in parts of its args, less time, more constraints),
 * "rescope" (other arguments or input for the same skills; further constraints slots_write and skills: a smaller trust
 * scope), "reclassify" (with.class, pace, timeout). Checks that `after`, a complete intent, is such a change and not
 * `before` itself, drops no constraint and stays in the scope. Returns 0, OBJECT_E_INTENT, OBJECT_E_SCOPE, -errno. */
int intent_refine_check(const json_t *before, const json_t *after, const char *how, const json_t *scope, Diag *reterr);
