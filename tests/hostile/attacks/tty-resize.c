// changes the size of its terminal argv[1] times, with a SIGWINCH to all whom it may signal; the last size is 1 row of 1 column.
// Whoever has the terminal outside looks whether its size is another one. Ends when a byte is typed.
#include "attack.h"

#include <sys/ioctl.h>

int main(int argc, char **argv) {
        int most = atoi(arg(argc, argv, 1)), n = 0;
        struct winsize w = {};
        char b;
        signal(SIGWINCH, SIG_IGN);
        for (int i = most; i > 0; i--) {
                w = (struct winsize){.ws_row = (unsigned short)i, .ws_col = (unsigned short)(3 * i + 1)};
                n += ioctl(0, TIOCSWINSZ, &w) == 0;
                kill(0, SIGWINCH);
                kill(getppid(), SIGWINCH);
        }
        w = (struct winsize){.ws_row = 1, .ws_col = 1};
        ioctl(0, TIOCSWINSZ, &w);
        printf("%d of %d changes\n", n, most);
        fflush(stdout);
        return read(0, &b, 1) == 1 ? 1 : 2;
}
