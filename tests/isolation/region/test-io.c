/* Runs: tests. The relays, in a child whose standard descriptors are pipes that the test holds the other ends of. */
#include "region/region-io.h"
#include "tests/support/child.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct World {
        RegionIo io;
        int in;       /* we write: what `lethe run` reads as its standard input */
        int out, err; /* we read: what comes out of it */
} World;

static void world(World *w, uint64_t output_max) {
        int p[2];

        signal(SIGPIPE, SIG_IGN);
        child_check(pipe2(p, O_CLOEXEC) == 0 && dup2(p[0], 0) == 0);
        w->in = p[1];
        child_check(pipe2(p, O_CLOEXEC) == 0 && dup2(p[1], 1) == 1);
        close(p[1]);
        w->out = p[0];
        child_check(pipe2(p, O_CLOEXEC) == 0 && dup2(p[1], 2) == 2);
        close(p[1]);
        w->err = p[0];
        child_check(region_io_open(&w->io, output_max, false, NULL, NULL) == 0);
}

static short ready(int fd, short events) {
        struct pollfd p = {.fd = fd, .events = events};

        return poll(&p, 1, 0) > 0 ? p.revents : 0;
}

/* Moves whatever can be moved now; true when the output budget broke. */
static bool pump(World *w) {
        Relay *outs[] = {&w->io.out, &w->io.err};
        bool over = false, moved = true;

        for (unsigned i = 0; i < 1000 && moved && !over; i++) {
                short r;

                moved = false;
                for (size_t k = 0; k < 2 && !over; k++)
                        if (outs[k]->poll_fd >= 0 && (r = ready(outs[k]->poll_fd, outs[k]->poll_events))) {
                                over = region_io_move_out(&w->io, outs[k], r);
                                moved = true;
                        }
                if (w->io.in.poll_fd >= 0 && (r = ready(w->io.in.poll_fd, w->io.in.poll_events))) {
                        region_io_move_in(&w->io, r);
                        moved = true;
                }
        }
        return over;
}

static int passes_all_three(void *arg) {
        World w;
        char b[32] = "";

        world(&w, 1000);
        child_check(write(w.in, "question", 8) == 8);
        child_check(write(w.io.region_out, "answer", 6) == 6);
        child_check(write(w.io.region_err, "noise", 5) == 5);
        child_check(!pump(&w));
        child_check(read(w.io.region_in, b, sizeof(b)) == 8 && memcmp(b, "question", 8) == 0);
        child_check(read(w.out, b, sizeof(b)) == 6 && memcmp(b, "answer", 6) == 0);
        child_check(read(w.err, b, sizeof(b)) == 5 && memcmp(b, "noise", 5) == 0);
        child_check(w.io.output_used == 11);
        region_io_deinit(&w.io);
        return 0;
}

/* Of a region that another one started: nothing reaches our own standard output (I-18). */
static int a_feed_is_given_and_output_is_kept(void *arg) {
        const RegionFeed feed = {.input = "question", .n_input = 8, .keep_max = 4};
        World w;
        char b[32] = "";

        world(&w, 1000);
        region_io_deinit(&w.io);
        child_check(region_io_open(&w.io, 9, false, &feed, NULL) == 0);
        child_check(write(w.io.region_out, "ans", 3) == 3);
        child_check(!pump(&w));
        child_check(read(w.io.region_in, b, sizeof(b)) == 8 && memcmp(b, "question", 8) == 0);
        child_check(read(w.io.region_in, b, sizeof(b)) == 0); /* and its end */
        child_check(!w.io.out.cut);
        child_check(write(w.io.region_out, "wer", 3) == 3 && write(w.io.region_err, "oh", 2) == 2);
        child_check(!region_io_drain(&w.io));
        child_check(w.io.out.n_kept == 4 && memcmp(w.io.out.kept, "answ", 4) == 0 && w.io.out.cut);
        child_check(w.io.output_used == 8); /* what was not kept counts, too */
        region_io_flush(&w.io, -1, UINT64_MAX);
        child_check(ready(w.out, POLLIN) == 0 && read(w.err, b, sizeof(b)) == 2);
        region_io_deinit(&w.io);
        child_check(region_io_open(&w.io, 3, false, &feed, NULL) == 0);
        child_check(write(w.io.region_out, "answer", 6) == 6);
        child_check(pump(&w)); /* the budget of output holds as ever */
        region_io_deinit(&w.io);
        return 0;
}

static int stdin_end_reaches_the_skill(void *arg) {
        World w;
        char b[8];

        world(&w, 1000);
        child_check(write(w.in, "x", 1) == 1);
        close(w.in);
        pump(&w);
        child_check(read(w.io.region_in, b, sizeof(b)) == 1);
        child_check(read(w.io.region_in, b, sizeof(b)) == 0);
        child_check(w.io.in.poll_fd == -1);
        region_io_deinit(&w.io);
        return 0;
}

