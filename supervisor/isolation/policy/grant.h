/* Runs: supervisor. The effective policy of one invocation: what the manifest asks for, cut down to what the operator allows.
 * Plain data, made by policy_grant(), read by spawn/, region/ and the dispatch. Everything is owned by the Grant. */
#pragma once

#include "base/diag.h"
#include "base/json.h"
#include "base/trace.h"
#include "base/util.h"
#include "manifest/skill.h"
#include "manifest/vocabulary.h" /* Tier, Budget, FileGrant, NetworkMode, NetGrant, DenialMode */
#include "policy/policy.h"
#include "policy/request.h"

/* A release callback: an entry of the same skill, to be run in a region of its own when this one ends (I-35). */
typedef struct ReleaseGrant {
        char *entry;          /* its name in lethe.json */
        char **argv;          /* as Grant.argv, without arguments of the command line */
        Budget budget;        /* never more than the region's own, and at most half of its memory; the time that is left of the cancel bound cuts it further */
} ReleaseGrant;

/* Whose word the size of a budget is; and so who can make it larger. */
typedef enum LimitBy { LIMIT_BY_DEFAULT, LIMIT_BY_OPTION, LIMIT_BY_MANIFEST, LIMIT_BY_POLICY, LIMIT_BY_ABOVE } LimitBy;
const char *limit_by_name(LimitBy by); /* "default", "option", "manifest", "policy", "region_above" */

typedef struct Grant {
        char *skill_name;     /* of SKILL.md, or the program's base name with --exec */
        char *skill_digest;   /* "sha256:" + 64 hex; of the program file with --exec */
        char *skill_dir;      /* host path of the folder bound at /skill: the skill's copy in the store (manifest/copy.h); NULL with --exec */
        char *skill_folder;   /* host path of the folder of which the copy was made: for people, and for what is looked up by it; NULL with --exec */
        char *program;        /* --exec: path in the region at which its copy is bound: of all but system folders that only root can write; else NULL */
        char *program_copy;   /* host path of that copy, in the store */
        char *program_link;   /* --exec: a link that the region is given, because the program was called by it: its place, and where it leads; NULL: none */
        char *program_end;
        bool program_granted; /* --exec: its file lies in a granted file or folder */
        bool program_loose;   /* --exec: others than root can change a link or folder on the way to it: what runs may differ from what was hashed */
        char **argv;          /* NULL-terminated; argv[0] as it is looked up inside the region (PATH, /skill-relative or absolute) */
        char **env;           /* NULL-terminated NAME=VALUE: the whole environment but LETHE_REGION=<id>, which spawn/ appends */
        char *name;           /* --name: by which the user will speak of the region; or NULL */
        char *workdir;        /* absolute, in the region; default /work */
        Budget budget;
        LimitBy limit_by[BUDGET_FIELDS]; /* of the budget, as budget_fields */
        Tier min_tier;        /* below it the run is refused */
        Tier tier;            /* --tier: exactly this one (never below min_tier); 0: the best that the machine has */
        FileGrant *files;
        size_t n_files;
        NetworkMode network;
        NetGrant *connects;
        size_t n_connects;
        bool network_closed;  /* --network none: nothing below this region has any either */
        bool proc;            /* mount /proc with subset=pid */
        DenialMode on_denial;
        bool report_paths;    /* path denials are reported too (costs one notification an open) */
        uint64_t cancel_bound_usec;
        bool cancel_declared; /* lethe.json says it: it is not made longer */
        uint64_t cancel_ceiling_usec; /* of the policy; 0: none */
        uint64_t teardown_usec; /* what the overwriting of all that the budget allows is predicted to take (policy/admit.h); 0: nobody asked */
        Discipline discipline;
        unsigned passes;      /* overwrites of each byte: 1 with zero, 1 to PASSES_MOST with multipass, 0 with none */
        LineageDetail lineage;
        KeyScope key_scope;
        json_t *sections;     /* object name -> {"schema": JSON Schema, "bytes": integer, its most}; may be NULL */
        char **resources;     /* names of what the skill holds outside its region, NULL-terminated; may be NULL */
        ReleaseGrant *releases; /* in the manifest's order; they run in reverse */
        size_t n_releases;
        char **preload;       /* modules that an interpreter has imported before the skill's data come, NULL-terminated; NULL: none is warm */
        char *interpreter;    /* the entry's program, when it is an interpreter of the system that can be started before it is told what to run: its
                               * environment is the usual one, its first argument a file. NULL: no such */
        char **sub_skills;    /* names that skill.run may start, NULL-terminated; may be NULL */
        char *notes;          /* scope of the notes that it may add; NULL: none */
        char *canon;          /* scope whose shared belief it may read; NULL: none */
        MemoryRight *memory;  /* of typed memory: scopes, and what it may do there; none: n_memory 0 */
        size_t n_memory;
        json_t *gates;        /* array of {"slot": name, "schema": JSON Schema}; may be NULL */
        char **reads, **writes; /* slot names, NULL-terminated */
        json_t *slots;        /* object name -> JSON Schema that the manifest defines; may be NULL */
        uint64_t max_regions;   /* policy: regions alive at once in the store; 0: no limit */
        UidRange uids;          /* policy: user ids of the host for regions, where the supervisor is root */
        uint64_t max_of_skill;  /* policy: regions of this skill alive at once; 0: no limit of its own */
        Trace trace;          /* of the invocation, when its caller is in one; TRACEPARENT is in env */
        uid_t client;         /* for whom the invocation is, when it is another user's; 0: the supervisor's own, or root's */
        Embodiment embodiment;
        CommitWhen commit;
        json_t *raised;       /* array of {field, asked, granted, rule}: where the policy's floor is above what was asked; NULL: nowhere */
        json_t *reductions;   /* array of {field, asked, granted, rule}: where the operator gave less */
        json_t *beyond;       /* array of strings: what a sub-skill has and the region that started it has not; NULL: nothing */
} Grant;

