// CVE-2024-21626: any descriptor above the pipe's (4) that came with exec, and any of 0..4 through which a folder or more can be reached.
#include "attack.h"

int main(int argc, char **argv) {
        struct stat st;
        for (int fd = 5; fd < 4096; fd++)
                if (fstat(fd, &st) == 0)
                        escaped("descriptor %d (mode %o) came along", fd, st.st_mode);
        for (int fd = 0; fd < 5; fd++)
                if (fstat(fd, &st) == 0 && (S_ISDIR(st.st_mode) || S_ISREG(st.st_mode) || S_ISBLK(st.st_mode)))
                        escaped("descriptor %d is a file or folder of the host", fd);
        contained("descriptors above 4");
}
