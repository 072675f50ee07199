/* Runs: supervisor, CLI. The content of a policy file, as policy.h reads it. */
#pragma once

#include "manifest/memory-right.h"
#include "manifest/net-name.h"
#include "manifest/net-publish.h"

#include <sys/types.h>

#define POLICY_POOL_MOST 256
#define POLICY_REF_MAX 72

/* User ids of the host, and equal group ids, for regions whose supervisor is root. */
typedef struct UidRange {
        uint32_t first, count; /* count 0: not given */
} UidRange;

/* The standard range. The ids of users, of systemd's dynamic users and of containers are below. The ids that systemd
 * keeps for foreign files (2147352576), and ids that some programs take for negative, are above. */
#define UIDS_STANDARD_FIRST 1879048192U
#define UIDS_STANDARD_COUNT 65536U

typedef struct PolicyFile {
        char *path; /* absolute, normalised and resolved: a root; every path below may be granted */
        bool write;
} PolicyFile;

/* The kinds of the policy's ranges; a range has a least ("floor") and a most ("ceiling") (I-73). */
typedef enum BoundKind {
        BOUND_DISCIPLINE,   /* none, zero, multipass:1 … */
        BOUND_LINEAGE,      /* stats, events, handles */
        BOUND_KEY_SCOPE,    /* invocation, invocation-tree */
        BOUND_CANCEL,       /* usec */
        BOUND_CALLBACKS,    /* number of callbacks */
        BOUND_EMBODIMENT,   /* arena, process, container */
        BOUND_COMMIT,       /* any, success */
        BOUND_SESSION_IDLE, /* usec */
        BOUND_GRACE,        /* usec */
} BoundKind;
#define BOUND_KINDS 9
/* Values as numbers, in the order above. */
typedef struct Bound {
        bool has_floor, has_ceiling;
        uint64_t floor, ceiling;
} Bound;

/* Limits of grants, for every skill or for a single skill. */
typedef struct Limits {
        Budget max;              /* 0: not given */
        Tier min_tier;           /* 0: not given */
        bool network_said; /* the lists below are complete: other addresses are refused, also on the command line */
        bool network_host;
        NetGrant *connects;
        size_t n_connects;
        NetName *allows;         /* hosts by name */
        size_t n_allows;
        ProxyNet *privates;      /* private addresses behind allowed names */
        size_t n_privates;
        NetPublishRange *publishes; /* addresses and ports of the host for published ports of regions */
        size_t n_publishes;
        ProxyBudget net_budget;  /* 0: not given */
        bool routes_said;        /* the list of routes is complete; without it every route of the policy may be asked for */
        char **routes;           /* names, NULL-terminated; may be NULL */
        bool files_said;         /* the same for files */
        PolicyFile *files;
        size_t n_files;
        bool memory_said;        /* the same for typed memory; without it a skill gets its requests, except deletions */
        MemoryRight *memory;
        size_t n_memory;
        bool belief_said;        /* of the lists below, each that is not NULL is complete */
        char **notes, **canon, **kernels; /* scopes, NULL-terminated; NULL: a skill gets the requested scope */
        bool no_own_notes;       /* no skill reads the notes of its own run */
        Bound bounds[BOUND_KINDS];
} Limits;

/* Regions that are prepared ahead of their invocations (`lethe serve`). */
typedef struct PoolPolicy {
        uint64_t memory_bytes;   /* most memory of all waiting regions */
        uint64_t idle_usec;      /* waiting time before a region is given up */
} PoolPolicy;

/* Bounds of the folders that the store keeps of dead regions (scrub/kept.h). */
typedef struct KeepPolicy {
        uint64_t number, age_usec, bytes; /* at most; the oldest is dropped first */
} KeepPolicy;

#define POLICY_BUCKETS 7

/* Of requests in shared belief: how old a pending one may be, and which ones wait. */
typedef struct PendingPolicy {
        uint64_t age_usec, commits; /* commits: of the request's scope */
        /* The least probability to end a row by likeness, in thousandths, by policy_bucket_words; 0: not said. */
        uint64_t least[POLICY_BUCKETS];
} PendingPolicy;

