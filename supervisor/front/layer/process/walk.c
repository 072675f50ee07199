/* Runs: lethe-layer. */
#include "layer/process/walk.h"

#include "base/io.h"
#include "schema/launch.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/xattr.h>

/* Attributes of overlayfs with the mount option userxattr. No region can set such an attribute: overlayfs keeps the
 * names to itself. */
#define OVERLAY_OPAQUE "user.overlay.opaque" /* "y": the lower folder is hidden */
#define OVERLAY_REDIRECT "user.overlay.redirect"
#define OVERLAY_METACOPY "user.overlay.metacopy"

int walk_bound(LayerWalk *k, const char *what) {
        return diag(k->reterr, LAYER_E_BOUND, "%s", what);
}

int walk_enter(LayerWalk *k, size_t at, const char *name) {
        int n = snprintf(k->path + at, sizeof(k->path) - at, "%s%s", at > 0 ? "/" : "", name);

        return n < 0 || at + (size_t)n >= sizeof(k->path) ? walk_bound(k, "a path is longer than 4,095 bytes") : 0;
}

int walk_add(LayerWalk *k, LayerEntry e) {
        Layer *l = &k->layer;

        e.volume = k->volume;
        k->texts += strlen(k->path) + (e.link ? strlen(e.link) : 0);
        if (k->texts > LAYER_INDEX_MAX || l->n >= LAYER_ENTRIES_MAX) {
                free(e.link);
                return walk_bound(k, k->texts > LAYER_INDEX_MAX ? "the list of paths is longer than 64 MB"
                                                                : "more than 100,000 paths are changed");
        }
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
        return 0;
}

int walk_folder_new(LayerWalk *k, size_t at, unsigned depth, WalkFolder **ret) {
        if (depth > LAYER_DEPTH_MAX)
                return walk_bound(k, "folders are nested deeper than 64");
        if (!(*ret = malloc(sizeof(**ret))))
                return -ENOMEM;
        (*ret)->upper = (*ret)->lower = -1;
        (*ret)->opaque = false;
        (*ret)->at = at;
        (*ret)->depth = depth;
        return 0;
}

void walk_folder_free(WalkFolder **f) {
        if (!*f)
                return;
        closep(&(*f)->upper);
        closep(&(*f)->lower);
        free(*f);
}

/* The form of the layer is the kernel's. A newer form would be read wrongly. */
static int walk_unknown(LayerWalk *k) {
        return diag(k->reterr, LAYER_E_BOUND, "%s has an unknown attribute of overlayfs",
                    DIAG_QUOTED(k->path));
}

static bool walk_has(int fd, const char *attribute) {
        char value;

        return fgetxattr(fd, attribute, &value, 1) >= 0 || errno == ERANGE;
}

/* Opens a file of the layer, in spite of the mode that the region gave the file. */
static int walk_open_file(LayerWalk *k, int folder, const char *name, const struct stat *st) {
        int fd = layer_open_file(folder, name, st);

        if (fd == -EACCES && fchmodat(folder, name, 0600, 0) == 0)
                fd = layer_open_file(folder, name, st);
        if (fd >= 0 && walk_has(fd, OVERLAY_METACOPY)) {
                close(fd);
                walk_unknown(k);
                return -EBADMSG;
        }
        return fd;
}

