/* Runs: supervisor, CLI. The parts of policy_grant(): each cuts one kind of right down to what manifest, command line and policy all
 * allow. Pure. */
#pragma once

#include "policy/grant.h"

typedef struct Merge {
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
