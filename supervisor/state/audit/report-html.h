/* Runs: CLI. Inside of report*.c: the page while it is written. */
#pragma once

#include "audit/report.h"

typedef struct Report {
        const History *h;
        const ReportQuery *q;
        ReportTotals totals;
        uint64_t from_usec, to_usec; /* of the time axis */
        Buf *out;
        int error; /* the first error; ends all output */
} Report;

void report_put(Report *r, const char *fmt, ...) _printf_(2, 3);
/* Text of skills, escaped. */
void report_put_text(Report *r, const char *s);
void report_put_size(Report *r, uint64_t bytes);
void report_put_time(Report *r, uint64_t usec); /* to the second */

/* The kind of mark for a region: "good", "bad" or "idle" (not ended). */
const char *report_mark(const RegionFacts *f);
bool report_fails(const RegionFacts *f);

/* class and label: fixed words; names: of the columns, NULL at the end, a leading + for numbers. The caller ends the table
 * with "</tbody></table></div>". */
void report_table_head(Report *r, const char *class, const char *label, const char *const *names);
void report_charts(Report *r);
void report_objects(Report *r);
void report_tables(Report *r);
