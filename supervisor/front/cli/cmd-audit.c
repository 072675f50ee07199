/* Runs: CLI. `lethe audit`, and the answers that all its forms share. */
#include "audit/audit.h"
#include "audit/regions.h"
#include "cli/audit.h"
#include "cli/query.h"
#include "manifest/copies.h"
#include "request/paths.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

const char audit_help[] =
        "Usage: lethe audit [--json] [--store DIR]\n"
        "       lethe audit regions [QUESTION] [--since TIME] [--until TIME] [--skill NAME] [--scope SCOPE] [--json]\n"
        "       lethe audit touched VALUE [--scope SCOPE] [--json]\n"
        "       lethe audit derived VALUE|REGION [--scope SCOPE] [--json]\n\n"
        "Reads the whole store and recomputes all its claims: hashes, tree, checkpoint and its\n"
        "signature, payloads, the life of each region, every table from the ledger alone, and the copies\n"
        "of skills and programs. Ends 0 when all claims hold, 1 with the first broken claim, 2 when used\n"
        "wrongly or when the store cannot be read, 4 when the disk has no room for the comparison.\n\n" HELP_STORE
        "  --json            the report as a JSON object\n"
        "  -h, --help        print the help\n\n"
        "regions lists each invocation's region: when allocated and released, its discipline and grade,\n"
        "bytes overwritten, teardown time and bound; then answers all QUESTIONs, or the named question:\n"
        "unreleased, unproved, late, breached, recovered, weaker, relaxed. Ends 0 when no region matches one\n"
        "of the first three (or the QUESTION), 1 when a region does, 2 without an answer.\n"
        "\n"
        HELP_QUERY "\n"
        "touched tells the regions that wrote and read a value: slot/NAME, BUCKET/ID of shared belief\n"
        "(issues/ID), FAMILY/ID of typed memory (memory_substrate/ID), evidence/ID or ccs/state of the\n"
        "cognitive session that --scope names, section/REGION/NAME, or note/RUN,\n"
        "each with @VERSION or without (of notes: the number). derived follows the consequences of a value,\n"
        "or of a REGION, through all regions and values on the way. Both name the regions without a record\n"
        "of their reads. Ends 0 when no such region exists, 1 when there are such regions, 2 without answer.\n"
        "\n"
        "  --scope SCOPE     of records: the records' scope (default: default)\n"
        "  --last            derived: the region of the invocation that ended last\n";

/* A missing or unreadable store allows no verdict. A folder without its data file does. */
static bool audit_is_out_of_reach(const StoreOptions *o) {
        _cleanup_free_ char *path = NULL, *data = NULL;
        Diag d = {0};

        path = path_of_store(o->store, &d);
        if (!path || asprintf(&data, "%s/data.mdb", path) < 0) {
                data = NULL;
                return false;
        }
        return access(path, R_OK | X_OK) < 0 || (access(data, R_OK) < 0 && errno == EACCES);
}

int audit_not_opened(const StoreOptions *o, const char *member, int code) {
        if (code == EXIT_NOT && (!with_store_was_verdict() || audit_is_out_of_reach(o)))
                return EXIT_USAGE;
        if (o->json && code == EXIT_NOT) { /* the reason stands on standard error */
                _cleanup_json_ json_t *out = json_pack("{s:b, s:{s:s}, s:i}", member, 0, "problem", "what",
                                                       "the store cannot be opened", "version", 1);

                if (print_json(stdout, out) < 0)
                        return cli_fail("audit", EXIT_USAGE, "out of memory");
        }
        return code;
}

int audit_failed(const Store *s, int r, const Diag *d) {
        int code = with_store_failed("audit", s, r, d);

        return code == EXIT_NOT && !with_store_is_verdict(r) ? EXIT_USAGE : code;
}

static json_t *audit_to_json(const AuditReport *a, int r) {
        json_t *o = json_pack("{s:i, s:b, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:s}", "version", 1, "intact", r == 0, "origin",
                              a->origin, "entries", json_u64(a->entries), "slots", json_u64(a->slots), "versions",
                              json_u64(a->versions), "regions", json_u64(a->regions), "alive", json_u64(a->alive),
                              "objects", json_u64(a->objects), "root", a->root);

        if (o && a->open_sessions > 0)
                json_object_set_new(o, "open_sessions", json_u64(a->open_sessions));
        if (o && r != 0)
                json_object_set_new(o, "problem",
                                    json_pack("{s:o, s:s, s:s, s:s}", "seq",
                                              a->at_entry ? json_u64(a->seq) : json_null(), "what", a->what, "expected",
                                              a->expected, "found", a->found));
        return o;
}

