#include "mcp/lines.h"

#include <errno.h>

#define CHUNK (256 * 1024)

int lines_read(int fd, LineReader *r, bool *ret_over) {
        char *at;
        int e = line_reader_space(r, CHUNK, &at);
        ssize_t n;

        if (e < 0)
                return e;
        n = read(fd, at, CHUNK);
        if (n < 0 && (errno == EINTR || errno == EAGAIN))
                return 0;
        *ret_over = n <= 0;
        line_reader_fed(r, (size_t)MAX(n, (ssize_t)0));
        return 0;
}
