// clone3 keeps its flags behind a pointer, where a filter cannot see them: the call as a whole must be refused.
#include "attack.h"

#include <linux/sched.h>
#include <sched.h>

int main(void) {
        struct clone_args a = {.flags = CLONE_NEWUSER, .exit_signal = SIGCHLD};
        long pid = syscall(SYS_clone3, &a, sizeof a);
        if (pid == 0)
                _exit(0);
        if (pid < 0)
                contained("clone3(CLONE_NEWUSER)");
        escaped("child in a new namespace");
}
