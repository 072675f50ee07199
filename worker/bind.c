/* What the private root holds: folders, links, small files, and binds of the host's files and folders. */
#include "worker/sys.h"
#include "worker/worker.h"

#include <limits.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>

/* The host's tree is still mounted while this runs: a link inside something that was bound earlier must never lead there. */
#define RESOLVE_INSIDE (RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS)

static int open_inside(int root, const char *path) {
        int fd = sys_openat2(root, path, O_PATH | O_DIRECTORY | O_CLOEXEC, RESOLVE_INSIDE);

        return fd < 0 ? -errno : fd;
}

/* Mount points are made only on file systems of our own: making one in a bound folder would change the host's tree. */
static int is_ours(Worker *w, int fd) {
        struct stat there, root, scratch;

        if (fstat(fd, &there) < 0 || fstat(w->root, &root) < 0 || fstat(w->scratch, &scratch) < 0)
                return -errno;
        return there.st_dev == root.st_dev || there.st_dev == scratch.st_dev ? 0 : -EROFS;
}

/* Opens the folder that holds `target`, makes what is missing, and sets *ret_leaf to the last component. */
static int open_parent(Worker *w, const char *target, const char **ret_leaf) {
        char path[PATH_MAX];
        const char *slash = strrchr(target, '/');
        size_t n = (size_t)(slash - target);
        int fd, e;

        *ret_leaf = slash + 1;
        if (slash[1] == 0 || strcmp(slash + 1, ".") == 0 || strcmp(slash + 1, "..") == 0)
                return -EINVAL;
        if (n >= sizeof(path))
                return -ENAMETOOLONG;
        if (n == 0)
                return open_inside(w->root, "/");
        memcpy(path, target, n);
        path[n] = 0;
        fd = open_inside(w->root, path);
        if (fd != -ENOENT)
                return fd;
        {
                const char *leaf;
                int parent = open_parent(w, path, &leaf);

                if (parent < 0)
                        return parent;
                e = is_ours(w, parent);
                if (e == 0 && mkdirat(parent, leaf, 0755) < 0)
                        e = -errno;
                close(parent);
        }
        return e < 0 ? e : open_inside(w->root, path);
}

static int make_folder(Worker *w, int parent, const char *leaf) {
        struct stat st;
        int e;

        if (fstatat(parent, leaf, &st, AT_SYMLINK_NOFOLLOW) == 0)
                return S_ISDIR(st.st_mode) ? 0 : -ENOTDIR;
        e = is_ours(w, parent);
        if (e < 0)
                return e;
        return mkdirat(parent, leaf, 0755) < 0 ? -errno : 0;
}

static int make_file(Worker *w, int parent, const char *leaf, const char *content) {
        struct stat st;
        size_t n = strlen(content);
        int fd, e;

        if (fstatat(parent, leaf, &st, AT_SYMLINK_NOFOLLOW) == 0)
                return n == 0 && !S_ISDIR(st.st_mode) && !S_ISLNK(st.st_mode) ? 0 : -EEXIST;
        e = is_ours(w, parent);
        if (e < 0)
                return e;
        fd = openat(parent, leaf, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0444);
        if (fd < 0)
                return -errno;
        if (n > 0 && write(fd, content, n) != (ssize_t)n)
                e = -EIO;
        close(fd);
        return e;
}

/* A detached copy of the source's mount, private to this region and with its flags set, all below it included. */
static int clone_source(const LaunchEntry *b) {
        struct mount_attr attr = {.propagation = MS_PRIVATE, .attr_set = MOUNT_ATTR_NOSUID};
        int fd = -1, tree, e;

        if (b->flags & LAUNCH_FOLLOW)
                tree = sys_open_tree(AT_FDCWD, b->source, OPEN_TREE_CLONE | AT_RECURSIVE);
        else {
                fd = sys_openat2(AT_FDCWD, b->source, O_PATH | O_CLOEXEC, RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS);
                if (fd < 0)
                        return -errno;
                tree = sys_open_tree(fd, "", OPEN_TREE_CLONE | AT_EMPTY_PATH | AT_RECURSIVE);
        }
        e = errno;
        if (fd >= 0)
                close(fd);
        if (tree < 0)
                return -e;
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

static int bind_one(Worker *w, const LaunchEntry *b) {
        int tree = b->tree >= 0 ? LAUNCH_FD_TREES + b->tree : clone_source(b), parent, e;
        const char *leaf;
        struct stat st;

        if (tree < 0)
                return tree == -ENOENT && (b->flags & LAUNCH_OPTIONAL) ? 0 : tree;
        parent = open_parent(w, b->target, &leaf);
        e = parent < 0 ? parent : fstat(tree, &st) < 0 ? -errno : 0;
        if (e == 0)
                e = S_ISDIR(st.st_mode) ? make_folder(w, parent, leaf) : make_file(w, parent, leaf, "");
        if (e == 0 && sys_move_mount(tree, parent, leaf) < 0)
                e = -errno;
        if (parent >= 0)
                close(parent);
        close(tree);
        return e;
}

static int make_one(Worker *w, const LaunchEntry *b) {
        const char *leaf;
        int parent = open_parent(w, b->target, &leaf), e = -EINVAL;

        if (parent < 0)
                return parent;
        if (b->kind == LAUNCH_FOLDER)
                e = make_folder(w, parent, leaf);
        else if (b->kind == LAUNCH_FILE)
                e = make_file(w, parent, leaf, b->source);
        else if (b->kind == LAUNCH_LINK) {
                e = is_ours(w, parent);
                if (e == 0 && symlinkat(b->source, parent, leaf) < 0)
                        e = -errno;
        }
        close(parent);
        return e;
}

int step_bind(Worker *w) {
        if (w->spec.tier != 2)
                return 0;
        for (size_t i = 0; i < w->spec.n_entries; i++) {
                const LaunchEntry *b = &w->spec.entries[i];
                int e = b->kind == LAUNCH_BIND ? bind_one(w, b) : make_one(w, b);

                w->progress->detail = (int)i;
                if (e < 0)
                        return e;
        }
        return 0;
}
