// Asks argv[1] times and never reads an answer: the supervisor must neither block nor keep the answers.
#include "pipe.h"

int main(int argc, char **argv) {
        int n = atoi(arg(argc, argv, 1));
        char line[160];
        signal(SIGPIPE, SIG_IGN);
        for (int i = 0; i < n; i++) {
                int len = snprintf(line, sizeof line, "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"slot.list\",\"params\":{}}\n", i);
                pipe_say(line, (size_t)len);
        }
        escaped("%d questions, no answer read", n);
}
