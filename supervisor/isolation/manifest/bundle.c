#include "manifest/bundle-private.h"

#include "base/io.h"
#include "manifest/vocabulary.h"
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
        free(b->others);
        *b = (Bundle){0};
}

void bundle_digest_text(const uint8_t hash[static HASH_BYTES], char out[static DIGEST_TEXT_MAX]) {
        memcpy(out, "sha256:", 7);
        hex_encode(hash, HASH_BYTES, out + 7);
}

int bundle_open(int dirfd, const char *path, int flags, uint64_t resolve) {
        struct open_how how = {.flags = (uint64_t)(flags | O_CLOEXEC), .resolve = resolve | RESOLVE_NO_MAGICLINKS};

        /* EAGAIN: a rename elsewhere made the walk uncertain; the kernel asks to try again. */
        for (unsigned tries = 0;; tries++) {
                int fd = (int)syscall(SYS_openat2, dirfd, path, &how, sizeof(how));

                if (fd >= 0 || errno != EAGAIN || tries >= 16)
                        return fd >= 0 ? fd : -errno;
        }
}

const char *bundle_quote(const char *s, char out[static 256]) {
        return diag_quote(s, strlen(s), out, 256);
}

/* Where errno means "cannot be read" it is a condition of the folder; the rest is our trouble. */
int bundle_access_or_errno(int e, const char *path, Diag *reterr) {
        char shown[256];

        if (e == EACCES || e == EPERM || e == EIO)
                return diag(reterr, BUNDLE_E_ACCESS, "%s: cannot be read: %s", bundle_quote(path, shown), strerror(e));
        if (e == ENOENT || e == ENOTDIR || e == ELOOP)
                return diag(reterr, BUNDLE_E_CHANGED, "%s: changed while it was read", bundle_quote(path, shown));
        return -e;
}

static int by_path(const void *a, const void *b) {
        return strcmp(((const BundleFile *)a)->path, ((const BundleFile *)b)->path);
}

static int bundle_take(int dirfd, int into, Bundle *ret, Diag *reterr) {
        _cleanup_bundle_ Bundle b = {0};
        _cleanup_free_ char *text = NULL;
        _cleanup_json_ json_t *list = NULL;
        uint8_t hash[HASH_BYTES];
        size_t n;
        int r = bundle_walk(dirfd, into, &b, reterr);

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
        bundle_digest_text(hash, b.digest);
        *ret = b;
        b = (Bundle){0};
        return 0;
}

int bundle_read(int dirfd, Bundle *ret, Diag *reterr) {
        return bundle_take(dirfd, -1, ret, reterr);
}

int bundle_copy(int dirfd, int into, Bundle *ret, Diag *reterr) {
        return bundle_take(dirfd, into, ret, reterr);
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

        bundle_quote(path, shown);
        if (!f)
                return diag(reterr, BUNDLE_E_MISSING, "%s: not in the skill's folder", shown);
        if (f->link)
                return diag(reterr, BUNDLE_E_KIND, "%s: must be a file, not a symlink", shown);
        if (f->bytes > max)
                return diag(reterr, BUNDLE_E_LIMIT, "%s: %lu bytes, at most %zu are read", shown, (unsigned long)f->bytes, max);
        fd = bundle_open(dirfd, path, O_RDONLY | O_NONBLOCK | O_NOCTTY, RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS);
        if (fd < 0)
                return bundle_access_or_errno(-fd, path, reterr);
        r = io_read_all(fd, max, &text, &n);
        if (r < 0 && r != -EFBIG)
                return r;
        if (r == 0) {
                hash_bytes(text, n, hash);
                bundle_digest_text(hash, digest);
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
                const char *path = json_text(json_object_get(old, "path"));
                const BundleFile *f = i < b->n_files ? &b->files[i] : NULL;
                int c = !path ? -1 : !f ? 1 : strcmp(f->path, path);

                if (!f && !path)
                        return NULL;
                if (c != 0) {
                        bundle_quote(c < 0 ? f->path : path, shown);
                        return asprintf(&s, "%s was %s", shown, c < 0 ? "added" : "removed") < 0 ? NULL : s;
                }
                if (strcmp(f->digest, json_text(json_object_get(old, "digest")) ?: "") != 0 ||
                    f->link != json_is_true(json_object_get(old, "link")))
                        return asprintf(&s, "%s has another content", bundle_quote(path, shown)) < 0 ? NULL : s;
                if (f->executable != json_is_true(json_object_get(old, "executable")))
                        return asprintf(&s, "%s %s executable", bundle_quote(path, shown), f->executable ? "became" : "is no longer") < 0 ? NULL : s;
                i++;
                k++;
        }
        return NULL;
}

int bundle_program_digest(int fd, const char *path, char ret[static DIGEST_TEXT_MAX], Diag *reterr) {
        uint8_t hash[HASH_BYTES];
        int r = hash_fd(fd, UINT64_MAX, hash, NULL);

        if (r < 0)
                return bundle_access_or_errno(-r, path, reterr);
        bundle_digest_text(hash, ret);
        return 0;
}
