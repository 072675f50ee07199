/* Runs: benchmarks. Starts each of several commands N times, in turns, and prints how long each took from posix_spawn to its end.
 *
 *   launch ROUNDS NAME PROGRAM ARGS… [-- NAME PROGRAM ARGS…]…
 *
 * Turns (and not one command after another) so that what else the machine does meets all of them alike. Each round begins with
 * another command. A command that does not end 0 stops the run: a sandbox that refuses to start is fast. */
#include "stats.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define COMMANDS_MAX 16

extern char **environ;

typedef struct Command {
        const char *name;
        char **argv;
        uint64_t *nsec;
} Command;

static posix_spawn_file_actions_t actions;

static uint64_t run_once(const Command *c) {
        uint64_t begun = bench_nsec();
        siginfo_t info = {};
        pid_t pid;
        int r;

        r = posix_spawn(&pid, c->argv[0], &actions, NULL, c->argv, environ);
        if (r != 0) {
                fprintf(stderr, "launch: %s: %s\n", c->argv[0], strerror(r));
                exit(1);
        }
        while (waitid(P_PID, (id_t)pid, &info, WEXITED) < 0)
                if (errno != EINTR)
                        exit(1);
        if (info.si_code != CLD_EXITED || info.si_status != 0) {
                fprintf(stderr, "launch: %s ended badly (%s %d)\n", c->name, info.si_code == CLD_EXITED ? "exit" : "signal", info.si_status);
                exit(1);
        }
        return bench_nsec() - begun;
}

int main(int argc, char **argv) {
        Command commands[COMMANDS_MAX];
        size_t n_commands = 0, rounds;

        rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;
        for (int i = 2; i < argc; i++) {
                Command *c = &commands[n_commands++];

                if (n_commands > COMMANDS_MAX || i + 1 >= argc)
                        return 2;
                *c = (Command) {.name = argv[i], .argv = argv + i + 1, .nsec = calloc(rounds, sizeof(uint64_t))};
                while (i < argc && strcmp(argv[i], "--") != 0)
                        i++;
                if (i < argc)
                        argv[i] = NULL;
        }
        if (rounds == 0 || n_commands == 0) {
                fprintf(stderr, "usage: launch ROUNDS NAME PROGRAM ARGS... [-- NAME PROGRAM ARGS...]...\n");
                return 2;
        }
        posix_spawn_file_actions_init(&actions);
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
        posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);

        for (size_t k = 0; k < n_commands; k++) /* the first start of each reads files from the disk */
                for (int warm = 0; warm < 3; warm++)
                        run_once(&commands[k]);
        for (size_t round = 0; round < rounds; round++)
                for (size_t k = 0; k < n_commands; k++) {
                        Command *c = &commands[(k + round) % n_commands];
                        c->nsec[round] = run_once(c);
                }
        for (size_t k = 0; k < n_commands; k++) {
                bench_print(commands[k].name, commands[k].nsec, rounds, 1);
                free(commands[k].nsec);
        }
        posix_spawn_file_actions_destroy(&actions);
        return 0;
}
