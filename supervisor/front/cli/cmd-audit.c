/* Runs: CLI. */
#include "audit/audit.h"
#include "audit/regions.h"
#include "cli/audit-answer.h"
#include "manifest/copies.h"

#include <inttypes.h>
#include <string.h>

static json_t *audit_to_json(const AuditReport *a, int r) {
        json_t *o = json_pack("{s:i, s:b, s:s, s:o, s:o, s:o, s:o, s:o, s:s}", "version", 1, "intact", r == 0, "origin",
                              a->origin, "entries", json_u64(a->entries), "slots", json_u64(a->slots), "versions",
                              json_u64(a->versions), "regions", json_u64(a->regions), "alive", json_u64(a->alive),
                              "root", a->root);

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
        r = audit_run(s, &a);
        if (r == 0)
                r = audit_fold(s, &a, &d);
        if (r == 0)
                r = audit_copies(s, &a, &d);
        if (r < 0 || (r > 0 && !*a.what))
                return audit_failed(s, r, &d);
        if (o.json)
                return cli_print("audit", r == 0 ? EXIT_OK : EXIT_NOT, audit_to_json(&a, r));
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
