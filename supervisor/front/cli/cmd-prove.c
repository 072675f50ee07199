/* Runs: CLI. */
#include "base/size.h"
#include "cli/with-store.h"
#include "ledger/proof.h"

#include <errno.h>
#include <getopt.h>

static const char help[] =
        "Usage: lethe prove [-o FILE] [--json] [--store DIR] SEQ\n\n"
        "Prints a proof (c2sp.org/tlog-proof@v1) that entry SEQ stands in the ledger under its\n"
        "newest checkpoint. Anybody with the entry and the vkey can check it without the store.\n\n" HELP_STORE
        "  -o, --output FILE writes there instead of to standard output\n"
        "  --json            one object: seq, entry (text), proof (text), vkey\n"
        "  -h, --help        this text\n";

static int as_json(Txn *t, Store *s, uint64_t seq, const Buf *proof, Buf *ret) {
        _cleanup_json_ json_t *out = NULL;
        _cleanup_free_ char *text = NULL;
        char vkey[VKEY_MAX];
        size_t n;
        Bytes e;
        int r = ledger_get(t, seq, &e);

        if (r < 0)
                return r;
        note_vkey(store_origin(s), store_public_key(s), vkey);
        out = json_pack("{s:i, s:o, s:s%, s:s%, s:s}", "version", 1, "seq", json_u64(seq), "entry", e.p, e.n, "proof",
                        proof->data, proof->n, "vkey", vkey);
        r = out ? json_canonical(out, &text, &n) : -ENOMEM;
        if (r == 0)
                r = buf_add(ret, text, n);
        return r == 0 ? buf_add(ret, "\n", 1) : r;
}

int cmd_prove(int argc, char **argv) {
        static const struct option options[] = {OPTIONS_STORE, {"output", required_argument, NULL, 'o'}, {0}};
        _cleanup_buf_ Buf proof = {0}, json = {0};
        _cleanup_store_ Store *s = NULL;
        _cleanup_txn_ Txn *t = NULL;
        const char *file = NULL;
        StoreOptions o = {0};
        const Buf *out = &proof;
        uint64_t seq;
        Diag d = {0};
        int r, opt;

        while ((opt = getopt_long(argc, argv, ":ho:", options, NULL)) >= 0) {
                if (opt == 'h') {
                        fputs(help, stdout);
                        return cli_done("prove", EXIT_OK);
                }
                if (opt == 'o')
                        file = optarg;
                else if (!store_option(&o, opt, optarg))
                        return store_option_wrong(argv);
        }
        if (optind + 1 != argc)
                return cli_usage("prove", "it takes one entry's number");
        if (count_parse(argv[optind], &seq) < 0)
                return cli_usage("prove", "'%s' is not an entry's number", argv[optind]);
        r = with_store("prove", &o, STORE_READ, &s);
        if (r != EXIT_OK)
                return r;
        r = store_begin(s, false, &t, &d);
        if (r == 0)
                r = proof_build(t, seq, &proof, &d);
        if (r == 0 && o.json) {
                r = as_json(t, s, seq, &proof, &json);
                out = &json;
        }
        if (r != 0)
                return with_store_failed("prove", s, r, &d);
        return cli_write("prove", file, out->data, out->n);
}
