// A message argv[1] levels deep: a recursive parser's stack.
#include "pipe.h"

int main(int argc, char **argv) {
        int depth = atoi(arg(argc, argv, 1));
        static char answer[65536];
        const char *head = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"log\",\"params\":{\"message\":\"m\",\"data\":";
        pipe_say(head, strlen(head));
        for (int i = 0; i < depth; i++)
                pipe_say("[", 1);
        for (int i = 0; i < depth; i++)
                pipe_say("]", 1);
        if (!pipe_ask("}}", answer, sizeof answer, 3000))
                contained("no answer");
        printf("%.300s\n", answer);
        errno = 0;
        if (!is_result(answer))
                contained("the message was refused");
        escaped("the message was accepted");
}
