/* Runs: CLI. */
#include "audit/metrics.h"
#include "base/io.h"
#include "cli/with-store.h"

#include <fcntl.h>
#include <string.h>

static const char help[] =
        "Usage: lethe metrics [--textfile FILE] [--store DIR]\n\n"
        "Prints counters about the store in the text format of Prometheus: regions by outcome, teardowns\n"
        "by grade, bytes overwritten, times, denials, slot writes. The source is the ledger; the store\n"
        "remembers the counted entries, so that only new entries are read.\n\n" HELP_STORE
        "  --textfile FILE   writes FILE, whole or not at all, for node_exporter's textfile collector\n"
        "  --json            the counters as a JSON object\n"
        "  -h, --help        print the help\n";

int cmd_metrics(int argc, char **argv) {
        static const struct option options[] = {OPTIONS_STORE, OPTION("textfile", 'f'), {0}};
        _cleanup_store_ Store *s = NULL;
        _cleanup_txn_ Txn *t = NULL;
        _cleanup_buf_ Buf text = {.max = (size_t)16 << 20};
        _cleanup_json_ json_t *series = NULL;
        const char *file;
        StoreOptions o = {.help = help, .no_arguments = true};
        Diag d = {0};
        int r;

        if (store_options(&o, argc, argv, options) < 0)
                return o.code;
        file = o.value['f'];
        if (o.json && file)
                return cli_usage("metrics", "--json and --textfile: a textfile has the format of Prometheus");
        if (file && store_check_output(file, &d) < 0)
                return cli_fail("metrics", EXIT_NOT, "%s", d.text);
        r = with_store_read("metrics", &o, &s, &t);
        if (r != EXIT_OK)
                return r;
        r = metrics_read(t, &series, &d);
        if (r == 0 && o.json)
                return cli_print("metrics", EXIT_OK, metrics_json(series));
        if (r == 0)
                r = metrics_text(series, &text);
        if (r != 0)
                return with_store_failed("metrics", s, r, &d);
        if (file) {
                r = io_write_file(AT_FDCWD, file, text.data, text.n, 0644, false);
                return r == 0 ? EXIT_OK
                              : cli_fail("metrics", EXIT_NOT, "%s: cannot be written: %s", file, strerror(-r));
        }
        return cli_write("metrics", NULL, text.data, text.n);
}
