/* Runs: CLI. A page for auditors about a store's regions: one HTML file with its styles and drawings inside, no script, nothing fetched. What is not
 * proved is red and stands first. Text that comes from skills is escaped and isolated. */
#pragma once

#include "audit/regions.h"
#include "base/buf.h"

typedef struct ReportTotals {
        size_t regions, alive, ended, cleared, empty, uncovered, answers[REGION_QUESTIONS_N]; /* by question: regions to which it applies */
        /* uncovered: regions whose record names storage that was not overwritten */
        uint64_t held, overwritten, verified;                      /* bytes of all that ended */
        bool holds;                                                /* no answer that fails */
} ReportTotals;

/* since, until, skill, scope: as they were given, or NULL. Returns 0 or -errno. */
typedef struct ReportQuery {
        const char *since, *until, *skill, *scope;
        uint64_t now_usec;
} ReportQuery;
int report_render(const History *h, const ReportQuery *q, Buf *ret, ReportTotals *ret_totals);
