/* The region's /proc: the processes of the PID namespace, and generated files. subset=pid would leave out the rest, but
 * also each place where a generated file could stand. So /proc is complete, and each entry of the root beside the
 * processes is covered: by the generated file or folder with the same name, or by an empty file or folder. The kernel's
 * own list of entries decides: an unknown entry is covered, too. No path leads below a cover, and a region unmounts no
 * cover. Not covered is an entry added later by the kernel (a module of the host), in regions that already run. */
#include "worker/sys.h"
#include "worker/worker.h"

#include <dirent.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>

#define PROC_COVERS_BYTES (4ULL << 20)
#define PROC_COVERS_FILES 512
#define PROC_NO_FILE ".file" /* covers a file without a generated file: no process may open the cover */
#define PROC_NO_FOLDER ".folder"

typedef struct Dirent64 {
        uint64_t inode;
        int64_t offset;
        uint16_t bytes;
        uint8_t type;
        char name[];
} Dirent64;

/* A generated file, with the folders above. */
static int proc_make_file(int covers, const char *path, const char *content) {
        _autoclose_ int fd = -1;
        size_t n = strlen(content);
        char above[PATH_MAX];

        for (const char *p = path; (p = strchr(p, '/')); p++) {
                if ((size_t)(p - path) >= sizeof(above))
                        return -ENAMETOOLONG;
                memcpy(above, path, (size_t)(p - path));
                above[p - path] = 0;
                if (mkdirat(covers, above, 0755) < 0 && errno != EEXIST)
                        return -errno;
        }
        fd = openat(covers, path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0444);
        if (fd < 0)
                return -errno;
        return n > 0 && write(fd, content, n) != (ssize_t)n ? -EIO : 0;
}

/* A file system with all covers, read-only and mounted nowhere. */
static int proc_new_covers(Worker *w) {
        struct mount_attr readonly = {.attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOEXEC};
        int fs = new_tmpfs(PROC_COVERS_BYTES, PROC_COVERS_FILES, "0755"), e = 0;

        if (fs < 0)
                return fs;
        if (mknodat(fs, PROC_NO_FILE, S_IFREG, 0) < 0 || mkdirat(fs, PROC_NO_FOLDER, 0555) < 0)
                e = -errno;
        for (size_t i = 0; e == 0 && i < w->spec.n_entries; i++)
                if (w->spec.entries[i].flags & LAUNCH_IN_PROC)
                        e = proc_make_file(fs, w->spec.entries[i].target + strlen("/proc/"),
                                           w->spec.entries[i].source);
        if (e == 0 && sys_mount_setattr(fs, 0, &readonly) < 0)
                e = -errno;
        if (e < 0) {
                close(fs);
                return e;
        }
        return fs;
}

static bool proc_is_of_processes(const char *name) {
        return (*name >= '0' && *name <= '9') || strcmp(name, "self") == 0 || strcmp(name, "thread-self") == 0 ||
               strcmp(name, "net") == 0 /* a link to self/net */ || strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

static int proc_cover(int covers, int proc, const Dirent64 *d) {
        _autoclose_ int place = openat(proc, d->name, O_PATH | O_NOFOLLOW | O_CLOEXEC), tree = -1;

        if (place < 0)
                return errno == ENOENT ? 0 : -errno;
        tree = sys_open_tree(covers, d->name, OPEN_TREE_CLONE);
        if (tree < 0 && errno == ENOENT)
                tree = sys_open_tree(covers, d->type == DT_DIR ? PROC_NO_FOLDER : PROC_NO_FILE, OPEN_TREE_CLONE);
        if (tree < 0)
                return -errno;
        return syscall(SYS_move_mount, tree, "", place, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) < 0
                       ? -errno
                       : 0;
}

static int proc_cover_all(int covers, int proc) {
        _autoclose_ int list = openat(proc, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        static _Alignas(Dirent64) char entries[8192];
        long n;

        if (list < 0)
                return -errno;
        while ((n = syscall(SYS_getdents64, list, entries, sizeof(entries))) > 0)
                for (long at = 0; at < n;) {
                        const Dirent64 *d = (const Dirent64 *)(const void *)(entries + at);
                        int e = proc_is_of_processes(d->name) ? 0 : proc_cover(covers, proc, d);

                        if (e < 0)
                                return e;
                        at += d->bytes;
                }
        return n < 0 ? -errno : 0;
}

int step_proc(Worker *w) {
        _autoclose_ int fs = -1, proc = -1, covers = -1;

        if (w->spec.flags & LAUNCH_ZYGOTE)
                return template_keep_proc();
        if (w->spec.tier != 2 || !(w->spec.flags & LAUNCH_PROC))
                return 0;
        fs = sys_fsopen("proc");
        if (fs < 0)
                return -errno;
        if (sys_fsconfig(fs, FSCONFIG_SET_STRING, "hidepid", "2") == 0 &&
            sys_fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL) == 0)
                proc = sys_fsmount(fs, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC);
        if (proc < 0 || (mkdirat(w->root, "proc", 0755) < 0 && errno != EEXIST) ||
            sys_move_mount(proc, w->root, "proc") < 0)
                return -errno;
        covers = proc_new_covers(w);
        return covers < 0 ? covers : proc_cover_all(covers, proc);
}
