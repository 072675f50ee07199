/* Runs: CLI. */
#include "cli/with-store.h"
#include "request/paths.h"
#include "engine/engine.h"
#include "engine/skill.h"
#include "manifest/copies.h"

#include <inttypes.h>
#include <string.h>

static const char help[] =
        "Usage: lethe compact [--json] [--store DIR]\n\n"
        "Writes the store's data file anew, without deleted data: no file of the store holds payloads of deleted\n"
        "records and scopes any more. The ledger stays unchanged and intact. Copies of skills and programs\n"
        "that are neither registered nor in use by a region are removed; the next run of the skill makes\n"
        "a new copy. No other process may have the store open: stop `lethe serve` first.\n"
        "Remains of the old file on the disk below are not in Lethe's hands.\n\n" HELP_STORE
        "  --json            a JSON object: bytes before and after, copies kept and removed\n"
        "  -h, --help        print the help\n\n"
        "Exit status: 0; 1 another process has the store open, or the store cannot be written; 2 usage.\n";

typedef struct Used {
        const char *store;
        SkillRow *skills;
        RegionRow *regions;
        size_t n_skills, n_regions;
        Copies kept, removed;
} Used;

static void compact_used_deinit(Used *u) {
        skill_rows_free(u->skills, u->n_skills);
        region_rows_free(u->regions, u->n_regions);
}

/* In use: registered, or of a region without a recorded end, whose release callbacks run from the copy. */
static bool compact_is_used(void *userdata, const char *digest) {
        const Used *u = userdata;

        for (size_t i = 0; i < u->n_skills; i++)
                if (strcmp(u->skills[i].digest, digest) == 0)
                        return true;
        for (size_t i = 0; i < u->n_regions; i++)
                if (strcmp(cli_text(json_object_get(u->regions[i].detail, "skill"), "digest") ?: "", digest) == 0)
                        return true;
        return false;
}

static int compact_sweep(Txn *t, void *userdata, Diag *reterr) {
        Used *u = userdata;
        int r = engine_skill_list(t, &u->skills, &u->n_skills) ?: engine_region_list(t, &u->regions, &u->n_regions);

        if (r == 0 && (r = copies_sweep(u->store, compact_is_used, u, &u->kept, &u->removed)) < 0)
                diag(reterr, r, "copies in %s cannot be removed: %s", u->store, strerror(-r));
        return r;
}

int cmd_compact(int argc, char **argv) {
        _cleanup_free_ char *path = NULL;
        _cleanup_(compact_used_deinit) Used used = {0};
        StoreCompacted done = {0};
        StoreOptions o = {.help = help};
        Diag d = {0};
        int r;

        if (store_only_options(&o, argc, argv) < 0)
                return o.code;
        path = path_of_store(o.store, &d);
        if (!path)
                return cli_usage("compact", "%s", *d.text ? d.text : "out of memory");
        r = with_store_there("compact", path); /* compact never makes a store */
        if (r != EXIT_OK)
                return r;
        store_set_fault_exit(EXIT_NOT, EXIT_FULL);
        used.store = path;
        r = store_compact(path, &(const StoreAlone){compact_sweep, &used}, &done, &d);
        if (r != 0)
                return cli_refuse("compact", with_store_code(r), r == STORE_E_MISSING ? "no_store" : "store", "%s",
                                  *d.text ? d.text : store_strerror(r));
        if (o.json)
                return cli_print(
                        "compact", EXIT_OK,
                        json_pack("{s:i, s:o, s:o, s:{s:o, s:o, s:o, s:o}}", "version", 1, "bytes_before",
                                  json_u64(done.bytes_before), "bytes_after", json_u64(done.bytes_after), "copies",
                                  "kept", json_u64(used.kept.n), "bytes_kept", json_u64(used.kept.bytes), "removed",
                                  json_u64(used.removed.n), "bytes_removed", json_u64(used.removed.bytes)));
        printf("%" PRIu64 " bytes before, %" PRIu64 " after\n", done.bytes_before, done.bytes_after);
        if (used.kept.n + used.removed.n > 0)
                printf("copies of skills and programs: %" PRIu64 " kept (%" PRIu64 " bytes), %" PRIu64
                       " removed (%" PRIu64 " bytes)\n",
                       used.kept.n, used.kept.bytes, used.removed.n, used.removed.bytes);
        return cli_done("compact", EXIT_OK);
}
