#include "manifest/bundle.h"

#include "base/hash.h"
#include "base/io.h"
#include "manifest/terms.h"
#include "schema/limits.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>

void bundle_deinit(Bundle *b) {
        for (size_t i = 0; i < b->n_files; i++)
                free(b->files[i].path);
        free(b->files);
        *b = (Bundle){0};
}

static void digest_text(const uint8_t hash[static HASH_BYTES], char out[static DIGEST_TEXT_MAX]) {
        memcpy(out, "sha256:", 7);
        hex_encode(hash, HASH_BYTES, out + 7);
}

static int open_how(int dirfd, const char *path, int flags, uint64_t resolve) {
        struct open_how how = {.flags = (uint64_t)(flags | O_CLOEXEC), .resolve = resolve | RESOLVE_NO_MAGICLINKS};

        /* EAGAIN: a rename elsewhere made the walk uncertain; the kernel asks to try again. */
        for (unsigned tries = 0;; tries++) {
                int fd = (int)syscall(SYS_openat2, dirfd, path, &how, sizeof(how));

                if (fd >= 0 || errno != EAGAIN || tries >= 16)
                        return fd >= 0 ? fd : -errno;
        }
}

static const char *quote(const char *s, char out[static 256]) {
        return diag_quote(s, strlen(s), out, 256);
}

/* Where errno means "cannot be read" it is a condition of the folder; the rest is our trouble. */
static int access_or_errno(int e, const char *path, Diag *reterr) {
        char shown[256];

        if (e == EACCES || e == EPERM || e == EIO)
                return diag(reterr, BUNDLE_E_ACCESS, "%s: cannot be read: %s", quote(path, shown), strerror(e));
        if (e == ENOENT || e == ENOTDIR || e == ELOOP)
                return diag(reterr, BUNDLE_E_CHANGED, "%s: changed while it was read", quote(path, shown));
        return -e;
}

typedef struct Walk {
        int root;
        Bundle *bundle;
        size_t entries, room;
        Diag *reterr;
} Walk;

