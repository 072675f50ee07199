/* Runs: tests, in a region. Writes a counter to slot "count" over the pipe, one write after the other, and says on standard output which
 * were acknowledged. usage: writer FIRST HOW-MANY [TOKEN] */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char answer[65536];

/* One answer line; 0 when the pipe is at its end. */
static int read_line(void) {
        size_t n = 0;

        while (n < sizeof(answer) - 1) {
                ssize_t r = read(3, answer + n, 1);

                if (r <= 0)
                        return 0;
                if (answer[n] == '\n')
                        break;
                n++;
        }
        answer[n] = 0;
        return 1;
}

static int ask(const char *line) {
        return write(4, line, strlen(line)) == (ssize_t)strlen(line) && read_line();
}

int main(int argc, char **argv) {
        long first = argc > 1 ? atol(argv[1]) : 0, n = argc > 2 ? atol(argv[2]) : 1;
        char line[256];

        if (!ask("{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"hello\",\"params\":{\"protocol\":1}}\n"))
                return 1;
        for (long i = first; i < first + n; i++) {
                int k;

                snprintf(line, sizeof(line),
                         "{\"jsonrpc\":\"2.0\",\"id\":%ld,\"method\":\"slot.write\",\"params\":{\"name\":\"count\",\"value\":%ld}}\n", i, i);
                if (!ask(line))
                        return 1;
                if (!strstr(answer, "\"result\"")) {
                        fprintf(stderr, "%s\n", answer);
                        return 1;
                }
                k = snprintf(line, sizeof(line), "acked %ld\n", i);
                if (write(1, line, (size_t)k) != k)
                        return 1;
        }
        return 0;
}
