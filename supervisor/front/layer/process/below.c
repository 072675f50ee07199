/* Runs: lethe-layer. */
#include "layer/process/walk.h"

#include <errno.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/syscall.h>

#define BASE_MAX (64U << 20) /* a larger file is told by inode, size and time */

static int below_trouble(LayerWalk *k, int e) {
        return diag(k->reterr, e, "%s of %s cannot be read: %s", DIAG_QUOTED(k->path),
                    DIAG_QUOTED(k->layer.sources[k->volume]), strerror(-e));
}

bool below_is_touched(const LayerWalk *k, const struct stat *st) {
        return (uint64_t)st->st_ctim.tv_sec * 1000000000U + (uint64_t)st->st_ctim.tv_nsec > k->began;
}

int below_base(LayerWalk *k, int folder, const char *name, const struct stat *st, LayerEntry *e) {
        int r;

        e->base = below_is_touched(k, st) ? '?' : layer_type(st->st_mode);
        e->base_mode = st->st_mode & 07777;
        if (S_ISREG(st->st_mode)) {
                const bool read = (uint64_t)st->st_size <= MIN((uint64_t)BASE_MAX, k->below_left);

                r = read ? layer_digest(folder, name, st, e->base_digest, NULL) : -EACCES;
                k->below_left -= read ? (uint64_t)st->st_size : 0;
                if (r == 0)
                        return 0;
                if (r == -EACCES) {
                        layer_identity(st, e->base_digest);
                        e->base = e->base == 'f' ? 'F' : e->base;
                        return 0;
                }
        } else
                r = layer_digest(folder, name, st, e->base_digest, NULL);
        if (r == -ENOENT || r == -EINVAL || r == -ESTALE || r == -EFBIG || r == -ELOOP) { /* in change */
                strcpy(e->base_digest, "-");
                e->base = '?';
                r = 0;
        }
        return r < 0 ? below_trouble(k, r) : r;
}

int below_stat(LayerWalk *k, int folder, const char *name, struct stat *ret) {
        if (folder < 0)
                return 0;
        if (fstatat(folder, name, ret, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) == 0)
                return 1;
        return errno == ENOENT || errno == ENAMETOOLONG ? 0 : below_trouble(k, -errno);
}

int below_open(LayerWalk *k, int folder, const char *name) {
        struct open_how how = {.flags = WALK_FOLDER_FLAGS,
                               .resolve = RESOLVE_NO_XDEV | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS};
        int fd = (int)syscall(SYS_openat2, folder, name, &how, sizeof(how));

        return fd >= 0 ? fd : errno == EXDEV ? -EXDEV
                                             : below_trouble(k, -errno);
}

const char *below_next(LayerWalk *k, Dirents *d, int *ret_e) {
        const char *name = k->names_left > 0 ? dirents_next(d) : NULL;

        if (k->names_left == 0)
                *ret_e = walk_bound(k, "the folder below has more than 1,000,000 names in changed folders");
        else if (!name)
                *ret_e = d->error == 0 ? 0 : below_trouble(k, d->error);
        k->names_left -= name != NULL;
        return name;
}

int below_removed(LayerWalk *k, int folder, const char *name, size_t at, unsigned depth) {
        _cleanup_walk_folder_ WalkFolder *f = NULL;
        LayerEntry e = {.kind = LAYER_REMOVED};
        const char *child;
        struct stat st;
        int r = walk_enter(k, at, name);

        r = r ?: below_stat(k, folder, name, &st);
        if (r != 1)
                return r;
        e.type = layer_type(st.st_mode);
        e.mode = e.base_mode = st.st_mode & 07777;
        e.base = e.type != 'd' && below_is_touched(k, &st) ? '?' : e.type;
        e.size = e.type == 'd' ? 0 : (uint64_t)st.st_size;
        if (e.type != 'd') {
                layer_identity(&st, e.base_digest);
                return walk_add(k, e);
        }
        r = walk_folder_new(k, strlen(k->path), depth + 1, &f);
        if (r != 0)
                return r;
        f->lower = below_open(k, folder, name);
        if (f->lower == -EXDEV)
                e.base = '?'; /* a mount point, whose files the region did not see */
        else if (f->lower < 0)
                return f->lower;
        r = walk_add(k, e);
        if (r != 0 || f->lower < 0)
                return r;
        dirents_begin(&f->d, f->lower);
        while (r == 0 && (child = below_next(k, &f->d, &r)))
                r = below_removed(k, f->lower, child, f->at, f->depth);
        dirents_end(&f->d);
        return r;
}
