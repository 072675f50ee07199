// A set-user-ID program (argv[1], planted by run.py; su, sudo and mount are of this kind) gives another uid than the caller's: it ends 0
// when its effective uid is 0.
#include "attack.h"

int main(int argc, char **argv) {
        const char *path = arg(argc, argv, 1);
        pid_t pid = fork();
        if (pid == 0) {
                execl(path, path, "euid", (char *)NULL);
                _exit(127);
        }
        int st = -1;
        if (pid < 0 || waitpid(pid, &st, 0) < 0)
                contained("fork");
        if (WIFEXITED(st) && WEXITSTATUS(st) == 0)
                escaped("%s ran as root", path);
        contained("exec of %s ended %d", path, WIFEXITED(st) ? WEXITSTATUS(st) : -1);
}
