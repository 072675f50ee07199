// I-66: pages of files that are cut off, kept by pipes and sockets: argv[1] of them, in the folder argv[2], put there with splice or sendfile (argv[3]). The
// file system decides how many other pages each keeps with it.
#include "attack.h"

#include <sys/sendfile.h>
#include <sys/socket.h>

static char block[2 << 20];

int main(int argc, char **argv) {
        int n = atoi(arg(argc, argv, 1)), kept = 0, ends[2];
        bool pipes = strcmp(arg(argc, argv, 3), "splice") == 0;
        char path[512];

        snprintf(path, sizeof path, "%s/folio", arg(argc, argv, 2));
        for (int i = 0; i < n; i++) {
                loff_t at = 4096;
                off_t from = 4096;
                int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
                if (fd < 0 || write(fd, block, sizeof block) != (ssize_t)sizeof block)
                        contained("file");
                if (i % 8 == 0 && (pipes ? pipe(ends) : socketpair(AF_UNIX, SOCK_STREAM, 0, ends)) < 0)
                        contained("%d pages", kept);
                if ((pipes ? splice(fd, &at, ends[1], NULL, 4096, 0) : sendfile(ends[1], fd, &from, 4096)) != 4096)
                        contained("%d pages", kept);
                kept++;
                close(fd);
                unlink(path);
        }
        escaped("%d pages", kept);
}
