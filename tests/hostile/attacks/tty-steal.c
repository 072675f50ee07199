// Takes the operator's terminal as one's own, or its foreground: TIOCSCTTY, TIOCSPGRP, and /dev/tty.
#include "attack.h"

#include <sys/ioctl.h>

int main(void) {
        pid_t me = getpid();
        for (int fd = 0; fd < 3; fd++)
                if (ioctl(fd, TIOCSPGRP, &me) == 0 || ioctl(fd, TIOCGSID, &me) == 0)
                        escaped("descriptor %d is the session's terminal", fd);
        if (open("/dev/tty", O_RDWR) >= 0)
                escaped("/dev/tty is open");
        contained("TIOCSCTTY");
}
