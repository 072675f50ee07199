// quotactl reaches the host's disks.
#include "attack.h"

#include <sys/quota.h>

int main(void) {
        long r = quotactl(QCMD(Q_SYNC, USRQUOTA), NULL, 0, NULL);
        if (r < 0)
                contained("quotactl");
        escaped("quotactl gave %ld", r);
}
