// /proc/PID/root and /proc/PID/cwd of another process lead to its view of the file system: argv[1] the pid, argv[2] the canary's file.
#include "attack.h"

int main(int argc, char **argv) {
        const char *pid = arg(argc, argv, 1), *path = arg(argc, argv, 2);
        char b[4096];
        snprintf(b, sizeof b, "/proc/%s/root%s", pid, path);
        if (file_has_canary(AT_FDCWD, b))
                escaped("read %s", b);
        snprintf(b, sizeof b, "/proc/%s/cwd/../../../../../../..%s", pid, path);
        if (file_has_canary(AT_FDCWD, b))
                escaped("read %s", b);
        contained("open %s", b);
}
