/* Runs: CLI, supervisor. Turns a request of `lethe run` into a grant, or into a refusal with its exit code. */
#pragma once

#include "manifest/skill-kept.h"
#include "policy/grant.h"
#include "policy/request.h"
#include "store/store.h"

typedef struct SkillRequest {
        RunRequest request;
        const char *skill; /* SKILL|DIR, borrowed; NULL: --exec */
        bool registered;   /* SKILL only: no folder of that name */
        bool foreign;      /* DIR only: a user other than the caller may be able to change the folder */
        SkillsKept *kept;  /* borrowed, or NULL */
        bool alone;        /* the process has no second task: it may measure the speed of overwriting */
} SkillRequest;

typedef struct Refusal {
        int code;       /* the exit code of `lethe run` */
        bool usage;     /* the command line is wrong; code is 125 then, too */
        bool by_policy;
        Diag why;
} Refusal;

/* The skill or program, as messages name the request. */
const char *skill_request_name(const SkillRequest *a);
/* Sets code and message for a return value of request.h; an earlier message in r->why stays. */
void skill_request_failed(int e, Refusal *r);
/* Looks the skill up (store NULL: no store yet), and logs warnings of its manifest unless quiet. False: refused. */
bool resolve_request(const SkillRequest *a, Store *store, const Policy *policy, bool quiet, Grant *ret,
                     Refusal *reterr);
/* Records region.refused: the policy's ranges or the skill's own bound refuse the skill. store NULL: the store at
 * store_path. g: name and digest of the skill, and the given name. Returns 0 (durable), STORE_E_*, -errno. */
int refusal_record(Store *store, const char *store_path, const Grant *g, const char *message, Diag *reterr);