typedef enum AuditWord { AUDIT_REGIONS, AUDIT_TOUCHED, AUDIT_DERIVED, AUDIT_STORE } AuditWord;

/* Removes the first of the words from the arguments, at any position but as the value of an option: a later word may
 * be a region's name. */
static AuditWord audit_take_word(int *argc, char **argv) {
        static const char *const words[] = {
                [AUDIT_REGIONS] = "regions", [AUDIT_TOUCHED] = "touched", [AUDIT_DERIVED] = "derived"};

        for (int i = 1; i < *argc; i++)
                for (AuditWord w = 0; w < AUDIT_STORE; w++)
                        if (strcmp(argv[i], words[w]) == 0 && strcmp(argv[i - 1], "--store") != 0 &&
                            strcmp(argv[i - 1], "--anchor") != 0 && strcmp(argv[i - 1], "--skill") != 0 &&
                            strcmp(argv[i - 1], "--scope") != 0) {
                                memmove(argv + i, argv + i + 1, (size_t)(*argc - i) * sizeof(*argv));
                                (*argc)--;
                                return w;
                        }
        return AUDIT_STORE;
}

/* The copies of skills and programs must match the digests in their names. */
static int audit_copies(const Store *s, AuditReport *a, Diag *reterr) {
        Copies copies = {0};
        Diag bad = {0};
        int r = copies_verify(store_dir(s), &copies, &bad);

        if (r != 0 || !*bad.text)
                return r;
        snprintf(a->what, sizeof(a->what), "a copy of a skill or program was changed");
        snprintf(a->expected, sizeof(a->expected), "the digest in its name");
        diag_quote(bad.text, strlen(bad.text), a->found, sizeof(a->found));
        return AUDIT_E_BROKEN;
}

int cmd_audit(int argc, char **argv) {
        static const struct option options[] = {OPTIONS_STORE, {0}};
        _cleanup_store_ Store *s = NULL;
        RegionQuestion question;
        StoreOptions o = {.help = audit_help};
        AuditReport a;
        Diag d = {0};
        int r;

        switch (audit_take_word(&argc, argv)) {
        case AUDIT_REGIONS:
                return cmd_audit_regions(argc, argv);
        case AUDIT_TOUCHED:
                return cmd_audit_flow(argc, argv, false);
        case AUDIT_DERIVED:
                return cmd_audit_flow(argc, argv, true);
        case AUDIT_STORE:
                break;
        }
        if (store_options(&o, argc, argv, options) < 0)
                return o.code;
        if (optind < argc)
                return region_question_parse(argv[optind], &question) == 0
                               ? cli_usage("audit", "'%s' is a question about regions: lethe audit regions %s",
                                           argv[optind], argv[optind])
                               : cli_usage("audit",
                                           "'%s' is no part of an audit: 'regions', 'touched' and 'derived' are",
                                           argv[optind]);
        r = with_store("audit", &o, STORE_READ, &s);
        if (r != EXIT_OK)
                return audit_not_opened(&o, "intact", r);
        r = audit_run(s, &a) ?: audit_fold(s, &a, &d) ?: audit_copies(s, &a, &d);
        if (r < 0 || (r > 0 && !*a.what))
                return audit_failed(s, r, &d);
        if (o.json)
                return cli_print("audit", r == 0 ? EXIT_OK : EXIT_NOT, audit_to_json(&a, r));
        if (a.open_sessions > 0)
                printf("%" PRIu64 " sessions of wrapped servers have no end in the ledger: their newest calls may be missing\n",
                       a.open_sessions);
        if (r == 0)
                printf("intact: %" PRIu64 " entries of %s, %" PRIu64 " slots in %" PRIu64 " versions, %" PRIu64
                       " regions (%" PRIu64 " alive)\nroot %s\n",
                       a.entries, a.origin, a.slots, a.versions, a.regions, a.alive, a.root);
        else {
                if (a.at_entry)
                        printf("not intact, at entry %" PRIu64 ": %s\n", a.seq, a.what);
                else
                        printf("not intact: %s\n", a.what);
                printf("  expected: %s\n  found:    %s\n", a.expected, a.found);
        }
        return cli_done("audit", r == 0 ? EXIT_OK : EXIT_NOT);
}
