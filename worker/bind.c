/* The content of the private root: folders, links, small files, and binds of the host's files and folders. */
#include "worker/sys.h"
#include "worker/worker.h"

#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>

/* The host's tree is still mounted during the steps: a link inside an earlier bind must never lead there. */
#define RESOLVE_INSIDE (RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS)

static int bind_open_inside(int root, const char *path) {
        int fd = sys_openat2(root, path, O_PATH | O_DIRECTORY | O_CLOEXEC, RESOLVE_INSIDE);

        return fd < 0 ? -errno : fd;
}

/* Most entries share their folder with the entry before: it is opened and inspected once. */
typedef struct BindFolder {
        char path[PATH_MAX];
        int fd;    /* -1: none */
        bool ours; /* on the worker's file system. Mount points are made only there, never in a host folder */
} BindFolder;

static void bind_folder_close(BindFolder *f) {
        if (f->fd >= 0)
                close(f->fd);
        f->fd = -1;
}

static int bind_folder_open(Worker *w, BindFolder *f, const char *path, size_t n) {
        struct stat st;

        if (n >= sizeof(f->path))
                return -ENAMETOOLONG;
        if (f->fd >= 0 && strncmp(f->path, path, n) == 0 && f->path[n] == 0)
                return 0;
        bind_folder_close(f);
        memcpy(f->path, path, n);
        f->path[n] = 0;
        f->fd = bind_open_inside(w->root, n == 0 ? "/" : f->path);
        if (f->fd < 0)
                return f->fd;
        if (sys_kind(f->fd, &st) < 0)
                return -errno;
        f->ours = st.st_dev == w->root_dev || st.st_dev == w->scratch_dev;
        return 0;
}

/* Makes a folder, or a file to be mounted over; an existing one is kept. */
static int bind_make_place(const BindFolder *f, const char *leaf, bool folder) {
        struct stat st;

        if (f->ours && (folder ? mkdirat(f->fd, leaf, 0755) : mknodat(f->fd, leaf, S_IFREG | 0444, 0)) == 0)
                return 0;
        if (f->ours && errno != EEXIST)
                return -errno;
        if (fstatat(f->fd, leaf, &st, AT_SYMLINK_NOFOLLOW) < 0)
                return errno == ENOENT ? -EROFS : -errno;
        if (folder)
                return S_ISDIR(st.st_mode) ? 0 : -ENOTDIR;
        return S_ISDIR(st.st_mode) || S_ISLNK(st.st_mode) ? -EEXIST : 0;
}

/* Opens the folder of `target`, makes missing folders, and sets *ret_leaf to the last component. */
static int bind_open_parent(Worker *w, BindFolder *f, const char *target, const char **ret_leaf) {
        const char *slash = strrchr(target, '/');
        size_t n = (size_t)(slash - target);
        char above[PATH_MAX];
        const char *leaf;
        int e;

        *ret_leaf = slash + 1;
        if (slash[1] == 0 || strcmp(slash + 1, ".") == 0 || strcmp(slash + 1, "..") == 0)
                return -EINVAL;
        e = bind_folder_open(w, f, target, n);
        if (e != -ENOENT)
                return e;
        memcpy(above, target, n);
        above[n] = 0;
        e = bind_open_parent(w, f, above, &leaf);
        if (e == 0)
                e = bind_make_place(f, leaf, true);
        return e < 0 ? e : bind_folder_open(w, f, target, n);
}

static int bind_make_file(const BindFolder *f, const char *leaf, const char *content) {
        _autoclose_ int fd = -1;
        size_t n = strlen(content);

        if (!f->ours)
                return -EROFS;
        fd = openat(f->fd, leaf, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0444);
        if (fd < 0)
                return -errno;
        return n > 0 && write(fd, content, n) != (ssize_t)n ? -EIO : 0;
}

/* A detached copy of the source's mount with all mounts below, private to this region and with its flags set. */
int bind_clone_source(const LaunchEntry *b) {
        struct mount_attr attr = {.propagation = MS_PRIVATE, .attr_set = MOUNT_ATTR_NOSUID};
        _autoclose_ int fd = -1;
        int tree, e;

        if (b->flags & LAUNCH_FOLLOW)
                tree = sys_open_tree(AT_FDCWD, b->source, OPEN_TREE_CLONE | AT_RECURSIVE);
        else {
                fd = sys_openat2(AT_FDCWD, b->source, O_PATH | O_CLOEXEC, RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS);
                if (fd < 0)
                        return -errno;
                tree = sys_open_tree(fd, "", OPEN_TREE_CLONE | AT_EMPTY_PATH | AT_RECURSIVE);
        }
        if (tree < 0)
                return -errno;
        attr.attr_set |= b->flags & LAUNCH_DEVICE ? MOUNT_ATTR_NOEXEC : MOUNT_ATTR_NODEV;
        if (!(b->flags & LAUNCH_WRITE))
                attr.attr_set |= MOUNT_ATTR_RDONLY;
        if (sys_mount_setattr(tree, AT_RECURSIVE, &attr) < 0) {
                e = errno;
                close(tree);
                return -e;
        }
        return tree;
}

