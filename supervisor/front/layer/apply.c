#include "layer/layer.h"

#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

#define FOLDER_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

/* A name for each region: the next apply replaces the rest of a killed apply. */
#define TEMPORARY ".lethe-apply-%s"
#define UNFINISHED 0700 /* mode of a new folder, until the folder is complete */

int layer_open_parent(int root, const char *path, const char **ret_leaf) {
        struct open_how how = {.flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC,
                               .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS};
        const char *slash = strrchr(path, '/');
        char above[PATH_MAX] = ".";
        int fd;

        *ret_leaf = slash ? slash + 1 : path;
        if (slash)
                snprintf(above, sizeof(above), "%.*s", (int)(slash - path), path);
        fd = (int)syscall(SYS_openat2, root, above, &how, sizeof(how));
        return fd < 0 ? -errno : fd;
}

/* By the letters alone: whether the link at `path` leads out of the root. */
static bool link_leads_out(const char *path, const char *text) {
        int depth = 0;

        if (*text == '/')
                return true;
        for (const char *p = path; (p = strchr(p, '/')); p++)
                depth++;
        for (const char *p = text; *p; p += strspn(p, "/")) {
                size_t n = strcspn(p, "/");

                depth += n == 2 && p[0] == '.' && p[1] == '.' ? -1 : n == 1 && p[0] == '.' ? 0
                                                                                           : 1;
                if (depth < 0)
                        return true;
                p += n;
        }
        return false;
}

static const char *state_refused(const LayerEntry *e) {
        if (e->kind == LAYER_REMOVED)
                return NULL;
        if (e->type == 'o')
                return "a device, a socket or a FIFO";
        if (e->type != 'l' && e->mode & 06000)
                return "setuid or setgid";
        if (e->type == 'l' && (!e->link || link_leads_out(e->path, e->link)))
                return "a link that leads out of the folder";
        return NULL;
}

/* Whether the path is as the layer has it. */
static bool state_is_done(const LayerEntry *e, int folder, const char *leaf, const struct stat *st) {
        char digest[HASH_HEX_MAX];

        if (layer_type(st->st_mode) != e->type || (e->type != 'l' && (st->st_mode & 07777) != e->mode))
                return false;
        if (e->type == 'd')
                return true;
        return layer_digest(folder, leaf, st, digest, NULL) == 0 && strcmp(digest, e->digest) == 0;
}

static bool state_is_base(const LayerEntry *e, int folder, const char *leaf, const struct stat *st) {
        char digest[HASH_HEX_MAX];

        const char type = layer_type(st->st_mode);

        if ((e->base == 'F' ? 'f' : e->base) != type || (type != 'l' && (st->st_mode & 07777) != e->base_mode))
                return false;
        if (e->base == 'd')
                return true;
        if (e->kind == LAYER_REMOVED || e->base == 'F') {
                layer_identity(st, digest);
                return strcmp(digest, e->base_digest) == 0;
        }
        return layer_digest(folder, leaf, st, digest, NULL) == 0 && strcmp(digest, e->base_digest) == 0;
}

/* A new folder of a killed apply. */
static bool state_is_unfinished(const LayerEntry *e, const struct stat *st) {
        return e->kind == LAYER_ADDED && e->type == 'd' && S_ISDIR(st->st_mode) && (st->st_mode & 07777) == UNFINISHED;
}

/* The entry of the same path behind a removal, or NULL: the path has another type in the layer. */
static const LayerEntry *state_successor(const Layer *l, size_t i) {
        const LayerEntry *e = &l->entries[i];
        const size_t n = strlen(e->path);

        for (size_t k = i + 1; k < l->n && l->entries[k].volume == e->volume; k++) {
                if (strcmp(l->entries[k].path, e->path) == 0)
                        return &l->entries[k];
                if (strncmp(l->entries[k].path, e->path, n) != 0 || l->entries[k].path[n] != '/')
                        break;
        }
        return NULL;
}

