/* Runs: CLI. */
#include "audit/audit.h"
#include "audit/state.h"
#include "cli/with-store.h"
#include "engine/fold.h"
#include "engine/mutate.h"
#include "manifest/copies.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <string.h>

static const char verify_help[] =
        "Usage: lethe verify [--json] [--store DIR]\n\n"
        "Does what `lethe audit` does: pages, entries, and the tables beside a fold of the ledger, byte for\n"
        "byte. Then it looks at what waits, at events that could not be projected, at whether each change has a\n"
        "region or a person, and at runs and their notes. Reads each copy of a skill or program again, and\n"
        "compares it with the digest that it is named after. Says the first thing that does not hold.\n\n" HELP_STORE
        "  --json            one object with all that was found\n"
        "  -h, --help        this text\n\n"
        "Exit status: 0 all holds; 1 something does not; 2 usage, or no answer; 4 no room on the disk.\n";

static const char rebuild_help[] =
        "Usage: lethe rebuild [--json] [--store DIR]\n\n"
        "Folds the ledger again and makes the tables of slots, skills and records what comes of that; then\n"
        "tries again what could not be projected. On a store that is in order nothing is written.\n\n" HELP_STORE
        "  --json            one object: entries read, rows, rows that differed\n"
        "  -h, --help        this text\n\n"
        "Exit status: 0; 1 it cannot be done, or events are left that cannot be projected; 2 usage;\n"
        "4 no room on the disk.\n";

/* Options of both. Returns EXIT_OK to go on, else what to end with; *ret_done: --help was all. */
static int options_of(int argc, char **argv, const char *help, StoreOptions *o, bool *ret_done) {
        static const struct option options[] = {OPTIONS_STORE, {0}};
        int opt;

        while ((opt = getopt_long(argc, argv, ":h", options, NULL)) >= 0) {
                if (opt == 'h') {
                        fputs(help, stdout);
                        *ret_done = true;
                        return cli_done(argv[0], EXIT_OK);
                }
                if (!store_option(o, opt, optarg))
                        return store_option_wrong(argv);
        }
        return optind < argc ? cli_usage(argv[0], "'%s' is one argument too many", argv[optind]) : EXIT_OK;
}

/* "copies": how many were read again; the first that does not hold, unless something else came before. */
static int add_copies(const char *store, json_t *found) {
        Copies copies = {0};
        Diag bad = {0};
        int r = copies_verify(store, &copies, &bad);

        if (r != 0)
                return r;
        if (json_object_set_new(found, "copies", json_pack("{s:o, s:o}", "number", json_u64(copies.n), "bytes", json_u64(copies.bytes))) < 0)
                return -ENOMEM;
        if (!*bad.text || !json_is_null(json_object_get(found, "first")))
                return 0;
        return json_object_set_new(found, "intact", json_false()) < 0 ||
                               json_object_set_new(found, "first", json_pack("{s:s, s:s}", "check", "copies", "what", bad.text)) < 0
                       ? -ENOMEM
                       : 0;
}

/* The verdict of `lethe audit`. */
static int verify_damaged(const StoreOptions *o, const AuditReport *a) {
        char what[4 * AUDIT_TEXT_MAX], entry[40] = "";

        if (a->at_entry)
                snprintf(entry, sizeof(entry), "entry %" PRIu64 ": ", a->seq);
        snprintf(what, sizeof(what), "%s%s: expected %s, found %s", entry, a->what, a->expected, a->found);
        if (o->json) {
                _cleanup_json_ json_t *out = json_pack("{s:i, s:b, s:{s:s, s:s, s:o}}", "version", 1, "intact", 0, "first", "check", "audit", "what", what, "seq",
                                                       a->at_entry ? json_u64(a->seq) : json_null());
                int r = print_json(stdout, out);

                return r < 0 ? cli_fail("verify", EXIT_USAGE, "%s", strerror(-r)) : cli_done("verify", EXIT_NOT);
        }
        printf("does not hold: ");
        print_safe(stdout, what, strlen(what));
        putchar('\n');
        return cli_done("verify", EXIT_NOT);
}

