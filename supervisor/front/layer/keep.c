#include "layer/layer.h"

#include "base/dirents.h"
#include "base/io.h"
#include "schema/launch.h"
#include "scrub/kept.h"
#include "scrub/wipe.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/xattr.h>

#define FOLDER_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
#define OPAQUE "user.overlay.opaque" /* overlayfs: what is below the folder is hidden */

typedef struct LayerWalk {
        Layer layer;
        int out; /* the folder of the kept layer */
        unsigned volume;
        uint64_t began;   /* CLOCK_REALTIME nanoseconds */
        uint64_t left;    /* bytes that may still be kept: holes count, too */
        uint64_t content; /* number of the newest file */
        char path[PATH_MAX];
        Diag *reterr;
} LayerWalk;

bool layer_wanted(const Grant *g) {
        for (size_t i = 0; i < g->n_files; i++)
                if (g->files[i].overlay)
                        return true;
        return false;
}

char layer_type(mode_t mode) {
        return S_ISREG(mode) ? 'f' : S_ISDIR(mode) ? 'd'
                             : S_ISLNK(mode)       ? 'l'
                                                   : 'o';
}

void layer_identity(const struct stat *st, char ret[static HASH_HEX_MAX]) {
        char text[128];
        int n = snprintf(text, sizeof(text), "%ju %jd %jd.%09ld", (uintmax_t)st->st_ino, (intmax_t)st->st_size,
                         (intmax_t)st->st_mtim.tv_sec, st->st_mtim.tv_nsec);

        hash_hex(text, (size_t)n, ret);
}

/* In spite of the mode that a region gave the file. */
static int keep_open_file(int folder, const char *name) {
        int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

        if (fd < 0 && errno == EACCES)
                fd = wipe_open(folder, name);
        return fd < 0 ? -errno : fd;
}

int layer_digest(int folder, const char *name, const struct stat *st, char ret[static HASH_HEX_MAX], char **ret_link) {
        _cleanup_close_ int fd = -1;
        uint8_t hash[HASH_BYTES];
        char text[PATH_MAX];
        uint64_t bytes;
        ssize_t n;
        int r;

        strcpy(ret, "-");
        if (S_ISLNK(st->st_mode)) {
                n = readlinkat(folder, name, text, sizeof(text) - 1);
                if (n < 0)
                        return -errno;
                text[n] = 0;
                hash_hex(text, (size_t)n, ret);
                return !ret_link || (*ret_link = strdup(text)) ? 0 : -ENOMEM;
        }
        if (!S_ISREG(st->st_mode))
                return 0;
        fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        r = fd < 0 ? -errno : hash_fd(fd, UINT64_MAX, hash, &bytes);
        if (r == 0)
                hex_encode(hash, sizeof(hash), ret);
        return r;
}

static int keep_bound(LayerWalk *k, const char *what) {
        return diag(k->reterr, LAYER_E_BOUND, "%s", what);
}

/* Puts a name behind k->path, whose length is `at`. */
static int keep_enter(LayerWalk *k, size_t at, const char *name) {
        int n = snprintf(k->path + at, sizeof(k->path) - at, "%s%s", at > 0 ? "/" : "", name);

        return n < 0 || at + (size_t)n >= sizeof(k->path) ? keep_bound(k, "a path is longer than 4,095 bytes") : 0;
}

/* Adds an entry for k->path; link is taken over. */
static int keep_add(LayerWalk *k, LayerEntry e) {
        Layer *l = &k->layer;

        e.volume = k->volume;
        if (!(e.path = strdup(k->path)) || !GROW(l->entries, l->n)) {
                free(e.path);
                free(e.link);
                return -ENOMEM;
        }
        if (!*e.digest)
                strcpy(e.digest, "-");
        if (!*e.base_digest)
                strcpy(e.base_digest, "-");
        l->entries[l->n++] = e;
        return l->n > LAYER_ENTRIES_MAX ? keep_bound(k, "more than 100,000 paths are changed") : 0;
}

static bool keep_is_touched(const LayerWalk *k, const struct stat *lower) {
        return (uint64_t)lower->st_ctim.tv_sec * 1000000000U + (uint64_t)lower->st_ctim.tv_nsec > k->began;
}