LayerState layer_state(const Layer *l, size_t i, int root, const char **why) {
        const LayerEntry *e = &l->entries[i];
        _cleanup_close_ int folder = -1;
        const char *leaf;
        struct stat st;
        bool there;

        if ((*why = state_refused(e)))
                return LAYER_REFUSED;
        folder = layer_open_parent(root, e->path, &leaf);
        there = folder >= 0 && fstatat(folder, leaf, &st, AT_SYMLINK_NOFOLLOW) == 0;
        if (folder < 0 && folder != -ENOENT && folder != -ENOTDIR) {
                *why = folder == -ELOOP || folder == -EXDEV ? "a folder above is a link now"
                                                                : "a folder above cannot be read";
                return LAYER_CONFLICT;
        }
        if (e->kind == LAYER_REMOVED) {
                const LayerEntry *next = state_successor(l, i);

                if (!there || (next && state_is_done(next, folder, leaf, &st)))
                        return LAYER_DONE;
        } else if (there && state_is_done(e, folder, leaf, &st))
                return LAYER_DONE;
        *why = "changed since the region saw it";
        if (e->base == '?')
                *why = "changed by others while the region ran";
        else if (e->base == 'r' || (there && state_is_unfinished(e, &st)) || (e->base == '-' && !there) ||
                 (there && state_is_base(e, folder, leaf, &st)))
                return LAYER_READY;
        else if (!there)
                *why = "no longer there";
        else if (e->base == '-')
                *why = "made by others since";
        return LAYER_CONFLICT;
}

/* A new file has the owner of the replaced file, else of the folder. */
static int apply_owner(int folder, const char *leaf, struct stat *ret) {
        if (fstatat(folder, leaf, ret, AT_SYMLINK_NOFOLLOW) == 0 || fstat(folder, ret) == 0)
                return 0;
        return -errno;
}

static int apply_own(int folder, const char *leaf, const struct stat *owner) {
        if (geteuid() != 0 || fchownat(folder, leaf, owner->st_uid, owner->st_gid, AT_SYMLINK_NOFOLLOW) == 0)
                return 0;
        return -errno;
}

