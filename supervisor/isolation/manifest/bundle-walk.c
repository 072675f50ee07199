#include "manifest/bundle-walk.h"

#include "base/dirents.h"
#include "base/owner.h"
#include "base/watchdog.h"
#include "manifest/vocabulary.h"
#include "schema/limits.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>

void bundle_digest_text(const uint8_t hash[static HASH_BYTES], char out[static DIGEST_TEXT_MAX]) {
        memcpy(out, "sha256:", 7);
        hex_encode(hash, HASH_BYTES, out + 7);
}

int bundle_open(int dirfd, const char *path, int flags, uint64_t resolve) {
        struct open_how how = {.flags = (uint64_t)(flags | O_CLOEXEC), .resolve = resolve | RESOLVE_NO_MAGICLINKS};

        /* EAGAIN: a rename elsewhere made the walk uncertain, and the kernel asks for another try. */
        for (unsigned tries = 0;; tries++) {
                int fd = (int)syscall(SYS_openat2, dirfd, path, &how, sizeof(how));

                if (fd >= 0 || errno != EAGAIN || tries >= 16)
                        return fd >= 0 ? fd : -errno;
        }
}

int bundle_access_or_errno(int e, const char *path, Diag *reterr) {
        if (e == EACCES || e == EPERM || e == EIO)
                return diag(reterr, BUNDLE_E_ACCESS, "%s: cannot be read: %s", DIAG_QUOTED(path), strerror(e));
        if (e == ENOENT || e == ENOTDIR || e == ELOOP)
                return diag(reterr, BUNDLE_E_CHANGED, "%s: changed while it was read", DIAG_QUOTED(path));
        return -e;
}

typedef struct BundleWalk {
        int root;
        Bundle *bundle;
        size_t entries;
        Diag *reterr;
} BundleWalk;

/* A folder of the copy, made with its first file: the digest knows no empty folders, and neither does a copy. */
typedef struct OutFolder {
        struct OutFolder *above;
        const char *name;
        int fd; /* -1: not made yet */
        bool wanted;
} OutFolder;

static int walk_copy_failed(BundleWalk *w, const char *path, int e) {
        return diag(w->reterr, BUNDLE_E_COPY, "%s: cannot be copied into the store: %s", DIAG_QUOTED(path),
                    strerror(e));
}

