/* Runs: CLI. */
#include "cli/cli.h"

#include <stdio.h>
#include <string.h>

int cmd_version(int argc, char **argv) {
        if (argc > 1 && (strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "--help") == 0))
                printf("Usage: lethe version\n\nPrints the version.\n");
        else if (argc > 1)
                return cli_usage("version", "it takes nothing, not '%s'", argv[1]);
        else
                printf("lethe %s\n", LETHE_VERSION);
        return cli_done("version", EXIT_OK);
}
