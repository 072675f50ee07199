/* Runs: CLI. The region named on the command line: by id, by the beginning of an id, by the name from `lethe run
 * --name`, or by --last. */
#pragma once

#include "base/id.h"
#include "cli/cli.h"
#include "store/store.h"

#define OPTION_LAST OPTION_FLAG("last", 'L')
#define HELP_LAST "  --last            the region of the invocation that ended last\n"
#define HELP_REGION "REGION is an id, the beginning of an id, or the name of a run.\n\n"

typedef struct RegionSelector {
        const char *text; /* borrowed; NULL: no region was named */
        bool last;        /* --last */
        bool alive;       /* only living regions count, and --last is the youngest living region */
        bool runs;        /* the verb takes the id of a run of notes, too */
} RegionSelector;

/* Takes the argument of a verb about a region: argv from optind on. Returns EXIT_OK, or EXIT_USAGE after a message. */
int selector_argument(const char *verb, RegionSelector *selector, int argc, char **argv);
/* The same for an option --region, with its value in selector->text. */
int selector_option(const char *verb, const RegionSelector *selector);
/* Finds the region; a whole id is not looked up. Returns EXIT_OK, or EXIT_NOT or EXIT_USAGE after a message, which
 * lists candidates for an ambiguous beginning. */
int selector_region(const char *verb, Store *s, const RegionSelector *selector, char ret[static REGION_ID_MAX]);
