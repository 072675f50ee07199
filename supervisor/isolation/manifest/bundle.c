#include "manifest/bundle.h"

#include "base/io.h"
#include "manifest/bundle-walk.h"
#include "manifest/vocabulary.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>

void bundle_deinit(Bundle *b) {
        for (size_t i = 0; i < b->n_files; i++)
                free(b->files[i].path);
        free(b->files);
        free(b->others);
        *b = (Bundle){0};
}

static int bundle_by_path(const void *a, const void *b) {
        return strcmp(((const BundleFile *)a)->path, ((const BundleFile *)b)->path);
}

static int bundle_read_or_copy(int dirfd, int into, Bundle *ret, Diag *reterr) {
        _cleanup_bundle_ Bundle b = {0};
        _cleanup_free_ char *text = NULL;
        _cleanup_json_ json_t *list = NULL;
        uint8_t hash[HASH_BYTES];
        size_t n;
        int r = bundle_walk(dirfd, into, &b, reterr);

        if (r)
                return r;
        if (b.n_files > 0)
                qsort(b.files, b.n_files, sizeof(*b.files), bundle_by_path);
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
        return bundle_read_or_copy(dirfd, -1, ret, reterr);
}

int bundle_copy(int dirfd, int into, Bundle *ret, Diag *reterr) {
        return bundle_read_or_copy(dirfd, into, ret, reterr);
}

const BundleFile *bundle_find(const Bundle *b, const char *path) {
        BundleFile key = {.path = (char *)path};

        return b->n_files ? bsearch(&key, b->files, b->n_files, sizeof(*b->files), bundle_by_path) : NULL;
}

int bundle_read_file(const Bundle *b, int dirfd, const char *path, size_t max, char **ret, size_t *ret_n,
                     Diag *reterr) {
        const BundleFile *f = bundle_find(b, path);
        _cleanup_close_ int fd = -1;
        _cleanup_free_ char *text = NULL;
        char digest[DIGEST_TEXT_MAX];
        const char *shown = DIAG_QUOTED(path);
        uint8_t hash[HASH_BYTES];
        size_t n;
        int r;

        if (!f)
                return diag(reterr, BUNDLE_E_MISSING, "%s: not in the skill's folder", shown);
        if (f->link)
                return diag(reterr, BUNDLE_E_KIND, "%s: must be a file, not a symlink", shown);
        if (f->bytes > max)
                return diag(reterr, BUNDLE_E_LIMIT, "%s: %lu bytes, at most %zu are read", shown,
                            (unsigned long)f->bytes, max);
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

                if (json_array_append_new(a, json_pack("{s:s, s:b, s:b, s:I, s:s}", "path", f->path, "link", f->link,
                                                       "executable", f->executable, "bytes", (json_int_t)f->bytes,
                                                       "digest", f->digest)) < 0)
                        return NULL;
        }
        return TAKE_PTR(a);
}

char *bundle_difference(const Bundle *b, const json_t *recorded) {
        size_t i = 0, k = 0, n = json_array_size(recorded);

        /* Both lists are sorted by path: a single pass side by side finds the first difference. */
        while (i < b->n_files || k < n) {
                const json_t *old = json_array_get(recorded, k);
                const char *path = json_text(json_object_get(old, "path"));
                const BundleFile *f = i < b->n_files ? &b->files[i] : NULL;
                int c = !path ? -1 : !f ? 1 : strcmp(f->path, path);

                if (!f && !path)
                        return NULL;
                if (c != 0)
                        return text_printf("%s was %s", DIAG_QUOTED(c < 0 ? f->path : path), c < 0 ? "added" : "removed");
                if (strcmp(f->digest, json_text(json_object_get(old, "digest")) ?: "") != 0 ||
                    f->link != json_is_true(json_object_get(old, "link")))
                        return text_printf("%s has another content", DIAG_QUOTED(path));
                if (f->executable != json_is_true(json_object_get(old, "executable")))
                        return text_printf("%s %s executable", DIAG_QUOTED(path),
                                           f->executable ? "became" : "is no longer");
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
