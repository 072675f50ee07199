#include "policy/secret.h"

#include "base/clock.h"
#include "base/io.h"
#include "schema/route.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sodium.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define COMMAND_USEC 10000000

/* The output of an earlier command. */
typedef struct SecretKept {
        json_t *command;
        char *value; /* of sodium_malloc(): locked, not dumped, overwritten when freed */
} SecretKept;

static struct {
        pthread_mutex_t lock;
        SecretKept *list;
        size_t n;
        bool no_commands;
} secrets_kept = {.lock = PTHREAD_MUTEX_INITIALIZER};

void *secret_memory(size_t n) {
        return sodium_init() < 0 ? NULL : sodium_malloc(n);
}

/* Without the newline, and judged. */
static int secret_judge(const char *name, char *out, size_t n, Diag *reterr) {
        if (n > 0 && out[n - 1] == '\n')
                n--;
        if (n > 0 && out[n - 1] == '\r')
                n--;
        out[n] = 0;
        if (n < PROXY_SECRET_LEAST || n >= PROXY_SECRET_MAX)
                return diag(reterr, SECRET_E_BAD, "secret \"%s\": has %zu bytes; must have %d to %d", name, n, PROXY_SECRET_LEAST, PROXY_SECRET_MAX - 1);
        for (size_t i = 0; i < n; i++)
                if (out[i] < ' ' || out[i] > '~')
                        return diag(reterr, SECRET_E_BAD, "secret \"%s\": must be one line of printable ASCII", name);
        return 0;
}

static int secret_fill(int fd, char *out, size_t room, size_t *ret_n) {
        *ret_n = 0;
        while (*ret_n < room) {
                const ssize_t n = TEMP_FAILURE_RETRY(read(fd, out + *ret_n, room - *ret_n));

                if (n <= 0)
                        return n < 0 ? -errno : 0;
                *ret_n += (size_t)n;
        }
        return 0;
}

static int secret_read_file(const char *name, const char *path, char *out, size_t room, Diag *reterr) {
        _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
        struct stat st;
        size_t n;

        if (fd < 0 || fstat(fd, &st) < 0)
                return diag(reterr, SECRET_E_BAD, "secret \"%s\": file %s: %s", name, path, strerror(errno));
        if (!S_ISREG(st.st_mode))
                return diag(reterr, SECRET_E_BAD, "secret \"%s\": file %s: must be a regular file", name, path);
        if (st.st_mode & 077)
                return diag(reterr, SECRET_E_BAD, "secret \"%s\": file %s: group or others have rights to it (mode %04o); fix: chmod 600 %s", name, path,
                            st.st_mode & 07777, path);
        if (st.st_uid != 0 && st.st_uid != geteuid())
                return diag(reterr, SECRET_E_BAD, "secret \"%s\": file %s: belongs to user %u; must belong to root or the user of lethe", name, path,
                            st.st_uid);
        if (secret_fill(fd, out, room - 1, &n) < 0)
                return diag(reterr, SECRET_E_BAD, "secret \"%s\": file %s: cannot be read", name, path);
        return secret_judge(name, out, n, reterr);
}

static int secret_read_env(const char *name, const char *variable, char *out, size_t room, Diag *reterr) {
        const char *value = getenv(variable);

        if (!value)
                return diag(reterr, SECRET_E_BAD, "secret \"%s\": variable %s is not set in the environment of lethe, or of its daemon", name, variable);
        snprintf(out, room, "%s", value);
        return secret_judge(name, out, strlen(out), reterr);
}

/* Returns whether the output is whole, within the time. */
static bool secret_collect(int fd, uint64_t end, char *out, size_t room, size_t *ret_n) {
        *ret_n = 0;
        for (uint64_t now; (now = clock_mono_usec()) < end;) {
                struct pollfd p = {.fd = fd, .events = POLLIN};
                ssize_t n;

                if (poll(&p, 1, (int)((end - now) / 1000 + 1)) <= 0)
                        continue;
                n = read(fd, out + *ret_n, room - *ret_n);
                if (n == 0)
                        return true;
                if (n < 0 && errno != EINTR && errno != EAGAIN)
                        return false;
                *ret_n += n > 0 ? (size_t)n : 0;
                if (*ret_n == room)
                        return false;
        }
        return false;
}

/* Returns whether the command ended by itself in time; else it is killed. */
static bool secret_reap(pid_t pid, uint64_t end, bool in_time, int *ret_status) {
        _cleanup_close_ int fd = (int)syscall(SYS_pidfd_open, pid, 0);
        struct pollfd p = {.fd = fd, .events = POLLIN};

        for (uint64_t now; in_time && (now = clock_mono_usec()) < end && poll(&p, 1, (int)((end - now) / 1000 + 1)) <= 0;)
                ;
        in_time = in_time && fd >= 0 && (p.revents & POLLIN);
        if (!in_time)
                kill(-pid, SIGKILL);
        while (waitpid(pid, ret_status, 0) < 0 && errno == EINTR)
                ;
        return in_time;
}

