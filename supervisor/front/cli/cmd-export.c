/* Runs: CLI. */
#include "cli/with-store.h"
#include "ledger/export.h"
#include "store/store.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <string.h>

static const char help[] = "Usage: lethe export [--json] [--store DIR] DIR\n\n"
                           "Writes the ledger into a new or empty folder as static files that other programs verify\n"
                           "(c2sp.org/tlog-tiles): checkpoint, vkey, tile/L/N and tile/entries/N.\n\n" HELP_STORE
                           "  --json            says what was written as one object\n"
                           "  -h, --help        this text\n";

int cmd_export(int argc, char **argv) {
        static const struct option options[] = {OPTIONS_STORE, {0}};
        _cleanup_store_ Store *s = NULL;
        _cleanup_txn_ Txn *t = NULL;
        StoreOptions o = {0};
        _cleanup_free_ char *in = NULL;
        const char *dir;
        Checkpoint c;
        Diag d = {0};
        int r, opt;

        while ((opt = getopt_long(argc, argv, ":h", options, NULL)) >= 0) {
                if (opt == 'h') {
                        fputs(help, stdout);
                        return cli_done("export", EXIT_OK);
                }
                if (!store_option(&o, opt, optarg))
                        return store_option_wrong(argv);
        }
        if (optind + 1 != argc || !*argv[optind])
                return cli_usage("export", "it takes one folder");
        dir = argv[optind];
        if (asprintf(&in, "%s/.", dir) < 0)
                in = NULL;
        if (!in || store_check_output(in, &d) < 0)
                return cli_fail("export", EXIT_NOT, "%s", in ? d.text : strerror(ENOMEM));
        r = with_store("export", &o, STORE_READ, &s);
        if (r != EXIT_OK)
                return r;
        r = store_begin(s, false, &t, &d);
        if (r == 0)
                r = export_write(t, dir, &c, &d);
        if (r != 0)
                return with_store_failed("export", s, r, &d);
        if (o.json) {
                _cleanup_json_ json_t *out = json_pack("{s:i, s:s, s:s, s:o}", "version", 1, "folder", dir, "origin",
                                                       c.origin, "size", json_u64(c.size));

                r = print_json(stdout, out);
                if (r < 0)
                        return with_store_failed("export", s, r, &d);
        } else
                printf("%s: %" PRIu64 " entries of %s\n", dir, c.size, c.origin);
        return cli_done("export", EXIT_OK);
}
