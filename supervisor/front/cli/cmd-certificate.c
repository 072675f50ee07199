/* Runs: CLI. */
#include "audit/certificate.h"
#include "base/io.h"
#include "cli/region-selector.h"
#include "cli/with-store.h"
#include "ledger/dsse.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

static const char help[] =
        "Usage: lethe certificate [-o FILE] [--store DIR] REGION|--last\n"
        "       lethe certificate --key [-o FILE] [--store DIR]\n"
        "       lethe certificate --verify FILE [--public-key PEM] [--json] [--store DIR]\n\n"
        "States how the memory of a released region was sanitized: an in-toto statement in a DSSE envelope\n"
        "with the fields of NIST SP 800-88's certificate of sanitization, the evidence as recorded, and the\n"
        "proof that the record stands in the ledger. The key and openssl are enough to check a certificate.\n"
        HELP_REGION
        HELP_STORE
        HELP_LAST
        "  --key             prints the ledger's public key in PEM, for openssl\n"
        "  --verify FILE     checks a certificate: 0 holds and proves all memory overwritten, 1 does not hold,\n"
        "                    2 cannot be read, 3 holds and proves less (partial, unscrubbed, nothing held)\n"
        "  --public-key PEM  with --verify: the key in the file, without a store; else the store's key\n"
        "  -o, --output FILE writes there instead of to standard output\n"
        "  --json            with --key and --verify: a JSON object (a certificate is JSON in any case)\n"
        "  -h, --help        print the help\n";

static int certificate_print_key(Store *s, bool json, const char *file) {
        char pem[KEY_PEM_MAX], id[KEY_ID_MAX], vkey[VKEY_MAX];

        key_pem(store_public_key(s), pem);
        if (!json)
                return cli_write("certificate", file, pem, strlen(pem));
        note_vkey(store_origin(s), store_public_key(s), vkey);
        return cli_write_json("certificate", file,
                              json_pack("{s:i, s:s, s:s, s:s, s:s}", "version", 1, "origin", store_origin(s), "keyid",
                                        key_id(store_public_key(s), id), "pem", pem, "vkey", vkey));
}

static const char *certificate_text(const json_t *statement, const char *a, const char *b) {
        return cli_text(json_object_get(json_object_get(statement, "predicate"), a), b) ?: "?";
}

/* Each printed field of a certificate that holds was signed; fields from skills are made safe. */
static void certificate_print(const json_t *statement, Proof proof, const Diag *d) {
        const json_t *subject = json_array_get(json_object_get(statement, "subject"), 0),
                     *media = json_object_get(json_object_get(statement, "predicate"), "media");
        const char *skill = cli_text(json_object_get(media, "source"), "skill");

        if (!statement) {
                printf("does not hold: %s\n", d->text);
                return;
        }
        printf("holds: region %s of skill ", cli_text(subject, "name"));
        cli_print_safe(skill ?: "?");
        printf("\n  method %s, verification %s, grade %s, entry %s of %s\n",
               certificate_text(statement, "sanitization", "method"),
               certificate_text(statement, "verification", "result"),
               certificate_text(statement, "sanitization", "grade"),
               cli_text(json_object_get(subject, "digest"), "sha256"), certificate_text(statement, "ledger", "origin"));
        if (proof != PROOF_CLEARED)
                printf("  the certificate does not prove that the region's memory was overwritten: %s\n",
                       proof_name(proof));
}

