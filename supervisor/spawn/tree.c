#include "spawn/tree.h"

#include "base/io.h"
#include "spawn/clone.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <linux/openat2.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#define HOST_ID 65534U
#define WAIT_NSEC_MAX 200000000 /* of one wait: about two seconds in all */
#define AT_RECURSIVE_TREE 0x8000
#define PROPAGATION_PRIVATE (1ULL << 18) /* MS_PRIVATE: sys/mount.h and linux/mount.h cannot both be included */

static int write_proc(pid_t pid, const char *name, const char *text) {
        char path[64];
        int fd, e;

        snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
        fd = open(path, O_WRONLY | O_CLOEXEC);
        if (fd < 0)
                return -errno;
        e = write(fd, text, strlen(text)) == (ssize_t)strlen(text) ? 0 : -errno; /* one write: the kernel takes a map whole */
        close(fd);
        return e;
}

/* The kernel wakes us in the middle of the child's exec. When we are not dumpable ourselves (we changed ids, or protect a key), its /proc
 * files belong to root until that exec is through, a few microseconds later; a nursery's child has yet to come to it. */
static int write_first(pid_t pid, const char *name, const char *text) {
        int e;

        for (long nsec = 50000; (e = write_proc(pid, name, text)) == -EACCES && nsec < WAIT_NSEC_MAX; nsec += nsec / 8)
                nanosleep(&(struct timespec){.tv_nsec = nsec}, NULL);
        return e;
}

int tree_write_maps(pid_t pid, const char *uids, const char *gids, bool deny_groups) {
        int e = deny_groups ? write_first(pid, "setgroups", "deny") : 0;

        if (e == 0)
                e = write_first(pid, "uid_map", uids);
        if (e == 0)
                e = write_proc(pid, "gid_map", gids);
        return e;
}

/* Every id is itself, but `owner` is HOST_ID (and a file that is HOST_ID's own belongs to nobody that the region knows). */
static void owner_map(uint32_t owner, char *out, size_t n) {
        uint32_t low = MIN(owner, HOST_ID), high = MAX(owner, HOST_ID);
        size_t at = 0;

        if (low > 0)
                at += (size_t)snprintf(out + at, n - at, "0 0 %u\n", low);
        at += (size_t)snprintf(out + at, n - at, "%u %u 1\n", owner, HOST_ID);
        if (high - low > 1)
                at += (size_t)snprintf(out + at, n - at, "%u %u %u\n", low + 1, low + 1, high - low - 1);
        if (high < UINT32_MAX - 1)
                snprintf(out + at, n - at, "%u %u %u\n", high + 1, high + 1, UINT32_MAX - high - 1);
}

/* A user namespace exists as long as a descriptor of it: the process that made it can go at once. */
static int make_idmap(uint32_t uid, uint32_t gid) {
        static char stack[16 * 1024] __attribute__((aligned(16)));
        char uids[160], gids[160], path[64];
        int pidfd = -1, ns, e;
        pid_t pid = clone_idle(stack, sizeof(stack), &pidfd);

        if (pid < 0)
                return pid;
        owner_map(uid, uids, sizeof(uids));
        owner_map(gid, gids, sizeof(gids));
        e = tree_write_maps(pid, uids, gids, false);
        snprintf(path, sizeof(path), "/proc/%d/ns/user", (int)pid);
        ns = e == 0 ? open(path, O_RDONLY | O_CLOEXEC) : -1;
        if (e == 0 && ns < 0)
                e = -errno;
        syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0);
        while (waitpid(pid, NULL, __WALL) < 0 && errno == EINTR)
                ;
        close(pidfd);
        return e < 0 ? e : ns;
}

static pthread_mutex_t idmap_lock = PTHREAD_MUTEX_INITIALIZER;

/* Most sources of one run belong to one user: the last map is kept. Under the lock, and the descriptor is used under it. */
static int idmap_for(uint32_t uid, uint32_t gid) {
        static struct {
                int fd;
                uint32_t uid, gid;
        } last = {.fd = -1};
        int fd;

        if (last.fd >= 0 && last.uid == uid && last.gid == gid)
                return last.fd;
        fd = make_idmap(uid, gid);
        if (fd < 0)
                return fd;
        if (last.fd >= 0)
                close(last.fd);
        last.fd = fd;
        last.uid = uid;
        last.gid = gid;
        return fd;
}

/* A single file that everyone may read and run needs no map; below a folder anything may stand. */
static bool needs_map(const struct stat *st, bool write) {
        if (st->st_uid == HOST_ID)
                return false;
        return write || S_ISDIR(st->st_mode) || (st->st_mode & 05) != 05;
}

int tree_open(const char *source, bool write, bool map_owner, Diag *reterr) {
        struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS};
        struct mount_attr attr = {.attr_set = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | (write ? 0 : MOUNT_ATTR_RDONLY),
                                  .propagation = PROPAGATION_PRIVATE};
        _cleanup_close_ int fd = (int)syscall(SYS_openat2, AT_FDCWD, source, &how, sizeof(how)), tree = -1;
        struct stat st;

        if (fd < 0)
                return diag(reterr, -errno, "\"%s\" cannot be opened%s: %s", source,
                            errno == ELOOP ? " (a symbolic link on the way; name the place that it leads to)" : "", strerror(errno));
        if (fstat(fd, &st) < 0)
                return -errno;
        tree = (int)syscall(SYS_open_tree, fd, "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH | AT_RECURSIVE_TREE);
        if (tree < 0)
                return diag(reterr, -errno, "\"%s\" cannot be bound: open_tree: %s", source, strerror(errno));
        if (map_owner && needs_map(&st, write)) {
                struct mount_attr map = {.attr_set = MOUNT_ATTR_IDMAP};
                int ns;

                pthread_mutex_lock(&idmap_lock);
                ns = idmap_for(st.st_uid, st.st_gid);
                map.userns_fd = (uint64_t)(unsigned)ns;
                /* A file system that cannot do it is bound plainly: then its modes decide. */
                if (ns >= 0)
                        syscall(SYS_mount_setattr, tree, "", AT_EMPTY_PATH, &map, sizeof(map));
                pthread_mutex_unlock(&idmap_lock);
        }
        if (syscall(SYS_mount_setattr, tree, "", AT_EMPTY_PATH | AT_RECURSIVE_TREE, &attr, sizeof(attr)) < 0)
                return diag(reterr, -errno, "\"%s\" cannot be bound: mount_setattr: %s", source, strerror(errno));
        return TAKE_FD(tree);
}
