/* Runs: supervisor. The rights of a region, as grant.h computes them. All members are owned by the Grant. */
#pragma once

#include "base/trace.h"
#include "policy/policy-types.h"
#include "schema/limits.h"

/* A release callback: an entry of the same skill, run in a separate region after the region's end (I-35). */
typedef struct ReleaseGrant {
        char *entry;          /* the entry's name in lethe.json */
        char **argv;          /* like Grant.argv, without arguments of the command line */
        Budget budget; /* at most the region's own, half of its memory, and the rest of the cancel bound */
} ReleaseGrant;

/* The source of a budget's size, and so the place where the size can be raised. */
typedef enum LimitBy { LIMIT_BY_DEFAULT, LIMIT_BY_OPTION, LIMIT_BY_MANIFEST, LIMIT_BY_POLICY, LIMIT_BY_ABOVE } LimitBy;
typedef struct Grant {
        char *skill_name;     /* of SKILL.md, or the program's base name with --exec */
        char *skill_digest;   /* "sha256:" + 64 hex; of the program file with --exec */
        /* host path of the folder bound at /skill: the skill's copy in the store (manifest/copy.h); NULL with --exec */
        char *skill_dir;
        char *skill_folder;   /* host path of the copied folder, for messages and look-ups; NULL with --exec */
        char *program; /* --exec: place of the program's copy; NULL: a system program that only root can write */
        char *program_copy;   /* host path of the program's copy, in the store */
        char *program_link; /* --exec: place and target of a link by which the program was called; NULL: no link */
        char *program_end;
        bool program_granted; /* --exec: the file lies in a granted file or folder */
        bool program_loose; /* --exec: other users than root can change a link or folder of the path */
        char **argv; /* NULL-terminated; argv[0] as looked up inside the region (PATH, /skill-relative or absolute) */
        /* NULL-terminated NAME=VALUE: the whole environment except LETHE_REGION=<id>, which spawn/ appends */
        char **env;
        char *name;           /* --name: the user's name for the region; or NULL */
        char *workdir;        /* absolute, in the region; default /work */
        char *caller_dir;     /* the caller's working folder on the host, for a hint; NULL: not known */
        Budget budget;
        LimitBy limit_by[BUDGET_FIELDS]; /* source of each budget, as budget_fields */
        Tier min_tier;        /* the run is refused in a weaker tier */
        Tier tier;            /* --tier: exactly this tier (never below min_tier); 0: the machine's best tier */
        FileGrant *files;
        size_t n_files;
        NetworkMode network;
        uint16_t listen[LISTEN_MAX]; /* ports of 127.0.0.1 where the supervisor listens in network loopback; 0: none */
        NetGrant *connects;
        size_t n_connects;
        NetName *allows;      /* hosts by name: lethe-proxy connects (isolation/proxy); n_allows 0: no proxy */
        size_t n_allows;
        ProxyNet *privates;   /* private addresses that those names may mean, by policy */
        size_t n_privates;
        NetPublish publishes[PROXY_PUBLISH_MAX]; /* ports of the host that lead into the region */
        size_t n_publishes;
        ProxyBudget net_budget;
        json_t *routes;       /* name -> route, as of policy_read_routes(); NULL: none */
        json_t *secrets;      /* name -> source of the secrets of these routes; never recorded, never shown */
        bool network_closed;  /* --network none: regions below have no network either */
        bool proc;            /* mount /proc: own processes, generated files */
        bool terminal;        /* -t: a pseudo terminal of the region's own in place of the three standard streams */
        bool terminals;       /* the region may make terminals; see grant_has_terminals() */
        DenialMode on_denial;
        bool report_paths;    /* path denials are reported too (a notification for each open) */
        uint64_t cancel_bound_usec;
        uint64_t grace_usec;  /* from SIGTERM to the kill, a part of the cancel bound; 0: the kill comes at once */
        bool cancel_declared; /* declared in lethe.json: the bound is not made longer */
        uint64_t cancel_ceiling_usec; /* of the policy; 0: no ceiling */
        uint64_t teardown_usec; /* predicted time of overwriting the whole budget (policy/admit.h); 0: not predicted */
        uint64_t cancel_most_usec; /* the longest bound that admit_mapped() may set */
        uint64_t mapping_nsec; /* predicted time of each page that a process shares; 0: not predicted */
        Discipline discipline;
        unsigned passes;      /* overwrites of each byte: 1 with zero, 1 to PASSES_MOST with multipass, 0 with none */
        LineageDetail lineage;
        KeyScope key_scope;
        json_t *sections;     /* object name -> {"schema": JSON Schema, "bytes": most}; may be NULL */
        json_t *session;      /* as in Manifest: what a session of the skill keeps; may be NULL */
        uint64_t session_idle_usec; /* in place of the session's "idle_usec": within the policy's range */
        char **resources;     /* names of the skill's resources outside the region, NULL-terminated; may be NULL */
        ReleaseGrant *releases; /* in the manifest's order; run in reverse */
        size_t n_releases;
        char **preload; /* modules that a warm interpreter imports ahead, NULL-terminated; NULL: not warm */
        char *interpreter; /* the entry's program: a system interpreter that can start ahead; or NULL */
        char **sub_skills;    /* names that skill.run may start, NULL-terminated; may be NULL */
        char *notes;          /* scope of the skill's notes; NULL: no notes */
        char *canon;          /* scope of the shared belief that the skill may read; NULL: no belief */
        char *kernels;        /* scope of the kernels that the skill may read; NULL: no kernels */
        bool own_notes;       /* the skill may read the notes of its own run, and what became of them (G-73) */
        MemoryRight *memory;  /* rights to typed memory; n_memory 0: no rights */
        size_t n_memory;
        json_t *gates;        /* array of {"slot": name, "schema": JSON Schema}; may be NULL */
        char **reads, **writes; /* slot names, NULL-terminated */
        json_t *slots;        /* object name -> JSON Schema that the manifest defines; may be NULL */
        uint64_t max_regions;   /* policy: regions alive at once in the store; 0: no limit */
        KeepPolicy layers;      /* policy: layers that the store keeps */
        UidRange uids;          /* policy: user ids of the host for regions, where the supervisor is root */
        uint64_t max_of_skill;  /* policy: regions of this skill alive at once; 0: no separate limit */
        Trace trace;          /* of the invocation, when the caller is traced; TRACEPARENT is in env */
        /* the user for whom the invocation runs, if not the supervisor's own; 0: the supervisor's own, or root */
        uid_t client;
        Embodiment embodiment;
        CommitWhen commit;
        /* array of {field, asked, granted, rule}: fields raised to the policy's floor; NULL: no such field */
        json_t *raised;
        json_t *reductions;   /* array of {field, asked, granted, rule}: fields cut by the operator */
        /* array of strings: rights of a sub-skill that the region above does not have; NULL: no such right */
        json_t *beyond;
} Grant;

enum {
        GRANT_E_REFUSED = 1,    /* policy forbids the command line's request, or the skill: exit code 125 */
        GRANT_E_USAGE,          /* the request does not fit the skill: no such entry, two mounts at one target */
        GRANT_E_SOURCE,         /* a granted file does not exist on the host */
        GRANT_E_NOT_FOUND,      /* the entry's program is not in the skill's folder: exit code 127 */
        GRANT_E_NOT_EXECUTABLE, /* the program is not an executable file: exit code 126 */
        /* outside of the policy's ranges, or the teardown does not fit the bound: exit code 125, and recorded */
        GRANT_E_BOUNDS,
        GRANT_E_GATE,           /* grant_attenuate(): a gate consults a slot that the region may not read */
};
