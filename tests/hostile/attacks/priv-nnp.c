// no_new_privs is what makes set-user-ID programs and file capabilities powerless: it must be on.
#include "attack.h"

#include <sys/prctl.h>

int main(void) {
        int v = prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0);
        if (v == 0)
                escaped("no_new_privs is off");
        contained("no_new_privs is %d", v);
}