typedef struct KeepFolder {
        int upper, lower; /* -1: the folder is not there */
        bool opaque;
        size_t at; /* length of k->path */
        unsigned depth;
        Dirents d;
} KeepFolder;

static void keep_folder_free(KeepFolder **f) {
        if (!*f)
                return;
        closep(&(*f)->upper);
        closep(&(*f)->lower);
        free(*f);
}
#define _cleanup_keep_folder_ _cleanup_(keep_folder_free)

static int keep_folder_new(LayerWalk *k, size_t at, unsigned depth, KeepFolder **ret) {
        if (depth > LAYER_DEPTH_MAX)
                return keep_bound(k, "folders are nested deeper than 64");
        if (!(*ret = malloc(sizeof(**ret))))
                return -ENOMEM;
        (*ret)->upper = (*ret)->lower = -1;
        (*ret)->opaque = false;
        (*ret)->at = at;
        (*ret)->depth = depth;
        return 0;
}

/* A path of the source, and all below. */
static int keep_removed(LayerWalk *k, int folder, const char *name, size_t at, unsigned depth) {
        _cleanup_keep_folder_ KeepFolder *f = NULL;
        LayerEntry e = {.kind = LAYER_REMOVED};
        const char *child;
        struct stat st;
        int r = keep_enter(k, at, name);

        if (r != 0)
                return r;
        if (fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
                return errno == ENOENT ? 0 : -errno;
        e.type = layer_type(st.st_mode);
        e.mode = e.base_mode = st.st_mode & 07777;
        e.base = e.type != 'd' && keep_is_touched(k, &st) ? '?' : e.type;
        e.size = e.type == 'd' ? 0 : (uint64_t)st.st_size;
        if (e.type != 'd')
                layer_identity(&st, e.base_digest);
        r = keep_add(k, e);
        if (r != 0 || e.type != 'd')
                return r;
        r = keep_folder_new(k, strlen(k->path), depth + 1, &f);
        if (r != 0)
                return r;
        if ((f->lower = openat(folder, name, FOLDER_FLAGS)) < 0)
                return -errno;
        dirents_begin(&f->d, f->lower);
        while (r == 0 && (child = dirents_next(&f->d)))
                r = keep_removed(k, f->lower, child, f->at, f->depth);
        r = r ?: f->d.error;
        dirents_end(&f->d);
        return r;
}

static int keep_content(LayerWalk *k, int folder, const char *name, const struct stat *st, LayerEntry *e) {
        _cleanup_close_ int from = keep_open_file(folder, name), to = -1;
        uint8_t hash[HASH_BYTES];
        char number[24];
        struct stat opened;
        int r;

        if (from < 0)
                return from;
        if (fstat(from, &opened) < 0 || opened.st_ino != st->st_ino || !S_ISREG(opened.st_mode))
                return -ESTALE;
        if ((uint64_t)st->st_size > k->left)
                return keep_bound(k, "its files have more bytes than the region's scratch budget, holes counted");
        k->left -= (uint64_t)st->st_size;
        e->content = ++k->content;
        snprintf(number, sizeof(number), "%" PRIu64, e->content);
        to = openat(k->out, number, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (to < 0)
                return -errno;
        r = hash_copy(from, to, (uint64_t)st->st_size, hash, &e->size);
        if (r > 0)
                r = -errno;
        hex_encode(hash, sizeof(hash), e->digest);
        return r;
}

/* A file, link or other path of the layer that is no folder. base: of the same path in the source, or NULL. */
static int keep_leaf(LayerWalk *k, const KeepFolder *f, const char *name, const struct stat *st,
                     const struct stat *base,
                     bool replaced) {
        LayerEntry e = {.kind = LAYER_ADDED, .type = layer_type(st->st_mode), .mode = st->st_mode & 07777, .base = '-'};
        int r = 0;

        if (replaced)
                e.base = 'r';
        if (base) {
                e.kind = LAYER_CHANGED;
                e.base = keep_is_touched(k, base) ? '?' : layer_type(base->st_mode);
                e.base_mode = base->st_mode & 07777;
                r = layer_digest(f->lower, name, base, e.base_digest, NULL);
        }
        if (r == 0 && e.type == 'l')
                r = layer_digest(f->upper, name, st, e.digest, &e.link);
        else if (r == 0 && e.type == 'f' && base && S_ISREG(base->st_mode) && base->st_size == st->st_size) {
                _cleanup_close_ int fd = keep_open_file(f->upper, name);
                uint8_t hash[HASH_BYTES];

                r = fd < 0 ? fd : hash_fd(fd, (uint64_t)st->st_size, hash, &e.size);
                hex_encode(hash, sizeof(hash), e.digest);
        }
        if (r == 0 && base && layer_type(base->st_mode) == e.type && e.type != 'o' &&
            strcmp(e.digest, e.base_digest) == 0) {
                if (e.type == 'l' || e.mode == e.base_mode) { /* written, and the same again */
                        free(e.link);
                        return 0;
                }
                e.kind = LAYER_MODE;
        }
        if (r == 0 && e.type == 'f' && e.kind != LAYER_MODE)
                r = keep_content(k, f->upper, name, st, &e);
        if (r != 0) {
                free(e.link);
                return r;
        }
        return keep_add(k, e);
}

static int keep_folder(LayerWalk *k, KeepFolder *f);

static int keep_below(LayerWalk *k, const KeepFolder *f, const char *name, const struct stat *st, bool merged) {
        _cleanup_keep_folder_ KeepFolder *below = NULL;
        char mark;
        int r = keep_folder_new(k, strlen(k->path), f->depth + 1, &below);

        if (r != 0)
                return r;
        if ((st->st_mode & 0500) != 0500 && fchmodat(f->upper, name, 0700, 0) < 0)
                return -errno;
        if ((below->upper = openat(f->upper, name, FOLDER_FLAGS)) < 0 ||
            (merged && (below->lower = openat(f->lower, name, FOLDER_FLAGS)) < 0))
                return -errno;
        below->opaque = f->opaque || (fgetxattr(below->upper, OPAQUE, &mark, 1) == 1 && mark == 'y');
        return keep_folder(k, below);
}

static int keep_one(LayerWalk *k, const KeepFolder *f, const char *name) {
        struct stat st, base;
        bool there, folders, replaced = false;
        int r = keep_enter(k, f->at, name);

        if (r != 0)
                return r;
        if (fstatat(f->upper, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
                return -errno;
        there = f->lower >= 0 && fstatat(f->lower, name, &base, AT_SYMLINK_NOFOLLOW) == 0;
        folders = there && S_ISDIR(st.st_mode) && S_ISDIR(base.st_mode);
        if (S_ISCHR(st.st_mode) && st.st_rdev == 0) /* overlayfs: the path is removed */
                return there ? keep_removed(k, f->lower, name, f->at, f->depth) : 0;
        if (there && !folders && (S_ISDIR(st.st_mode) || S_ISDIR(base.st_mode))) {
                r = keep_removed(k, f->lower, name, f->at, f->depth) ?: keep_enter(k, f->at, name);
                there = false;
                replaced = true;
        }
        if (r != 0)
                return r;
        if (!S_ISDIR(st.st_mode))
                return keep_leaf(k, f, name, &st, there ? &base : NULL, replaced);
        if (!there)
                r = keep_add(k, (LayerEntry){.kind = LAYER_ADDED, .type = 'd', .mode = st.st_mode & 07777,
                                             .base = replaced ? 'r' : '-'});
        else if ((st.st_mode & 07777) != (base.st_mode & 07777))
                r = keep_add(k, (LayerEntry){.kind = LAYER_MODE, .type = 'd', .mode = st.st_mode & 07777, .base = 'd',
                                             .base_mode = base.st_mode & 07777});
        return r ?: keep_below(k, f, name, &st, there);
}

static int keep_folder(LayerWalk *k, KeepFolder *f) {
        const char *name;
        struct stat st;
        int r = 0;

        dirents_begin(&f->d, f->upper);
        while (r == 0 && (name = dirents_next(&f->d)))
                r = keep_one(k, f, name);
        r = r ?: f->d.error;
        if (r == 0 && f->opaque && f->lower >= 0) {
                dirents_begin(&f->d, f->lower);
                while (r == 0 && (name = dirents_next(&f->d)))
                        if (fstatat(f->upper, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
                                r = keep_removed(k, f->lower, name, f->at, f->depth);
                r = r ?: f->d.error;
        }
        dirents_end(&f->d);
        return r;
}

static int keep_volume(LayerWalk *k, const FileGrant *g, int scratch) {
        _cleanup_keep_folder_ KeepFolder *f = NULL;
        Layer *l = &k->layer;
        char name[64];
        int r = keep_folder_new(k, 0, 0, &f);

        if (r != 0)
                return r;
        k->volume = l->n_volumes++;
        l->sources[k->volume] = strdup(g->source);
        l->targets[k->volume] = strdup(g->target);
        if (!l->sources[k->volume] || !l->targets[k->volume])
                return -ENOMEM;
        snprintf(name, sizeof(name), LAUNCH_LAYER "/" LAUNCH_LAYER_UPPER, k->volume);
        if ((f->upper = openat(scratch, name, FOLDER_FLAGS)) < 0 || (f->lower = open(g->source, FOLDER_FLAGS)) < 0)
                return -errno;
        return keep_folder(k, f);
}

/* In a listing's order: a folder before what is in it, a removal before what comes in its place. */
static int keep_compare(const void *a, const void *b) {
        const LayerEntry *x = a, *y = b;
        const unsigned char *p = (const unsigned char *)x->path, *q = (const unsigned char *)y->path;

        if (x->volume != y->volume)
                return x->volume < y->volume ? -1 : 1;
        for (; *p && *p == *q; p++)
                q++;
        if (*p == *q)
                return (int)(y->kind == LAYER_REMOVED) - (int)(x->kind == LAYER_REMOVED);
        return !*p ? -1 : !*q ? 1
                  : *p == '/' ? -1
                  : *q == '/' ? 1
                  : *p < *q   ? -1
                              : 1;
}

static int keep_all(LayerWalk *k, const Grant *g, int scratch, char ret_digest[static HASH_HEX_MAX]) {
        _cleanup_buf_ Buf text = {.max = LAYER_INDEX_MAX};
        int r = 0;

        for (size_t i = 0; r == 0 && i < g->n_files; i++)
                if (g->files[i].overlay)
                        r = keep_volume(k, &g->files[i], scratch);
        if (r != 0 || k->layer.n == 0)
                return r;
        qsort(k->layer.entries, k->layer.n, sizeof(*k->layer.entries), keep_compare);
        r = layer_text(&k->layer, &text);
        if (r == -EFBIG)
                return keep_bound(k, "its list of paths is longer than 64 MB");
        hash_hex(text.data, text.n, ret_digest);
        return r ?: io_write_file(k->out, "index", text.data, text.n, 0600, true);
}

int layer_keep(const char *store_dir, const char *region, const Grant *g, int scratch, uint64_t began,
               char ret_digest[static HASH_HEX_MAX], size_t *ret_n, Diag *reterr) {
        LayerWalk *k = calloc(1, sizeof(*k));
        int r;

        *ret_n = 0;
        if (!k)
                return -ENOMEM;
        *k = (LayerWalk){.began = began, .left = g->budget.scratch_bytes, .reterr = reterr};
        snprintf(k->layer.region, sizeof(k->layer.region), "%s", region);
        k->out = kept_begin(store_dir, LAYER_SHELF, region);
        r = k->out < 0 ? k->out : keep_all(k, g, scratch, ret_digest);
        if (r == 0 && k->layer.n > 0)
                r = kept_complete(store_dir, LAYER_SHELF, region, k->out, g->budget.scratch_bytes - k->left);
        *ret_n = r == 0 ? k->layer.n : 0;
        closep(&k->out);
        if (*ret_n == 0)
                kept_drop_new(store_dir, LAYER_SHELF, region);
        layer_deinit(&k->layer);
        free(k);
        return r;
}
