/* Runs: supervisor, CLI. The parts of policy_grant(): each cuts one kind of right down to what manifest, command line and policy all
 * allow. Pure. */
#pragma once

#include "policy/grant.h"

typedef struct Merge {
        const Skill *skill; /* NULL with --exec */
        const Manifest *manifest;
        const RunRequest *request;
        const Policy *policy;
        const SkillPolicy *row; /* the policy's own words about this skill, or NULL */
        Grant *grant;           /* written */
        Diag *reterr;
} Merge;

/* Each returns 0, GRANT_E_*, -ENOMEM. */
int merge_budget(Merge *m);
int merge_tier(Merge *m);
int merge_network(Merge *m);
int merge_files(Merge *m);
int merge_memory(Merge *m);
int merge_discipline(Merge *m);
/* The last: what is asked outside of the policy's ranges is raised, or refused (I-73). */
int merge_bounds(Merge *m);
/* After merge_budget(). `s` is the skill, whose entries the callbacks are. */
int merge_releases(Merge *m, const Skill *s);

bool merge_has_connect(const NetGrant *list, size_t n, const NetGrant *c);
/* 0: no root covers the path, 1: for reading, 2: for writing. */
int merge_covers(const Limits *l, const char *path);
/* Records that something was asked and less was given. Takes the rule as a format. */
int merge_reduce(Merge *m, const char *field, const char *asked, const char *granted, const char *fmt, ...) _printf_(5, 6);
/* The one that was recorded last was asked by nobody: it is a default (`default`, true). list: reductions, or what was raised. Returns 0 or -ENOMEM. */
int merge_is_default(json_t *list);
/* The same for what was raised. */
int merge_raise(Merge *m, const char *field, const char *asked, const char *granted, const char *rule);
/* "FILE#/WHAT" or "FILE#/skills/NAME/WHAT". Return out. */
const char *merge_where(const Merge *m, const Limits *l, const char *what, char out[static 512]);
/* The program and arguments of an entry, as a region starts them. Returns 0, GRANT_E_*, -ENOMEM. */
int grant_entry(const Skill *s, const Entry *e, char ***ret_argv, Diag *reterr);