static int bind_entry(Worker *w, BindFolder *f, const LaunchEntry *b) {
        int tree = b->tree >= 0 ? LAUNCH_FD_TREES + b->tree : bind_clone_source(b), e;
        const char *leaf;
        struct stat st;

        if (tree >= 0 && b->flags & LAUNCH_OVERLAY)
                tree = layer_mount(w, tree);
        if (tree < 0)
                return tree == -ENOENT && (b->flags & LAUNCH_OPTIONAL) ? 0 : tree;
        e = bind_open_parent(w, f, b->target, &leaf);
        if (e == 0 && sys_kind(tree, &st) < 0)
                e = -errno;
        if (e == 0)
                e = bind_make_place(f, leaf, S_ISDIR(st.st_mode));
        if (e == 0 && sys_move_mount(tree, f->fd, leaf) < 0)
                e = -errno;
        close(tree);
        return e;
}

/* An empty folder, or an empty read-only file, mounted nowhere yet. */
static int bind_new_mask(bool folder) {
        struct mount_attr readonly = {.attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOEXEC};
        int fs = new_tmpfs(4096, 4, "0555"), mask = fs, e = 0;

        if (fs < 0)
                return fs;
        if (!folder) {
                if (mknodat(fs, "empty", S_IFREG | 0444, 0) < 0 ||
                    (mask = sys_open_tree(fs, "empty", OPEN_TREE_CLONE)) < 0)
                        e = -errno;
                close(fs);
        }
        if (e == 0 && sys_mount_setattr(mask, 0, &readonly) < 0) {
                e = -errno;
                close(mask);
        }
        return e < 0 ? e : mask;
}

/* Covers a file or folder shown by a grant. */
static int bind_mask_entry(Worker *w, BindFolder *f, const LaunchEntry *b) {
        const char *leaf;
        struct stat st;
        _autoclose_ int mask = -1;
        int e = bind_open_parent(w, f, b->target, &leaf);

        if (e < 0)
                return e;
        if (fstatat(f->fd, leaf, &st, AT_SYMLINK_NOFOLLOW) < 0)
                return -errno;
        mask = bind_new_mask(S_ISDIR(st.st_mode));
        if (mask < 0)
                return mask;
        return sys_move_mount(mask, f->fd, leaf) < 0 ? -errno : 0;
}

static int bind_make_entry(Worker *w, BindFolder *f, const LaunchEntry *b) {
        const char *leaf;
        int e = bind_open_parent(w, f, b->target, &leaf);

        if (e < 0)
                return e;
        if (b->kind == LAUNCH_FOLDER)
                return bind_make_place(f, leaf, true);
        if (b->kind == LAUNCH_FILE)
                return bind_make_file(f, leaf, b->source);
        if (!f->ours)
                return -EROFS;
        e = b->kind == LAUNCH_FIFO ? mknodat(f->fd, leaf, S_IFIFO, 0) : symlinkat(b->source, f->fd, leaf);
        return e < 0 ? -errno : 0;
}

int step_bind(Worker *w) {
        BindFolder folder;
        int e = 0;

        if (w->spec.tier != 2)
                return 0;
        folder.fd = -1;
        for (size_t i = 0; e == 0 && i < w->spec.n_entries; i++) {
                const LaunchEntry *b = &w->spec.entries[i];

                if (b->flags & LAUNCH_IN_PROC || (w->spec.flags & LAUNCH_TEMPLATE && !(b->flags & LAUNCH_OWN)))
                        continue;
                w->progress->detail = (int)i;
                e = b->kind == LAUNCH_BIND   ? bind_entry(w, &folder, b)
                    : b->kind == LAUNCH_MASK ? bind_mask_entry(w, &folder, b)
                                             : bind_make_entry(w, &folder, b);
        }
        bind_folder_close(&folder);
        return e;
}
