/* Many processes of one region on its one pipe, against the dispatch itself. */
#include "tests/front/dispatch/dispatch-fixture.h"
#include "tests/shim/spawn.h"

#include "base/conn.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>

typedef struct Region {
        DispatchFixture d;
        Conn c;
        int in, out; /* the region's ends */
        size_t refused;
} Region;

static void region_init(Region *r) {
        int requests[2], answers[2];

        signal(SIGPIPE, SIG_IGN);
        *r = (Region){0};
        dispatch_fixture_init(&r->d);
        dispatch_fixture_region(&r->d);
        cr_assert_eq(pipe2(requests, O_CLOEXEC), 0);
        cr_assert_eq(pipe2(answers, O_CLOEXEC), 0);
        r->in = fcntl(answers[0], F_DUPFD_CLOEXEC, 50);
        r->out = fcntl(requests[1], F_DUPFD_CLOEXEC, 50);
        close(answers[0]);
        close(requests[1]);
        cr_assert_eq(conn_init(&r->c, requests[0], answers[1]), 0);
}

static void region_deinit(Region *r) {
        conn_deinit(&r->c);
        close(r->in);
        close(r->out);
        dispatch_fixture_deinit(&r->d);
}

/* The supervisor's loop in small: until all processes closed their standard output. What they print goes to `printed`. */
static void serve(Region *r, Driver *drivers, size_t n, Buf *printed) {
        size_t open = n;

        while (open > 0) {
                struct pollfd fds[2 + 16];
                int64_t wait = conn_wants(&r->c, clock_mono_usec(), fds);
                const char *line;
                LineKind kind;
                size_t len;

                for (size_t i = 0; i < n; i++)
                        fds[2 + i] = (struct pollfd){.fd = drivers[i].out, .events = POLLIN};
                cr_assert_geq(poll(fds, 2 + n, wait < 0 ? -1 : (int)(wait / 1000 + (wait > 0))), 0);
                if (fds[0].revents)
                        cr_assert_eq(conn_readable(&r->c), 0);
                if (fds[1].revents)
                        cr_assert_eq(conn_writable(&r->c), 0);
                while ((kind = conn_next(&r->c, clock_mono_usec(), &line, &len)) != LINE_NONE) {
                        _cleanup_buf_ Buf reply = {0};

                        cr_assert_eq(kind, LINE_WHOLE);
                        cr_assert_eq(dispatch_line(r->d.dispatch, line, len, &reply, &r->d.f.d), 0, "%s", r->d.f.d.text);
                        if (reply.n > 0) {
                                r->refused += strncmp(reply.data, "{\"error\"", 8) == 0;
                                cr_assert_eq(conn_answer(&r->c, reply.data, reply.n), 0);
                        }
                }
                for (size_t i = 0; i < n; i++)
                        if (fds[2 + i].revents) {
                                char text[4096];
                                ssize_t got = read(drivers[i].out, text, sizeof(text));

                                if (got > 0)
                                        cr_assert_eq(buf_add(printed, text, (size_t)got), 0);
                                else {
                                        closep(&drivers[i].out);
                                        open--;
                                }
                        }
        }
}

static Driver stress(Region *r, Shim shim, const char *rounds, const char *threads) {
        const char *argv[8];
        size_t n = driver_argv(shim, argv);

        argv[n++] = "stress";
        argv[n++] = rounds;
        argv[n++] = threads;
        argv[n] = NULL;
        return driver_start(argv, r->in, r->out, -1);
}

/* Each write gets a version of its own, and all of 1..total are there. */
static void check_versions(Buf *printed, size_t total) {
        _cleanup_free_ bool *seen = calloc(total + 1, sizeof(bool));
        char *save = NULL;
        size_t n = 0;

        for (char *s = strtok_r(printed->data, "\n", &save); s; s = strtok_r(NULL, "\n", &save), n++) {
                long long v = atoll(s);

                cr_assert(v >= 1 && (size_t)v <= total && !seen[v], "version %s: out of range or twice", s);
                seen[v] = true;
        }
        cr_assert_eq(n, total);
}

Test(sharing, eight_processes_of_four_languages) {
        _cleanup_buf_ Buf printed = {0};
        Driver drivers[8];
        Region r;

        region_init(&r);
        for (int i = 0; i < 2; i++) {
                drivers[4 * i] = stress(&r, SHIM_C, "40", "1");
                drivers[4 * i + 1] = stress(&r, SHIM_PYTHON, "40", "1");
                drivers[4 * i + 2] = stress(&r, SHIM_NODE, "40", "1");
                drivers[4 * i + 3] = stress(&r, SHIM_SH, "20", "1");
        }
        serve(&r, drivers, 8, &printed);
        for (int i = 0; i < 8; i++) {
                int status = driver_end(&drivers[i]);

                cr_assert_eq(status, 0, "%s: %d", shim_names[i % 4], status);
        }
        check_versions(&printed, 2 * (40 + 40 + 40 + 20));
        cr_assert_eq(r.refused, 0);
        region_deinit(&r);
}

Test(sharing, threads_of_one_process) {
        _cleanup_buf_ Buf printed = {0};
        Driver drivers[2];
        Region r;

        region_init(&r);
        drivers[0] = stress(&r, SHIM_C, "30", "4");
        drivers[1] = stress(&r, SHIM_PYTHON, "30", "4");
        serve(&r, drivers, 2, &printed);
        cr_assert_eq(driver_end(&drivers[0]), 0);
        cr_assert_eq(driver_end(&drivers[1]), 0);
        check_versions(&printed, 2 * 4 * 30);
        region_deinit(&r);
}

/* A process that dies with the pipe in its hands: half a request sent, or an answer never read. The next one is not harmed. */
Test(sharing, a_dead_process_leaves_no_harm) {
        for (Shim shim = SHIM_C; shim < SHIMS; shim++) {
                _cleanup_buf_ Buf printed = {0};
                const char *argv[8];
                Driver d;
                Region r;

                region_init(&r);
                /* A first one greets, so that the dead one's request is in order. */
                d = stress(&r, shim, "1", "1");
                serve(&r, &d, 1, &printed);
                cr_assert_eq(driver_end(&d), 0);
                for (int i = 0; i < 2; i++) {
                        size_t n = driver_argv(SHIM_C, argv);

                        argv[n++] = "die";
                        argv[n++] = i ? "half" : "unread";
                        argv[n] = NULL;
                        d = driver_start(argv, r.in, r.out, -1);
                        serve(&r, &d, 1, &printed);
                        cr_assert(WIFSIGNALED(driver_end(&d)), "it was to die");
                        d = stress(&r, shim, "2", "1");
                        serve(&r, &d, 1, &printed);
                        cr_assert_eq(driver_end(&d), 0, "%s after %s", shim_names[shim], argv[n - 1]);
                }
                check_versions(&printed, 1 + 2 + 2);
                cr_assert_eq(r.refused, 1, "only the half line is refused");
                region_deinit(&r);
        }
}