static int secret_spawn(char **argv, int out, pid_t *ret) {
        posix_spawn_file_actions_t files;
        posix_spawnattr_t attr;
        sigset_t none;
        int e;

        sigemptyset(&none);
        if (posix_spawn_file_actions_init(&files) != 0)
                return ENOMEM;
        if (posix_spawnattr_init(&attr) != 0) {
                posix_spawn_file_actions_destroy(&files);
                return ENOMEM;
        }
        /* Standard error may have the secret, and is not shown. */
        e = posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0) ?: posix_spawn_file_actions_adddup2(&files, out, 1)
                ?: posix_spawn_file_actions_addopen(&files, 2, "/dev/null", O_WRONLY, 0)
                ?: posix_spawn_file_actions_addclosefrom_np(&files, 3)
                ?: posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP) ?: posix_spawnattr_setsigmask(&attr, &none)
                ?: posix_spawnattr_setpgroup(&attr, 0) ?: posix_spawn(ret, argv[0], &files, &attr, argv, environ);
        posix_spawnattr_destroy(&attr);
        posix_spawn_file_actions_destroy(&files);
        return e;
}

static int secret_run(const char *name, const json_t *command, char *out, size_t room, Diag *reterr) {
        _cleanup_free_ char **argv = calloc(json_array_size(command) + 1, sizeof(*argv));
        _cleanup_close_ int fd = -1;
        int ends[2], e, status = 0;
        uint64_t end;
        pid_t pid;
        bool whole;
        size_t n;

        if (!argv || pipe2(ends, O_CLOEXEC) < 0)
                return -ENOMEM;
        for (size_t i = 0; i < json_array_size(command); i++)
                argv[i] = (char *)json_text(json_array_get(command, i));
        fd = ends[0];
        e = secret_spawn(argv, ends[1], &pid);
        close(ends[1]);
        if (e != 0)
                return diag(reterr, SECRET_E_BAD, "secret \"%s\": command %s: %s", name, argv[0], strerror(e));
        end = clock_mono_usec() + COMMAND_USEC;
        whole = secret_collect(fd, end, out, room - 1, &n);
        if (!secret_reap(pid, end, whole, &status))
                return diag(reterr, SECRET_E_BAD, "secret \"%s\": command %s: more than %d bytes, or more than %d seconds", name, argv[0],
                            PROXY_SECRET_MAX - 1, COMMAND_USEC / 1000000);
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
                return diag(reterr, SECRET_E_BAD, "secret \"%s\": command %s: ended with %s %d; standard error is not shown", name, argv[0],
                            WIFEXITED(status) ? "exit code" : "signal", WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
        return secret_judge(name, out, n, reterr);
}

static int secret_read_command(const char *name, const json_t *command, char *out, size_t room, Diag *reterr) {
        bool found = false, none;

        pthread_mutex_lock(&secrets_kept.lock);
        for (size_t i = 0; i < secrets_kept.n && !found; i++)
                if (json_equal(secrets_kept.list[i].command, command)) {
                        snprintf(out, room, "%s", secrets_kept.list[i].value);
                        found = true;
                }
        none = secrets_kept.no_commands;
        pthread_mutex_unlock(&secrets_kept.lock);
        if (found)
                return 0;
        if (none)
                return diag(reterr, SECRET_E_BAD, "secret \"%s\": the daemon runs the commands of the policy only at the start; fix: restart the daemon", name);
        return secret_run(name, command, out, room, reterr);
}

int secret_read(const char *name, const json_t *source, char *out, size_t room, Diag *reterr) {
        const json_t *command = json_object_get(source, "command");
        int r;

        if (*json_str(source, "file"))
                r = secret_read_file(name, json_str(source, "file"), out, room, reterr);
        else if (*json_str(source, "env"))
                r = secret_read_env(name, json_str(source, "env"), out, room, reterr);
        else if (command)
                r = secret_read_command(name, command, out, room, reterr);
        else
                r = diag(reterr, SECRET_E_BAD, "secret \"%s\": the policy does not have it", name);
        if (r != 0)
                sodium_memzero(out, room);
        return r;
}

static int secret_keep_one(const char *name, const json_t *command, Diag *reterr) {
        SecretKept kept = {.command = json_deep_copy(command), .value = secret_memory(PROXY_SECRET_MAX)};
        int r = kept.command && kept.value ? secret_read_command(name, command, kept.value, PROXY_SECRET_MAX, reterr) : -ENOMEM;

        pthread_mutex_lock(&secrets_kept.lock);
        if (r == 0 && !GROW(secrets_kept.list, secrets_kept.n))
                r = -ENOMEM;
        if (r == 0)
                secrets_kept.list[secrets_kept.n++] = kept;
        pthread_mutex_unlock(&secrets_kept.lock);
        if (r != 0) {
                json_decref(kept.command);
                sodium_free(kept.value);
        }
        return r;
}

int secret_keep(const Policy *p, Diag *reterr) {
        const char *name;
        json_t *source;
        int r = 0;

        json_object_foreach(p->secrets, name, source) {
                const json_t *command = json_object_get(source, "command");

                if (command) /* the next secrets are kept after a failure, too */
                        r = secret_keep_one(name, command, reterr) ?: r;
        }
        return r;
}

void secret_no_commands(void) {
        pthread_mutex_lock(&secrets_kept.lock);
        secrets_kept.no_commands = true;
        pthread_mutex_unlock(&secrets_kept.lock);
}
