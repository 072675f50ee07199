// O_NONBLOCK is a property of the open file, not of the descriptor: set on a shared end it would break the supervisor's or the operator's.
#include "pipe.h"

int main(void) {
        for (int fd = 0; fd <= 2; fd++) {
                struct stat st;
                int fl = fcntl(fd, F_GETFL);
                if (fl >= 0 && fstat(fd, &st) == 0 && !S_ISFIFO(st.st_mode) && !S_ISCHR(st.st_mode) && fcntl(fd, F_SETFL, fl | O_NONBLOCK) == 0)
                        escaped("changed the operator's descriptor %d", fd);
        }
        contained("flags of standard descriptors");
}
