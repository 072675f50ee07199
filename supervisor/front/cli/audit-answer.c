#include "cli/audit-answer.h"

#include "cli/query.h"
#include "request/paths.h"

#include <errno.h>
#include <unistd.h>

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
        "(issues/ID), FAMILY/ID of typed memory (memory_substrate/ID), section/REGION/NAME, or note/RUN,\n"
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
