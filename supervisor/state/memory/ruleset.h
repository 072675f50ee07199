/* Runs: supervisor, CLI. Rulesets: the two lists of rules of a scope, core truth. They change by a patch over a base version and by nothing else; who is
 * late gets told
 * what was done since, and nothing is overwritten (M-27..M-31). A rule is {"id","statement","lifecycle"}; lists of rules are by id. */
#pragma once

#include "engine/mutate.h"

/* "agent", "world", or the family's name; KIND_NONE for another. */
Kind ruleset_from_name(const char *name);

/* The rules at a version, 0: the newest; *ret_refs (may be NULL): what the kernel referred to then. Returns 0, ENGINE_E_NO_SCOPE, ENGINE_E_NO_VALUE (no
 * such version),
 * -EUCLEAN, -errno. */
int ruleset_rules(Txn *t, const char *scope, Kind kind, uint64_t version, json_t **ret_rules, json_t **ret_refs, uint64_t *ret_version, Diag *reterr);

/* Array of {"id","change":"added"|"removed"|"changed","from"?,"to"?} by id. Returns 0 or -ENOMEM. */
int ruleset_diff(const json_t *from, const json_t *to, json_t **ret);
/* What a patch {"set"?:[rule…],"remove"?:[id…],"refs"?:[…]} makes of the rules. Returns 0, ENGINE_E_BAD_PAYLOAD (also: removes what is not there), -ENOMEM.
 * */
int ruleset_apply(const json_t *rules, const json_t *patch, json_t **ret, Diag *reterr);
/* Three ways, of rules or of references with ids (kernel-refs.h): base is what both began with. resolve: {id:"mine"|"theirs"} for what both changed, or NULL. *ret_conflicts: array of
 * {"id","base","mine","theirs"}
 * (null: not there) of what is left; *ret_rules are merged only when it is empty. Returns 0 or -ENOMEM. */
int ruleset_merge(const json_t *base, const json_t *mine, const json_t *theirs, const json_t *resolve, json_t **ret_rules, json_t **ret_conflicts);

typedef struct RulesetPatch {
        const char *scope;
        Kind kind;
        uint64_t base;         /* the version that the patch was made for */
        const json_t *patch;
        bool merge;            /* when others were faster: put both together, where they do not disagree */
        const json_t *resolve; /* as of ruleset_merge() */
        const char *who, *region;
} RulesetPatch;
/* *ret_conflicts (owned, NULL when there are none): what stands in the way, or with a stale base and no merge what changed since, as of ruleset_diff().
 * Returns 0,
 * ENGINE_E_CONFLICT, and what ruleset_apply() and engine_mutate() return. */
int ruleset_patch(Txn *t, const RulesetPatch *p, Mutated *ret, json_t **ret_conflicts, Diag *reterr);
/* Array of {"version","seq","time","who"|"region","base","before"?,"after"} (hashes of what was and what came), oldest first. */
int ruleset_log(Txn *t, const char *scope, Kind kind, json_t **ret, Diag *reterr);
