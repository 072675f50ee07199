#include "cli/query.h"

#include "base/clock.h"

#include <errno.h>
#include <string.h>

static int query_moment(const char *name, const char *arg, uint64_t *ret, Diag *reterr) {
        char quoted[400];

        if (!arg || clock_parse_moment(arg, clock_real_usec(), ret) == 0)
                return 0;
        return diag(reterr, -EINVAL, "%s '%s' is not a time: 2026-11-21, 2026-11-21T10:00Z, or how long ago: 12h", name,
                    diag_quote(arg, strlen(arg), quoted, sizeof(quoted)));
}

int query_options(QueryOptions *q, const char *const *value, Diag *reterr) {
        const char *skill = value['K'], *scope = value['C'];
        char quoted[400], since[200], until[200];
        int r;

        *q = (QueryOptions){.q = {.skill = skill, .scope = scope}, .since = value['S'], .until = value['U']};
        r = query_moment("--since", q->since, &q->q.since_usec, reterr)
                    ?: query_moment("--until", q->until, &q->q.until_usec, reterr);
        if (r < 0)
                return r;
        if (skill && !*skill)
                return diag(reterr, -EINVAL, "--skill is empty: give a skill's name");
        if (scope && strcmp(scope, "invocation") != 0 && strcmp(scope, "invocation-tree") != 0)
                return diag(reterr, -EINVAL, "--scope '%s': a key scope is invocation or invocation-tree",
                            diag_quote(scope, strlen(scope), quoted, sizeof(quoted)));
        if (!q->since || !q->until || q->q.since_usec < q->q.until_usec)
                return 0;
        return diag(reterr, -EINVAL, "--since '%s' is not before --until '%s'",
                    diag_quote(q->since, strlen(q->since), since, sizeof(since)),
                    diag_quote(q->until, strlen(q->until), until, sizeof(until)));
}

int query_check_skill(const QueryOptions *q, const History *h, Diag *reterr) {
        char quoted[400];

        if (!q->q.skill || h->knows_skill)
                return 0;
        return diag(reterr, -EINVAL, "--skill '%s': the ledger has no region and no registration of the skill",
                    diag_quote(q->q.skill, strlen(q->q.skill), quoted, sizeof(quoted)));
}
