/* Runs: supervisor. The effective policy of an invocation: the manifest's requests, cut down to the operator's policy.
 * Plain data, made by policy_grant(), read by spawn/, region/ and the dispatch. All members are owned by the Grant. */
#pragma once

#include "manifest/skill.h"
#include "policy/grant-types.h"
#include "policy/policy.h"
#include "policy/request.h"

const char *limit_by_name(LimitBy by); /* "default", "option", "manifest", "policy", "region_above" */

void grant_deinit(Grant *g);
/* Whether the region has a devpts of its own, and may make terminals there. */
static inline bool grant_has_terminals(const Grant *g, Tier tier) {
        return tier == TIER_NAMESPACES && (g->terminal || g->terminals);
}
/* A network namespace is the dearest part of a start, and without sockets separates only /proc/PID/net. */
static inline bool grant_has_net_namespace(const Grant *g) {
        return g->network == NETWORK_LOOPBACK || (g->network != NETWORK_HOST && g->proc);
}
/* The beginning of each skill's environment: NAME=VALUE, NULL-terminated. */
extern const char *const grant_usual_env[];
/* Memory of the budget that is kept from the region's own processes: the largest memory of a release callback, which
 * runs while the region still holds its memory. Callbacks run one at a time. */
uint64_t grant_set_aside(const Grant *g);
#define _cleanup_grant_ _cleanup_(grant_deinit)

/* Copies the rights of a region and its client, without the invocation's own data: no arguments, environment or trace,
 * and no history of the grant. Returns 0 or -ENOMEM. */
int grant_copy_untold(const Grant *g, Grant *ret);
/* Whether two grants allow the same; ignores the members that grant_copy_untold() leaves out, and undeclared bounds. */
bool grant_same(const Grant *a, const Grant *b);

/* The intersection of the skill's requests (NULL with --exec), the command line and the policy. Pure: depends on the
 * arguments only. A grant never exceeds any of the three. A request of the skill that is cut is listed in `reductions`;
 * a forbidden request of the command line is refused. Returns 0, GRANT_E_* with a message, -ENOMEM. */
int policy_grant(const Skill *skill_or_null, const RunRequest *request, const Policy *policy, Grant *ret, Diag *reterr);

/* Cuts a grant down for a region that another region starts; cuts are listed in `reductions`. Budget: to `most`, member
 * by member. Network, files, slots, typed memory, notes and shared belief: to the rights of `above` and of the policy's
 * row for this very skill; rights from the row are listed in `beyond`. The general part of the policy grants nothing
 * here, and --network none holds for all below. Discipline and cancel bound: not weaker than in `above`, the source of
 * the data. Pure. Returns 0, GRANT_E_REFUSED when a budget would be below a region's least, GRANT_E_GATE, -ENOMEM. */
int grant_attenuate(Grant *g, const Grant *above, const Budget *most, const Policy *policy_or_null, Diag *reterr);

/* Cuts a grant down to the trust scope of an object (schema/object.md; complete form): slots read and written,
 * sub-skills. Typed memory, notes and belief have no names in a trust scope: they stay with "*" alone, by "reads" and
 * "writes". Proposals count after exit code 0 alone, whatever the manifest says, so that a crash keeps none (O-38). Cuts
 * are listed in `reductions` with the rule. Pure. Returns 0, GRANT_E_GATE, -ENOMEM. */
int grant_narrow(Grant *g, const json_t *scope, const char *rule, Diag *reterr);

/* The grant in the form of region.allocated; sizes in bytes, times in usec. Arguments and values of the environment are
 * left out: they may contain the user's words, and the ledger never forgets (I-2). At most GRANT_RECORD_MAX bytes. New
 * reference. */
#define GRANT_RECORD_MAX 32768
json_t *grant_to_json(const Grant *g);
/* Reads a recorded grant for grant_attenuate(): only budget, files, network, discipline, slots, memory, notes, belief.
 * Unreadable or cut lists are not granted. Returns 0 or -ENOMEM. */
int grant_recorded(const json_t *o, Grant *ret);
/* `run --dry-run --json`: like grant_to_json(), with "version", arguments and environment. New reference. */
json_t *grant_show_json(const Grant *g);
/* `run --dry-run`: for the user. Owned text, NULL when out of memory. */
char *grant_show_text(const Grant *g);
