// CVE-2023-28100: TIOCLINUX pastes into a virtual console. On another terminal the same is asked by what it is: is any of 0..2 a terminal?
#include "attack.h"

#include <sys/ioctl.h>
#include <termios.h>

int main(void) {
        struct termios t;
        for (int fd = 0; fd < 3; fd++) {
                if (ioctl(fd, TIOCLINUX, (char[]){6, 0}) >= 0)
                        escaped("TIOCLINUX on %d", fd);
                if (tcgetattr(fd, &t) == 0)
                        escaped("descriptor %d is a terminal", fd);
        }
        contained("TIOCLINUX");
}
