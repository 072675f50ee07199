/* Runs: benchmarks. Starts each of several commands again and again, in turns, and prints how long each took from posix_spawn to its end.
 *
 *   launch ROUNDS NAME PROGRAM ARGS… [-- NAME PROGRAM ARGS…]…
 *   launch -c CLIENTS ROUNDS NAME PROGRAM ARGS… [-- …]…
 *
 * Turns (and not one command after another) so that what else the machine does meets all of them alike. Each round has an
 * order of its own, the same in each run: a daemon that answers before it has put a region away leaves that work to the
 * command that comes next, and no command comes always after the same one.
 *
 * PROGRAM @SOCKET, with the params of a `run` as its argument, is a request to a `lethe serve` to which the client is
 * connected already (schema/serve.md), from the request to the answer, with /dev/null as the three streams. A command that
 * does not end 0 stops the run: a sandbox that refuses to start is fast. With -c a round is half a second in which that
 * many clients start the command one after the other, each its own; per_second is then what all of them got through. */
#include "stats.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define COMMANDS_MAX 16
#define CLIENTS_MAX 256
#define TURN_NSEC 500000000U

extern char **environ;

typedef struct Command {
        const char *name;
        char **argv;
        uint64_t *nsec;
        size_t n, n_room;
        uint64_t wall; /* nanoseconds of all its turns */
        int socket;    /* of one client that asks alone */
} Command;

typedef struct Client {
        const Command *command;
        int socket; /* when the command is a request */
        uint64_t until;
        uint64_t *nsec;
        size_t n, n_room;
        pthread_t thread;
} Client;

static posix_spawn_file_actions_t actions;
static int null;

static int connect_to(const char *path) {
        struct sockaddr_un a = {.sun_family = AF_UNIX};
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

        strncpy(a.sun_path, path, sizeof(a.sun_path) - 1);
        if (fd < 0 || connect(fd, (struct sockaddr *)&a, sizeof(a)) < 0) {
                fprintf(stderr, "launch: %s: %s\n", path, strerror(errno));
                exit(1);
        }
        return fd;
}

