/* Runs: CLI. */
#include "base/json.h"
#include "cli/cli.h"
#include "store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define VERB(name, id, line) {name, cmd_##id, line},
const Verb cli_verbs[] = {
#include "cli/verbs.def"
};
#undef VERB
const size_t cli_n_verbs = ARRAY_SIZE(cli_verbs);

static void help(FILE *out) {
        fprintf(out, "Usage: lethe VERB [OPTIONS] ...\n\n"
                     "Runs untrusted agent skills, each invocation in a region of its own, and proves\n"
                     "afterwards how it ended. See lethe(1).\n\nVerbs:\n");
        for (size_t i = 0; i < cli_n_verbs; i++)
                fprintf(out, "  %-12s %s\n", cli_verbs[i].name, cli_verbs[i].line);
        fprintf(out, "\n'lethe VERB --help' explains one verb.\n");
}

/* A closed standard descriptor would be reused by the first file that is opened: the store, say. What is to be printed where nobody can have it fails as it
 * would have. */
static void fill_standard_fds(void) {
        for (int fd = 0; fd <= 2; fd++) {
                int how = fd == STDOUT_FILENO ? O_RDONLY : O_RDWR;

                if (fcntl(fd, F_GETFD) < 0 && errno == EBADF && open("/dev/null", how) < 0)
                        _exit(EXIT_LETHE);
        }
}

static int no_verb(const char *said) {
        fputs("lethe: '", stderr);
        diag_print(stderr, said);
        fputs("' is not a verb; 'lethe --help' lists them\n", stderr);
        return EXIT_USAGE;
}

/* "lethe slot put", for who waits until that has written. */
static void tell_command(int argc, char **argv) {
        char command[64];

        snprintf(command, sizeof(command), "lethe %.24s%s%.24s", argv[1], argc > 2 && argv[2][0] != '-' && strcmp(argv[1], "run") != 0 ? " " : "",
                 argc > 2 && argv[2][0] != '-' && strcmp(argv[1], "run") != 0 ? argv[2] : "");
        store_set_command(command);
}

int main(int argc, char **argv) {
        fill_standard_fds();
        json_wipe_freed();
        signal(SIGPIPE, SIG_IGN);
        signal(SIGXFSZ, SIG_IGN); /* a limit of the caller's for files is an error of a write, and no end in the middle of a region's life */
        if (argc < 2) {
                help(stderr);
                return EXIT_USAGE;
        }
        if (argc == 3 && strcmp(argv[1], "help") == 0 && argv[2][0] != '-') {
                for (size_t i = 0; i < cli_n_verbs; i++)
                        if (strcmp(argv[2], cli_verbs[i].name) == 0)
                                return cli_verbs[i].fn(2, (char *[]){argv[2], (char[]){"--help"}, NULL});
                return no_verb(argv[2]);
        }
        if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "help") == 0) {
                help(stdout);
                return cli_done("help", EXIT_OK);
        }
        if (strcmp(argv[1], "--version") == 0)
                return cmd_version(1, argv);
        for (size_t i = 0; i < cli_n_verbs; i++)
                if (strcmp(argv[1], cli_verbs[i].name) == 0) {
                        cli_asked(argv + 2);
                        tell_command(argc, argv);
                        return cli_end(cli_verbs[i].fn(argc - 1, argv + 1));
                }
        return no_verb(argv[1]);
}
