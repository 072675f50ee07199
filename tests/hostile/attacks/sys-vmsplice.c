// vmsplice gives pages away that teardown must find.
#include "attack.h"

#include <sys/uio.h>

int main(void) {
        long r = ({ int p[2]; static char b[4096]; struct iovec v = {b, sizeof b}; pipe(p) < 0 ? -1 : vmsplice(p[1], &v, 1, SPLICE_F_GIFT); });
        if (r < 0)
                contained("vmsplice");
        escaped("vmsplice gave %ld", r);
}
