/* Runs: CLI. */
#include "cli/output-show.h"
#include "cli/region-fate.h"
#include "cli/region-selector.h"

#include <string.h>

static const char help[] =
        "Usage: lethe rm [OPTIONS] REGION...\n"
        "       lethe rm [OPTIONS] --last\n\n"
        "Overwrites and removes the kept output of detached regions. The record of a region stays: 'lethe why'.\n"
        HELP_REGION
        HELP_STORE
        "  -f, --force       end a living region first; no output is no error\n"
        "  --last            the detached region that began last\n"
        "  -h, --help        print the help\n";

/* A region that lives goes on writing. */
static int rm_end(const StoreOptions *o, Store **s, const char *region) {
        RegionFate end;
        int r = region_fate_look("rm", *s, region, &end);

        if (r != EXIT_OK || !end.alive)
                return r;
        if (!o->value['f'] && !end.orphan)
                return cli_refuse("rm", EXIT_NOT, "alive", "region %s is alive; fix: lethe kill %s, or lethe rm --force %s", region,
                                  region, region);
        if (!end.orphan) {
                char *kill[] = {(char[]){"kill"}, (char[]){"--store"}, (char *)store_dir(*s), (char *)region, NULL};
                _cleanup_free_ char *dir = strdup(store_dir(*s));

                if (!dir)
                        return cli_fail("rm", EXIT_NOT, "out of memory");
                kill[2] = dir;
                store_free(TAKE_PTR(*s));
                optind = 0;
                r = cmd_kill(4, kill) ?: with_store("rm", o, STORE_READ, s);
        }
        return r ?: region_fate_wait("rm", o, s, region, UINT64_MAX, &end);
}

int cmd_rm(int argc, char **argv) {
        static const struct option options[] = {OPTION("store", 's'), OPTION("anchor", STORE_ANCHOR), OPTION_FLAG("help", 'h'),
                                                OPTION_LAST, OPTION_FLAG("force", 'f'), {0}};
        StoreOptions o = {.help = help, .letters = ":hf", .must_exist = true};
        _cleanup_store_ Store *s = NULL;
        int r, first;

        if (store_options(&o, argc, argv, options) < 0)
                return o.code;
        r = output_check_arguments("rm", &o, argc) ?: with_store("rm", &o, STORE_READ, &s);
        first = optind; /* of getopt_long(), which `kill` uses again */
        for (int i = first; r == EXIT_OK && i < argc + (o.value['L'] != NULL); i++) {
                RegionId region;
                int e;

                r = output_region("rm", s, &o, i < argc ? argv[i] : NULL, region) ?: rm_end(&o, &s, region);
                if (r != EXIT_OK)
                        return r;
                e = output_drop(store_dir(s), region);
                if (e == OUTPUT_E_NONE && !o.value['f'])
                        return cli_refuse("rm", EXIT_NOT, "no_output", "no output of region %s is kept", region);
                if (e < 0)
                        return cli_fail("rm", EXIT_NOT, "%s/output/%s: %s", store_dir(s), region, strerror(-e));
                printf("%s\n", region);
        }
        return r == EXIT_OK ? cli_done("rm", EXIT_OK) : r;
}
