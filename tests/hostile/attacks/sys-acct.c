// Process accounting writes what everybody runs into a file.
#include "attack.h"

int main(void) {
        long r = syscall(SYS_acct, "/nonexistent/lethe");
        if (r < 0 && errno != ENOENT)
                contained("acct");
        escaped("acct gave %ld", r);
}
