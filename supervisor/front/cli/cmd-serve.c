/* Runs: CLI. Becomes lethe-serve (supervisor/serve/), which is a program of its own. */
#include "cli/cli.h"
#include "spawn/find.h"

#include <errno.h>
#include <string.h>

int cmd_serve(int argc, char **argv) {
        _cleanup_free_ char *path = NULL;
        _cleanup_close_ int fd = find_program("lethe-serve", &path);

        if (fd < 0)
                return cli_fail("serve", EXIT_LETHE, "lethe-serve is not beside lethe and not at %s; fix: install it there", path ?: "its place");
        argv[0] = (char[]){"lethe-serve"};
        execv(path, argv);
        return cli_fail("serve", EXIT_LETHE, "%s: %s", path, strerror(errno));
}
