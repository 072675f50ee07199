/* Runs: supervisor, CLI. Rulesets: the two lists of rules of a scope, core truth. The verb, the kinds and the
 * requirements say kernel for a ruleset: both words mean the same. A ruleset changes only by a patch over a base
 * version. A patch with a stale base is answered with the changes since, and nothing is overwritten (M-27..M-31). A
 * rule is {"id","statement","lifecycle"}, or a typed statement {"id","section","subject","predicate","object","sources",
 * "lifecycle"} (M-68); lists of rules are by id. */
#pragma once

#include "engine/mutate.h"

#define RULESET_ID "kernel" /* of the record */

/* "agent", "world", or the family's name; KIND_NONE for any other name. */
Kind ruleset_from_name(const char *name);

/* The rules at a version, 0: the newest; *ret_refs (may be NULL): the references of the version. Returns 0,
 * ENGINE_E_NO_SCOPE, ENGINE_E_NO_VALUE (no such version), -EUCLEAN, -errno. */
int ruleset_rules(Txn *t, const char *scope, Kind kind, uint64_t version, json_t **ret_rules, json_t **ret_refs,
                  uint64_t *ret_version, Diag *reterr);

/* The version of the kernel after event `upto`; 0: no such scope then. Returns 0, ENGINE_E_NO_SCOPE, -errno. */
int ruleset_version_at(Txn *t, const char *scope, Kind kind, uint64_t upto, uint64_t *ret_version, Diag *reterr);

/* Array of {"id","change":"added"|"removed"|"changed","from"?,"to"?} by id. Returns 0 or -ENOMEM. */
int ruleset_diff(const json_t *from, const json_t *to, json_t **ret);

typedef struct RulesetPatch {
        const char *scope;
        Kind kind;
        uint64_t base;         /* the version that the patch was made for */
        const json_t *patch;
        bool merge;            /* merge with newer versions where the changes do not contradict */
        const json_t *resolve; /* as of ruleset_merge() */
        const char *who, *region;
} RulesetPatch;
/* *ret_conflicts (owned, or NULL): the conflicts, or with a stale base and no merge the changes since the base, as of
 * ruleset_diff(). Returns 0, ENGINE_E_CONFLICT, and the results of ruleset_apply() and engine_mutate(). */
int ruleset_patch(Txn *t, const RulesetPatch *p, Mutated *ret, json_t **ret_conflicts, Diag *reterr);
/* Array of {"version","seq","time","who"|"region","base","before"?,"after"} (before, after: hashes), oldest first. */
int ruleset_log(Txn *t, const char *scope, Kind kind, json_t **ret, Diag *reterr);
