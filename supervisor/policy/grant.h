/* Runs: supervisor. The effective policy of one invocation: what the manifest asks for, cut down to what the operator allows.
 * Plain data, made by policy_grant() (pure), read by spawn/, region/ and the desk. Everything is owned by the Grant. */
#pragma once

#include "base/json.h"
#include "base/util.h"

typedef enum Tier {
        TIER_LANDLOCK = 1,   /* Landlock + seccomp + rlimits, no namespaces */
        TIER_NAMESPACES = 2, /* all of it */
} Tier;
const char *tier_name(Tier t); /* "landlock", "namespaces" */

typedef struct Budget {
        uint64_t memory_bytes;  /* whole tree, with scratch */
        uint64_t wall_usec;
        uint64_t cpu_usec;      /* whole tree, user + system */
        uint64_t processes;     /* tasks: processes and threads of the skill */
        uint64_t open_files;    /* of each process */
        uint64_t file_bytes;    /* largest single file */
        uint64_t scratch_bytes; /* /work and /tmp together */
        uint64_t output_bytes;  /* standard output and error together */
} Budget;

typedef struct FileGrant {
        char *source;  /* absolute path on the host */
        char *target;  /* absolute path in the region */
        bool write;
} FileGrant;

typedef enum NetworkMode {
        NETWORK_NONE = 0, /* no socket but socketpair */
        NETWORK_CONNECT,  /* TCP to the listed addresses only, each connect made by the supervisor */
        NETWORK_HOST,     /* the host's network, only when policy allows it */
} NetworkMode;

typedef struct NetGrant {
        char *text;      /* as written: "127.0.0.1:8080", "[::1]:443" */
        int family;      /* AF_INET, AF_INET6 */
        uint8_t addr[16];
        uint16_t port;
} NetGrant;

typedef enum DenialMode { DENIAL_CONTINUE = 0, DENIAL_END } DenialMode;

typedef struct Grant {
        char *skill_name;     /* of SKILL.md, or the program's base name with --exec */
        char *skill_digest;   /* "sha256:" + 64 hex; of the program file with --exec */
        char *skill_dir;      /* host path of the folder bound at /skill; NULL with --exec */
        char *program;        /* --exec: host path of a program outside the system folders, bound at that same path; else NULL */
        char **argv;          /* NULL-terminated; argv[0] as it is looked up inside the region (PATH, /skill-relative or absolute) */
        char **env;           /* NULL-terminated NAME=VALUE, whole environment */
        char *workdir;        /* absolute, in the region; default /work */
        Budget budget;
        Tier min_tier;        /* below it the run is refused */
        FileGrant *files;
        size_t n_files;
        NetworkMode network;
        NetGrant *connects;
        size_t n_connects;
        bool proc;            /* mount /proc with subset=pid */
        DenialMode on_denial;
        bool report_paths;    /* path denials are reported too (costs one notification an open) */
        uint64_t cancel_bound_usec;
        char **reads, **writes; /* slot names, NULL-terminated */
        json_t *slots;        /* object name -> JSON Schema that the manifest defines; may be NULL */
        json_t *reductions;   /* array of {field, asked, granted, rule}: where the operator gave less */
} Grant;

void grant_deinit(Grant *g);
/* The grant as JSON for `run --dry-run` and region.allocated; sizes in bytes, times in usec. New reference. */
json_t *grant_to_json(const Grant *g);