/* One request with its descriptors, and the line that answers it. */
static void ask(const Command *c, int fd) {
        static const char head[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"run\",\"params\":", tail[] = "}\n";
        struct iovec parts[] = {{(void *)head, sizeof(head) - 1}, {c->argv[1], strlen(c->argv[1])}, {(void *)tail, sizeof(tail) - 1}};
        int streams[] = {null, null, null};
        union {
                struct cmsghdr align;
                char bytes[CMSG_SPACE(sizeof(streams))];
        } control = {};
        struct msghdr m = {.msg_iov = parts, .msg_iovlen = 3, .msg_control = control.bytes, .msg_controllen = sizeof(control.bytes)};
        char answer[65536];
        size_t n = 0;

        control.align = (struct cmsghdr){.cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(sizeof(streams))};
        memcpy(CMSG_DATA(&control.align), streams, sizeof(streams));
        if (sendmsg(fd, &m, MSG_NOSIGNAL) != (ssize_t)(parts[0].iov_len + parts[1].iov_len + parts[2].iov_len)) {
                perror("launch: sendmsg");
                exit(1);
        }
        while (n == 0 || answer[n - 1] != '\n') {
                ssize_t got = read(fd, answer + n, sizeof(answer) - 1 - n);

                if (got <= 0) {
                        fprintf(stderr, "launch: %s gave no answer\n", c->name);
                        exit(1);
                }
                n += (size_t)got;
        }
        answer[n] = 0;
        if (!strstr(answer, "\"exit_code\":0")) {
                fprintf(stderr, "launch: %s ended badly: %.500s\n", c->name, answer);
                exit(1);
        }
}

static bool is_request(const Command *c) {
        return c->argv[0][0] == '@';
}

static uint64_t run_once(const Command *c, int socket) {
        uint64_t begun = bench_nsec();
        siginfo_t info = {};
        pid_t pid;
        int r;

        if (is_request(c)) {
                ask(c, socket);
                return bench_nsec() - begun;
        }
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

static void keep(uint64_t **nsec, size_t *n, size_t *n_room, uint64_t sample) {
        if (*n == *n_room) {
                *n_room = *n_room ? 2 * *n_room : 256;
                *nsec = realloc(*nsec, *n_room * sizeof(**nsec));
                if (!*nsec)
                        exit(1);
        }
        (*nsec)[(*n)++] = sample;
}

static void *client_main(void *arg) {
        Client *c = arg;

        while (bench_nsec() < c->until)
                keep(&c->nsec, &c->n, &c->n_room, run_once(c->command, c->socket));
        return NULL;
}

static void take_turn(Command *c, size_t n_clients) {
        static Client clients[CLIENTS_MAX];
        uint64_t begun = bench_nsec();

        for (size_t i = 0; i < n_clients; i++) {
                clients[i].command = c;
                clients[i].until = begun + TURN_NSEC;
                clients[i].n = 0;
                clients[i].socket = is_request(c) ? connect_to(c->argv[0] + 1) : -1;
                if (pthread_create(&clients[i].thread, NULL, client_main, &clients[i]) != 0)
                        exit(1);
        }
        for (size_t i = 0; i < n_clients; i++)
                pthread_join(clients[i].thread, NULL);
        c->wall += bench_nsec() - begun;
        for (size_t i = 0; i < n_clients; i++)
                if (clients[i].socket >= 0)
                        close(clients[i].socket);
        for (size_t i = 0; i < n_clients; i++)
                for (size_t k = 0; k < clients[i].n; k++)
                        keep(&c->nsec, &c->n, &c->n_room, clients[i].nsec[k]);
}

static int usage(void) {
        fprintf(stderr, "usage: launch [-c CLIENTS] ROUNDS NAME PROGRAM ARGS... [-- NAME PROGRAM ARGS...]...\n");
        return 2;
}

/* Fisher-Yates, with a generator of fixed seed (xorshift64). */
static void shuffle(size_t *order, size_t n) {
        static uint64_t state = 0x9e3779b97f4a7c15;

        for (size_t i = n - 1; i > 0; i--) {
                size_t k, other = order[i];

                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                k = state % (i + 1);
                order[i] = order[k];
                order[k] = other;
        }
}

int main(int argc, char **argv) {
        Command commands[COMMANDS_MAX];
        size_t order[COMMANDS_MAX];
        size_t n_commands = 0, n_clients = 0, rounds;
        int at = 1;

        if (argc > 3 && strcmp(argv[1], "-c") == 0) {
                n_clients = strtoul(argv[2], NULL, 10);
                if (n_clients == 0 || n_clients > CLIENTS_MAX)
                        return usage();
                at = 3;
        }
        rounds = argc > at ? strtoul(argv[at], NULL, 10) : 0;
        for (int i = at + 1; i < argc; i++) {
                if (n_commands == COMMANDS_MAX || i + 1 >= argc)
                        return usage();
                commands[n_commands++] = (Command){.name = argv[i], .argv = argv + i + 1};
                while (i < argc && strcmp(argv[i], "--") != 0)
                        i++;
                if (i < argc)
                        argv[i] = NULL;
        }
        if (rounds == 0 || n_commands == 0)
                return usage();
        null = open("/dev/null", O_RDWR | O_CLOEXEC);
        posix_spawn_file_actions_init(&actions);
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
        posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);

        for (size_t k = 0; k < n_commands; k++)
                commands[k].socket = is_request(&commands[k]) ? connect_to(commands[k].argv[0] + 1) : -1;
        for (size_t k = 0; k < n_commands; k++) /* the first start of each reads files from the disk */
                for (int warm = 0; warm < 3; warm++)
                        run_once(&commands[k], commands[k].socket);
        for (size_t k = 0; k < n_commands; k++)
                order[k] = k;
        for (size_t round = 0; round < rounds; round++) {
                shuffle(order, n_commands);
                for (size_t k = 0; k < n_commands; k++) {
                        Command *c = &commands[order[k]];

                        if (n_clients > 0)
                                take_turn(c, n_clients);
                        else
                                keep(&c->nsec, &c->n, &c->n_room, run_once(c, c->socket));
                }
        }
        for (size_t k = 0; k < n_commands; k++) {
                const Command *c = &commands[k];

                bench_print_rate(c->name, c->nsec, c->n, 1, n_clients > 0 ? (double)c->n / ((double)c->wall / 1e9) : 0);
                free(c->nsec);
        }
        posix_spawn_file_actions_destroy(&actions);
        return 0;
}
