// Becomes root, or another user, or joins groups.
#include "attack.h"

#include <grp.h>

int main(void) {
        if (geteuid() == 0)
                escaped("is uid 0");
        if (setresuid(0, 0, 0) == 0 || setuid(0) == 0 || setgroups(1, (gid_t[]){0}) == 0 || setresgid(0, 0, 0) == 0)
                escaped("became another user");
        contained("setuid 0");
}
