#include "layer/apply.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

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
        /* a folder of a setgid folder has the bit from the kernel, and gives its group to files alone */
        if (e->type != 'l' && e->mode & (e->type == 'd' ? 04000 : 06000))
                return "setuid or setgid";
        if (e->type == 'l' && (!e->link || link_leads_out(e->path, e->link)))
                return "a link that leads out of the folder";
        return NULL;
}

/* Modes of a type, as far as they count: a link has none. */
static bool state_same_mode(char type, unsigned a, unsigned b) {
        return type == 'l' || ((a ^ b) & (type == 'd' ? 05777 : 07777)) == 0;
}

bool state_is_done(const LayerEntry *e, int folder, const char *leaf, const struct stat *st) {
        char digest[HASH_HEX_MAX];

        if (layer_type(st->st_mode) != e->type || !state_same_mode(e->type, st->st_mode, e->mode))
                return false;
        if (e->type == 'd')
                return true;
        return layer_digest(folder, leaf, st, digest, NULL) == 0 && strcmp(digest, e->digest) == 0;
}

bool state_is_base(const LayerEntry *e, int folder, const char *leaf, const struct stat *st) {
        char digest[HASH_HEX_MAX];

        const char type = layer_type(st->st_mode);

        if ((e->base == 'F' ? 'f' : e->base) != type || !state_same_mode(type, st->st_mode, e->base_mode))
                return false;
        if (e->base == 'd')
                return true;
        if (e->kind == LAYER_REMOVED || e->base == 'F') {
                layer_identity(st, digest);
                return strcmp(digest, e->base_digest) == 0;
        }
        return layer_digest(folder, leaf, st, digest, NULL) == 0 && strcmp(digest, e->base_digest) == 0;
}

/* A folder of a killed apply. */
static bool state_is_unfinished(const LayerEntry *e, const struct stat *st) {
        return e->type == 'd' && S_ISDIR(st->st_mode) && e->kind != LAYER_REMOVED &&
               state_same_mode('d', st->st_mode, e->kind == LAYER_ADDED ? APPLY_UNFINISHED : e->base_mode | APPLY_UNFINISHED);
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

                if (!there || (next && (state_is_done(next, folder, leaf, &st) || state_is_unfinished(next, &st))))
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

