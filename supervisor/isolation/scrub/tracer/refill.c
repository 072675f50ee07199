/* Memory that the region gave back to the kernel while it ran: pages of pipes, buffers of sockets, names of files.
 * No process can write there any more, but the kernel allocates from the same lists, last freed first, and the new
 * content replaces the old. So the guard asks for as much of each kind as a region ordinarily leaves, fills it with
 * zeros, and gives it back. The refill is no proof, and raises no grade: the residue harness finds 0 to 6 in a
 * hundred of the copies instead of 90, and none of the file names. */
#include "scrub/tracer/state.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#define PAIRS 8
#define PIPES 4
#define PIPE_BYTES (1 << 20)
#define NAMES 256
#define CPUS_MAX 8 /* processors to refill on: each has lists of its own */

static const unsigned char zeros[65536];

static void refill_write(int fd) {
        while (write(fd, zeros, sizeof(zeros)) > 0)
                ;
}

static void refill_buffers(unsigned share, bool pipes) {
        int fds[PAIRS + PIPES][2];
        size_t n = 0;

        /* Their memory comes from the lists of the pipes', too, in less time. */
        for (unsigned i = 0; i < PAIRS / share; i++)
                if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds[n]) == 0)
                        refill_write(fds[n++][1]);
        for (unsigned i = 0; pipes && i < PIPES / share; i++)
                if (pipe2(fds[n], O_NONBLOCK | O_CLOEXEC) == 0) {
                        /* refused beyond the user's share of pipe pages: then the pipe stays small */
                        fcntl(fds[n][1], F_SETPIPE_SZ, PIPE_BYTES);
                        refill_write(fds[n++][1]);
                }
        for (size_t i = 0; i < n; i++) {
                close(fds[i][0]);
                close(fds[i][1]);
        }
}

/* A failed look-up allocates its name until it ends; on a file system in memory no longer. */
static void refill_names(int folder, unsigned share) {
        static const unsigned lengths[] = {31, 40, 70, 100, 170, 230}; /* one per size class of the kernel */
        char name[256];
        struct stat st;

        for (size_t k = 0; k < sizeof(lengths) / sizeof(lengths[0]); k++) {
                memset(name, '0', sizeof(name));
                for (unsigned i = 0; i < NAMES / share; i++) {
                        snprintf(name + lengths[k] - 6, 7, "%06u", i);
                        fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW);
                }
        }
}

void refill(const Tracer *g, bool all_kinds) {
        cpu_set_t all, one;
        unsigned done = 0;
        int here = sched_getcpu();
        bool names = all_kinds && g->scratch >= 0 && wipe_is_in_memory(g->scratch);

        refill_buffers(1, all_kinds);
        if (names)
                refill_names(g->scratch, 1);
        if (here < 0 || sched_getaffinity(0, sizeof(all), &all) < 0)
                return;
        for (int i = 0; i < CPU_SETSIZE && done < CPUS_MAX; i++) {
                if (i == here || !CPU_ISSET(i, &all))
                        continue;
                CPU_ZERO(&one);
                CPU_SET(i, &one);
                if (sched_setaffinity(0, sizeof(one), &one) < 0)
                        continue;
                done++;
                refill_buffers(PIPES, all_kinds);
                if (names)
                        refill_names(g->scratch, PIPES);
        }
        if (done > 0)
                sched_setaffinity(0, sizeof(all), &all);
}
