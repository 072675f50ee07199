/* Runs: CLI. */
#include "audit/report.h"
#include "base/clock.h"
#include "cli/query.h"
#include "cli/with-store.h"

#include <getopt.h>
#include <string.h>

static const char help[] =
        "Usage: lethe report [--since TIME] [--until TIME] [--skill NAME] [--scope SCOPE] -o FILE [--store DIR]\n\n"
        "Writes one HTML page about the regions of the store, for auditors: when they ran, how they ended,\n"
        "teardown times against their bounds, bytes overwritten and read back, grades; what is not proved\n"
        "is red and comes first. It needs no script and fetches nothing.\n\n" HELP_STORE
        "  -o, --output FILE the page; - is standard output\n"
        "  --since TIME      regions allocated then or later: 2026-11-21, 2026-11-21T10:00Z, 12h (ago)\n"
        "  --until TIME      regions allocated before\n"
        "  --skill NAME      only regions of this skill\n"
        "  --scope SCOPE     only regions of this key scope: invocation or invocation-tree\n"
        "  --json            says what was written as one object\n"
        "  -h, --help        this text\n";

static json_t *to_json(const ReportTotals *t, const char *file) {
        json_t *o = json_pack("{s:i, s:s, s:b, s:o, s:o, s:o, s:o}", "version", 1, "file", file, "holds", t->holds, "regions", json_u64(t->regions), "ended",
                              json_u64(t->ended), "alive", json_u64(t->alive), "uncovered", json_u64(t->uncovered));

        for (RegionQuestion q = 0; o && q < REGION_QUESTIONS_N; q++)
                if (json_object_set_new(o, region_question_word(q), json_u64(t->answers[q])) < 0) {
                        json_decref(o);
                        return NULL;
                }
        return o;
}

int cmd_report(int argc, char **argv) {
        static const struct option options[] = {OPTIONS_STORE, OPTIONS_QUERY, {"output", required_argument, NULL, 'o'}, {0}};
        _cleanup_history_ History h = {0};
        _cleanup_store_ Store *s = NULL;
        _cleanup_txn_ Txn *t = NULL;
        _cleanup_buf_ Buf page = {.max = (size_t)1 << 30};
        const char *file = NULL;
        ReportTotals totals;
        StoreOptions o = {0};
        Query query = {0};
        Diag d = {0};
        int r, opt;

        while ((opt = getopt_long(argc, argv, ":ho:", options, NULL)) >= 0) {
                if (opt == 'h') {
                        fputs(help, stdout);
                        return cli_done("report", EXIT_OK);
                }
                if (opt == 'o') {
                        file = optarg;
                        continue;
                }
                r = query_option(&query, opt, optarg, &d);
                if (r < 0)
                        return cli_usage("report", "%s", d.text);
                if (r == 0 && !store_option(&o, opt, optarg))
                        return store_option_wrong(argv);
        }
        if (optind < argc)
                return cli_usage("report", "'%s' is one argument too many", argv[optind]);
        if (!file)
                return cli_usage("report", "-o FILE is missing");
        if (query_check(&query, &d) < 0)
                return cli_usage("report", "%s", d.text);
        if (o.json && strcmp(file, "-") == 0)
                return cli_usage("report", "--json and -o - would both go to standard output");
        r = with_store("report", &o, STORE_READ, &s);
        if (r != EXIT_OK)
                return r;
        r = store_begin(s, false, &t, &d);
        if (r == 0)
                r = history_read(t, &query.q, &h, &d);
        if (r == 0)
                r = report_render(&h, &(ReportQuery){query.since, query.until, query.q.skill, query.q.scope, clock_real_usec()}, &page, &totals);
        if (r != 0)
                return with_store_failed("report", s, r, &d);
        if (query_check_skill(&query, &h, &d) < 0)
                return cli_fail("report", EXIT_NOT, "%s", d.text);
        r = cli_write("report", file, page.data, page.n);
        if (r != EXIT_OK || strcmp(file, "-") == 0)
                return r;
        if (o.json) {
                _cleanup_json_ json_t *out = to_json(&totals, file);

                r = print_json(stdout, out);
                if (r < 0)
                        return with_store_failed("report", s, r, &d);
        } else
                printf("%s: %zu region%s, %s\n", file, totals.regions, totals.regions == 1 ? "" : "s", totals.regions == 0 ? "there is nothing to prove" : totals.holds ? "what was held at the end is proved overwritten" : "not everything is proved");
        return cli_done("report", EXIT_OK);
}
