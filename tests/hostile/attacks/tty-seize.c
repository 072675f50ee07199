// a session takes the terminal of another one as its own (TIOCSCTTY with argument 1), and so that one's keys.
#include "attack.h"

#include <sys/ioctl.h>

int main(void) {
        int status;
        if (fork() == 0) {
                setsid();
                _exit(ioctl(0, TIOCSCTTY, 1) == 0 ? 0 : errno);
        }
        signal(SIGHUP, SIG_IGN);
        wait(&status);
        if (status == 0)
                escaped("the terminal is another session's");
        errno = WEXITSTATUS(status);
        contained("TIOCSCTTY");
}
