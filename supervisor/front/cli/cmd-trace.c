/* Runs: CLI. */
#include "audit/span.h"
#include "cli/query.h"
#include "cli/region-selector.h"
#include "cli/with-store.h"

static const char help[] =
        "Usage: lethe trace [--since TIME] [--until TIME] [--skill NAME] [--scope SCOPE] [--region REGION|--last] [--store DIR]\n\n"
        "Prints the ended regions as spans of OpenTelemetry, a JSON line of OTLP for each region, for the\n"
        "collector's otlpjsonfile receiver. With TRACEPARENT in its environment `lethe run` joins the caller's\n"
        "trace, and gives the program a TRACEPARENT of its own.\n\n" HELP_STORE
        HELP_QUERY
        "  --region REGION   only the region: its id, the beginning of an id, or a name\n"
        HELP_LAST
        "  --json            accepted; the output is always JSON\n"
        "  -h, --help        print the help\n";

static int trace_print(const History *h, const HistoryQuery *q, bool *ret_any) {
        int r = 0;

        for (size_t i = 0; i < h->n && r == 0; i++) {
                if (!history_wanted(q, h->regions[i]))
                        continue;
                *ret_any = true;
                if (h->regions[i]->ended != 0)
                        r = cli_print_item(span_of_region(h, i));
        }
        return r;
}

int cmd_trace(int argc, char **argv) {
        static const struct option options[] = {OPTIONS_STORE, OPTIONS_QUERY, OPTION_LAST, OPTION("region", 'r'), {0}};
        _cleanup_history_ History h = {0};
        _cleanup_store_ Store *s = NULL;
        _cleanup_txn_ Txn *t = NULL;
        StoreOptions o = {.help = help, .no_arguments = true, .once = QUERY_ONCE};
        QueryOptions query;
        RegionSelector selector;
        RegionId region;
        bool any = false;
        Diag d = {0};
        int r;

        if (store_options(&o, argc, argv, options) < 0)
                return o.code;
        if (query_options(&query, o.value, &d) < 0)
                return cli_usage("trace", "%s", d.text);
        selector = (RegionSelector){.text = o.value['r'], .last = o.value['L']};
        r = selector_option("trace", &selector) ?: with_store("trace", &o, STORE_READ, &s);
        if (r == EXIT_OK && (selector.last || selector.text)) {
                r = selector_region("trace", s, &selector, region);
                query.q.region = region;
        }
        if (r != EXIT_OK)
                return r;
        r = store_begin(s, false, &t, &d);
        /* Reads all regions: the regions above a wanted region determine the trace. */
        if (r == 0)
                r = history_read(t, &(HistoryQuery){.skill = NULL}, &h, &d) ?: trace_print(&h, &query.q, &any);
        if (r != 0)
                return with_store_failed("trace", s, r, &d);
        if (query.q.region && !any)
                return cli_fail("trace", EXIT_NOT, "region %s is not in the ledger", query.q.region);
        return cli_done("trace", EXIT_OK);
}
