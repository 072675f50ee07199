/* Runs: CLI. The region that the user means: an id, the beginning of one, the name that `lethe run --name` gave, or --last. */
#pragma once

#include "base/id.h"
#include "cli/cli.h"
#include "store/store.h"

#define OPTIONS_SAID {"last", no_argument, NULL, 'L'}
#define HELP_SAID "  --last            the region of the invocation that ended last\n"
#define HELP_REGION "REGION is an id, the beginning of one, or a name that its run was given.\n\n"

typedef struct Said {
        const char *text; /* borrowed; NULL: none was named */
        bool last;        /* --last */
        bool alive;       /* only regions that are alive count, and --last is the youngest of them */
} Said;

/* A name that a user may give: as of a scope, and no region's id. */
bool said_name_valid(const char *name);
/* Takes the argument of a verb that has one region: argv from optind on. Returns EXIT_OK, or EXIT_USAGE having said why. */
int said_argument(const char *verb, Said *said, int argc, char **argv);
/* The same of an option --region, of which said->text is the value. */
int said_option(const char *verb, const Said *said);
/* A whole id is taken as it is. Returns EXIT_OK, or EXIT_NOT or EXIT_USAGE having said why: of an ambiguous beginning with the candidates. */
int said_region(const char *verb, Store *s, const Said *said, char ret[static REGION_ID_MAX]);