enum { WORDS = 256 * 1024, FAST = WORDS * sizeof(uint32_t) };

/* A fast source: a mebibyte of numbers in the caller's pipe, which is then closed. */
static uint32_t *fast_world(World *w) {
        uint32_t *sent = malloc(FAST);

        child_check(sent != NULL);
        for (uint32_t i = 0; i < WORDS; i++)
                sent[i] = i;
        world(w, 1000);
        child_check(fcntl(w->in, F_SETPIPE_SZ, FAST) >= FAST && write(w->in, sent, FAST) == FAST);
        close(w->in);
        return sent;
}

static bool input_goes_on(const World *w) {
        return w->io.in.poll_fd >= 0 || w->io.rest_deadline != UINT64_MAX;
}

static size_t read_waiting(const World *w, char *to) {
        int waiting = 0;
        size_t n = 0;

        child_check(ioctl(w->io.region_in, FIONREAD, &waiting) == 0);
        for (ssize_t k; waiting > 0; waiting -= (int)k, n += (size_t)k)
                child_check((k = read(w->io.region_in, to + n, (size_t)waiting)) > 0);
        return n;
}

/* Several buffers in one move, into a larger pipe, whole and in order. */
static int much_input_takes_few_moves(void *arg) {
        uint32_t *got = malloc(FAST), *sent;
        size_t n = 0, moves = 0;
        World w;

        child_check(got != NULL);
        sent = fast_world(&w);
        while (input_goes_on(&w)) {
                region_io_move_in(&w.io, POLLIN);
                moves++;
                n += read_waiting(&w, (char *)got + n);
        }
        child_check(n == FAST && memcmp(sent, got, n) == 0);
        child_check(moves <= 6); /* 16 buffers of 64 KiB */
        child_check(w.io.in.buf == NULL || w.io.in.used == RELAY_CHUNK); /* the rest went from pipe to pipe */
        child_check(w.io.in.pages);
        region_io_deinit(&w.io);
        free(sent);
        free(got);
        return 0;
}

/* Where a filter of the supervisor's process has no splice(2), nothing is lost. */
static int fast_input_without_splice(void *arg) {
        uint32_t *got = malloc(FAST), *sent;
        scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
        size_t n = 0;
        World w;

        child_check(got != NULL && filter && seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(splice), 0) == 0 &&
                    seccomp_load(filter) == 0);
        sent = fast_world(&w);
        while (input_goes_on(&w)) {
                region_io_move_in(&w.io, POLLIN);
                n += read_waiting(&w, (char *)got + n);
        }
        child_check(n == FAST && memcmp(sent, got, n) == 0 && !w.io.in.pages);
        region_io_deinit(&w.io);
        seccomp_release(filter);
        free(sent);
        free(got);
        return 0;
}

/* Reads nothing more once the pipe of the skill is full of whole pages. Returns the bytes read before. */
static size_t fast_fill(World *w, char *to) {
        size_t n = 0;

        for (unsigned i = 0; i < 100 && !w->io.in.full; i++) {
                n += read_waiting(w, to + n);
                region_io_move_in(&w->io, POLLIN);
        }
        region_io_move_in(&w->io, 0);
        return n;
}

/* A full pipe of the skill: the supervisor waits for room, not for the caller, and nothing is lost. */
static int fast_input_waits_for_the_skill(void *arg) {
        uint32_t *got = malloc(FAST), *sent;
        size_t n = 0;
        World w;

        child_check(got != NULL);
        sent = fast_world(&w);
        n = fast_fill(&w, (char *)got);
        child_check(w.io.in.full && w.io.in.poll_fd == w.io.in.to && w.io.in.poll_events == POLLOUT);
        child_check(ready(w.io.in.to, POLLOUT) == 0);
        while (input_goes_on(&w)) {
                n += read_waiting(&w, (char *)got + n);
                region_io_move_in(&w.io, POLLOUT);
        }
        n += read_waiting(&w, (char *)got + n);
        child_check(n == FAST && memcmp(sent, got, n) == 0);
        region_io_deinit(&w.io);
        free(sent);
        free(got);
        return 0;
}

/* The skill closes its end in the middle of fast input. */
static int fast_input_ends_with_the_skill(void *arg) {
        uint32_t *got = malloc(FAST), *sent;
        World w;

        child_check(got != NULL);
        sent = fast_world(&w);
        fast_fill(&w, (char *)got);
        close(w.io.region_in);
        w.io.region_in = -1;
        region_io_move_in(&w.io, POLLERR);
        child_check(w.io.in.error == EPIPE && w.io.in.to == -1 && w.io.in.from == -1 && !input_goes_on(&w));
        region_io_deinit(&w.io);
        free(sent);
        free(got);
        return 0;
}

