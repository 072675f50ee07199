/* Runs: a hostile program. The pipe of a region, used without a shim: lines go out on descriptor 4 and come in on 3. */
#pragma once

#include "attack.h"

#include <poll.h>

enum { PIPE_IN = 3, PIPE_OUT = 4 };

static inline void pipe_say(const void *p, size_t n) {
        const char *c = p;
        while (n > 0) {
                ssize_t r = write(PIPE_OUT, c, n);
                if (r < 0)
                        contained("write to the pipe");
                c += r;
                n -= (size_t)r;
        }
}

/* One line from the supervisor, without its newline; false at the end, or when none comes in `ms`. */
static inline bool pipe_hear(char *line, size_t size, int ms) {
        size_t n = 0;
        for (;;) {
                struct pollfd f = {PIPE_IN, POLLIN, 0};
                if (poll(&f, 1, ms) <= 0 || read(PIPE_IN, line + n, 1) != 1)
                        return false;
                if (line[n] == '\n') {
                        line[n] = 0;
                        return true;
                }
                if (n + 1 < size)
                        n++;
        }
}

static inline bool pipe_ask(const char *text, char *answer, size_t size, int ms) {
        pipe_say(text, strlen(text));
        pipe_say("\n", 1);
        return pipe_hear(answer, size, ms);
}

static inline bool is_result(const char *answer) {
        return strstr(answer, "\"result\"") && !strstr(answer, "\"error\"");
}
