#include "spawn/bind-mount.h"

#include "base/child-registry.h"
#include "base/path-lookup.h"
#include "base/proc-path.h"
#include "spawn/clone.h"
#include "spawn/private.h"

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

#define IDMAPS 16 /* kept maps */
#define AT_RECURSIVE_TREE 0x8000
#define PROPAGATION_PRIVATE (1ULL << 18) /* MS_PRIVATE: sys/mount.h and linux/mount.h cannot both be included */

/* Maps every id to itself, except `owner` to `to` (a file of `to` then has an unknown owner in the region). */
static void bind_mount_owner_map(uint32_t owner, uint32_t to, char *out, size_t n) {
        uint32_t low = MIN(owner, to), high = MAX(owner, to);
        size_t at = 0;

        if (low > 0)
                at += (size_t)snprintf(out + at, n - at, "0 0 %u\n", low);
        at += (size_t)snprintf(out + at, n - at, "%u %u 1\n", owner, to);
        if (high - low > 1)
                at += (size_t)snprintf(out + at, n - at, "%u %u %u\n", low + 1, low + 1, high - low - 1);
        if (high < UINT32_MAX - 1)
                snprintf(out + at, n - at, "%u %u %u\n", high + 1, high + 1, UINT32_MAX - high - 1);
}

/* A user namespace lives as long as a descriptor: the process can end at once. */
static int bind_mount_make_idmap(uint32_t uid, uint32_t gid, uint32_t to) {
        static char stack[16 * 1024] __attribute__((aligned(16)));
        char uids[160], gids[160];
        int pidfd = -1, ns, e;
        pid_t pid = clone_idle(stack, sizeof(stack), &pidfd);

        if (pid < 0)
                return pid;
        bind_mount_owner_map(uid, to, uids, sizeof(uids));
        bind_mount_owner_map(gid, to, gids, sizeof(gids));
        e = spawn_write_id_maps(pid, uids, gids, false);
        ns = e == 0 ? open(PROC_PATH("%d/ns/user", pid), O_RDONLY | O_CLOEXEC) : -1;
        if (e == 0 && ns < 0)
                e = -errno;
        syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0);
        child_registry_reap(pid);
        close(pidfd);
        return e < 0 ? e : ns;
}

static pthread_mutex_t idmap_lock = PTHREAD_MUTEX_INITIALIZER;

/* Most sources belong to few users, and few region ids recur: the last maps are kept. Under the lock, like its use. */
static int bind_mount_idmap(uint32_t uid, uint32_t gid, uint32_t to) {
        static struct {
                int fd;
                uint32_t uid, gid, to;
        } kept[IDMAPS];
        static size_t n, next;
        size_t at;
        int fd;

        for (size_t i = 0; i < n; i++)
                if (kept[i].uid == uid && kept[i].gid == gid && kept[i].to == to)
                        return kept[i].fd;
        fd = bind_mount_make_idmap(uid, gid, to);
        if (fd < 0)
                return fd;
        at = n < IDMAPS ? n++ : next++ % IDMAPS;
        if (kept[at].to)
                close(kept[at].fd);
        kept[at].fd = fd;
        kept[at].uid = uid;
        kept[at].gid = gid;
        kept[at].to = to;
        return fd;
}

/* A single file that all users may read and run needs no map; a folder may hold any file. */
static bool bind_mount_needs_map(const struct stat *st, bool write, uint32_t owner) {
        if (st->st_uid == owner && st->st_gid == owner)
                return false;
        return write || S_ISDIR(st->st_mode) || (st->st_mode & 05) != 05;
}

int bind_mount_open(const char *source, bool write, uint32_t owner, const char *of_or_null, Diag *reterr) {
        struct mount_attr attr = {.attr_set = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | (write ? 0 : MOUNT_ATTR_RDONLY),
                                  .propagation = PROPAGATION_PRIVATE};
        _cleanup_close_ int fd = lookup_open(source, 0, RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS), tree = -1;
        struct stat st;
        int e;

        if (fd < 0)
                return diag(reterr, fd, "\"%s\" cannot be opened%s: %s", source,
                            fd == -ELOOP ? " (a symbolic link on the way; name its target)" : "", strerror(-fd));
        if ((e = lookup_fstat(fd, &st)) < 0)
                return e;
        tree = (int)syscall(SYS_open_tree, fd, "",
                            OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH | AT_RECURSIVE_TREE);
        if (tree < 0)
                return diag(reterr, -errno, "\"%s\" cannot be bound: open_tree: %s", source, strerror(errno));
        /* For a part of another grant, the region gets only the rights of that grant's owner. */
        if (owner != 0 &&
            (of_or_null ? lookup_stat(of_or_null, false, &st) == 0 && st.st_uid != owner
                        : bind_mount_needs_map(&st, write, owner))) {
                struct mount_attr map = {.attr_set = MOUNT_ATTR_IDMAP};
                int ns;

                pthread_mutex_lock(&idmap_lock);
                ns = bind_mount_idmap(st.st_uid, st.st_gid, owner);
                map.userns_fd = (uint64_t)(unsigned)ns;
                /* A file system without idmaps is bound plainly: its modes decide. */
                if (ns >= 0)
                        syscall(SYS_mount_setattr, tree, "", AT_EMPTY_PATH, &map, sizeof(map));
                pthread_mutex_unlock(&idmap_lock);
        }
        if (syscall(SYS_mount_setattr, tree, "", AT_EMPTY_PATH | AT_RECURSIVE_TREE, &attr, sizeof(attr)) < 0)
                return diag(reterr, -errno, "\"%s\" cannot be bound: mount_setattr: %s", source, strerror(errno));
        return TAKE_FD(tree);
}
