// I-66: argv[1] rule sets of a Landlock of its own, each with a rule for every port.
#include "attack.h"

int main(int argc, char **argv) {
        int n = atoi(arg(argc, argv, 1));
        struct {
                uint64_t fs, net;
        } a = {0, 3};

        for (int i = 0; i < n; i++) {
                int fd = (int)syscall(444, &a, sizeof a, 0);

                if (fd < 0)
                        contained("landlock_create_ruleset after %d", i);
                for (uint64_t port = 0; port < 65536; port++) {
                        uint64_t rule[2] = {1 + port % 2, port};

                        if (syscall(445, fd, 2, rule, 0) < 0)
                                contained("landlock_add_rule: port %d of set %d", (int)port, i);
                }
        }
        sleep_msec(argc > 2 ? atoi(argv[2]) : 0);
        escaped("%d sets of 65536 rules", n);
}
