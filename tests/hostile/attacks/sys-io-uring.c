// io_uring does its calls in the kernel, past the filter.
#include "attack.h"

#include <linux/io_uring.h>

int main(void) {
        long r = syscall(SYS_io_uring_setup, 4, &(struct io_uring_params){0});
        if (r < 0)
                contained("io_uring_setup");
        escaped("io_uring_setup gave %ld", r);
}
