/* A layer of the region's own above a folder of the host: overlayfs, with what the region writes in the scratch. */
#include "worker/sys.h"
#include "worker/worker.h"

#include <stdio.h>
#include <sys/mount.h>

/* overlayfs takes folders by path alone: the names are seen from the working folder. */
static int layer_make(void) {
        _autoclose_ int fs = sys_fsopen("overlay");
        int m;

        if (fs < 0 || sys_fsconfig(fs, FSCONFIG_SET_STRING, "lowerdir", LAUNCH_LAYER_LOWER) < 0 ||
            sys_fsconfig(fs, FSCONFIG_SET_STRING, "upperdir", LAUNCH_LAYER_UPPER) < 0 ||
            sys_fsconfig(fs, FSCONFIG_SET_STRING, "workdir", LAUNCH_LAYER_WORK) < 0 ||
            sys_fsconfig(fs, FSCONFIG_SET_FLAG, "userxattr", NULL) < 0 ||
            sys_fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL) < 0)
                return -errno;
        m = sys_fsmount(fs, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
        return m < 0 ? -errno : m;
}

/* The folder shows the mode of its layer: the same as below, and the region may write there. */
static int layer_folders(int folder, int tree) {
        struct stat st;

        if (mkdirat(folder, LAUNCH_LAYER_UPPER, 0700) < 0 || mkdirat(folder, LAUNCH_LAYER_WORK, 0700) < 0 ||
            mkdirat(folder, LAUNCH_LAYER_LOWER, 0700) < 0 || fstat(tree, &st) < 0)
                return -errno;
        return fchmodat(folder, LAUNCH_LAYER_UPPER, (st.st_mode & 01777) | 0700, 0) < 0 ? -errno : 0;
}

int layer_mount(Worker *w, int tree) {
        _autoclose_ int folder = -1, was = openat(AT_FDCWD, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
        char name[24];
        int e, m = -1;

        snprintf(name, sizeof(name), LAUNCH_LAYER, w->layers++);
        if (was < 0 || mkdirat(w->scratch, name, 0700) < 0 ||
            (folder = openat(w->scratch, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0)
                e = -errno;
        else
                e = layer_folders(folder, tree);
        if (e == 0 && (sys_move_mount(tree, folder, LAUNCH_LAYER_LOWER) < 0 || fchdir(folder) < 0))
                e = -errno;
        close(tree);
        if (e < 0)
                return e;
        m = layer_make();
        /* overlayfs keeps a mount of its own. The supervisor empties the scratch later, and must not meet the host's
         * files there. */
        if (umount2(LAUNCH_LAYER_LOWER, MNT_DETACH) < 0 || fchdir(was) < 0)
                e = -errno;
        if (e < 0 && m >= 0)
                close(m);
        return e < 0 ? e : m;
}
