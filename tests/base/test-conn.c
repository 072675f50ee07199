/* The connection over real pipes: back-pressure, hang-ups, draining. */
#include "base/conn.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>

typedef struct Pair {
        Conn c;
        int to, from; /* the region's ends: writes requests, reads answers */
} Pair;

static Pair pair_new(void) {
        int req[2], ans[2];
        Pair p;

        signal(SIGPIPE, SIG_IGN);
        cr_assert_eq(pipe2(req, O_CLOEXEC), 0);
        cr_assert_eq(pipe2(ans, O_CLOEXEC), 0);
        cr_assert_eq(conn_init(&p.c, req[0], ans[1]), 0);
        p.to = req[1];
        p.from = ans[0];
        return p;
}

static void pair_deinit(Pair *p) {
        conn_deinit(&p->c);
        closep(&p->to);
        closep(&p->from);
}

Test(conn, a_line_comes_and_an_answer_goes) {
        __attribute__((cleanup(pair_deinit))) Pair p = pair_new();
        struct pollfd polled[2];
        char got[16];
        const char *line;
        size_t n;

        cr_assert_eq(conn_wants(&p.c, 1, polled), -1);
        cr_assert_eq(polled[0].fd, p.c.fd_in);
        cr_assert_eq(polled[1].fd, -1, "nothing is to be written yet");
        cr_assert_eq(conn_readable(&p.c), 0, "an empty pipe is no failure");
        cr_assert_eq(conn_next(&p.c, 1, &line, &n), LINE_NONE);
        cr_assert_eq(write(p.to, "abc\nde", 6), 6);
        cr_assert_eq(conn_readable(&p.c), 0);
        cr_assert_eq(conn_next(&p.c, 1, &line, &n), LINE_WHOLE);
        cr_assert(n == 3 && memcmp(line, "abc", 3) == 0);
        cr_assert_eq(conn_next(&p.c, 1, &line, &n), LINE_NONE);
        cr_assert_eq(conn_answer(&p.c, "ok\n", 3), 0);
        cr_assert_eq(read(p.from, got, sizeof(got)), 3);
        closep(&p.to);
        cr_assert_eq(conn_readable(&p.c), CONN_E_CLOSED);
        cr_assert_eq(conn_next(&p.c, 1, &line, &n), LINE_PARTIAL);
        cr_assert(n == 2 && memcmp(line, "de", 2) == 0);
        cr_assert_eq(conn_next(&p.c, 1, &line, &n), LINE_NONE);
        cr_assert_eq(conn_wants(&p.c, 1, polled), -1);
        cr_assert_eq(polled[0].fd, -1, "a pipe at its end would report POLLHUP for ever");
}

/* A region that never reads its answers stops itself: its requests wait, memory stays bounded, and it goes on when it reads. */
Test(conn, never_reads_is_back_pressure) {
        __attribute__((cleanup(pair_deinit))) Pair p = pair_new();
        static char answer[8192], sink[65536];
        struct pollfd polled[2];
        const char *line;
        size_t n, taken = 0, more = 0;

        memset(answer, 'a', sizeof(answer) - 1);
        answer[sizeof(answer) - 1] = '\n';
        for (int i = 0; i < 1000; i++)
                cr_assert_eq(write(p.to, "x\n", 2), 2);
        cr_assert_eq(conn_readable(&p.c), 0);
        for (int turn = 0; turn < 20; turn++) {
                size_t before = taken;

                conn_wants(&p.c, 1, polled);
                while (conn_next(&p.c, 1, &line, &n) == LINE_WHOLE) {
                        taken++;
                        cr_assert_eq(conn_answer(&p.c, answer, sizeof(answer)), 0);
                }
                cr_assert_leq(taken - before, CONN_TURN_LINES, "a loop has deadlines to look after");
        }
        cr_assert(taken >= 32 && taken <= 50, "%zu lines were taken: 256 KiB of answers and the kernel's 64", taken);
        cr_assert_leq(p.c.queue.bytes.n, CONN_QUEUE_BOUND + sizeof(answer));
        cr_assert_eq(conn_wants(&p.c, 1, polled), -1, "only its reading can change anything");
        cr_assert_eq(polled[0].fd, -1);
        cr_assert_eq(polled[1].fd, p.c.fd_out);
        while (read(p.from, sink, sizeof(sink)) == (ssize_t)sizeof(sink) && conn_writable(&p.c) == 0 && line_queue_full(&p.c.queue)) {
        }
        while (conn_wants(&p.c, 1, polled), conn_next(&p.c, 1, &line, &n) == LINE_WHOLE)
                more++;
        cr_assert_eq(taken + more, 1000, "no line is lost");
}

