/* Runs: CLI. Inside of report*.c. */
#pragma once

#include "audit/report.h"

typedef struct Report {
        const History *h;
        const ReportQuery *q;
        ReportTotals totals;
        uint64_t from_usec, to_usec; /* of the time axis */
        Buf *out;
        int error;                   /* the first; nothing is written after it */
} Report;

void put(Report *r, const char *fmt, ...) _printf_(2, 3);
/* Text of others, escaped. */
void put_text(Report *r, const char *s);
void put_size(Report *r, uint64_t bytes);
void put_time(Report *r, uint64_t usec); /* to the second */

/* What kind of mark a region gets: "good", "bad" or "idle" (not ended). */
const char *report_mark(const RegionFacts *f);
bool report_fails(const RegionFacts *f);

extern const char report_style[];
void report_charts(Report *r);
void report_tables(Report *r);
