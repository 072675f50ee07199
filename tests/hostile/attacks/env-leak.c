// The operator's environment (tokens, LD_PRELOAD) must not reach a skill.
#include "attack.h"

extern char **environ;

int main(void) {
        for (char **e = environ; *e; e++)
                if (strstr(*e, CANARY) || strncmp(*e, "LD_", 3) == 0 || strncmp(*e, "GLIBC_", 6) == 0)
                        escaped("environment: %s", *e);
        errno = ENOENT;
        contained("environment");
}