static int certificate_verify(const uint8_t key[static 32], bool json, const char *file) {
        _cleanup_json_ json_t *statement = NULL;
        _cleanup_free_ char *text = NULL;
        Proof proof;
        size_t n;
        Diag d = {0};
        int r = io_read_file(AT_FDCWD, file, DSSE_MAX, &text, &n);

        if (r < 0)
                return cli_fail("certificate", EXIT_USAGE, "%s cannot be read: %s", file, strerror(-r));
        r = certificate_check(text, n, key, &statement, &d);
        if (r < 0)
                return cli_fail("certificate", EXIT_USAGE, "%s", strerror(-r));
        proof = certificate_proof(statement);
        if (json) {
                _cleanup_json_ json_t *o = json_pack("{s:i, s:b, s:s?, s:s?, s:O?}", "version", 1, "holds", r == 0,
                                                     "proof", r == 0 ? proof_name(proof) : NULL, "problem",
                                                     r == 0 ? NULL : d.text, "statement", statement);

                if (print_json(stdout, o) < 0)
                        return cli_fail("certificate", EXIT_USAGE, "%s", strerror(ENOMEM));
        } else
                certificate_print(statement, proof, &d);
        return cli_done("certificate", r != 0 ? EXIT_NOT : proof == PROOF_CLEARED ? EXIT_OK : EXIT_LESS);
}

static int certificate_read_key(const char *file, uint8_t ret[static 32]) {
        _cleanup_free_ char *text = NULL;
        size_t n;
        int r = io_read_file(AT_FDCWD, file, KEY_PEM_MAX, &text, &n);

        if (r < 0 && r != -EFBIG)
                return cli_fail("certificate", EXIT_USAGE, "%s cannot be read: %s", file, strerror(-r));
        if (r < 0 || key_parse_pem(text, n, ret) < 0)
                return cli_fail("certificate", EXIT_USAGE,
                                "%s is not an Ed25519 public key in PEM, the format of 'lethe certificate --key'",
                                file);
        return EXIT_OK;
}

static int certificate_issue(Store *s, const char *region, const char *file) {
        _cleanup_txn_ Txn *t = NULL;
        _cleanup_buf_ Buf out = {0};
        Diag d = {0};
        int r;

        r = store_begin(s, false, &t, &d) ?: certificate_build(t, region, &out, &d);
        return r != 0 ? with_store_failed("certificate", s, r, &d) : cli_write("certificate", file, out.data, out.n);
}

int cmd_certificate(int argc, char **argv) {
        static const struct option options[] = {OPTIONS_STORE, OPTION_LAST, OPTION("output", 'o'),
                                                OPTION_FLAG("key", 'k'), OPTION("verify", 'v'),
                                                OPTION("public-key", 'p'), {0}};
        const char *file, *verified, *pem;
        uint8_t public_key[32];
        _cleanup_store_ Store *s = NULL;
        StoreOptions o = {.help = help, .letters = ":ho:"};
        RegionSelector selector = {0};
        RegionId region;
        bool key;
        int r;

        if (store_options(&o, argc, argv, options) < 0)
                return o.code;
        file = o.value['o'];
        verified = o.value['v'];
        pem = o.value['p'];
        key = o.value['k'];
        selector.last = o.value['L'];
        if (key && verified)
                return cli_usage("certificate", "--key and --verify exclude each other: give only --key or --verify");
        if (verified && file)
                return cli_usage("certificate", "--verify writes no file");
        if ((key || verified) && (optind != argc || selector.last))
                return cli_usage("certificate", "no REGION goes with --key and --verify");
        if (!key && !verified && (r = selector_argument("certificate", &selector, argc, argv)) != EXIT_OK)
                return r;
        if (pem && !verified)
                return cli_usage("certificate", "--public-key goes with --verify only");
        if (pem) {
                r = certificate_read_key(pem, public_key);
                return r != EXIT_OK ? r : certificate_verify(public_key, o.json, verified);
        }
        r = with_store("certificate", &o, STORE_READ, &s);
        if (r != EXIT_OK)
                return verified ? EXIT_USAGE : r;
        if (key)
                return certificate_print_key(s, o.json, file);
        if (verified)
                return certificate_verify(store_public_key(s), o.json, verified);
        r = selector_region("certificate", s, &selector, region);
        return r != EXIT_OK ? r : certificate_issue(s, region, file);
}
