/* Runs: CLI, supervisor. What `lethe run` was asked, and what is made of it: a grant, or a refusal with its exit code. */
#pragma once

#include "manifest/skill-kept.h"
#include "policy/grant.h"
#include "policy/request.h"
#include "store/store.h"

typedef struct SkillRequest {
        RunRequest request;
        const char *skill; /* SKILL|DIR, borrowed; NULL: --exec */
        bool registered;   /* SKILL only: no folder of that name */
        bool foreign;      /* DIR only: another user may be able to change it */
        SkillsKept *kept;  /* borrowed, or NULL */
        bool alone;        /* a process that does nothing else yet: it may measure what overwriting takes */
} SkillRequest;

typedef struct Refusal {
        int code;       /* what `lethe run` exits with */
        bool usage;     /* the command line is wrong; code is 125 then, too */
        bool by_policy;
        Diag why;
} Refusal;

/* What a refusal is told of. */
const char *skill_request_name(const SkillRequest *a);
/* Fills in code and words for what a function of request.h returned; its message, if it gave one, stands in r->why already. */
void skill_request_failed(int e, Refusal *r);
/* The skill is looked up (store NULL: there is none yet), warnings of its manifest are told unless quiet. False: refused. */
bool resolve_request(const SkillRequest *a, Store *store, const Policy *policy, bool quiet, Grant *ret, Refusal *reterr);
