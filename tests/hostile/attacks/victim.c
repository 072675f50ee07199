// Not an attack: a process of the host for the others to aim at. It says its pid, the address of its canary and a descriptor, and "hit" for
// every SIGUSR1 or SIGIO; it lives until its standard input ends or somebody kills it.
#include "attack.h"

static char secret[] = CANARY;

static void hit(int sig) {
        if (write(1, "hit\n", 4) < 0)
                _exit(1);
}

int main(void) {
        signal(SIGUSR1, hit);
        signal(SIGIO, hit);
        printf("%d %p %d\n", getpid(), (void *)secret, dup(0));
        fflush(stdout);
        char c;
        for (ssize_t n; (n = read(0, &c, 1)) > 0 || (n < 0 && errno == EINTR);)
                ;
        return 0;
}
