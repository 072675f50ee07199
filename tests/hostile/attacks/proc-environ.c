// I-21: secrets in the environment or the arguments of any process that can be seen.
#include "attack.h"

#include <dirent.h>

int main(void) {
        DIR *d = opendir("/proc");
        if (!d)
                contained("open /proc");
        static const char *const what[] = {"environ", "cmdline"};
        static char b[65536];
        for (struct dirent *e; (e = readdir(d));)
                for (int i = 0; i < 2; i++) {
                        char path[300];
                        snprintf(path, sizeof path, "/proc/%s/%s", e->d_name, what[i]);
                        if (e->d_name[0] < '1' || e->d_name[0] > '9')
                                continue;
                        int fd = open(path, O_RDONLY);
                        ssize_t n = fd < 0 ? 0 : read(fd, b, sizeof b);
                        if (fd >= 0)
                                close(fd);
                        if (n > 0 && memmem(b, (size_t)n, CANARY, strlen(CANARY)))
                                escaped("the canary is in %s", path);
                }
        errno = ENOENT;
        contained("no canary in /proc");
}
