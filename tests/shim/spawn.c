/* Runs: tests. */
#include "tests/shim/spawn.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

const char *const shim_names[SHIMS] = {"c", "python", "node", "sh"};

size_t driver_argv(Shim shim, const char **out) {
        static char paths[SHIMS][4096];
        size_t n = 0;

        snprintf(paths[shim], sizeof(paths[shim]), "%s/driver%s", getenv(shim == SHIM_C ? "LETHE_DRIVER_C" : "LETHE_DRIVERS"),
                 (const char *[]){"", ".py", ".js", ".sh"}[shim]);
        if (shim == SHIM_PYTHON)
                out[n++] = "/usr/bin/python3";
        if (shim == SHIM_NODE)
                out[n++] = "node";
        out[n++] = paths[shim];
        out[n] = NULL;
        return n;
}

static void make_pipe(int fds[2]) {
        cr_assert_eq(pipe2(fds, O_CLOEXEC), 0);
        /* Out of the way of 3 and 4, which the child makes anew. */
        for (int i = 0; i < 2; i++) {
                int high = fcntl(fds[i], F_DUPFD_CLOEXEC, 50);

                cr_assert_geq(high, 0);
                close(fds[i]);
                fds[i] = high;
        }
}

static void child(const char *const *argv, int in, int out, int pipe_in, int pipe_out, int errors) {
        const char *root = getenv("LETHE_SHIM_ROOT");
        char path[8192];

        dup2(in, 0);
        dup2(out, 1);
        if (errors >= 0)
                dup2(errors, 2);
        close(3);
        close(4);
        if (pipe_in >= 0) {
                dup2(pipe_in, 3);
                dup2(pipe_out, 4);
                setenv("LETHE_IN", "3", 1);
                setenv("LETHE_OUT", "4", 1);
        }
        snprintf(path, sizeof(path), "%s/bin:%s", root, getenv("PATH"));
        setenv("PATH", path, 1);
        snprintf(path, sizeof(path), "%s/python", root);
        setenv("PYTHONPATH", path, 1);
        setenv("PYTHONDONTWRITEBYTECODE", "1", 1);
        snprintf(path, sizeof(path), "%s/node", root);
        setenv("NODE_PATH", path, 1);
        execvp(argv[0], (char *const *)argv);
        _exit(127);
}

Driver driver_start(const char *const *argv, int pipe_in, int pipe_out, int errors) {
        int in[2], out[2], requests[2] = {-1, -1}, answers[2] = {-1, -1};
        Driver d = {.requests = -1, .answers = -1};

        make_pipe(in);
        make_pipe(out);
        if (pipe_in == -1) {
                make_pipe(requests);
                make_pipe(answers);
                pipe_in = answers[0];
                pipe_out = requests[1];
                d.requests = requests[0];
                d.answers = answers[1];
        }
        d.pid = fork();
        cr_assert_geq(d.pid, 0);
        if (d.pid == 0)
                child(argv, in[0], out[1], pipe_in, pipe_out, errors);
        close(in[0]);
        close(out[1]);
        if (d.requests >= 0) {
                close(answers[0]);
                close(requests[1]);
        }
        d.in = in[1];
        d.out = out[0];
        return d;
}

int driver_end(Driver *d) {
        int status;

        closep(&d->in);
        closep(&d->requests);
        closep(&d->answers);
        cr_assert_eq(waitpid(d->pid, &status, 0), d->pid);
        closep(&d->out);
        return status;
}
