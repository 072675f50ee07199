/* Runs: CLI. */
#include "base/clock.h"
#include "base/log.h"
#include "base/size.h"
#include "cli/output-show.h"
#include "cli/region-selector.h"

#include <errno.h>
#include <poll.h>
#include <string.h>

static const char help[] =
        "Usage: lethe logs [OPTIONS] REGION\n"
        "       lethe logs [OPTIONS] --last\n\n"
        "Prints the output of a region that 'lethe run -d' left: standard output to standard output, standard\n"
        "error to standard error, as it came. The newest 16 MiB are kept, until 'lethe rm REGION'.\n"
        HELP_REGION
        HELP_STORE
        "  --last            the detached region that began last\n"
        "  -f, --follow      go on until the region has ended\n"
        "  -n, --tail N      only the last N lines; all: all lines\n"
        "  --raw             to a terminal, too, as it came: output can command the terminal\n"
        "  --since TIME      only output since then: 10m ago, or 2026-11-27T10:00:00Z\n"
        "  -h, --help        print the help\n";

#define LOOK_MSEC 200 /* at a supervisor that may have died */

static int logs_follow(OutputShow *show) {
        for (;;) {
                struct pollfd p = {.fd = show->watch, .events = POLLIN};
                int r = output_show_take(show);

                if (r != EXIT_OK || show->over)
                        return r;
                if (poll(&p, 1, LOOK_MSEC) < 0 && errno != EINTR)
                        return cli_fail("logs", EXIT_NOT, "poll: %s", strerror(errno));
        }
}

static int logs_options(const StoreOptions *o, uint64_t *ret_since, uint64_t *ret_tail) {
        const char *since = o->value['S'], *tail = o->value['n'];

        *ret_since = 0;
        if (since && clock_parse_moment(since, clock_real_usec(), ret_since) != 0)
                return cli_usage("logs", "--since '%s': must be a time ago such as 90s or 10m, or a moment such as "
                                         "2026-11-27T10:00:00Z", since);
        *ret_tail = UINT64_MAX;
        if (tail && strcmp(tail, "all") == 0)
                tail = NULL;
        return cli_number("logs", "--tail", tail, 0, COUNT_MOST, ret_tail);
}

int cmd_logs(int argc, char **argv) {
        static const struct option options[] = {OPTION("store", 's'), OPTION("anchor", STORE_ANCHOR), OPTION_FLAG("help", 'h'),
                                                OPTION_LAST, OPTION_FLAG("follow", 'f'), OPTION("tail", 'n'),
                                                OPTION("since", 'S'), OPTION_FLAG("raw", 'r'), {0}};
        StoreOptions o = {.help = help, .letters = ":hfn:", .must_exist = true};
        _cleanup_output_show_ OutputShow show = {.reader = OUTPUT_READER_NULL, .watch = -1};
        uint64_t since, tail, lines = 0;
        _cleanup_store_ Store *s = NULL;
        RegionId region;
        int r;

        if (store_options(&o, argc, argv, options) < 0)
                return o.code;
        r = logs_options(&o, &since, &tail) ?: output_check_arguments("logs", &o, argc);
        if (r == EXIT_OK && optind + 1 < argc)
                r = cli_usage("logs", "'%s' is one argument too many: give a single region", argv[optind + 1]);
        r = r ?: with_store("logs", &o, STORE_READ, &s);
        r = r ?: output_region("logs", s, &o, optind < argc ? argv[optind] : NULL, region);
        if (r == EXIT_OK && tail < UINT64_MAX)
                r = output_show_count("logs", s, region, since, &lines);
        r = r ?: output_show_begin("logs", s, region, o.value['r'], &show);
        if (r != EXIT_OK)
                return r;
        show.since_usec = since;
        show.skip = lines > tail ? lines - tail : 0;
        r = o.value['f'] ? logs_follow(&show) : output_show_take(&show);
        if (r == EXIT_OK && show.cut)
                log_note("the supervisor of region %s died: the end of the output may be missing", region);
        return r;
}
