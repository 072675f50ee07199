/* Runs: CLI. */
#include "audit/audit.h"
#include "cli/with-store.h"
#include "engine/fold.h"
#include "engine/dead-letter.h"
#include "manifest/copies.h"

#include <errno.h>
#include <inttypes.h>

static const char verify_help[] =
        "Usage: lethe verify [--json] [--store DIR]\n\n"
        "Does the checks of `lethe audit`: pages, entries, and the tables beside a fold of the ledger, byte\n"
        "for byte. Then checks pending requests, events without a projection, whether each change has a\n"
        "region or a person, runs and notes, and objects: chains, signatures, and effects without an entry.\n"
        "Reads each copy of a skill or program again, and compares the copy with the digest in its name.\n"
        "Prints the first broken check.\n\n" HELP_STORE
        "  --json            a JSON object with all findings\n"
        "  -h, --help        print the help\n\n"
        "Exit status: 0 all checks hold; 1 a check does not; 2 usage, or no answer; 4 no room on the disk.\n";

static const char rebuild_help[] =
        "Usage: lethe rebuild [--json] [--store DIR]\n\n"
        "Folds the ledger again and corrects the tables of slots, skills and records by the result; then\n"
        "retries failed projections. A store in order is not changed.\n\n" HELP_STORE
        "  --json            a JSON object: entries read, rows, rows that differed\n"
        "  -h, --help        print the help\n\n"
        "Exit status: 0; 1 the rebuild failed, or some events cannot be projected; 2 usage;\n"
        "4 no room on the disk.\n";

/* Adds "copies": the number of copies read; and as "first" the first bad copy, unless an earlier check failed. */
static int verify_add_copies(const char *store, json_t *found) {
        Copies copies = {0};
        Diag bad = {0};
        int r = copies_verify(store, &copies, &bad);

        if (r != 0)
                return r;
        if (json_object_set_new(found, "copies", json_pack("{s:o, s:o}", "number", json_u64(copies.n), "bytes",
                                                           json_u64(copies.bytes))) < 0)
                return -ENOMEM;
        if (!*bad.text || !json_is_null(json_object_get(found, "first")))
                return 0;
        return json_object_set_new(found, "intact", json_false()) < 0 ||
                               json_object_set_new(found, "first",
                                                   json_pack("{s:s, s:s}", "check", "copies", "what", bad.text)) < 0
                       ? -ENOMEM
                       : 0;
}

/* The verdict of `lethe audit`. */
static int verify_damaged(const StoreOptions *o, const AuditReport *a) {
        char what[4 * AUDIT_TEXT_MAX], entry[40] = "";

        if (a->at_entry)
                snprintf(entry, sizeof(entry), "entry %" PRIu64 ": ", a->seq);
        snprintf(what, sizeof(what), "%s%s: expected %s, found %s", entry, a->what, a->expected, a->found);
        if (o->json)
                return cli_print("verify", EXIT_NOT,
                                 json_pack("{s:i, s:b, s:{s:s, s:s, s:o}}", "version", 1, "intact", 0, "first", "check",
                                           "audit", "what", what, "seq", a->at_entry ? json_u64(a->seq) : json_null()));
        printf("does not hold: ");
        cli_print_safe(what);
        putchar('\n');
        return cli_done("verify", EXIT_NOT);
}

static int verify_no_answer(int code) {
        return code == EXIT_FULL ? EXIT_FULL : EXIT_USAGE;
}

int cmd_verify(int argc, char **argv) {
        _cleanup_json_ json_t *found = NULL;
        _cleanup_store_ Store *s = NULL;
        _cleanup_txn_ Txn *t = NULL;
        StoreOptions o = {.help = verify_help};
        bool intact;
        AuditReport audited;
        const json_t *first;
        Diag d = {0};
        int r;

        if (store_only_options(&o, argc, argv) < 0)
                return o.code;
        r = with_store("verify", &o, STORE_READ, &s);
        if (r != EXIT_OK)
                return verify_no_answer(r);
        r = audit_run(s, &audited);
        if (r == AUDIT_E_BROKEN)
                return verify_damaged(&o, &audited);
        if (r == 0)
                r = store_begin(s, false, &t, &d)
                            ?: audit_state(t, &found, &d)
                            ?: verify_add_copies(store_dir(s), found);
        if (r != 0)
                return verify_no_answer(with_store_failed("verify", s, r, &d));
        first = json_object_get(found, "first");
        intact = json_is_null(first);
        if (o.json)
                return cli_print("verify", intact ? EXIT_OK : EXIT_NOT, TAKE_PTR(found));
        printf("%" JSON_INTEGER_FORMAT " entries folded, %" JSON_INTEGER_FORMAT " rows compared\n",
               cli_integer(found, "entries"), cli_integer(found, "rows"));
        if (intact)
                printf("all holds\n");
        else
                cli_print_text("does not hold: ", json_object_get(first, "what"));
        return cli_done("verify", intact ? EXIT_OK : EXIT_NOT);
}

int cmd_rebuild(int argc, char **argv) {
        _cleanup_store_ Store *s = NULL;
        _cleanup_txn_ Txn *t = NULL;
        StoreOptions o = {.help = rebuild_help, .must_exist = true};
        uint64_t applied = 0, left = 0;
        FoldResult f;
        Diag d = {0};
        int r;

        if (store_only_options(&o, argc, argv) < 0)
                return o.code;
        r = with_store("rebuild", &o, STORE_WRITE, &s);
        if (r != EXIT_OK)
                return r;
        r = store_begin(s, true, &t, &d)
                    ?: engine_fold_rebuild(t, &f, &d)
                    ?: engine_retry_dead_letters(t, &applied, &left)
                    ?: store_commit(TAKE_PTR(t), &d);
        if (r != 0)
                return with_store_failed("rebuild", s, r, &d);
        if (o.json)
                r = cli_print("rebuild", EXIT_OK, json_pack("{s:i, s:o, s:o, s:o, s:o, s:o, s:o}", "version", 1,
                                                            "entries", json_u64(f.events), "rows", json_u64(f.rows),
                                                            "differed", json_u64(f.differ), "usec", json_u64(f.usec),
                                                            "applied", json_u64(applied), "unapplied", json_u64(left)));
        else
                printf("%" PRIu64 " entries folded, %" PRIu64 " rows, %" PRIu64
                       " rows differed and were put in order\n",
                       f.events, f.rows, f.differ);
        if (r != EXIT_OK)
                return r;
        if (left > 0)
                cli_fail("rebuild", EXIT_NOT,
                         "%" PRIu64 " events cannot be projected: `lethe verify --json` lists the events", left);
        return cli_done("rebuild", left > 0 ? EXIT_NOT : EXIT_OK);
}
