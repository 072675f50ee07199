#include "region/region-queues.h"

#include "region/region-notify.h"
#include "region/region-proc.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define QUEUES_PAGE 4096

typedef struct QueuesSeen {
        uint64_t *inodes; /* of pipes and sockets that were counted; owned */
        size_t n, room;
} QueuesSeen;

static int queues_order(const void *a, const void *b) {
        uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

        return x < y ? -1 : x > y;
}

/* "pipe:[1]", "socket:[1]": 0 for all else. */
static uint64_t queues_inode(const char *name) {
        const char *number = strchr(name, '[');

        return number && (strncmp(name, "pipe:", 5) == 0 || strncmp(name, "socket:", 7) == 0) ? strtoull(number + 1, NULL, 10) : 0;
}

/* A page of a pipe may hold one byte. Of a socket the kernel says what is charged to it. */
static uint64_t queues_of(int fd, bool pipe) {
        int n = 0, most;

        if (pipe) {
                most = fcntl(fd, F_GETPIPE_SZ);
                return most > 0 && ioctl(fd, FIONREAD, &n) == 0 && n > 0 ? MIN((uint64_t)n * QUEUES_PAGE, (uint64_t)most) : 0;
        }
        return ioctl(fd, SIOCOUTQ, &n) == 0 && n > 0 ? (uint64_t)n : 0;
}

static uint64_t queues_at(pid_t pid, QueuesSeen *seen) {
        char path[64], link[384], name[64];
        struct dirent *de;
        uint64_t sum = 0;
        DIR *d;

        snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
        d = opendir(path);
        while (d && (de = readdir(d))) {
                size_t before = seen->n;
                uint64_t inode;
                ssize_t n;
                int copy;

                snprintf(link, sizeof(link), "%s/%s", path, de->d_name);
                n = readlink(link, name, sizeof(name) - 1);
                name[MAX(n, (ssize_t)0)] = 0;
                inode = queues_inode(name);
                if (inode == 0 || bsearch(&inode, seen->inodes, before, sizeof(inode), queues_order))
                        continue;
                if (before == seen->room) {
                        uint64_t *grown = reallocarray(seen->inodes, seen->room + 1024, sizeof(*grown));

                        if (!grown)
                                break;
                        seen->inodes = grown;
                        seen->room += 1024;
                }
                copy = region_notify_copy_fd(pid, atoi(de->d_name));
                if (copy < 0)
                        continue;
                sum += queues_of(copy, *name == 'p');
                close(copy);
                while (before > 0 && seen->inodes[before - 1] > inode)
                        before--;
                memmove(&seen->inodes[before + 1], &seen->inodes[before], (seen->n - before) * sizeof(inode));
                seen->inodes[before] = inode;
                seen->n++;
        }
        if (d)
                closedir(d);
        return sum;
}

uint64_t queues_bytes(pid_t root) {
        _cleanup_free_ pid_t *list = NULL;
        QueuesSeen seen = {};
        uint64_t sum = 0;
        size_t n = 0;

        if (proc_tree_list(root, &list, &n) < 0)
                return 0;
        for (size_t i = 0; i < n; i++)
                sum += queues_at(list[i], &seen);
        free(seen.inodes);
        return sum;
}
