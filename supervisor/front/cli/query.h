/* Runs: CLI. The filter for regions: options shared by `audit regions`, `report` and `trace`. */
#pragma once

#include "audit/history.h"
#include "cli/cli.h"

#define OPTIONS_QUERY OPTION("since", 'S'), OPTION("until", 'U'), OPTION("skill", 'K'), OPTION("scope", 'C')
#define HELP_QUERY \
        "  --since TIME      regions allocated then or later: 2026-11-21, 2026-11-21T10:00Z, 12h (ago)\n" \
        "  --until TIME      regions allocated before\n" \
        "  --skill NAME      only regions of the skill\n" \
        "  --scope SCOPE     only regions of the key scope: invocation or invocation-tree\n"

typedef struct QueryOptions {
        HistoryQuery q;
        const char *since, *until; /* as given; borrowed */
} QueryOptions;
#define QUERY_ONCE "SUKC" /* for StoreOptions.once */
/* Reads the options 'S', 'U', 'K' and 'C' out of the values by letter, and checks them together. Returns 0 or -EINVAL
 * with a message. */
int query_options(QueryOptions *q, const char *const *value, Diag *reterr);
/* Refuses a skill unknown to the ledger: a typing error must not give an empty answer. Returns 0 or -EINVAL with a
 * message. */
int query_check_skill(const QueryOptions *q, const History *h, Diag *reterr);
