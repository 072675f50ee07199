#include "worker/worker.h"

#include <linux/seccomp.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1UL << 5) /* Linux 5.19 */
#endif

int filter_install(const struct sock_filter *filter, size_t n, int notify) {
        struct sock_fprog p = {.len = (unsigned short)n, .filter = (struct sock_filter *)filter};
        unsigned long flags = notify ? SECCOMP_FILTER_FLAG_NEW_LISTENER : 0;
        long r;

        /* A signal to a process whose call is being judged must not make it ask twice (Go's scheduler sends many); kernels before 5.19
         * do without. */
        r = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags | (notify ? SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV : 0), &p);
        if (r < 0 && errno == EINVAL && notify)
                r = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &p);
        return r < 0 ? -errno : (int)r;
}
