/* Runs: CLI. */
#include "cli/with-store.h"
#include "daemon/places.h"

#include <getopt.h>
#include <inttypes.h>
#include <string.h>

static const char help[] =
        "Usage: lethe compact [--json] [--store DIR]\n\n"
        "Writes the store's data file anew, without what was deleted: payloads of records and scopes that are\n"
        "gone are in none of the store's files any more. The ledger stays as it is, and intact. Nobody else may\n"
        "have the store open meanwhile: stop `lethe serve` first. What the disk below keeps of the old file is\n"
        "not in Lethe's hands.\n\n" HELP_STORE
        "  --json            one object: bytes before and after\n"
        "  -h, --help        this text\n\n"
        "Exit status: 0; 1 another process has the store open, or it cannot be written; 2 usage.\n";

int cmd_compact(int argc, char **argv) {
        static const struct option options[] = {OPTIONS_STORE, {0}};
        _cleanup_free_ char *path = NULL;
        StoreCompacted done = {0};
        StoreOptions o = {0};
        Diag d = {0};
        int opt, r;

        while ((opt = getopt_long(argc, argv, ":h", options, NULL)) >= 0) {
                if (opt == 'h') {
                        fputs(help, stdout);
                        return cli_done("compact", EXIT_OK);
                }
                if (!store_option(&o, opt, optarg))
                        return store_option_wrong(argv);
        }
        if (optind < argc)
                return cli_usage("compact", "'%s': it takes no argument", argv[optind]);
        path = place_of_store(o.store, &d);
        if (!path)
                return cli_usage("compact", "%s", *d.text ? d.text : "out of memory");
        r = with_store_there("compact", path); /* made by who writes something, not by who cleans up */
        if (r != EXIT_OK)
                return r;
        store_set_fault_exit(EXIT_NOT);
        r = store_compact(path, &done, &d);
        if (r != 0)
                return cli_refuse("compact", EXIT_NOT, r == STORE_E_MISSING ? "no_store" : "store", "%s", *d.text ? d.text : store_strerror(r));
        if (o.json) {
                _cleanup_json_ json_t *out = json_pack("{s:i, s:o, s:o}", "version", 1, "bytes_before", json_u64(done.bytes_before), "bytes_after",
                                                       json_u64(done.bytes_after));

                return print_json(stdout, out) < 0 ? cli_fail("compact", EXIT_NOT, "out of memory") : cli_done("compact", EXIT_OK);
        }
        printf("%" PRIu64 " bytes before, %" PRIu64 " after\n", done.bytes_before, done.bytes_after);
        return cli_done("compact", EXIT_OK);
}
