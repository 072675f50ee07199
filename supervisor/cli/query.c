#include "cli/query.h"

#include "base/clock.h"

#include <errno.h>
#include <string.h>

static int moment(const char *name, const char *arg, uint64_t *ret, Diag *reterr) {
        char quoted[400];

        if (clock_parse_moment(arg, clock_real_usec(), ret) < 0)
                return diag(reterr, -EINVAL, "%s '%s' is not a time: 2026-11-21, 2026-11-21T10:00Z, or how long ago: 12h", name,
                            diag_quote(arg, strlen(arg), quoted, sizeof(quoted)));
        return 1;
}

int query_option(Query *q, int option, const char *arg, Diag *reterr) {
        char quoted[400];

        switch (option) {
        case 'S':
                q->since = arg;
                return moment("--since", arg, &q->q.since_usec, reterr);
        case 'U':
                q->until = arg;
                return moment("--until", arg, &q->q.until_usec, reterr);
        case 'K':
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
