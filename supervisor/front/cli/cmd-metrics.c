/* Runs: CLI. */
#include "audit/metrics.h"
#include "base/io.h"
#include "cli/with-store.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <string.h>

static const char help[] =
        "Usage: lethe metrics [--textfile FILE] [--store DIR]\n\n"
        "Prints counters about the store in the text format of Prometheus: regions by outcome, teardowns\n"
        "by grade, bytes overwritten, times, denials, slot writes. They are counted from the ledger; how far\n"
        "is remembered in the store, so that only new entries are read.\n\n" HELP_STORE
        "  --textfile FILE   writes FILE, whole or not at all, for node_exporter's textfile collector\n"
        "  --json            the same as one object\n"
        "  -h, --help        this text\n";

int cmd_metrics(int argc, char **argv) {
        static const struct option options[] = {OPTIONS_STORE, {"textfile", required_argument, NULL, 'f'}, {0}};
        _cleanup_store_ Store *s = NULL;
        _cleanup_txn_ Txn *t = NULL;
        _cleanup_buf_ Buf text = {.max = (size_t)16 << 20};
        _cleanup_json_ json_t *series = NULL;
        const char *file = NULL;
        StoreOptions o = {0};
        Diag d = {0};
        int r, opt;

        while ((opt = getopt_long(argc, argv, ":h", options, NULL)) >= 0) {
                if (opt == 'h') {
                        fputs(help, stdout);
                        return cli_done("metrics", EXIT_OK);
                }
                if (opt == 'f')
                        file = optarg;
                else if (!store_option(&o, opt, optarg))
                        return store_option_wrong(argv);
        }
        if (optind < argc)
                return cli_usage("metrics", "'%s' is one argument too many", argv[optind]);
        if (o.json && file)
                return cli_usage("metrics", "--json and --textfile: a textfile has the format of Prometheus");
        if (file && store_check_output(file, &d) < 0)
                return cli_fail("metrics", EXIT_NOT, "%s", d.text);
        r = with_store("metrics", &o, STORE_READ, &s);
        if (r != EXIT_OK)
                return r;
        r = store_begin(s, false, &t, &d);
        if (r == 0)
                r = metrics_read(t, &series, &d);
        if (r == 0 && o.json) {
                _cleanup_json_ json_t *out = metrics_json(series);

                r = print_json(stdout, out);
                return r == 0 ? cli_done("metrics", EXIT_OK) : with_store_failed("metrics", s, r, &d);
        }
        if (r == 0)
                r = metrics_text(series, &text);
        if (r != 0)
                return with_store_failed("metrics", s, r, &d);
        if (file) {
                r = io_write_file(AT_FDCWD, file, text.data, text.n, 0644, false);
                return r == 0 ? EXIT_OK : cli_fail("metrics", EXIT_NOT, "%s: cannot be written: %s", file, strerror(-r));
        }
        if (fwrite(text.data, 1, text.n, stdout) != text.n)
                return cli_fail("metrics", EXIT_NOT, "cannot write standard output");
        return cli_done("metrics", EXIT_OK);
}
