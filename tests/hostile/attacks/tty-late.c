// A-6 I-12: a process of another session keeps terminals open beyond the program's end: its own streams', and one that it made. It makes the file
// argv[1] after argv[2] ms.
#include "attack.h"

int main(int argc, char **argv) {
        const char *path = arg(argc, argv, 1);
        long ms = atol(arg(argc, argv, 2));
        int said[2];
        char b;
        if (pipe(said) < 0)
                return 2;
        if (fork() == 0) {
                setsid();
                signal(SIGHUP, SIG_IGN);
                if (open("/dev/ptmx", O_RDWR | O_NOCTTY) < 0 || write(said[1], "x", 1) != 1)
                        _exit(2);
                sleep_msec(ms);
                _exit(open(path, O_WRONLY | O_CREAT, 0600) < 0);
        }
        close(said[1]);
        if (read(said[0], &b, 1) != 1)
                escaped("no terminal was made: nothing is shown");
        printf("contained: terminals were left open: only run.py can see whether their process lives\n");
        return 1;
}
