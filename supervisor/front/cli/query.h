/* Runs: CLI. Which regions a verb speaks of: options that `audit regions` and `report` share. */
#pragma once

#include "audit/history.h"
#include "cli/cli.h"

#define OPTIONS_QUERY                                                                                                  \
        {"since", required_argument, NULL, 'S'}, {"until", required_argument, NULL, 'U'}, {"skill", required_argument, NULL, 'K'}, \
                {"scope", required_argument, NULL, 'C'}

typedef struct Query {
        HistoryQuery q;
        const char *since, *until; /* as they were given; borrowed */
} Query;
/* Takes 'S', 'U', 'K' and 'C', each once. Returns 1 when it was one of them, 0 when not, -EINVAL with a message. */
int query_option(Query *q, int option, const char *arg, Diag *reterr);
/* What the options say together. Returns 0 or -EINVAL with a message. */
int query_check(const Query *q, Diag *reterr);
/* A skill that the ledger does not know is a slip of the pen, not an answer. Returns 0 or -EINVAL with a message. */
int query_check_skill(const Query *q, const History *h, Diag *reterr);
