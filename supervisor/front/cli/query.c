#include "cli/query.h"

#include "base/clock.h"

#include <errno.h>
#include <string.h>

static int query_moment(const char *name, const char *arg, uint64_t *ret, Diag *reterr) {
        char quoted[400];

        if (clock_parse_moment(arg, clock_real_usec(), ret) < 0)
                return diag(reterr, -EINVAL,
                            "%s '%s' is not a time: 2026-11-21, 2026-11-21T10:00Z, or how long ago: 12h", name,
                            diag_quote(arg, strlen(arg), quoted, sizeof(quoted)));
        return 1;
}

int query_option(QueryOptions *q, int option, const char *arg, Diag *reterr) {
        const struct {
                int option;
                const char *name, *value;
        } given[] = {{'S', "--since", q->since},
                     {'U', "--until", q->until},
                     {'K', "--skill", q->q.skill},
                     {'C', "--scope", q->q.scope}};
        char quoted[400];

        for (size_t i = 0; i < ARRAY_SIZE(given); i++)
                if (given[i].option == option && given[i].value)
                        return diag(reterr, -EINVAL, "%s may be given once", given[i].name);
        switch (option) {
        case 'S':
                q->since = arg;
                return query_moment("--since", arg, &q->q.since_usec, reterr);
        case 'U':
                q->until = arg;
                return query_moment("--until", arg, &q->q.until_usec, reterr);
        case 'K':
                if (!*arg)
                        return diag(reterr, -EINVAL, "--skill is empty: give a skill's name");
                q->q.skill = arg;
                return 1;
        case 'C':
                if (strcmp(arg, "invocation") != 0 && strcmp(arg, "invocation-tree") != 0)
                        return diag(reterr, -EINVAL, "--scope '%s': a key scope is invocation or invocation-tree",
                                    diag_quote(arg, strlen(arg), quoted, sizeof(quoted)));
                q->q.scope = arg;
                return 1;
        default:
                return 0;
        }
}

int query_check(const QueryOptions *q, Diag *reterr) {
        char since[200], until[200];

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
