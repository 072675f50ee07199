/* Runs: CLI, with the supervisor's recovery in it. */
#include "base/clock.h"
#include "base/size.h"
#include "cli/output-show.h"
#include "cli/region-fate.h"
#include "cli/region-selector.h"

static const char help[] =
        "Usage: lethe wait [OPTIONS] REGION...\n"
        "       lethe wait [OPTIONS] --last\n\n"
        "Waits until the regions have ended, and prints the exit code of each, as `lethe run` would have ended.\n"
        HELP_REGION
        HELP_STORE
        "  --last            the detached region that began last\n"
        "  -q, --quiet       print nothing, and end with the exit code of the last REGION\n"
        "  --timeout TIME    end with 124 when a region has not ended within TIME; the region goes on\n"
        HELP_JSON;

static int wait_print(const StoreOptions *o, const char *region, const RegionFate *end) {
        if (o->json)
                return cli_print_item(json_pack("{s:i, s:s, s:i, s:s}", "version", 1, "region", region, "exit_code", end->code,
                                                "outcome", end->outcome)) < 0
                               ? cli_fail("wait", EXIT_NOT, "out of memory")
                               : EXIT_OK;
        if (!o->value['q'])
                printf("%d\n", end->code);
        return cli_done("wait", EXIT_OK);
}

int cmd_wait(int argc, char **argv) {
        static const struct option options[] = {OPTIONS_STORE, OPTION_LAST, OPTION_FLAG("quiet", 'q'), OPTION("timeout", 't'), {0}};
        StoreOptions o = {.help = help, .letters = ":hq", .must_exist = true};
        uint64_t until = UINT64_MAX, usec;
        _cleanup_store_ Store *s = NULL;
        RegionFate end = {0};
        int r;

        if (store_options(&o, argc, argv, options) < 0)
                return o.code;
        if (o.value['t'] && duration_parse(o.value['t'], &usec) != 0)
                return cli_usage("wait", "--timeout '%s': must be a time such as 500ms, 30s or 2m", o.value['t']);
        if (o.value['t'])
                until = clock_mono_usec() + usec;
        r = output_check_arguments("wait", &o, argc);
        r = r ?: with_store("wait", &o, STORE_READ, &s);
        for (int i = optind; r == EXIT_OK && i < argc + (o.value['L'] != NULL); i++) {
                RegionId region;

                r = output_region("wait", s, &o, i < argc ? argv[i] : NULL, region) ?:
                    region_fate_wait("wait", &o, &s, region, until, &end) ?: wait_print(&o, region, &end);
        }
        return r != EXIT_OK || !o.value['q'] ? r : end.code;
}