static int stdin_that_the_skill_closed_is_left_alone(void *arg) {
        World w;

        world(&w, 1000);
        close(w.io.region_in);
        w.io.region_in = -1;
        child_check(write(w.in, "x", 1) == 1);
        pump(&w);
        child_check(w.io.in.poll_fd == -1 && w.io.in.to == -1);
        region_io_deinit(&w.io);
        return 0;
}

static int dev_null_is_an_empty_input(void *arg) {
        World w;
        char b[8];
        int null;

        world(&w, 1000);
        region_io_deinit(&w.io);
        null = open("/dev/null", O_RDWR | O_CLOEXEC);
        child_check(dup2(null, 0) == 0);
        child_check(region_io_open(&w.io, 10, false, NULL, NULL) == 0);
        child_check(read(w.io.region_in, b, sizeof(b)) == 0);
        child_check(w.io.in.poll_fd == -1);
        region_io_deinit(&w.io);
        return 0;
}

/* Standing at the limit is no breach; one byte more is, and only what was within the limit comes out. */
static int output_budget(void *arg) {
        World w;
        char b[256];

        world(&w, 100);
        memset(b, 'o', sizeof(b));
        child_check(write(w.io.region_out, b, 60) == 60);
        child_check(write(w.io.region_err, b, 40) == 40);
        child_check(!pump(&w));
        child_check(w.io.output_used == 100);
        child_check(write(w.io.region_out, b, 1) == 1);
        child_check(pump(&w));
        child_check(w.io.output_used == 101);
        child_check(read(w.out, b, sizeof(b)) == 60);
        child_check(ready(w.out, POLLIN) == 0);
        region_io_deinit(&w.io);
        return 0;
}

static int output_budget_in_the_last_bytes(void *arg) {
        World w;
        char b[256];

        world(&w, 100);
        memset(b, 'o', sizeof(b));
        child_check(write(w.io.region_out, b, 150) == 150);
        region_io_started(&w.io);
        child_check(region_io_drain(&w.io));
        child_check(w.io.output_used == 150);
        region_io_flush(&w.io, -1, UINT64_MAX);
        child_check(read(w.out, b, sizeof(b)) == 100);
        region_io_deinit(&w.io);
        return 0;
}

/* A reader that does not read stops the relay, not the supervisor, and nothing is lost. */
static int slow_reader(void *arg) {
        static char big[400000], got[400000];
        size_t sent = 0, n = 0;
        World w;
        ssize_t k;

        world(&w, 1000000);
        fcntl(w.io.region_out, F_SETFL, O_NONBLOCK);
        for (size_t i = 0; i < sizeof(big); i++)
                big[i] = (char)(i * 7 + i / 256);
        for (unsigned round = 0; round < 10; round++) {
                k = write(w.io.region_out, big + sent, sizeof(big) - sent);
                sent += k > 0 ? (size_t)k : 0;
                child_check(!pump(&w)); /* would hang here if it waited */
        }
        child_check(sent < sizeof(big)); /* the region has to wait */
        child_check(!(fcntl(1, F_GETFL) & O_NONBLOCK)); /* others share that description */
        while (n < sizeof(got)) {
                k = read(w.out, got + n, MIN(sizeof(got) - n, (size_t)30000));
                child_check(k > 0);
                n += (size_t)k;
                child_check(!pump(&w));
                k = write(w.io.region_out, big + sent, sizeof(big) - sent);
                sent += k > 0 ? (size_t)k : 0;
                child_check(!pump(&w));
        }
        child_check(memcmp(big, got, sizeof(big)) == 0);
        region_io_deinit(&w.io);
        return 0;
}

static int reader_gone(void *arg) {
        World w;

        world(&w, 1000);
        close(w.out);
        child_check(write(w.io.region_out, "x", 1) == 1);
        pump(&w);
        child_check(w.io.out.error == EPIPE || w.io.out.error == ENXIO);
        child_check(write(w.io.region_out, "x", 1) == 1);
        pump(&w); /* what comes now is counted and dropped */
        child_check(w.io.output_used == 2);
        region_io_deinit(&w.io);
        return 0;
}

static int to_a_socket(void *arg) {
        char b[16];
        World w;
        int s[2];

        world(&w, 1000);
        child_check(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, s) == 0 && dup2(s[1], 1) == 1);
        child_check(write(w.io.region_out, "x", 1) == 1);
        pump(&w);
        child_check(w.io.out.kind == RELAY_TARGET_SOCKET && read(s[0], b, sizeof(b)) == 1);
        region_io_deinit(&w.io);
        return 0;
}

