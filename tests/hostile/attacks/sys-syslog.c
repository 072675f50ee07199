// The kernel's log tells addresses and secrets.
#include "attack.h"

#include <sys/klog.h>

int main(void) {
        long r = klogctl(10, NULL, 0);
        if (r < 0)
                contained("syslog");
        escaped("syslog gave %ld", r);
}
