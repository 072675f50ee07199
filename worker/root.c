/* The private root: a tmpfs, built beside the host's tree and then put in its place. */
#include "worker/sys.h"
#include "worker/worker.h"

#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>

int new_tmpfs(uint64_t bytes, uint64_t inodes, const char *mode) {
        _autoclose_ int fs = sys_fsopen("tmpfs");
        char size[24], count[24];
        int m;

        if (fs < 0)
                return -errno;
        snprintf(size, sizeof(size), "%llu", (unsigned long long)bytes);
        snprintf(count, sizeof(count), "%llu", (unsigned long long)inodes);
        if (sys_fsconfig(fs, FSCONFIG_SET_STRING, "size", size) < 0 ||
            sys_fsconfig(fs, FSCONFIG_SET_STRING, "nr_inodes", count) < 0 ||
            sys_fsconfig(fs, FSCONFIG_SET_STRING, "mode", mode) < 0 ||
            sys_fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL) < 0)
                return -errno;
        m = sys_fsmount(fs, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
        return m < 0 ? -errno : m;
}

static int root_device(int fd, dev_t *ret) {
        struct stat st;

        if (fstat(fd, &st) < 0)
                return -errno;
        *ret = st.st_dev;
        return 0;
}

int step_root(Worker *w) {
        if (w->spec.tier != 2)
                return 0;
        if (w->spec.flags & LAUNCH_TEMPLATE) {
                w->root = openat(AT_FDCWD, "/", O_PATH | O_DIRECTORY | O_CLOEXEC);
                return w->root < 0 ? -errno : root_device(w->root, &w->root_dev);
        }
        w->root = new_tmpfs(1024 * 1024, 4096, "0755");
        if (w->root < 0)
                return w->root;
        /* Attached over the host's root, where paths still lead below: only the descriptor reaches the new root. */
        if (sys_move_mount(w->root, AT_FDCWD, "/") < 0 || fchdir(w->root) < 0)
                return -errno;
        return root_device(w->root, &w->root_dev);
}

/* A single tmpfs gives both /work and /tmp, so that a common size bounds them and a rename between them works. Its
 * own root stays hidden beneath /work; the supervisor gets a descriptor of that root, to measure and to clean. */
int step_scratch(Worker *w) {
        static const struct {
                const char *name;
                mode_t mode;
        } folders[] = {{"work", 0755}, {"tmp", 01777}};
        int fs;

        if (w->spec.tier != 2)
                return 0;
        for (size_t i = 0; i < 2 && !(w->spec.flags & LAUNCH_TEMPLATE); i++)
                if (mkdirat(w->root, folders[i].name, 0755) < 0)
                        return -errno;
        if (w->spec.flags & LAUNCH_ZYGOTE)
                return 0;
        fs = new_tmpfs(w->spec.scratch_bytes, w->spec.scratch_inodes, "0755");
        if (fs < 0)
                return fs;
        if (sys_move_mount(fs, w->root, folders[0].name) < 0)
                return -errno;
        for (size_t i = 0; i < 2; i++) {
                int tree;

                if (mkdirat(fs, folders[i].name, folders[i].mode) < 0 ||
                    fchmodat(fs, folders[i].name, folders[i].mode, 0) < 0)
                        return -errno;
                tree = sys_open_tree(fs, folders[i].name, OPEN_TREE_CLONE);
                if (tree < 0 || sys_move_mount(tree, w->root, folders[i].name) < 0)
                        return -errno;
                close(tree);
        }
        w->scratch = openat(fs, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (w->scratch < 0)
                return -errno;
        close(fs);
        return root_device(w->scratch, &w->scratch_dev);
}

int step_pivot(Worker *w) {
        struct mount_attr readonly = {.attr_set = MOUNT_ATTR_RDONLY};

        if (w->spec.tier != 2)
                return 0;
        if (w->spec.flags & LAUNCH_TEMPLATE) {
                close(w->root);
                w->root = -1;
                return 0;
        }
        /* With the same folder as new and old root, the old root ends on top and can be unmounted. */
        if (fchdir(w->root) < 0 || syscall(SYS_pivot_root, ".", ".") < 0 || umount2(".", MNT_DETACH) < 0 ||
            chdir("/") < 0)
                return -errno;
        if (sys_mount_setattr(w->root, 0, &readonly) < 0)
                return -errno;
        close(w->root);
        w->root = -1;
        return 0;
}

int step_workdir(Worker *w) {
        return chdir(w->spec.workdir) < 0 ? -errno : 0;
}
