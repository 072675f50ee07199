/* Runs: CLI. A command of `lethe` for a tool: the program is started again, as by a user, so a tool has the rights of
 * the command and no more. */
#include "mcp/mcp.h"

#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>

#define PROGRAM "/proc/self/exe"

/* A file with the text, at the begin. Returns a descriptor or -errno. */
static int mcp_input_file(const char *text) {
        _cleanup_close_ int fd =
                text ? memfd_create("lethe-input", MFD_CLOEXEC) : open("/dev/null", O_RDONLY | O_CLOEXEC);
        int e;

        if (fd < 0)
                return -errno;
        e = text ? io_write_full(fd, text, strlen(text)) : 0;
        if (e < 0)
                return e;
        return text && lseek(fd, 0, SEEK_SET) < 0 ? -errno : TAKE_FD(fd);
}

static int mcp_spawn(McpCall *c, char *const *argv, int in, int out, int err) {
        posix_spawn_file_actions_t actions;
        posix_spawnattr_t attr;
        sigset_t none;
        int e;

        if (posix_spawn_file_actions_init(&actions) != 0)
                return -ENOMEM;
        if (posix_spawnattr_init(&attr) != 0) {
                posix_spawn_file_actions_destroy(&actions);
                return -ENOMEM;
        }
        sigemptyset(&none);
        e = posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO)
                    ?: posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO)
                    ?: posix_spawn_file_actions_adddup2(&actions, err, STDERR_FILENO)
                    ?: posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK)
                    ?: posix_spawnattr_setsigmask(&attr, &none)
                    ?: posix_spawn(&c->child, PROGRAM, &actions, &attr, argv, environ);
        posix_spawnattr_destroy(&attr);
        posix_spawn_file_actions_destroy(&actions);
        return -e;
}

int mcp_command(McpCall *c, char *const *argv, const char *input) {
        _cleanup_close_ int in = mcp_input_file(input), out = -1, err = -1;
        int p[2], e;

        if (in < 0)
                return in;
        if (pipe2(p, O_CLOEXEC) < 0)
                return -errno;
        c->out = p[0];
        out = p[1];
        if (pipe2(p, O_CLOEXEC) < 0) {
                e = -errno;
                closep(&c->out);
                return e;
        }
        c->err = p[0];
        err = p[1];
        e = io_set_nonblock(c->out) ?: io_set_nonblock(c->err) ?: mcp_spawn(c, argv, in, out, err);
        if (e < 0) {
                c->child = 0;
                closep(&c->out);
                closep(&c->err);
        }
        return e;
}

int mcp_command_end(McpCall *c) {
        int status = 0;

        while (waitpid(c->child, &status, 0) < 0 && errno == EINTR)
                ;
        c->child = 0;
        return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
