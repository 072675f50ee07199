/* Runs: CLI. */
#include "cli/cli.h"

#include <stdio.h>

int cmd_version(int argc, char **argv) {
        printf("lethe %s\n", LETHE_VERSION);
        return cli_done("version", EXIT_OK);
}
