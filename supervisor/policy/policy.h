/* Runs: supervisor, CLI. The operator's policy file (schema/policy.md, schema/policy.schema.json). */
#pragma once

#include "base/diag.h"
#include "base/json.h"
#include "base/util.h"
#include "manifest/terms.h"

#define POLICY_MAX_REGIONS_STANDARD 1000

enum {
        POLICY_E_MISSING = 1, /* the file that was named is not there or cannot be read */
        POLICY_E_BAD,         /* refused: message names file, pointer, value and rule */
};

typedef struct PolicyFile {
        char *path; /* absolute, normalised and resolved: a root; everything below it may be granted */
        bool write;
} PolicyFile;

/* What may be granted: to every skill, or to one. */
typedef struct Limits {
        Budget max;              /* 0: not said */
        Tier min_tier;           /* 0: not said */
        bool network_said;       /* with it the lists below are complete: what is not in them is refused, also on the command line */
        bool network_host;
        NetGrant *connects;
        size_t n_connects;
        bool files_said;         /* the same for files */
        PolicyFile *files;
        size_t n_files;
} Limits;

typedef struct SkillPolicy {
        char *name;
        char *digest;            /* "sha256:…" that the skill must have, or NULL */
        uint64_t concurrency;    /* 0: not said */
        bool trusted;            /* nothing of it needs to be overwritten: discipline "none" is allowed; only with a digest */
        Limits limits;           /* with a digest each field that is said replaces the general one; without, it can only narrow it */
} SkillPolicy;

typedef struct Policy {
        char *path;              /* of the file; NULL when there is none */
        Limits limits;
        uint64_t max_regions;    /* regions alive at once in one store */
        uint64_t concurrency;    /* "*": of each skill that is not named; 0: not said */
        SkillPolicy *skills;
        size_t n_skills;
} Policy;

/* path NULL: LETHE_POLICY, $XDG_CONFIG_HOME/lethe/policy.json (or ~/.config), /etc/lethe/policy.json, else no file at all.
 * Returns 0, POLICY_E_*, -errno. */
int policy_load(const char *path_or_null, Policy **ret, Diag *reterr);
/* Reads the text of a policy file; `path` only for messages. */
int policy_parse(const char *text, size_t n, const char *path, Policy **ret, Diag *reterr);
void policy_free(Policy *p);
static inline void policy_freep(Policy **p) {
        policy_free(*p);
}
#define _cleanup_policy_ _cleanup_(policy_freep)

const SkillPolicy *policy_skill(const Policy *p, const char *name); /* or NULL */
/* The budget that holds for a skill: 0 where nothing is said. Skill NULL: the general one. */
Budget policy_max(const Policy *p, const SkillPolicy *s);
uint64_t policy_concurrency(const Policy *p, const char *name); /* 0: only max_regions bounds it */
