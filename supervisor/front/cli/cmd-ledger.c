/* Runs: CLI. The ledger as other programs verify it: its checkpoint, its static files, and proofs of entries. */
#include "base/size.h"
#include "cli/with-store.h"
#include "ledger/export.h"
#include "ledger/ledger.h"
#include "ledger/proof.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

static const char checkpoint_help[] = "Usage: lethe checkpoint [--json] [--store DIR]\n\n"
                           "Prints the ledger's newest checkpoint: a signed note (c2sp.org/tlog-checkpoint) with\n"
                           "the number of entries and the root of the Merkle tree.\n\n" HELP_STORE
                           "  --json            a JSON object: origin, size, root, vkey, note\n"
                           "  -h, --help        print the help\n";

int cmd_checkpoint(int argc, char **argv) {
        _cleanup_store_ Store *s = NULL;
        _cleanup_txn_ Txn *t = NULL;
        StoreOptions o = {.help = checkpoint_help};
        Checkpoint c;
        Bytes note;
        Diag d = {0};
        int r;

        if (store_only_options(&o, argc, argv) < 0)
                return o.code;
        r = with_store_read("checkpoint", &o, &s, &t);
        if (r != EXIT_OK)
                return r;
        r = ledger_checkpoint(t, &note) ?: note_open(note.p, note.n, store_public_key(s), &c, &d);
        if (r != 0)
                return with_store_failed("checkpoint", s, r, &d);
        if (o.json) {
                json_t *out;
                char vkey[VKEY_MAX], *root = base64_encode(c.root.b, sizeof(c.root.b));

                note_vkey(c.origin, store_public_key(s), vkey);
                out = json_pack("{s:i, s:s, s:o, s:s, s:s, s:s%}", "version", 1, "origin", c.origin, "size",
                                json_u64(c.size), "root", root ? root : "", "vkey", vkey, "note", note.p, note.n);
                free(root);
                return cli_print("checkpoint", EXIT_OK, out);
        }
        return cli_write("checkpoint", NULL, note.p, note.n);
}

static const char export_help[] = "Usage: lethe export [--json] [--store DIR] DIR\n\n"
                           "Writes the ledger into a new or empty folder as static files for other verifiers\n"
                           "(c2sp.org/tlog-tiles): checkpoint, vkey, tile/L/N and tile/entries/N.\n\n" HELP_STORE
                           "  --json            reports the written files as a JSON object\n"
                           "  -h, --help        print the help\n";

int cmd_export(int argc, char **argv) {
        static const struct option options[] = {OPTIONS_STORE, {0}};
        _cleanup_store_ Store *s = NULL;
        _cleanup_txn_ Txn *t = NULL;
        StoreOptions o = {.help = export_help};
        _cleanup_free_ char *in = NULL;
        const char *dir;
        Checkpoint c;
        Diag d = {0};
        int r;

        if (store_options(&o, argc, argv, options) < 0)
                return o.code;
        if (optind + 1 != argc || !*argv[optind])
                return cli_usage("export", "export takes a single folder");
        dir = argv[optind];
        if (asprintf(&in, "%s/.", dir) < 0)
                in = NULL;
        if (!in || store_check_output(in, &d) < 0)
                return cli_fail("export", EXIT_NOT, "%s", in ? d.text : strerror(ENOMEM));
        r = with_store_read("export", &o, &s, &t);
        if (r != EXIT_OK)
                return r;
        r = export_write(t, dir, &c, &d);
        if (r != 0)
                return with_store_failed("export", s, r, &d);
        if (o.json)
                return cli_print("export", EXIT_OK,
                                 json_pack("{s:i, s:s, s:s, s:o}", "version", 1, "folder", dir, "origin", c.origin,
                                           "size", json_u64(c.size)));
        printf("%s: %" PRIu64 " entries of %s\n", dir, c.size, c.origin);
        return cli_done("export", EXIT_OK);
}

static const char prove_help[] =
        "Usage: lethe prove [-o FILE] [--json] [--store DIR] SEQ\n\n"
        "Prints a proof (c2sp.org/tlog-proof@v1) that entry SEQ stands in the ledger under its\n"
        "newest checkpoint. The entry, the vkey and the proof suffice for a check without the store.\n\n" HELP_STORE
        "  -o, --output FILE writes there instead of to standard output\n"
        "  --json            a JSON object: seq, entry (text), proof (text), vkey\n"
        "  -h, --help        print the help\n";

static json_t *prove_json(Store *s, uint64_t seq, Bytes entry, const Buf *proof) {
        char vkey[VKEY_MAX];

        note_vkey(store_origin(s), store_public_key(s), vkey);
        return json_pack("{s:i, s:o, s:s%, s:s%, s:s}", "version", 1, "seq", json_u64(seq), "entry", entry.p, entry.n,
                         "proof", proof->data, proof->n, "vkey", vkey);
}

int cmd_prove(int argc, char **argv) {
        static const struct option options[] = {OPTIONS_STORE, OPTION("output", 'o'), {0}};
        _cleanup_buf_ Buf proof = {0};
        _cleanup_store_ Store *s = NULL;
        _cleanup_txn_ Txn *t = NULL;
        StoreOptions o = {.help = prove_help, .letters = ":ho:"};
        uint64_t seq;
        Bytes entry;
        Diag d = {0};
        int r;

        if (store_options(&o, argc, argv, options) < 0)
                return o.code;
        if (optind + 1 != argc)
                return cli_usage("prove", "prove takes a single entry number");
        if (count_parse(argv[optind], &seq) < 0)
                return cli_usage("prove", "'%s' is not an entry's number", argv[optind]);
        r = with_store_read("prove", &o, &s, &t);
        if (r != EXIT_OK)
                return r;
        r = proof_build(t, seq, &proof, &d) ?: ledger_get(t, seq, &entry);
        if (r != 0)
                return with_store_failed("prove", s, r, &d);
        return o.json ? cli_write_json("prove", o.value['o'], prove_json(s, seq, entry, &proof))
                      : cli_write("prove", o.value['o'], proof.data, proof.n);
}