static int apply_file(const LayerEntry *e, int kept, int folder, const char *temporary, const struct stat *owner) {
        _cleanup_close_ int from = -1, to = -1;
        uint8_t hash[HASH_BYTES];
        char number[24], digest[HASH_HEX_MAX];
        uint64_t bytes;
        int r;

        snprintf(number, sizeof(number), "%" PRIu64, e->content);
        from = openat(kept, number, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
        if (from < 0)
                return -errno;
        to = openat(folder, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (to < 0)
                return -errno;
        r = hash_copy(from, to, UINT64_MAX, hash, &bytes);
        if (r != 0)
                return r > 0 ? -errno : r;
        if (strcmp(hex_encode(hash, sizeof(hash), digest), e->digest) != 0)
                return -EBADMSG;
        if (geteuid() == 0 && fchown(to, owner->st_uid, owner->st_gid) < 0)
                return -errno;
        return fchmod(to, e->mode & 01777) < 0 || fsync(to) < 0 ? -errno : 0;
}

static int apply_new(const LayerEntry *e, int kept, int folder, const char *leaf, const char *region) {
        char temporary[64];
        struct stat owner;
        int r = apply_owner(folder, leaf, &owner);

        if (r == 0 && e->type == 'd') {
                if (mkdirat(folder, leaf, UNFINISHED) < 0 && errno != EEXIST)
                        return -errno;
                return apply_own(folder, leaf, &owner);
        }
        snprintf(temporary, sizeof(temporary), TEMPORARY, region);
        if (r == 0 && unlinkat(folder, temporary, 0) < 0 && errno != ENOENT)
                r = -errno;
        if (r == 0 && e->type == 'l')
                r = symlinkat(e->link, folder, temporary) < 0 ? -errno : apply_own(folder, temporary, &owner);
        else if (r == 0)
                r = apply_file(e, kept, folder, temporary, &owner);
        /* a path made meanwhile by other programs is not replaced */
        if (r == 0 && renameat2(folder, temporary, folder, leaf, e->kind == LAYER_ADDED ? RENAME_NOREPLACE : 0) < 0)
                r = -errno;
        if (r < 0)
                unlinkat(folder, temporary, 0);
        return r;
}

static int apply_entry(const Layer *l, const LayerEntry *e, int kept, int root) {
        const char *leaf;
        _cleanup_close_ int folder = layer_open_parent(root, e->path, &leaf);
        int r = 0;

        if (folder < 0)
                return folder;
        if (e->kind == LAYER_REMOVED)
                r = unlinkat(folder, leaf, e->type == 'd' ? AT_REMOVEDIR : 0) < 0 && errno != ENOENT ? -errno : 0;
        else if (e->kind == LAYER_MODE) {
                _cleanup_close_ int fd = openat(folder, leaf, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

                r = fd < 0 || fchmod(fd, e->mode & 01777) < 0 ? -errno : 0;
        } else
                r = apply_new(e, kept, folder, leaf, l->region);
        return r < 0 ? r : fsync(folder) < 0 ? -errno
                                             : 0;
}

typedef struct Apply {
        Layer *layer;
        int kept, roots[LAYER_VOLUMES_MAX];
        const bool *chosen;
        bool *done; /* by entry */
        size_t *bad;
        Diag *reterr;
} Apply;

static int apply_judge(Apply *a) {
        for (size_t i = 0; i < a->layer->n; i++) {
                const LayerEntry *e = &a->layer->entries[i];
                const char *why;
                LayerState s;

                if (!a->chosen[i])
                        continue;
                s = layer_state(a->layer, i, a->roots[e->volume], &why);
                *a->bad = i;
                if (s == LAYER_CONFLICT || s == LAYER_REFUSED)
                        return diag(a->reterr, LAYER_E_REFUSED, "%s", why);
                a->done[i] = s == LAYER_DONE;
        }
        return 0;
}

/* Removals, or all else. The content of a folder goes before the folder, and comes behind the folder. */
static int apply_pass(Apply *a, bool removals) {
        const Layer *l = a->layer;

        for (size_t k = 0; k < l->n; k++) {
                const size_t i = removals ? l->n - 1 - k : k;
                const LayerEntry *e = &l->entries[i];
                int r;

                if (!a->chosen[i] || a->done[i] || (e->kind == LAYER_REMOVED) != removals)
                        continue;
                *a->bad = i;
                r = apply_entry(l, e, a->kept, a->roots[e->volume]);
                if (r < 0)
                        return diag(a->reterr, r, "%s", strerror(-r));
                a->done[i] = true;
        }
        return 0;
}

/* New folders get their modes, the innermost first: behind a folder without write access nothing could be made. */
static int apply_modes(Apply *a) {
        const Layer *l = a->layer;

        for (size_t i = l->n; i-- > 0;) {
                const LayerEntry *e = &l->entries[i];
                const char *leaf;
                _cleanup_close_ int folder = -1, fd = -1;

                if (!a->chosen[i] || e->kind != LAYER_ADDED || e->type != 'd' || e->mode == UNFINISHED)
                        continue;
                *a->bad = i;
                folder = layer_open_parent(a->roots[e->volume], e->path, &leaf);
                fd = folder < 0 ? -1 : openat(folder, leaf, FOLDER_FLAGS);
                if (fd >= 0 ? fchmod(fd, e->mode & 01777) < 0 : errno != EACCES) /* EACCES: the mode is there already */
                        return diag(a->reterr, -errno, "%s", strerror(errno));
        }
        return 0;
}

/* The index has the remaining entries, even after a failure. */
static int apply_forget(Apply *a, size_t *ret_applied) {
        _cleanup_buf_ Buf text = {.max = LAYER_INDEX_MAX};
        Layer *l = a->layer;
        size_t n = 0;
        int r;

        for (size_t i = 0; i < l->n; i++) {
                LayerEntry *e = &l->entries[i];

                if (!a->done[i]) {
                        l->entries[n++] = *e;
                        continue;
                }
                ++*ret_applied;
                free(e->path);
                free(e->link);
        }
        l->n = n;
        r = layer_text(l, &text) ?: io_write_file(a->kept, "index", text.data, text.n, 0600, true);
        return r;
}

int layer_apply(Layer *l, int folder, const bool *chosen, size_t *ret_applied, size_t *ret_bad, Diag *reterr) {
        Apply a = {.layer = l, .kept = folder, .chosen = chosen, .bad = ret_bad, .reterr = reterr,
                   .done = calloc(l->n + 1, sizeof(bool))};
        int r = a.done ? 0 : -ENOMEM, f;
        unsigned n = 0;

        *ret_applied = 0;
        *ret_bad = SIZE_MAX;
        for (; r == 0 && n < l->n_volumes; n++)
                if ((a.roots[n] = open(l->sources[n], FOLDER_FLAGS)) < 0) {
                        r = diag(reterr, -errno, "\"%s\" cannot be opened: %s", l->sources[n], strerror(errno));
                        break;
                }
        r = r ?: apply_judge(&a);
        if (r == 0) {
                r = apply_pass(&a, true) ?: apply_pass(&a, false) ?
                                                                  : apply_modes(&a);
                f = apply_forget(&a, ret_applied);
                r = r ?: f;
        }
        while (n > 0)
                close(a.roots[--n]);
        free(a.done);
        return r;
}
