/* Runs: supervisor. */
#include "region/region-terminal.h"

#include "base/io.h"
#include "base/util.h"
#include "schema/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

size_t region_terminal_take(int master, const char *packet, size_t n) {
        TerminalSize size;

        if (n > 0 && *packet == TERMINAL_INPUT)
                return 1;
        if (n == 1 + sizeof(size) && *packet == TERMINAL_SIZE) {
                memcpy(&size, packet + 1, sizeof(size));
                /* the kernel sends SIGWINCH to the foreground group; an error leaves the size */
                (void)ioctl(master, TIOCSWINSZ, &(struct winsize){.ws_row = size.rows, .ws_col = size.columns});
        }
        return n;
}

ssize_t region_terminal_rest(int master, char *ret, size_t most) {
        ssize_t n;

        do
                n = read(master, ret, most);
        while (n < 0 && errno == EINTR);
        /* EIO: no process has the slave. EAGAIN: a process of the host has it, as the user's own. */
        return n >= 0 ? n : errno == EIO || errno == EAGAIN ? 0 : -errno;
}
