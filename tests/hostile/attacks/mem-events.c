// I-66: events of inotify with long names, which nobody reads: argv[1] instances. It waits then for argv[2] milliseconds.
#include "attack.h"

#include <sys/inotify.h>

int main(int argc, char **argv) {
        int n = atoi(arg(argc, argv, 1));
        char a[256], b[256];

        memset(a, 'a', 255);
        memset(b, 'b', 255);
        a[255] = b[255] = 0;
        if (mkdir("events", 0700) < 0 || chdir("events") < 0 || close(creat(a, 0600)) < 0 || close(creat(b, 0600)) < 0)
                contained("files");
        for (int i = 0; i < n; i++) {
                int fd = inotify_init1(IN_NONBLOCK);
                if (fd < 0 || inotify_add_watch(fd, ".", IN_OPEN | IN_CLOSE) < 0)
                        contained("watch %d", i);
        }
        /* One and the same event is queued once. */
        for (int i = 0; i < 4200; i++) {
                close(open(a, O_RDONLY));
                close(open(b, O_RDONLY));
        }
        if (argc > 2)
                sleep_msec(atol(argv[2]));
        unlink(a);
        unlink(b);
        chdir("..");
        rmdir("events");
        escaped("%d queues", n);
}