static bool same_file(const struct stat *a, const struct stat *b) {
        return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size && a->st_mode == b->st_mode &&
               a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec &&
               a->st_ctim.tv_sec == b->st_ctim.tv_sec && a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

static int hash_regular(Walk *w, int dirfd, const char *name, const struct stat *seen, BundleFile *f) {
        _cleanup_close_ int fd = openat(dirfd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
        uint8_t hash[HASH_BYTES];
        struct stat st;
        char shown[256];
        uint64_t left = SKILL_BYTES_MAX - w->bundle->bytes;
        int r;

        if (fd < 0)
                return access_or_errno(errno, f->path, w->reterr);
        if (fstat(fd, &st) < 0)
                return -errno;
        if (!same_file(seen, &st))
                return diag(w->reterr, BUNDLE_E_CHANGED, "%s: changed while it was read", quote(f->path, shown));
        r = (uint64_t)st.st_size > left ? -EFBIG : hash_fd(fd, left, hash, &f->bytes);
        if (r == -EFBIG)
                return diag(w->reterr, BUNDLE_E_LIMIT, "%s: with it the folder has more than %lu bytes", quote(f->path, shown), SKILL_BYTES_MAX);
        if (r < 0)
                return access_or_errno(-r, f->path, w->reterr);
        if (fstat(fd, &st) < 0)
                return -errno;
        if (!same_file(seen, &st) || (uint64_t)st.st_size != f->bytes)
                return diag(w->reterr, BUNDLE_E_CHANGED, "%s: changed while it was read", quote(f->path, shown));
        f->executable = st.st_mode & 0111;
        digest_text(hash, f->digest);
        return 0;
}

/* Steps out of the folder, read as text alone: what a dangling link would do if its missing part were made. */
static bool leaves_as_text(const char *path, const char *target) {
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

static int hash_link(Walk *w, int dirfd, const char *name, BundleFile *f) {
        char target[PATH_MAX], whole[2 * PATH_MAX], shown[256], shown_target[256];
        ssize_t n = readlinkat(dirfd, name, target, sizeof(target) - 1);
        const char *slash = strrchr(f->path, '/');
        uint8_t hash[HASH_BYTES];
        int fd;

        if (n < 0)
                return errno == EINVAL ? diag(w->reterr, BUNDLE_E_CHANGED, "%s: changed while it was read", quote(f->path, shown))
                                       : access_or_errno(errno, f->path, w->reterr);
        target[n] = 0;
        /* The text is not enough: "d/.." is another folder when d is itself a symlink. So the kernel walks it too. */
        snprintf(whole, sizeof(whole), "%.*s%s", slash ? (int)(slash + 1 - f->path) : 0, f->path, target);
        fd = target[0] == '/' || leaves_as_text(f->path, target) ? -EXDEV : open_how(w->root, whole, O_PATH, RESOLVE_BENEATH);
        if (fd >= 0)
                close(fd);
        if (fd == -EXDEV)
                return diag(w->reterr, BUNDLE_E_KIND, "%s: a symlink to \"%s\", which is outside the skill's folder", quote(f->path, shown),
                            quote(target, shown_target));
        if (fd == -ELOOP)
                return diag(w->reterr, BUNDLE_E_KIND, "%s: a symlink that leads back to itself", quote(f->path, shown));
        if (fd < 0 && fd != -ENOENT && fd != -ENOTDIR)
                return access_or_errno(-fd, f->path, w->reterr);
        hash_bytes(target, (size_t)n, hash);
        digest_text(hash, f->digest);
        f->link = true;
        f->bytes = (uint64_t)n;
        return 0;
}

static int walk_folder(Walk *w, int dirfd, const char *prefix, unsigned depth);

static int add_file(Walk *w, BundleFile *f) {
        Bundle *b = w->bundle;

        if (b->n_files == w->room) {
                size_t room = w->room ? w->room * 2 : 32;
                BundleFile *p = reallocarray(b->files, room, sizeof(*p));

                if (!p)
                        return -ENOMEM;
                b->files = p;
                w->room = room;
        }
        b->bytes += f->bytes;
        b->files[b->n_files++] = *f;
        return 0;
}

static int walk_entry(Walk *w, int dirfd, const char *prefix, const char *name, unsigned depth) {
        _cleanup_free_ char *path = NULL;
        BundleFile f = {0};
        struct stat st;
        char shown[256];
        int r;

        if (asprintf(&path, "%s%s", prefix, name) < 0) {
                path = NULL;
                return -ENOMEM;
        }
        quote(path, shown);
        if (++w->entries > SKILL_FILES_MAX)
                return diag(w->reterr, BUNDLE_E_LIMIT, "%s: with it the folder has more than %d files and folders", shown, SKILL_FILES_MAX);
        if (strlen(path) >= PATH_MAX)
                return diag(w->reterr, BUNDLE_E_LIMIT, "%s: the path is longer than %d bytes", shown, PATH_MAX - 1);
        for (const char *p = name; *p; p++)
                if ((unsigned char)*p < 0x20 || *p == 0x7F)
                        return diag(w->reterr, BUNDLE_E_KIND, "%s: a file name must not have control characters", shown);
        if (!utf8_valid(name, strlen(name), NULL))
                return diag(w->reterr, BUNDLE_E_KIND, "%s: a file name must be UTF-8", shown);
        if (fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
                return access_or_errno(errno, path, w->reterr);
        if (S_ISDIR(st.st_mode)) {
                _cleanup_close_ int fd = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
                _cleanup_free_ char *below = NULL;

                if (fd < 0)
                        return access_or_errno(errno, path, w->reterr);
                if (depth >= BUNDLE_DEPTH_MAX)
                        return diag(w->reterr, BUNDLE_E_LIMIT, "%s: folders nested deeper than %d", shown, BUNDLE_DEPTH_MAX);
                if (asprintf(&below, "%s/", path) < 0) {
                        below = NULL;
                        return -ENOMEM;
                }
                return walk_folder(w, fd, below, depth + 1);
        }
        f.path = path;
        if (S_ISREG(st.st_mode))
                r = hash_regular(w, dirfd, name, &st, &f);
        else if (S_ISLNK(st.st_mode))
                r = hash_link(w, dirfd, name, &f);
        else
                return diag(w->reterr, BUNDLE_E_KIND, "%s: a %s: a skill has only files, folders and symlinks", shown,
                            S_ISFIFO(st.st_mode) ? "FIFO" : S_ISSOCK(st.st_mode) ? "socket" : "device");
        if (r == 0)
                r = add_file(w, &f);
        if (r == 0)
                path = NULL; /* the bundle's now */
        return r;
}

static void closedirp(DIR **d) {
        if (*d)
                closedir(*d);
}

static int walk_folder(Walk *w, int dirfd, const char *prefix, unsigned depth) {
        _cleanup_(closedirp) DIR *d = NULL;
        _cleanup_close_ int fd = openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        struct dirent *e;
        int r;

        if (fd < 0)
                return access_or_errno(errno, *prefix ? prefix : ".", w->reterr);
        d = fdopendir(fd);
        if (!d)
                return -errno;
        fd = -1;
        while (errno = 0, (e = readdir(d))) {
                if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
                        continue;
                r = walk_entry(w, dirfd, prefix, e->d_name, depth);
                if (r)
                        return r;
        }
        return -errno;
}

static int by_path(const void *a, const void *b) {
        return strcmp(((const BundleFile *)a)->path, ((const BundleFile *)b)->path);
}

int bundle_read(int dirfd, Bundle *ret, Diag *reterr) {
        _cleanup_bundle_ Bundle b = {0};
        _cleanup_free_ char *text = NULL;
        _cleanup_json_ json_t *list = NULL;
        Walk w = {.root = dirfd, .bundle = &b, .reterr = reterr};
        uint8_t hash[HASH_BYTES];
        size_t n;
        int r = walk_folder(&w, dirfd, "", 0);

        if (r)
                return r;
        if (b.n_files > 0)
                qsort(b.files, b.n_files, sizeof(*b.files), by_path);
        list = bundle_to_json(&b);
        if (!list)
                return -ENOMEM;
        r = json_canonical(list, &text, &n);
        if (r < 0)
                return r;
        hash_bytes(text, n, hash);
        digest_text(hash, b.digest);
        *ret = b;
        b = (Bundle){0};
        return 0;
}

const BundleFile *bundle_find(const Bundle *b, const char *path) {
        BundleFile key = {.path = (char *)path};

        return b->n_files ? bsearch(&key, b->files, b->n_files, sizeof(*b->files), by_path) : NULL;
}

int bundle_read_file(const Bundle *b, int dirfd, const char *path, size_t max, char **ret, size_t *ret_n, Diag *reterr) {
        const BundleFile *f = bundle_find(b, path);
        _cleanup_close_ int fd = -1;
        _cleanup_free_ char *text = NULL;
        char digest[DIGEST_TEXT_MAX], shown[256];
        uint8_t hash[HASH_BYTES];
        size_t n;
        int r;

        quote(path, shown);
        if (!f)
                return diag(reterr, BUNDLE_E_MISSING, "%s: not in the skill's folder", shown);
        if (f->link)
                return diag(reterr, BUNDLE_E_KIND, "%s: must be a file, not a symlink", shown);
        if (f->bytes > max)
                return diag(reterr, BUNDLE_E_LIMIT, "%s: %lu bytes, at most %zu are read", shown, (unsigned long)f->bytes, max);
        fd = open_how(dirfd, path, O_RDONLY | O_NONBLOCK | O_NOCTTY, RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS);
        if (fd < 0)
                return access_or_errno(-fd, path, reterr);
        r = io_read_all(fd, max, &text, &n);
        if (r < 0 && r != -EFBIG)
                return r;
        if (r == 0) {
                hash_bytes(text, n, hash);
                digest_text(hash, digest);
        }
        if (r == -EFBIG || strcmp(digest, f->digest) != 0)
                return diag(reterr, BUNDLE_E_CHANGED, "%s: changed while it was read", shown);
        *ret = TAKE_PTR(text);
        *ret_n = n;
        return 0;
}

json_t *bundle_to_json(const Bundle *b) {
        _cleanup_json_ json_t *a = json_array();

        for (size_t i = 0; a && i < b->n_files; i++) {
                const BundleFile *f = &b->files[i];

                if (json_array_append_new(a, json_pack("{s:s, s:b, s:b, s:I, s:s}", "path", f->path, "link", f->link, "executable",
                                                       f->executable, "bytes", (json_int_t)f->bytes, "digest", f->digest)) < 0)
                        return NULL;
        }
        return TAKE_PTR(a);
}

char *bundle_difference(const Bundle *b, const json_t *recorded) {
        size_t i = 0, k = 0, n = json_array_size(recorded);
        char shown[256], *s = NULL;

        /* Both lists are sorted by path, so one pass side by side finds the first that differs. */
        for (; i < b->n_files || k < n;) {
                const json_t *old = json_array_get(recorded, k);
                const char *path = json_string_value(json_object_get(old, "path"));
                const BundleFile *f = i < b->n_files ? &b->files[i] : NULL;
                int c = !path ? -1 : !f ? 1 : strcmp(f->path, path);

                if (!f && !path)
                        return NULL;
                if (c != 0) {
                        quote(c < 0 ? f->path : path, shown);
                        return asprintf(&s, "%s was %s", shown, c < 0 ? "added" : "removed") < 0 ? NULL : s;
                }
                if (strcmp(f->digest, json_string_value(json_object_get(old, "digest")) ?: "") != 0 ||
                    f->link != json_is_true(json_object_get(old, "link")))
                        return asprintf(&s, "%s has another content", quote(path, shown)) < 0 ? NULL : s;
                if (f->executable != json_is_true(json_object_get(old, "executable")))
                        return asprintf(&s, "%s %s executable", quote(path, shown), f->executable ? "became" : "is no longer") < 0 ? NULL : s;
                i++;
                k++;
        }
        return NULL;
}

int bundle_program_digest(int fd, const char *path, char ret[static DIGEST_TEXT_MAX], Diag *reterr) {
        uint8_t hash[HASH_BYTES];
        uint64_t bytes;
        int r = hash_fd(fd, SKILL_BYTES_MAX, hash, &bytes);

        if (r == -EFBIG)
                return diag(reterr, BUNDLE_E_LIMIT, "%s: larger than %lu bytes", path, SKILL_BYTES_MAX);
        if (r < 0)
                return access_or_errno(-r, path, reterr);
        digest_text(hash, ret);
        return 0;
}
