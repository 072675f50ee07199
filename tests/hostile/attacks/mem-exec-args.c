// I-66: arguments of programs that are about to be executed and cannot be: argv[1] processes with argv[2] MiB of them each, again and again, for argv[3]
// milliseconds.
#include "attack.h"

#include <sys/resource.h>

#define STRING (128 << 10) /* the longest that the kernel takes */

int main(int argc, char **argv) {
        int n = atoi(arg(argc, argv, 1)), strings = 8 * atoi(arg(argc, argv, 2)), fd = open("not-a-program", O_WRONLY | O_CREAT | O_TRUNC, 0755);
        char *string = malloc(STRING), *none = NULL, **args = calloc((size_t)strings + 1, sizeof *args);
        struct rlimit stack;

        if (fd < 0 || write(fd, "nothing to execute", 18) != 18)
                contained("a file");
        close(fd);
        memset(string, 'x', STRING - 1);
        string[STRING - 1] = 0;
        for (int i = 0; i < strings; i++)
                args[i] = string;
        getrlimit(RLIMIT_STACK, &stack); /* a quarter of it may be arguments */
        stack.rlim_cur = stack.rlim_max;
        setrlimit(RLIMIT_STACK, &stack);
        execve("not-a-program", args, &none);
        if (errno != ENOEXEC)
                contained("arguments");
        for (int i = 0; i < n; i++)
                if (fork() == 0) {
                        prctl(PR_SET_PDEATHSIG, SIGKILL);
                        for (;;)
                                execve("not-a-program", args, &none);
                }
        sleep_msec(atol(arg(argc, argv, 3)));
        escaped("%d processes with %d MiB of arguments", n, strings / 8);
}