/* A user, besides the supervisor's own, that `lethe serve` serves. */
typedef struct ClientPolicy {
        uid_t uid;
        char **skills; /* names of skills that the user may run, NULL-terminated; NULL: every registered skill */
} ClientPolicy;

/* Actions of a pass of the digest in a scope without a person's approval. */
typedef struct DigestPolicy {
        char *scope;
        unsigned archive, remove; /* reasons: 1 << index of policy_reason_words | … */
        uint64_t every_usec; /* time between two passes by schedule; 0: no schedule */
        uint64_t stay_usec;  /* least time between the archival of a record and its removal */
        char **routines;     /* names of the routines of the passes, NULL-terminated; NULL: the built-in digest alone */
} DigestPolicy;

/* The longest stay of rows of a bucket, or of values of slots; then the schedule erases them (M-66). */
typedef struct RetentionPolicy {
        char *scope, *bucket; /* or NULL with `slots` */
        char *slots;          /* the beginning of the slots' names; or NULL */
        char *stay;           /* as written */
        uint64_t stay_usec;
} RetentionPolicy;

/* Rights of a skill started by another skill, independent of the starter's rights. */
typedef struct SubSkillPolicy {
        bool said;
        char **reads, **writes; /* slots, NULL-terminated; may be NULL */
        char *notes, *canon, *kernels; /* scopes, or NULL */
} SubSkillPolicy;

/* Persistent objects (O-15, O-25). */
typedef struct ObjectsPolicy {
        uint64_t max;           /* objects of a store that are not terminated */
        uint64_t depth, fanout; /* of delegations: inside each other; children of one */
        unsigned actions;       /* that are allowed: 1 << index of policy_action_words | … */
        bool terminates;        /* a denial ends the object; false: the object sleeps until policy changes */
} ObjectsPolicy;

typedef struct SkillPolicy {
        char *name;
        bool pool_said;
        uint64_t pool;           /* waiting regions for each grant of the skill */
        char *digest;            /* "sha256:…" that the skill must have, or NULL */
        uint64_t concurrency;    /* 0: not given */
        bool trusted; /* the skill's data need no overwriting: discipline "none" is allowed; only with a digest */
        SubSkillPolicy as_sub_skill; /* only with a digest; rights to network, files and memory are in `limits` */
        /* with a digest each given field replaces the general field; without a digest a field can only narrow */
        Limits limits;
} SkillPolicy;

typedef struct Policy {
        char *path;              /* of the file; NULL: no file */
        char ref[POLICY_REF_MAX]; /* "sha256:" and the hash of the file's text; without a file, of nothing */
        Limits limits;
        uint64_t max_regions;    /* regions alive at once in one store */
        uint64_t max_sessions;   /* open at once, of each user */
        uint64_t concurrency;    /* "*": of each skill without a row; 0: not given */
        uint64_t pool;           /* prepared regions for each grant of a skill without a row; 0: none */
        UidRange region_uids;
        PoolPolicy pools;
        ObjectsPolicy objects;
        KeepPolicy layers;       /* what regions wrote above folders of the host (front/layer) */
        KeepPolicy outputs;      /* of detached regions (front/output) */
        PendingPolicy pending;
        ClientPolicy *clients;
        size_t n_clients;
        DigestPolicy *digest;    /* n_digest 0: a pass does nothing by itself */
        size_t n_digest;
        RetentionPolicy *retention; /* n_retention 0: nothing goes by its age */
        size_t n_retention;
        json_t *mcp;             /* as of policy_read_mcp() (policy/mcp.h); NULL: not said */
        json_t *mcp_servers;     /* as of policy_read_mcp_servers() */
        json_t *secrets, *routes; /* as of policy_read_routes() (policy/route.h) */
        SkillPolicy *skills;
        size_t n_skills;
} Policy;