/* Returns the folder's descriptor, borrowed, or -errno. */
static int walk_out_open(OutFolder *o) {
        int above;

        if (o->fd >= 0)
                return o->fd;
        above = walk_out_open(o->above);
        if (above < 0)
                return above;
        if (mkdirat(above, o->name, 0700) < 0)
                return -errno;
        o->fd = openat(above, o->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        return o->fd < 0 ? -errno : o->fd;
}

/* Mode and times are the same for every copy of one digest; of a mode the digest contains only "executable". */
int bundle_settle(int fd, mode_t mode) {
        const struct timespec times[] = {{.tv_sec = BUNDLE_COPY_TIME}, {.tv_sec = BUNDLE_COPY_TIME}};

        return fchmod(fd, mode) < 0 || futimens(fd, times) < 0 || fsync(fd) < 0 ? -errno : 0;
}

static bool walk_same_file(const struct stat *a, const struct stat *b) {
        return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
               a->st_mode == b->st_mode && a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
               a->st_mtim.tv_nsec == b->st_mtim.tv_nsec && a->st_ctim.tv_sec == b->st_ctim.tv_sec &&
               a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

/* Creates the file in the copy. Returns a descriptor or -errno. */
static int walk_out_file(OutFolder *o, const char *name) {
        int above = walk_out_open(o), fd;

        if (above < 0)
                return above;
        fd = openat(above, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        return fd < 0 ? -errno : fd;
}

static int walk_hash_regular(BundleWalk *w, int dirfd, const char *name, const struct stat *seen, OutFolder *out,
                             BundleFile *f) {
        _cleanup_close_ int fd = openat(dirfd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC),
                            to = -1;
        uint8_t hash[HASH_BYTES];
        struct stat st;
        uint64_t left = SKILL_BYTES_MAX - w->bundle->bytes;
        int r;

        if (fd < 0)
                return bundle_access_or_errno(errno, f->path, w->reterr);
        if (fstat(fd, &st) < 0)
                return -errno;
        if (!walk_same_file(seen, &st))
                return diag(w->reterr, BUNDLE_E_CHANGED, "%s: changed while it was read", DIAG_QUOTED(f->path));
        if (out->wanted && (to = walk_out_file(out, name)) < 0)
                return walk_copy_failed(w, f->path, -to);
        r = (uint64_t)st.st_size > left ? -EFBIG : hash_copy(fd, to, left, hash, &f->bytes);
        if (r > 0)
                return walk_copy_failed(w, f->path, errno);
        if (r == -EFBIG)
                return diag(w->reterr, BUNDLE_E_LIMIT, "%s: with it the folder has more than %lu bytes",
                            DIAG_QUOTED(f->path), SKILL_BYTES_MAX);
        if (r < 0)
                return bundle_access_or_errno(-r, f->path, w->reterr);
        if (fstat(fd, &st) < 0)
                return -errno;
        if (!walk_same_file(seen, &st) || (uint64_t)st.st_size != f->bytes)
                return diag(w->reterr, BUNDLE_E_CHANGED, "%s: changed while it was read", DIAG_QUOTED(f->path));
        f->executable = st.st_mode & 0111;
        bundle_digest_text(hash, f->digest);
        if (to >= 0 && (r = bundle_settle(to, f->executable ? 0555 : 0444)) < 0)
                return walk_copy_failed(w, f->path, -r);
        return 0;
}

/* Whether the target leaves the folder when read as text: a dangling link would do so once its missing part exists. */
static bool walk_leaves_as_text(const char *path, const char *target) {
        ssize_t depth = 0;

        for (const char *p = path; *p; p++)
                depth += *p == '/';
        for (const char *p = target; *p;) {
                size_t n = strcspn(p, "/");

                if (n == 2 && p[0] == '.' && p[1] == '.')
                        depth--;
                else if (n > 0 && !(n == 1 && *p == '.'))
                        depth++;
                if (depth < 0)
                        return true;
                p += n;
                p += *p == '/';
        }
        return false;
}

static int walk_hash_link(BundleWalk *w, int dirfd, const char *name, OutFolder *out, BundleFile *f) {
        char target[PATH_MAX], whole[2 * PATH_MAX];
        ssize_t n = readlinkat(dirfd, name, target, sizeof(target) - 1);
        const char *slash = strrchr(f->path, '/');
        uint8_t hash[HASH_BYTES];
        int fd;

        if (n < 0)
                return errno == EINVAL ? diag(w->reterr, BUNDLE_E_CHANGED, "%s: changed while it was read",
                                              DIAG_QUOTED(f->path))
                                       : bundle_access_or_errno(errno, f->path, w->reterr);
        target[n] = 0;
        /* The text is not enough: "d/.." is another folder when d is a symlink. So the kernel walks the target. */
        snprintf(whole, sizeof(whole), "%.*s%s", slash ? (int)(slash + 1 - f->path) : 0, f->path, target);
        fd = target[0] == '/' || walk_leaves_as_text(f->path, target)
                     ? -EXDEV : bundle_open(w->root, whole, O_PATH, RESOLVE_BENEATH);
        if (fd >= 0)
                close(fd);
        if (fd == -EXDEV)
                return diag(w->reterr, BUNDLE_E_KIND, "%s: a symlink to \"%s\", which is outside the skill's folder",
                            DIAG_QUOTED(f->path), DIAG_QUOTED(target));
        if (fd == -ELOOP)
                return diag(w->reterr, BUNDLE_E_KIND, "%s: a symlink that leads back to itself",
                            DIAG_QUOTED(f->path));
        if (fd < 0 && fd != -ENOENT && fd != -ENOTDIR)
                return bundle_access_or_errno(-fd, f->path, w->reterr);
        if (out->wanted) {
                const struct timespec times[] = {{.tv_sec = BUNDLE_COPY_TIME}, {.tv_sec = BUNDLE_COPY_TIME}};
                int above = walk_out_open(out);

                if (above < 0 || symlinkat(target, above, name) < 0 ||
                    utimensat(above, name, times, AT_SYMLINK_NOFOLLOW) < 0)
                        return walk_copy_failed(w, f->path, above < 0 ? -above : errno);
        }
        hash_bytes(target, (size_t)n, hash);
        bundle_digest_text(hash, f->digest);
        f->link = true;
        f->bytes = (uint64_t)n;
        return 0;
}

static int walk_folder(BundleWalk *w, int dirfd, const char *prefix, OutFolder *out, unsigned depth);

static int walk_add_file(BundleWalk *w, BundleFile *f) {
        Bundle *b = w->bundle;

        if (!GROW(b->files, b->n_files))
                return -ENOMEM;
        b->bytes += f->bytes;
        b->files[b->n_files++] = *f;
        return 0;
}

static int walk_entry(BundleWalk *w, int dirfd, const char *prefix, const char *name, OutFolder *out, unsigned depth) {
        _cleanup_free_ char *path = NULL;
        BundleFile f = {0};
        struct stat st;
        const char *shown;
        int r;

        if (!(path = text_printf("%s%s", prefix, name)))
                return -ENOMEM;
        shown = DIAG_QUOTED(path);
        if (++w->entries > SKILL_FILES_MAX)
                return diag(w->reterr, BUNDLE_E_LIMIT, "%s: with it the folder has more than %d files and folders",
                            shown, SKILL_FILES_MAX);
        if (strlen(path) >= PATH_MAX)
                return diag(w->reterr, BUNDLE_E_LIMIT, "%s: the path is longer than %d bytes", shown, PATH_MAX - 1);
        for (const char *p = name; *p; p++)
                if ((unsigned char)*p < 0x20 || *p == 0x7F)
                        return diag(w->reterr, BUNDLE_E_KIND, "%s: a file name must not have control characters",
                                    shown);
        if (!utf8_valid(name, strlen(name), NULL))
                return diag(w->reterr, BUNDLE_E_KIND, "%s: a file name must be UTF-8", shown);
        watchdog_ping();
        if (fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
                return bundle_access_or_errno(errno, path, w->reterr);
        if (!w->bundle->others && !owner_alone(&st, geteuid())) {
                Diag other;

                owner_refuse(path, &st, geteuid(), &other);
                if (!(w->bundle->others = strdup(other.text)))
                        return -ENOMEM;
        }
        if (S_ISDIR(st.st_mode)) {
                _cleanup_close_ int fd = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
                _cleanup_free_ char *below = NULL;
                OutFolder inner = {.above = out, .name = name, .fd = -1, .wanted = out->wanted};

                if (fd < 0)
                        return bundle_access_or_errno(errno, path, w->reterr);
                if (depth >= BUNDLE_DEPTH_MAX)
                        return diag(w->reterr, BUNDLE_E_LIMIT, "%s: folders nested deeper than %d", shown,
                                    BUNDLE_DEPTH_MAX);
                if (!(below = text_printf("%s/", path)))
                        return -ENOMEM;
                r = walk_folder(w, fd, below, &inner, depth + 1);
                if (r == 0 && inner.fd >= 0 && (r = bundle_settle(inner.fd, 0555)) < 0)
                        r = walk_copy_failed(w, path, -r);
                closep(&inner.fd);
                return r;
        }
        f.path = path;
        if (S_ISREG(st.st_mode))
                r = walk_hash_regular(w, dirfd, name, &st, out, &f);
        else if (S_ISLNK(st.st_mode))
                r = walk_hash_link(w, dirfd, name, out, &f);
        else
                return diag(w->reterr, BUNDLE_E_KIND, "%s: a %s: a skill has only files, folders and symlinks", shown,
                            S_ISFIFO(st.st_mode) ? "FIFO" : S_ISSOCK(st.st_mode) ? "socket" : "device");
        r = r ?: walk_add_file(w, &f);
        if (r == 0)
                path = NULL; /* owned by the bundle now */
        return r;
}

static int walk_folder(BundleWalk *w, int dirfd, const char *prefix, OutFolder *out, unsigned depth) {
        _cleanup_close_ int fd = openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        const char *name;
        Dirents d;
        int r = 0;

        if (fd < 0)
                return bundle_access_or_errno(errno, *prefix ? prefix : ".", w->reterr);
        dirents_begin(&d, fd);
        while (r == 0 && (name = dirents_next(&d)))
                r = walk_entry(w, dirfd, prefix, name, out, depth);
        return r != 0 ? r : d.error;
}

int bundle_walk(int dirfd, int into, Bundle *b, Diag *reterr) {
        BundleWalk w = {.root = dirfd, .bundle = b, .reterr = reterr};
        OutFolder out = {.fd = into, .wanted = into >= 0};

        return walk_folder(&w, dirfd, "", &out, 0);
}