static int no_answer(int code) {
        return code == EXIT_FULL ? EXIT_FULL : EXIT_USAGE;
}

int cmd_verify(int argc, char **argv) {
        _cleanup_json_ json_t *found = NULL;
        _cleanup_store_ Store *s = NULL;
        _cleanup_txn_ Txn *t = NULL;
        StoreOptions o = {0};
        bool done = false, intact;
        AuditReport audited;
        const json_t *first;
        Diag d = {0};
        int r = options_of(argc, argv, verify_help, &o, &done);

        if (r != EXIT_OK || done)
                return r;
        r = with_store("verify", &o, STORE_READ, &s);
        if (r != EXIT_OK)
                return no_answer(r);
        r = audit_run(s, &audited);
        if (r == AUDIT_E_BROKEN)
                return verify_damaged(&o, &audited);
        if (r == 0)
                r = store_begin(s, false, &t, &d);
        if (r == 0)
                r = audit_state(t, &found, &d);
        if (r != 0)
                return no_answer(with_store_failed("verify", s, r, &d));
        r = add_copies(store_dir(s), found);
        if (r != 0)
                return no_answer(with_store_failed("verify", s, r, &d));
        first = json_object_get(found, "first");
        intact = json_is_null(first);
        if (o.json) {
                r = print_json(stdout, found);
                return r < 0 ? with_store_failed("verify", s, r, &d) : cli_done("verify", intact ? EXIT_OK : EXIT_NOT);
        }
        printf("%" JSON_INTEGER_FORMAT " entries folded, %" JSON_INTEGER_FORMAT " rows compared\n", json_integer_value(json_object_get(found, "entries")),
               json_integer_value(json_object_get(found, "rows")));
        if (intact)
                printf("all holds\n");
        else {
                const json_t *what = json_object_get(first, "what");

                printf("does not hold: ");
                print_safe(stdout, json_bytes(what), json_string_length(what));
                putchar('\n');
        }
        return cli_done("verify", intact ? EXIT_OK : EXIT_NOT);
}

int cmd_rebuild(int argc, char **argv) {
        _cleanup_store_ Store *s = NULL;
        StoreOptions o = {.must_exist = true};
        uint64_t applied = 0, left = 0;
        bool done = false;
        FoldResult f;
        Diag d = {0};
        Txn *t;
        int r = options_of(argc, argv, rebuild_help, &o, &done);

        if (r != EXIT_OK || done)
                return r;
        r = with_store("rebuild", &o, STORE_WRITE, &s);
        if (r != EXIT_OK)
                return r;
        r = store_begin(s, true, &t, &d);
        if (r != 0)
                return with_store_failed("rebuild", s, r, &d);
        r = engine_fold_rebuild(t, &f, &d);
        if (r == 0)
                r = engine_retry_dead_letters(t, &applied, &left);
        if (r != 0) {
                store_abort(t);
                return with_store_failed("rebuild", s, r, &d);
        }
        r = store_commit(t, &d);
        if (r != 0)
                return with_store_failed("rebuild", s, r, &d);
        if (o.json) {
                _cleanup_json_ json_t *out = json_pack("{s:i, s:o, s:o, s:o, s:o, s:o, s:o}", "version", 1, "entries", json_u64(f.events), "rows",
                                                       json_u64(f.rows), "differed", json_u64(f.differ), "usec", json_u64(f.usec), "applied",
                                                       json_u64(applied), "unapplied", json_u64(left));

                r = out ? print_json(stdout, out) : -ENOMEM;
                if (r < 0)
                        return with_store_failed("rebuild", s, r, &d);
        } else
                printf("%" PRIu64 " entries folded, %" PRIu64 " rows, %" PRIu64 " of them differed and were put in order\n", f.events, f.rows, f.differ);
        if (left > 0)
                cli_fail("rebuild", EXIT_NOT, "%" PRIu64 " events cannot be projected: `lethe verify --json` lists them", left);
        return cli_done("rebuild", left > 0 ? EXIT_NOT : EXIT_OK);
}