/* Lines that were read and are held back by the rate are taken before anything is read: a slowed flood cannot fill our memory. */
Test(conn, flood_is_slowed_and_bounded) {
        __attribute__((cleanup(pair_deinit))) Pair p = pair_new();
        static char lines[65536];
        struct pollfd polled[2];
        const char *line;
        uint64_t now = 1000000, begun = now;
        size_t n, taken = 0, most = 0;

        memset(lines, '\n', sizeof(lines));
        fcntl(p.to, F_SETFL, O_NONBLOCK);
        while (taken < 200000) {
                int64_t wait;

                while (write(p.to, lines, sizeof(lines)) > 0) {
                }
                wait = conn_wants(&p.c, now, polled);
                if (polled[0].fd >= 0)
                        cr_assert_eq(conn_readable(&p.c), 0);
                while (conn_next(&p.c, now, &line, &n) == LINE_WHOLE)
                        taken++;
                most = MAX(most, p.c.reader.room);
                now += wait > 0 ? (uint64_t)wait : 7;
        }
        cr_assert_leq(most, 2 * 65536, "the reader grew to %zu bytes", most);
        cr_assert_geq(now - begun, (200000 - CONN_RATE_BURST) * UINT64_C(1000000) / PIPE_REQUESTS_PER_SEC - 1000);
}

Test(conn, region_that_closed_its_reading_end_is_still_heard) {
        __attribute__((cleanup(pair_deinit))) Pair p = pair_new();
        struct pollfd polled[2];
        const char *line;
        size_t n;

        closep(&p.from);
        cr_assert_eq(write(p.to, "a\nb\n", 4), 4);
        cr_assert_eq(conn_readable(&p.c), 0);
        cr_assert_eq(conn_next(&p.c, 1, &line, &n), LINE_WHOLE);
        cr_assert_eq(conn_answer(&p.c, "answer\n", 7), 0, "EPIPE is the region's own affair");
        cr_assert_eq(conn_next(&p.c, 1, &line, &n), LINE_WHOLE);
        cr_assert_eq(conn_answer(&p.c, "answer\n", 7), 0);
        conn_wants(&p.c, 1, polled);
        cr_assert_eq(polled[1].fd, -1, "an end without a reader would report POLLERR for ever");
}

Test(conn, draining_ignores_bounds_and_ends) {
        __attribute__((cleanup(pair_deinit))) Pair p = pair_new();
        static char lines[60000];
        const char *line;
        size_t n, taken = 0;
        LineKind k;
        int r;

        memset(lines, '\n', sizeof(lines));
        cr_assert_eq(write(p.to, lines, sizeof(lines)), (ssize_t)sizeof(lines));
        cr_assert_eq(write(p.to, "half", 4), 4);
        closep(&p.to);
        conn_drain(&p.c);
        do {
                r = conn_readable(&p.c);
                while ((k = conn_next(&p.c, 1, &line, &n)) == LINE_WHOLE) {
                        taken++;
                        cr_assert_eq(conn_answer(&p.c, "answer\n", 7), 0);
                }
        } while (r == 0);
        cr_assert_eq(r, CONN_E_CLOSED);
        cr_assert_eq(k, LINE_PARTIAL);
        cr_assert_eq(taken, sizeof(lines), "20000/s would have let through 2000");
        cr_assert_eq(conn_next(&p.c, 1, &line, &n), LINE_NONE);
}

/* Processes that are dead and held, to be overwritten, have their end open still. */
Test(conn, draining_ends_with_an_empty_pipe) {
        __attribute__((cleanup(pair_deinit))) Pair p = pair_new();
        const char *line;
        size_t n;

        cr_assert_eq(write(p.to, "a\nhalf", 6), 6);
        cr_assert_eq(conn_readable(&p.c), 0);
        cr_assert_eq(conn_readable(&p.c), 0, "before that it is not");
        conn_drain(&p.c);
        cr_assert_eq(conn_readable(&p.c), CONN_E_CLOSED);
        cr_assert_eq(conn_next(&p.c, 1, &line, &n), LINE_WHOLE);
        cr_assert_eq(conn_next(&p.c, 1, &line, &n), LINE_PARTIAL);
}
