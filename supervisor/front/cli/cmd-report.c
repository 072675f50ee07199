/* Runs: CLI. */
#include "audit/report.h"
#include "base/clock.h"
#include "cli/query.h"
#include "cli/with-store.h"

#include <string.h>

static const char help[] =
        "Usage: lethe report [--since TIME] [--until TIME] [--skill NAME] [--scope SCOPE] -o FILE [--store DIR]\n\n"
        "Writes an HTML page about the regions of the store, for auditors: times, ends, teardown times against\n"
        "their bounds, bytes overwritten and read back, grades; unproved regions come first, in red. The page\n"
        "needs no script and loads no other file.\n\n" HELP_STORE
        "  -o, --output FILE the page; - is standard output\n"
        HELP_QUERY
        "  --json            reports the written file as a JSON object\n"
        "  -h, --help        print the help\n";

static json_t *report_to_json(const ReportTotals *t, const char *file) {
        _cleanup_json_ json_t *o = json_pack(
                "{s:i, s:s, s:b, s:o, s:o, s:o, s:o}", "version", 1, "file", file, "holds", t->holds, "regions",
                json_u64(t->regions), "ended", json_u64(t->ended), "alive", json_u64(t->alive), "uncovered",
                json_u64(t->uncovered));

        for (RegionQuestion q = 0; o && q < REGION_QUESTIONS_N; q++)
                if (json_object_set_new(o, region_questions[q].word, json_u64(t->answers[q])) < 0)
                        return NULL;
        return TAKE_PTR(o);
}

int cmd_report(int argc, char **argv) {
        static const struct option options[] = {OPTIONS_STORE, OPTIONS_QUERY, OPTION("output", 'o'), {0}};
        _cleanup_history_ History h = {0};
        _cleanup_store_ Store *s = NULL;
        _cleanup_txn_ Txn *t = NULL;
        _cleanup_buf_ Buf page = {.max = (size_t)1 << 30};
        const char *file;
        ReportTotals totals;
        StoreOptions o = {.help = help, .no_arguments = true, .letters = ":ho:", .once = QUERY_ONCE};
        QueryOptions query;
        Diag d = {0};
        int r;

        if (store_options(&o, argc, argv, options) < 0)
                return o.code;
        file = o.value['o'];
        if (!file)
                return cli_usage("report", "-o FILE is missing");
        if (query_options(&query, o.value, &d) < 0)
                return cli_usage("report", "%s", d.text);
        if (o.json && strcmp(file, "-") == 0)
                return cli_usage("report", "--json and -o - would both go to standard output");
        r = with_store_read("report", &o, &s, &t);
        if (r != EXIT_OK)
                return r;
        query.q.objects = true;
        r = history_read(t, &query.q, &h, &d)
                        ?: report_render(&h, &(ReportQuery){query.since, query.until, query.q.skill, query.q.scope,
                                                            clock_real_usec()}, &page, &totals);
        if (r != 0)
                return with_store_failed("report", s, r, &d);
        if (query_check_skill(&query, &h, &d) < 0)
                return cli_fail("report", EXIT_NOT, "%s", d.text);
        r = cli_write("report", file, page.data, page.n);
        if (r != EXIT_OK || strcmp(file, "-") == 0)
                return r;
        if (o.json)
                return cli_print("report", EXIT_OK, report_to_json(&totals, file));
        printf("%s: %zu region%s, %s\n", file, totals.regions, totals.regions == 1 ? "" : "s",
               totals.regions == 0 ? "no region to prove"
               : totals.holds      ? "all held memory is proved overwritten"
                                   : "some regions are not proved");
        return cli_done("report", EXIT_OK);
}
