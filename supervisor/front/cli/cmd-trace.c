/* Runs: CLI. */
#include "audit/span.h"
#include "cli/query.h"
#include "cli/said.h"
#include "cli/with-store.h"

#include <errno.h>
#include <getopt.h>
#include <string.h>

static const char help[] =
        "Usage: lethe trace [--since TIME] [--until TIME] [--skill NAME] [--scope SCOPE] [--region REGION|--last] [--store DIR]\n\n"
        "Prints the regions that ended as spans of OpenTelemetry, one JSON line of OTLP a region, for the\n"
        "collector's otlpjsonfile receiver. `lethe run` with TRACEPARENT in its environment is in the caller's\n"
        "trace, and hands a TRACEPARENT of its own to what it runs.\n\n" HELP_STORE
        "  --since TIME      regions allocated then or later: 2026-11-21, 2026-11-21T10:00Z, 12h (ago)\n"
        "  --until TIME      regions allocated before\n"
        "  --skill NAME      only regions of this skill\n"
        "  --scope SCOPE     only regions of this key scope: invocation or invocation-tree\n"
        "  --region REGION   only this one: its id, the beginning of one, or a name\n"
        HELP_SAID
        "  --json            it is JSON anyway\n"
        "  -h, --help        this text\n";

static int print(const History *h, const HistoryQuery *q, bool *ret_any) {
        for (size_t i = 0; i < h->n; i++) {
                _cleanup_json_ json_t *o = NULL;
                int r;

                if (!history_wanted(q, h->regions[i]))
                        continue;
                *ret_any = true;
                if (h->regions[i]->ended == 0)
                        continue;
                o = span_of_region(h, i);
                r = o ? print_json(stdout, o) : -ENOMEM;
                cli_goes_on();
                if (r < 0)
                        return r;
        }
        return 0;
}

int cmd_trace(int argc, char **argv) {
        static const struct option options[] = {OPTIONS_STORE, OPTIONS_QUERY, OPTIONS_SAID, {"region", required_argument, NULL, 'r'}, {0}};
        _cleanup_history_ History h = {0};
        _cleanup_store_ Store *s = NULL;
        _cleanup_txn_ Txn *t = NULL;
        StoreOptions o = {0};
        Query query = {0};
        Said said = {0};
        RegionId region;
        bool any = false;
        Diag d = {0};
        int r, opt;

        while ((opt = getopt_long(argc, argv, ":h", options, NULL)) >= 0) {
                if (opt == 'h') {
                        fputs(help, stdout);
                        return cli_done("trace", EXIT_OK);
                }
                if (opt == 'r') {
                        said.text = optarg;
                        continue;
                }
                if (opt == 'L') {
                        said.last = true;
                        continue;
                }
                r = query_option(&query, opt, optarg, &d);
                if (r < 0)
                        return cli_usage("trace", "%s", d.text);
                if (r == 0 && !store_option(&o, opt, optarg))
                        return store_option_wrong(argv);
        }
        if (optind < argc)
                return cli_usage("trace", "'%s' is one argument too many", argv[optind]);
        if (query_check(&query, &d) < 0)
                return cli_usage("trace", "%s", d.text);
        r = said_option("trace", &said);
        if (r == EXIT_OK)
                r = with_store("trace", &o, STORE_READ, &s);
        if (r == EXIT_OK && (said.last || said.text)) {
                r = said_region("trace", s, &said, region);
                query.q.region = region;
        }
        if (r != EXIT_OK)
                return r;
        r = store_begin(s, false, &t, &d);
        /* All of them: what is above a region that is wanted says in which trace it is. */
        if (r == 0)
                r = history_read(t, &(HistoryQuery){.skill = NULL}, &h, &d);
        if (r == 0)
                r = print(&h, &query.q, &any);
        if (r != 0)
                return with_store_failed("trace", s, r, &d);
        if (query.q.region && !any)
                return cli_fail("trace", EXIT_NOT, "region %s is not in the ledger", query.q.region);
        return cli_done("trace", EXIT_OK);
}
