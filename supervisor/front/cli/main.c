/* Runs: CLI. */
#include "base/json.h"
#include "cli/cli.h"
#include "spawn/find.h"
#include "store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#define VERB(name, id, line) {name, cmd_##id, line},
const Verb cli_verbs[] = {
#include "cli/verbs.def"
};
#undef VERB
const size_t cli_n_verbs = ARRAY_SIZE(cli_verbs);

static void main_help(FILE *out) {
        fprintf(out, "Usage: lethe VERB [OPTIONS] ...\n\n"
                     "Runs untrusted agent skills, each invocation in a region of its own, and records\n"
                     "a proof of each end. See lethe(1).\n\nVerbs:\n");
        for (size_t i = 0; i < cli_n_verbs; i++)
                fprintf(out, "  %-12s %s\n", cli_verbs[i].name, cli_verbs[i].line);
        fprintf(out, "\n'lethe VERB --help' explains a verb.\n");
}

/* Fills closed standard descriptors: the next opened file, such as the store, would take a closed one's number.
 * Standard output becomes read-only, so that printing still fails. */
static void main_fill_standard_fds(void) {
        for (int fd = 0; fd <= 2; fd++) {
                int how = fd == STDOUT_FILENO ? O_RDONLY : O_RDWR;

                if (fcntl(fd, F_GETFD) < 0 && errno == EBADF && open("/dev/null", how) < 0)
                        _exit(EXIT_LETHE);
        }
}

static int main_no_verb(const char *said) {
#define OTHER(verb, words) {verb, words},
        static const char *const others[][2] = {
#include "cli/other-verbs.def"
        };
#undef OTHER
        const char *words = "'lethe --help' lists the verbs";

        for (size_t i = 0; i < ARRAY_SIZE(others); i++)
                if (strcmp(said, others[i][0]) == 0)
                        words = others[i][1];
        fputs("lethe: '", stderr);
        diag_print(stderr, said);
        fprintf(stderr, "' is not a verb; %s\n", words);
        return EXIT_USAGE;
}

/* Sets "lethe slot put" as the command, for processes that wait for the writer. */
static void main_set_command(int argc, char **argv) {
        const bool action = argc > 2 && argv[2][0] != '-' && strcmp(argv[1], "run") != 0;
        char command[64];

        snprintf(command, sizeof(command), "lethe %.24s%s%.24s", argv[1], action ? " " : "", action ? argv[2] : "");
        store_set_command(command);
}

/* Executes lethe-serve (supervisor/front/serve/), a program of its own. */
int cmd_serve(int argc, char **argv) {
        _cleanup_free_ char *path = NULL;
        _cleanup_close_ int fd = find_program("lethe-serve", &path);

        if (fd < 0)
                return cli_fail("serve", EXIT_LETHE,
                                "lethe-serve is neither beside lethe nor at %s; fix: install lethe-serve there",
                                path ?: "its place");
        argv[0] = (char[]){"lethe-serve"};
        execv(path, argv);
        return cli_fail("serve", EXIT_LETHE, "%s: %s", path, strerror(errno));
}

int cmd_version(int argc, char **argv) {
        if (argc > 1 && (strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "--help") == 0))
                printf("Usage: lethe version\n\nPrints the version.\n");
        else if (argc > 1)
                return cli_usage("version", "it takes nothing, not '%s'", argv[1]);
        else
                printf("lethe %s\n", LETHE_VERSION);
        return cli_done("version", EXIT_OK);
}

int main(int argc, char **argv) {
        main_fill_standard_fds();
        json_wipe_freed();
        signal(SIGPIPE, SIG_IGN);
        /* the caller's limit for file sizes fails a write instead of ending the process within a region's life */
        signal(SIGXFSZ, SIG_IGN);
        if (argc < 2) {
                main_help(stderr);
                return EXIT_USAGE;
        }
        if (argc == 3 && strcmp(argv[1], "help") == 0 && argv[2][0] != '-') {
                for (size_t i = 0; i < cli_n_verbs; i++)
                        if (strcmp(argv[2], cli_verbs[i].name) == 0)
                                return cli_verbs[i].fn(2, (char *[]){argv[2], (char[]){"--help"}, NULL});
                return main_no_verb(argv[2]);
        }
        if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "help") == 0) {
                main_help(stdout);
                return cli_done("help", EXIT_OK);
        }
        if (strcmp(argv[1], "--version") == 0)
                return cmd_version(1, argv);
        for (size_t i = 0; i < cli_n_verbs; i++)
                if (strcmp(argv[1], cli_verbs[i].name) == 0) {
                        cli_asked(argv + 2);
                        main_set_command(argc, argv);
                        return cli_end(cli_verbs[i].fn(argc - 1, argv + 1));
                }
        return main_no_verb(argv[1]);
}
