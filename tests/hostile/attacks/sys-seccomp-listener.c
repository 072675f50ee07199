// A filter of one's own with a notification descriptor could answer in the supervisor's place.
#include "attack.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>

int main(void) {
        struct sock_filter f[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
        struct sock_fprog p = {1, f};
        long r;

        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        r = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &p);
        if (r < 0)
                contained("seccomp NEW_LISTENER");
        escaped("seccomp NEW_LISTENER gave %ld", r);
}
