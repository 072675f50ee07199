// Signal 0 to every pid there may be: whoever answers and is neither this program nor its parent is outside of the region. Signal 0 harms
// nobody; that it is allowed is enough. kill(-1, 0) asks the same at once.
#include "attack.h"

int main(void) {
        for (pid_t pid = 1; pid < 100000; pid++)
                if (pid != getpid() && pid != getppid() && kill(pid, 0) == 0)
                        escaped("could kill %d", pid);
        contained("every pid");
}