/* poll(2) says that it is ready from the first byte on, and a read that may wait would wait for all that the socket is to give at once. */
static int a_socket_that_gives_much_at_once_holds_nobody_up(void *arg) {
        const int much = 1 << 20;
        char b[16];
        World w;
        int s[2];

        alarm(120);
        child_check(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, s) == 0);
        world(&w, 1000);
        child_check(dup2(s[1], 0) == 0 && setsockopt(s[1], SOL_SOCKET, SO_RCVLOWAT, &much, sizeof(much)) == 0);
        region_io_deinit(&w.io);
        child_check(region_io_open(&w.io, 1000, false, NULL, NULL) == 0);
        child_check(write(s[0], "x", 1) == 1);
        child_check(!pump(&w) && read(w.io.region_in, b, sizeof(b)) == 1 && *b == 'x');
        region_io_deinit(&w.io);
        return 0;
}

/* A terminal that this process has as its own one: the other end. */
static int make_terminal(void) {
        int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC), slave;

        child_check(master >= 0 && grantpt(master) == 0 && unlockpt(master) == 0);
        child_check(setsid() >= 0 && (slave = open(ptsname(master), O_RDWR | O_CLOEXEC)) >= 0);
        child_check(ioctl(slave, TIOCSCTTY, 0) == 0 || errno == EPERM); /* the first that a session's leader opens is it already */
        return master;
}

/* Of who asks a daemon: its standard input is what it opened as /dev/tty, where the daemon would open its own one. (I-3) */
static int the_terminal_is_that_of_who_opened_it(void *arg) {
        char b[64] = "";
        int p[2], q[2], ours, theirs;
        pid_t pid;
        World w;

        alarm(120);
        child_check(pipe2(p, O_CLOEXEC) == 0 && pipe2(q, O_CLOEXEC) == 0);
        pid = fork();
        child_check(pid >= 0);
        if (pid == 0) {
                int fds[2];

                prctl(PR_SET_PDEATHSIG, SIGKILL);
                fds[1] = make_terminal();
                fds[0] = open("/dev/tty", O_RDWR | O_CLOEXEC);

                if (fds[0] < 0 || write(p[1], fds, sizeof(fds)) != sizeof(fds))
                        _exit(1);
                _exit(read(q[0], b, 1) != 1);
        }
        {
                int fds[2], pidfd;

                child_check(read(p[0], fds, sizeof(fds)) == sizeof(fds));
                pidfd = pidfd_open(pid, 0);
                theirs = pidfd_getfd(pidfd, fds[1], 0);
                child_check(theirs >= 0);
                signal(SIGHUP, SIG_IGN);
                ours = make_terminal();
                world(&w, 1000);
                region_io_deinit(&w.io);
                child_check(dup2(pidfd_getfd(pidfd, fds[0], 0), 0) == 0 && dup2(0, 1) == 1);
                close(pidfd);
        }
        child_check(region_io_open(&w.io, 1000, false, NULL, NULL) == 0);
        child_check(write(ours, "ours\n", 5) == 5 && write(theirs, "theirs\n", 7) == 7 && write(w.io.region_out, "said", 4) == 4);
        while (!ready(w.io.region_in, POLLIN)) /* a terminal hands on by and by */
                child_check(!pump(&w));
        child_check(read(w.io.region_in, b, sizeof(b)) == 7 && memcmp(b, "theirs\n", 7) == 0);
        for (size_t n = 0; memset(b + n, 0, sizeof(b) - n), !strstr(b, "said"); n = strlen(b))
                child_check(read(theirs, b + n, sizeof(b) - 1 - n) > 0);
        memset(b, 0, sizeof(b));
        child_check(read(ours, b, sizeof(b) - 1) > 0 && !strstr(b, "said"));
        region_io_deinit(&w.io);
        child_check(write(q[1], "e", 1) == 1 && waitpid(pid, NULL, 0) == pid);
        return 0;
}

#define CHILD_TEST(f)                                                                                                  \
        Test(region_io, f) {                                                                                           \
                child_assert_ok(f, NULL);                                                                              \
        }

CHILD_TEST(passes_all_three)
CHILD_TEST(a_feed_is_given_and_output_is_kept)
CHILD_TEST(stdin_end_reaches_the_skill)
CHILD_TEST(much_input_takes_few_moves)
CHILD_TEST(fast_input_without_splice)
CHILD_TEST(fast_input_waits_for_the_skill)
CHILD_TEST(fast_input_ends_with_the_skill)
CHILD_TEST(stdin_that_the_skill_closed_is_left_alone)
CHILD_TEST(dev_null_is_an_empty_input)
CHILD_TEST(output_budget)
CHILD_TEST(output_budget_in_the_last_bytes)
CHILD_TEST(slow_reader)
CHILD_TEST(reader_gone)
CHILD_TEST(to_a_socket)
CHILD_TEST(a_socket_that_gives_much_at_once_holds_nobody_up)
CHILD_TEST(the_terminal_is_that_of_who_opened_it)
