/* Runs: CLI. A page for auditors about a store's regions: one HTML file with styles and drawings inside, no script, no
 * external resource. Unproved regions are red and stand first. Text of skills is escaped and isolated. */
#pragma once

#include "audit/regions.h"
#include "base/buf.h"

typedef struct ReportTotals {
        size_t regions, alive, ended, cleared, empty, uncovered, answers[REGION_QUESTIONS_N];
        /* uncovered: regions whose record names storage that was not overwritten */
        uint64_t held, overwritten, verified;                      /* bytes of all ended regions */
        bool holds;                                                /* no question with a failure */
} ReportTotals;

/* since, until, skill, scope: as given, or NULL. Returns 0 or -errno. */
typedef struct ReportQuery {
        const char *since, *until, *skill, *scope;
        uint64_t now_usec;
} ReportQuery;
int report_render(const History *h, const ReportQuery *q, Buf *ret, ReportTotals *ret_totals);
