/* Runs: CLI. */
#include "base/buf.h"
#include "cli/with-store.h"
#include "ledger/ledger.h"

#include <getopt.h>
#include <string.h>

static const char help[] = "Usage: lethe checkpoint [--json] [--store DIR]\n\n"
                           "Prints the ledger's newest checkpoint: a signed note (c2sp.org/tlog-checkpoint) with\n"
                           "the number of entries and the root of the Merkle tree over them.\n\n" HELP_STORE
                           "  --json            one object: origin, size, root, vkey, note\n"
                           "  -h, --help        this text\n";

int cmd_checkpoint(int argc, char **argv) {
        static const struct option options[] = {OPTIONS_STORE, {0}};
        _cleanup_store_ Store *s = NULL;
        _cleanup_txn_ Txn *t = NULL;
        StoreOptions o = {0};
        Checkpoint c;
        Bytes note;
        Diag d = {0};
        int r, opt;

        while ((opt = getopt_long(argc, argv, ":h", options, NULL)) >= 0) {
                if (opt == 'h') {
                        fputs(help, stdout);
                        return cli_done("checkpoint", EXIT_OK);
                }
                if (!store_option(&o, opt, optarg))
                        return store_option_wrong(argv);
        }
        if (optind < argc)
                return cli_usage("checkpoint", "'%s' is one argument too many", argv[optind]);
        r = with_store("checkpoint", &o, STORE_READ, &s);
        if (r != EXIT_OK)
                return r;
        r = store_begin(s, false, &t, &d);
        if (r == 0)
                r = ledger_checkpoint(t, &note);
        if (r == 0)
                r = note_open(note.p, note.n, store_public_key(s), &c, &d);
        if (r != 0)
                return with_store_failed("checkpoint", s, r, &d);
        if (!o.json)
                fwrite(note.p, 1, note.n, stdout);
        else {
                _cleanup_json_ json_t *out = NULL;
                char vkey[VKEY_MAX], *root = base64_encode(c.root.b, sizeof(c.root.b));

                note_vkey(c.origin, store_public_key(s), vkey);
                out = json_pack("{s:i, s:s, s:o, s:s, s:s, s:s%}", "version", 1, "origin", c.origin, "size",
                                json_u64(c.size), "root", root ? root : "", "vkey", vkey, "note", note.p, note.n);
                free(root);
                r = print_json(stdout, out);
                if (r < 0)
                        return with_store_failed("checkpoint", s, r, &d);
        }
        return cli_done("checkpoint", EXIT_OK);
}
