// I-30: the page of a file is held in a pipe while the file is deleted in the folder argv[1]: what it holds then is what the kernel got back.
#include "attack.h"

int main(int argc, char **argv) {
        static char page[4096], back[4096];
        int p[2], look[2], fd;
        loff_t from = 0;

        memset(page, 'S', sizeof page);
        if (chdir(arg(argc, argv, 1)) < 0 || pipe(p) < 0 || pipe(look) < 0 || (fd = open("secret", O_RDWR | O_CREAT | O_TRUNC, 0600)) < 0)
                contained("a file");
        if (write(fd, page, sizeof page) != sizeof page || splice(fd, &from, p[1], NULL, sizeof page, 0) != sizeof page)
                contained("its page");
        close(fd);
        if (unlink("secret") < 0)
                contained("unlink");
        for (int i = 0; i < 50; i++) {
                usleep(100000);
                if (tee(p[0], look[1], sizeof back, 0) != sizeof back || read(look[0], back, sizeof back) != sizeof back)
                        contained("another look");
                if (memcmp(back, page, sizeof page) != 0)
                        contained("the deleted file is overwritten");
        }
        escaped("the deleted file is still there");
}