void grant_deinit(Grant *g);
/* What each skill's environment begins with: NAME=VALUE, NULL-terminated. */
extern const char *const grant_usual_env[];
/* Sets g->interpreter, by the members that are set already. Returns 0 or -ENOMEM. */
int grant_find_interpreter(Grant *g);
/* Memory of the budget that the region's own processes do not get, so that a callback has it while the region stands there and holds its own: what the
 * largest of them may have. One runs at a time. */
uint64_t grant_set_aside(const Grant *g);
#define _cleanup_grant_ _cleanup_(grant_deinit)

/* The rights of a region, and for whom, without what the region is told: no arguments, no environment, no trace, and nothing of how the grant came about.
 * Returns 0 or -ENOMEM. */
int grant_copy_untold(const Grant *g, Grant *ret);
/* Two grants that allow the same, member by member; what grant_copy_untold() leaves out is not looked at, nor how long a bound is that nobody declared. */
bool grant_same(const Grant *a, const Grant *b);

enum {
        GRANT_E_REFUSED = 1,    /* policy forbids what the command line asks, or this skill at all: exit code 125 */
        GRANT_E_USAGE,          /* the request does not fit the skill: no entry of that name, two mounts at one target */
        GRANT_E_SOURCE,         /* a granted file does not exist on the host */
        GRANT_E_NOT_FOUND,      /* the entry's program is not in the skill's folder: exit code 127 */
        GRANT_E_NOT_EXECUTABLE, /* it is there but not an executable file: exit code 126 */
        GRANT_E_BOUNDS,         /* outside of the policy's ranges, or its teardown does not fit its bound: exit code 125, and recorded */
        GRANT_E_GATE,           /* grant_within(): a gate consults a slot that is not to be read */
};

/* The intersection of what the skill asks (NULL with --exec), what the command line says and what the policy allows. Pure: it looks at
 * nothing but its arguments. A grant never exceeds any of the three; what the skill asked and did not get is in `reductions`, what the
 * command line asked and may not have is a refusal. Returns 0, GRANT_E_* with a message, -ENOMEM. */
int policy_grant(const Skill *skill_or_null, const RunRequest *request, const Policy *policy, Grant *ret, Diag *reterr);

/* Discipline "none" is for a skill whose row in the policy, with its digest, says "trusted" (I-31). Skill NULL: a program of --exec. Returns
 * 0, or GRANT_E_REFUSED with a message. */
int policy_allows_discipline(const Policy *p, const Skill *skill_or_null, Discipline d, Diag *reterr);
/* The same of the discipline that the skill asks for, or to which a floor of the policy raises it. */
int policy_allows_ask(const Policy *p, const Skill *s, Diag *reterr);

/* Cuts a grant down for a region that another one starts; what is cut is in `reductions`. Budget: to `most`, member by member. Network, files, slots, typed
 * memory, notes and shared belief: to what `above` has, and what the policy's row for this very skill grants, which is told in `beyond`; the general part of
 * the policy grants nothing here, and --network none holds for all below. Discipline and cancel bound: not weaker than those of `above`, from where its data
 * come. Pure. Returns 0, GRANT_E_REFUSED when a member of the budget would be less than any region can have, GRANT_E_GATE, -ENOMEM. */
int grant_within(Grant *g, const Grant *above, const Budget *most, const Policy *policy_or_null, Diag *reterr);

/* The grant as it is recorded in region.allocated; sizes in bytes, times in usec. Arguments and values of the environment are left out:
 * they may hold what the user asked the skill, and the ledger never forgets (I-2). At most GRANT_RECORD_MAX bytes. New reference. */
#define GRANT_RECORD_MAX 32768
json_t *grant_to_json(const Grant *g);
/* The other way, for grant_within(): budget, files, network, discipline, slots, memory, notes and belief of a recorded grant, nothing else. What cannot be
 * read, or was left out because it was too long, is not granted. Returns 0 or -ENOMEM. */
int grant_recorded(const json_t *o, Grant *ret);
/* `run --dry-run --json`: the same with "version", arguments and environment. New reference. */
json_t *grant_show_json(const Grant *g);
/* `run --dry-run`: for a person. Owned text, NULL when out of memory. */
char *grant_show_text(const Grant *g);
