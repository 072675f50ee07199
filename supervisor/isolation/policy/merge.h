/* Runs: supervisor, CLI. The parts of policy_grant(): each intersects manifest, command line and policy. Pure. */
#pragma once

#include "manifest/skill.h"
#include "policy/grant-types.h"
#include "policy/policy.h"
#include "policy/request.h"

typedef struct Merge {
        const Skill *skill; /* NULL with --exec */
        const Manifest *manifest;
        const RunRequest *request;
        const Policy *policy;
        const SkillPolicy *row; /* the policy's row for this skill, or NULL */
        Grant *grant;           /* written */
        Diag *reterr;
} Merge;

/* Each returns 0, GRANT_E_*, -ENOMEM. */
int merge_budget(Merge *m);
int merge_tier(Merge *m);
int merge_network(Merge *m);
int merge_files(Merge *m);
int merge_memory(Merge *m);
int merge_belief(Merge *m);
int merge_discipline(Merge *m);
/* The last step: requests outside of the policy's ranges are raised, or refused (I-73). */
int merge_bounds(Merge *m);
/* After merge_budget(); of a skill. */
int merge_releases(Merge *m);

bool merge_has_connect(const NetGrant *list, size_t n, const NetGrant *c);
/* Appends a copy, unless the grant has the address. Returns 0 or -ENOMEM. */
int merge_add_connect(Grant *g, const NetGrant *c);
/* The same for a host by name. */
int merge_add_allow(Grant *g, const NetName *a);
/* 0: no root covers the path, 1: for reading, 2: for writing. */
int merge_covers(const Limits *l, const char *path);
/* Appends {field, asked, granted, rule} to reductions or raised. Returns 0 or -ENOMEM. */
int merge_note(json_t *list, const char *field, const char *asked, const char *granted, const char *rule);
/* Records that a request was cut. The rule is a format. */
int merge_reduce(Merge *m, const char *field, const char *asked, const char *granted, const char *fmt, ...)
        _printf_(5, 6);
/* Marks the last change in list (reductions, raised) as the change of a default (`default`, true). Returns 0 or
 * -ENOMEM. */
int merge_is_default(json_t *list);
/* Records a right that the region above does not have. Returns 0 or -ENOMEM. */
int attenuate_beyond(Grant *g, const char *fmt, ...) _printf_(2, 3);
#define ATTENUATE_RULE "the region above lacks the right, and no row of the policy grants the right to this skill"
/* "FILE#/WHAT" or "FILE#/skills/NAME/WHAT". Returns out. */
const char *merge_where(const Merge *m, const Limits *l, const char *what, char out[static 512]);
#define WHERE(m, l, what) merge_where((m), (l), (what), (char[512]){0}) /* valid until the end of the block */
/* The program and arguments of an entry, in the form of Grant.argv. Returns 0, GRANT_E_*, -ENOMEM. */
int merge_entry(const Skill *s, const ManifestEntry *e, char ***ret_argv, Diag *reterr);
/* A file of the skill, `path` relative to the skill's folder: its row in the bundle (NULL: there is none), and its path
 * in the region, owned. said: the path for messages. Returns 0, GRANT_E_USAGE, -ENOMEM. */
int merge_skill_file(const Skill *s, const char *path, const char *said, const BundleFile **ret, char **ret_inside,
                     Diag *reterr);
/* merge_entry() for the file `path` of the skill, relative to the skill's folder. */
int merge_skill_program(char ***argv, const Skill *s, const char *path, Diag *reterr);
/* The same for a skill without entries: a file that is not executable gets its interpreter, by the line "#!", else by
 * the extension. */
int merge_script(char ***argv, const Skill *s, const char *path, Diag *reterr);
/* Nobody named a file of such a skill, or `shown` is no file: the message lists files that can be run. */
int merge_script_missing(const Skill *s, const char *shown_or_null, Diag *reterr);

/* Discipline "none" is for a skill whose row in the policy has its digest and says "trusted" (I-31). Skill NULL: a
 * program of --exec. Returns 0, or GRANT_E_REFUSED with a message. */
int policy_allows_discipline(const Policy *p, const Skill *skill_or_null, Discipline d, Diag *reterr);
/* The same check for the discipline in the skill's manifest, or for the policy's floor above that discipline. */
int policy_allows_ask(const Policy *p, const Skill *s, Diag *reterr);
