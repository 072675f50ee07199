/* Runs: supervisor, CLI. The operator's policy file (schema/policy.md, schema/policy.schema.json). */
#pragma once

#include "base/diag.h"
#include "base/json.h"
#include "base/util.h"
#include "manifest/memory-right.h"
#include "manifest/vocabulary.h"

#include <sys/types.h>

#define POLICY_MAX_REGIONS_STANDARD 1000
#define POLICY_POOL_MEMORY_STANDARD (256ULL << 20)
#define POLICY_POOL_IDLE_STANDARD 300000000ULL
#define POLICY_POOL_MOST 256

/* User ids of the host, and group ids of the same numbers, for regions whose supervisor is root. */
typedef struct UidRange {
        uint32_t first, count; /* count 0: not said */
} UidRange;

/* The standard range. Below it lie the ids of users, of systemd's dynamic users and of containers, above it those that systemd keeps for foreign
 * files (2147352576) and those that some programs take for negative. */
#define UIDS_STANDARD_FIRST 1879048192U
#define UIDS_STANDARD_COUNT 65536U

enum {
        POLICY_E_MISSING = 1, /* the file that was named is not there or cannot be read */
        POLICY_E_BAD,         /* refused: message names file, pointer, value and rule */
};

typedef struct PolicyFile {
        char *path; /* absolute, normalised and resolved: a root; everything below it may be granted */
        bool write;
} PolicyFile;

/* The kinds of which the policy has ranges, each with a least ("floor") and a most ("ceiling") (I-73). */
typedef enum BoundKind {
        BOUND_DISCIPLINE,   /* none, zero, multipass:1 … */
        BOUND_LINEAGE,      /* stats, events, handles */
        BOUND_KEY_SCOPE,    /* invocation, invocation-tree */
        BOUND_CANCEL,       /* usec */
        BOUND_CALLBACKS,    /* how many */
        BOUND_EMBODIMENT,   /* arena, process, container */
        BOUND_COMMIT,       /* any, success */
} BoundKind;
#define BOUND_KINDS 7
/* Values as numbers, in the order above. */
typedef struct Bound {
        bool has_floor, has_ceiling;
        uint64_t floor, ceiling;
} Bound;

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
        bool memory_said;        /* the same for typed memory; without it a skill gets what it asks for, but deletes nothing */
        MemoryRight *memory;
        size_t n_memory;
        Bound bounds[BOUND_KINDS];
} Limits;

/* Regions that are prepared ahead of their invocations (`lethe serve`). */
typedef struct PoolPolicy {
        uint64_t memory_bytes;   /* of all that wait, at most */
        uint64_t idle_usec;      /* for how long one waits before it is given up */
} PoolPolicy;

/* A user besides its own whom `lethe serve` serves. */
typedef struct ClientPolicy {
        uid_t uid;
        char **skills;           /* names, NULL-terminated, that they may have run; NULL: each that is registered */
} ClientPolicy;

/* What a pass of the digest may do in one scope without a person. */
typedef struct DigestPolicy {
        char *scope;
        unsigned archive, remove; /* reasons: 1 << index of policy_reason_words | … */
} DigestPolicy;
extern const char *const policy_reason_words[]; /* as schema/memory.md has them; NULL ends it */

/* What a skill may have when another one starts it, whether that one has it or not. */
typedef struct SubSkillPolicy {
        bool said;
        char **reads, **writes; /* slots, NULL-terminated; may be NULL */
        char *notes, *canon;    /* scopes, or NULL */
} SubSkillPolicy;

typedef struct SkillPolicy {
        char *name;
        bool pool_said;
        uint64_t pool;           /* how many wait for each grant of it */
        char *digest;            /* "sha256:…" that the skill must have, or NULL */
        uint64_t concurrency;    /* 0: not said */
        bool trusted;            /* nothing of it needs to be overwritten: discipline "none" is allowed; only with a digest */
        SubSkillPolicy as_sub_skill; /* only with a digest; of network, files and memory its limits say the same */
        Limits limits;           /* with a digest each field that is said replaces the general one; without, it can only narrow it */
} SkillPolicy;

typedef struct Policy {
        char *path;              /* of the file; NULL when there is none */
        Limits limits;
        uint64_t max_regions;    /* regions alive at once in one store */
        uint64_t concurrency;    /* "*": of each skill that is not named; 0: not said */
        uint64_t pool;           /* the same of prepared regions; 0: none */
        UidRange region_uids;
        PoolPolicy pools;
        ClientPolicy *clients;
        size_t n_clients;
        DigestPolicy *digest;    /* none: no pass does anything by itself */
        size_t n_digest;
        SkillPolicy *skills;
        size_t n_skills;
} Policy;

/* Of a scope, or NULL: nothing. */
const DigestPolicy *policy_digest(const Policy *p, const char *scope);

/* path NULL: LETHE_POLICY, $XDG_CONFIG_HOME/lethe/policy.json (or ~/.config), /etc/lethe/policy.json, else no file at all.
 * Returns 0, POLICY_E_*, -errno. */
int policy_load(const char *path_or_null, Policy **ret, Diag *reterr);
/* The first of these places where a file lies: an owned path, or NULL in *ret when there is none. Returns 0 or -ENOMEM. */
int policy_place(char **ret);
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
/* Whether that user may ask, and have that skill run (NULL: any at all). */
bool policy_client(const Policy *p, uid_t uid, const char *skill_or_null);
uint64_t policy_concurrency(const Policy *p, const char *name); /* 0: only max_regions bounds it */
