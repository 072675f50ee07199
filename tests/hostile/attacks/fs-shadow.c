// I-41: the host's files are not there: the password file, of which only the length is said.
#include "attack.h"

int main(void) {
        char b[4096];
        int fd = open("/etc/shadow", O_RDONLY);
        if (fd < 0)
                contained("open /etc/shadow");
        ssize_t n = read(fd, b, sizeof b);
        if (n < 0)
                contained("read /etc/shadow");
        escaped("%zd bytes of /etc/shadow", n);
}
