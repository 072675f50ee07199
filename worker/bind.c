/* What the private root holds: folders, links, small files, and binds of the host's files and folders. */
#include "worker/sys.h"
#include "worker/worker.h"

#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>

/* The host's tree is still mounted while this runs: a link inside something that was bound earlier must never lead there. */
#define RESOLVE_INSIDE (RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS)

static int open_inside(int root, const char *path) {
        int fd = sys_openat2(root, path, O_PATH | O_DIRECTORY | O_CLOEXEC, RESOLVE_INSIDE);

        return fd < 0 ? -errno : fd;
}

/* Most entries share their folder with the one before: it is opened and looked at once. */
typedef struct Folder {
        char path[PATH_MAX];
        int fd;    /* -1: none */
        bool ours; /* on a file system of ours. Mount points are made only there: making one in a bound folder would change the host's */
} Folder;

static void folder_close(Folder *f) {
        if (f->fd >= 0)
                close(f->fd);
        f->fd = -1;
}

static int folder_open(Worker *w, Folder *f, const char *path, size_t n) {
        struct stat st;

        if (n >= sizeof(f->path))
                return -ENAMETOOLONG;
        if (f->fd >= 0 && strncmp(f->path, path, n) == 0 && f->path[n] == 0)
                return 0;
        folder_close(f);
        memcpy(f->path, path, n);
        f->path[n] = 0;
        f->fd = open_inside(w->root, n == 0 ? "/" : f->path);
        if (f->fd < 0)
                return f->fd;
        if (sys_kind(f->fd, &st) < 0)
                return -errno;
        f->ours = st.st_dev == w->root_dev || st.st_dev == w->scratch_dev;
        return 0;
}

static int make_folder(const Folder *f, const char *leaf) {
        struct stat st;

        if (f->ours && mkdirat(f->fd, leaf, 0755) == 0)
                return 0;
        if (f->ours && errno != EEXIST)
                return -errno;
        if (fstatat(f->fd, leaf, &st, AT_SYMLINK_NOFOLLOW) < 0)
                return errno == ENOENT ? -EROFS : -errno;
        return S_ISDIR(st.st_mode) ? 0 : -ENOTDIR;
}

/* Opens the folder that holds `target`, makes what is missing, and sets *ret_leaf to the last component. */
static int open_parent(Worker *w, Folder *f, const char *target, const char **ret_leaf) {
        const char *slash = strrchr(target, '/');
        size_t n = (size_t)(slash - target);
        char above[PATH_MAX];
        const char *leaf;
        int e;

        *ret_leaf = slash + 1;
        if (slash[1] == 0 || strcmp(slash + 1, ".") == 0 || strcmp(slash + 1, "..") == 0)
                return -EINVAL;
        e = folder_open(w, f, target, n);
        if (e != -ENOENT)
                return e;
        memcpy(above, target, n);
        above[n] = 0;
        e = open_parent(w, f, above, &leaf);
        if (e == 0)
                e = make_folder(f, leaf);
        return e < 0 ? e : folder_open(w, f, target, n);
}

/* A file to be mounted over: what is there already is kept. */
static int make_place(const Folder *f, const char *leaf) {
        struct stat st;

        if (f->ours && mknodat(f->fd, leaf, S_IFREG | 0444, 0) == 0)
                return 0;
        if (f->ours && errno != EEXIST)
                return -errno;
        if (fstatat(f->fd, leaf, &st, AT_SYMLINK_NOFOLLOW) < 0)
                return errno == ENOENT ? -EROFS : -errno;
        return S_ISDIR(st.st_mode) || S_ISLNK(st.st_mode) ? -EEXIST : 0;
}

static int make_file(const Folder *f, const char *leaf, const char *content) {
        size_t n = strlen(content);
        int fd, e = 0;

        if (!f->ours)
                return -EROFS;
        fd = openat(f->fd, leaf, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0444);
        if (fd < 0)
                return -errno;
        if (n > 0 && write(fd, content, n) != (ssize_t)n)
                e = -EIO;
        close(fd);
        return e;
}

/* A detached copy of the source's mount, private to this region and with its flags set, all below it included. */
int bind_clone_source(const LaunchEntry *b) {
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

static int bind_one(Worker *w, Folder *f, const LaunchEntry *b) {
        int tree = b->tree >= 0 ? LAUNCH_FD_TREES + b->tree : bind_clone_source(b), e;
        const char *leaf;
        struct stat st;

        if (tree < 0)
                return tree == -ENOENT && (b->flags & LAUNCH_OPTIONAL) ? 0 : tree;
        e = open_parent(w, f, b->target, &leaf);
        if (e == 0 && sys_kind(tree, &st) < 0)
                e = -errno;
        if (e == 0)
                e = S_ISDIR(st.st_mode) ? make_folder(f, leaf) : make_place(f, leaf);
        if (e == 0 && sys_move_mount(tree, f->fd, leaf) < 0)
                e = -errno;
        close(tree);
        return e;
}

/* An empty folder, or an empty file, that is mounted nowhere yet and that nobody can write to. */
static int new_mask(bool folder) {
        struct mount_attr readonly = {.attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOEXEC};
        int fs = new_tmpfs(4096, 4, "0555"), mask = fs, e = 0;

        if (fs < 0)
                return fs;
        if (!folder) {
                if (mknodat(fs, "empty", S_IFREG | 0444, 0) < 0 || (mask = sys_open_tree(fs, "empty", OPEN_TREE_CLONE)) < 0)
                        e = -errno;
                close(fs);
        }
        if (e == 0 && sys_mount_setattr(mask, 0, &readonly) < 0) {
                e = -errno;
                close(mask);
        }
        return e < 0 ? e : mask;
}

/* Over what stands there, which a grant shows. */
static int mask_one(Worker *w, Folder *f, const LaunchEntry *b) {
        const char *leaf;
        struct stat st;
        int e = open_parent(w, f, b->target, &leaf), mask;

        if (e < 0)
                return e;
        if (fstatat(f->fd, leaf, &st, AT_SYMLINK_NOFOLLOW) < 0)
                return -errno;
        mask = new_mask(S_ISDIR(st.st_mode));
        if (mask < 0)
                return mask;
        e = sys_move_mount(mask, f->fd, leaf) < 0 ? -errno : 0;
        close(mask);
        return e;
}

static int make_one(Worker *w, Folder *f, const LaunchEntry *b) {
        const char *leaf;
        int e = open_parent(w, f, b->target, &leaf);

        if (e < 0)
                return e;
        if (b->kind == LAUNCH_FOLDER)
                return make_folder(f, leaf);
        if (b->kind == LAUNCH_FILE)
                return make_file(f, leaf, b->source);
        return !f->ours ? -EROFS : symlinkat(b->source, f->fd, leaf) < 0 ? -errno : 0;
}

int step_bind(Worker *w) {
        Folder folder;
        int e = 0;

        if (w->spec.tier != 2)
                return 0;
        folder.fd = -1;
        for (size_t i = 0; e == 0 && i < w->spec.n_entries; i++) {
                const LaunchEntry *b = &w->spec.entries[i];

                if (w->spec.flags & LAUNCH_TEMPLATE && !(b->flags & LAUNCH_OWN))
                        continue;
                w->progress->detail = (int)i;
                e = b->kind == LAUNCH_BIND ? bind_one(w, &folder, b) : b->kind == LAUNCH_MASK ? mask_one(w, &folder, b) : make_one(w, &folder, b);
        }
        folder_close(&folder);
        return e;
}