static int walk_content(LayerWalk *k, int folder, const char *name, const struct stat *st, LayerEntry *e) {
        _cleanup_close_ int from = walk_open_file(k, folder, name, st), to = -1;
        uint8_t hash[HASH_BYTES];
        char number[24];
        int r;

        if (from < 0)
                return from;
        if ((uint64_t)st->st_size > k->left)
                return walk_bound(k, "the files have more bytes than the region's scratch budget, holes counted");
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

static int walk_hash(LayerWalk *k, int folder, const char *name, const struct stat *st, LayerEntry *e) {
        _cleanup_close_ int fd = walk_open_file(k, folder, name, st);
        uint8_t hash[HASH_BYTES];
        int r = fd < 0 ? fd : hash_fd(fd, (uint64_t)st->st_size, hash, &e->size);

        if (r == 0)
                hex_encode(hash, sizeof(hash), e->digest);
        return r;
}

/* A file, link or other path of the layer that is no folder. base: of the same path in the source, or NULL. */
static int walk_leaf(LayerWalk *k, const WalkFolder *f, const char *name, const struct stat *st,
                     const struct stat *base, bool replaced) {
        LayerEntry e = {.kind = base ? LAYER_CHANGED : LAYER_ADDED, .type = layer_type(st->st_mode),
                        .mode = st->st_mode & 07777, .base = replaced ? 'r' : '-'};
        int r = base ? below_base(k, f->lower, name, base, &e) : 0;

        if (r == 0 && e.type == 'l')
                r = layer_digest(f->upper, name, st, e.digest, &e.link);
        else if (r == 0 && e.type == 'f' && base && S_ISREG(base->st_mode) && base->st_size == st->st_size)
                r = walk_hash(k, f->upper, name, st, &e);
        if (r == 0 && base && layer_type(base->st_mode) == e.type && e.type != 'o' &&
            strcmp(e.digest, e.base_digest) == 0) {
                if (e.type == 'l' || e.mode == e.base_mode) { /* written, and the same again */
                        free(e.link);
                        return 0;
                }
                e.kind = LAYER_MODE;
        }
        if (r == 0 && e.type == 'f' && e.kind != LAYER_MODE)
                r = walk_content(k, f->upper, name, st, &e);
        if (r != 0) {
                free(e.link);
                return r;
        }
        return walk_add(k, e);
}

static int walk_folder(LayerWalk *k, WalkFolder *f);

static int walk_into(LayerWalk *k, const WalkFolder *f, const char *name, const struct stat *st, bool merged) {
        _cleanup_walk_folder_ WalkFolder *into = NULL;
        char mark;
        ssize_t n;
        int r = walk_folder_new(k, strlen(k->path), f->depth + 1, &into);

        if (r != 0)
                return r;
        into->upper = openat(f->upper, name, WALK_FOLDER_FLAGS);
        if (into->upper < 0 && errno == EACCES && fchmodat(f->upper, name, 0700, 0) == 0)
                into->upper = openat(f->upper, name, WALK_FOLDER_FLAGS);
        if (into->upper < 0)
                return -errno;
        /* a user without rights for all files needs to search the folder, too */
        if ((st->st_mode & 0500) != 0500 && fchmod(into->upper, 0700) < 0 && errno != EPERM)
                return -errno;
        if (merged && (into->lower = below_open(k, f->lower, name)) < 0)
                return into->lower == -EXDEV ? diag(k->reterr, LAYER_E_BOUND, "another file system is mounted at %s",
                                                    DIAG_QUOTED(k->path))
                                             : into->lower;
        n = fgetxattr(into->upper, OVERLAY_OPAQUE, &mark, 1);
        if ((n < 0 && errno == ERANGE) || (n >= 0 && (n != 1 || mark != 'y')) ||
            walk_has(into->upper, OVERLAY_REDIRECT))
                return walk_unknown(k);
        into->opaque = f->opaque || n == 1;
        return walk_folder(k, into);
}

static int walk_one(LayerWalk *k, const WalkFolder *f, const char *name) {
        struct stat st, base;
        bool there, folders, replaced = false;
        int r = walk_enter(k, f->at, name);

        if (r != 0)
                return r;
        if (fstatat(f->upper, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
                return -errno;
        r = below_stat(k, f->lower, name, &base);
        if (r < 0)
                return r;
        there = r > 0;
        folders = there && S_ISDIR(st.st_mode) && S_ISDIR(base.st_mode);
        if (S_ISCHR(st.st_mode) && st.st_rdev == 0) /* overlayfs: the path is removed */
                return there ? below_removed(k, f->lower, name, f->at, f->depth) : 0;
        if (there && !folders && (S_ISDIR(st.st_mode) || S_ISDIR(base.st_mode))) {
                r = below_removed(k, f->lower, name, f->at, f->depth) ?: walk_enter(k, f->at, name);
                if (r != 0)
                        return r;
                there = false;
                replaced = true;
        }
        if (!S_ISDIR(st.st_mode))
                return walk_leaf(k, f, name, &st, there ? &base : NULL, replaced);
        r = 0;
        if (!there)
                r = walk_add(k, (LayerEntry){.kind = LAYER_ADDED, .type = 'd', .mode = st.st_mode & 07777,
                                             .base = replaced ? 'r' : '-'});
        else if ((st.st_mode & 07777) != (base.st_mode & 07777))
                r = walk_add(k, (LayerEntry){.kind = LAYER_MODE, .type = 'd', .mode = st.st_mode & 07777, .base = 'd',
                                             .base_mode = base.st_mode & 07777});
        return r ?: walk_into(k, f, name, &st, there);
}

static int walk_folder(LayerWalk *k, WalkFolder *f) {
        const char *name;
        struct stat st;
        int r = 0;

        dirents_begin(&f->d, f->upper);
        while (r == 0 && (name = dirents_next(&f->d)))
                r = walk_one(k, f, name);
        r = r ?: f->d.error;
        if (r == 0 && f->opaque && f->lower >= 0) {
                dirents_begin(&f->d, f->lower);
                while (r == 0 && (name = below_next(k, &f->d, &r)))
                        if (fstatat(f->upper, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
                                r = below_removed(k, f->lower, name, f->at, f->depth);
        }
        dirents_end(&f->d);
        return r;
}

/* In a listing's order: a folder before its content, a removal before the new path of the same name. */
static int walk_compare(const void *a, const void *b) {
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

int walk_all(LayerWalk *k, int scratch, const int *below) {
        int r = 0;

        k->names_left = 1000000;
        k->below_left = 1U << 30;
        for (k->volume = 0; r == 0 && k->volume < k->layer.n_volumes; k->volume++) {
                _cleanup_walk_folder_ WalkFolder *f = NULL;
                char name[64];

                snprintf(name, sizeof(name), LAUNCH_LAYER "/" LAUNCH_LAYER_UPPER, k->volume);
                r = walk_folder_new(k, 0, 0, &f);
                if (r == 0 && ((f->upper = openat(scratch, name, WALK_FOLDER_FLAGS)) < 0 ||
                               (f->lower = fcntl(below[k->volume], F_DUPFD_CLOEXEC, 0)) < 0))
                        r = -errno;
                *k->path = 0;
                r = r ?: walk_folder(k, f);
        }
        if (k->layer.n > 0)
                qsort(k->layer.entries, k->layer.n, sizeof(*k->layer.entries), walk_compare);
        return r;
}
