#include "layer/apply.h"

#include "base/io.h"
#include "base/proc-path.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

/* Beside the path: the region, and a hash of the path. A killed apply leaves at most one such file, and the next apply
 * knows the file's path. UNWRITTEN: not complete; TEMPORARY: complete, or the old file of the path. */
#define TEMPORARY ".lethe-apply-%s-%.16s"
#define UNWRITTEN "-new"
#define TEMPORARY_MAX 64

typedef struct Apply {
        Layer *layer;
        int kept, roots[LAYER_VOLUMES_MAX];
        const bool *chosen;
        bool *done; /* by entry */
        size_t *bad;
        Diag *reterr;
} Apply;

/* An entry in work. */
typedef struct ApplyPlace {
        const LayerEntry *e;
        int folder;
        const char *leaf;
        char temporary[TEMPORARY_MAX], unwritten[TEMPORARY_MAX + sizeof(UNWRITTEN)];
} ApplyPlace;

static int place_open(const Apply *a, size_t i, ApplyPlace *ret) {
        const LayerEntry *e = &a->layer->entries[i];
        char digest[HASH_HEX_MAX];

        *ret = (ApplyPlace){.e = e, .folder = layer_open_parent(a->roots[e->volume], e->path, &ret->leaf)};
        ret->leaf = strrchr(e->path, '/') ? strrchr(e->path, '/') + 1 : e->path;
        snprintf(ret->temporary, sizeof(ret->temporary), TEMPORARY, a->layer->region,
                 hash_hex(e->path, strlen(e->path), digest));
        snprintf(ret->unwritten, sizeof(ret->unwritten), "%s" UNWRITTEN, ret->temporary);
        return ret->folder < 0 ? ret->folder : 0;
}

static void place_close(ApplyPlace *p) {
        closep(&p->folder);
}
#define _cleanup_place_ _cleanup_(place_close)

static bool place_stat(const ApplyPlace *p, const char *name, struct stat *ret) {
        return fstatat(p->folder, name, ret, AT_SYMLINK_NOFOLLOW) == 0;
}

/* Takes the temporary file of a killed apply away. A file written by others goes back to the path. */
static int place_recover(const ApplyPlace *p) {
        struct stat st, now;
        bool there;

        unlinkat(p->folder, p->unwritten, 0);
        if (!place_stat(p, p->temporary, &st))
                return 0;
        there = place_stat(p, p->leaf, &now);
        if (st.st_uid != geteuid() && !(there && st.st_uid == now.st_uid))
                return 0; /* planted by another user */
        if (S_ISDIR(st.st_mode) || (there && state_is_done(p->e, p->folder, p->leaf, &now) &&
                                    !state_is_done(p->e, p->folder, p->temporary, &st) &&
                                    !state_is_base(p->e, p->folder, p->temporary, &st)) ||
            (!there && p->e->kind == LAYER_REMOVED && !state_is_base(p->e, p->folder, p->temporary, &st))) {
                if (renameat2(p->folder, p->temporary, p->folder, p->leaf, there ? RENAME_EXCHANGE : RENAME_NOREPLACE) < 0)
                        return -errno;
                if (!there)
                        return 0;
        }
        return unlinkat(p->folder, p->temporary, 0) < 0 && errno != ENOENT ? -errno : 0;
}

/* A new file has the owner of the replaced file, else of the folder. */
static int place_owner(const ApplyPlace *p, struct stat *ret) {
        return place_stat(p, p->leaf, ret) || fstat(p->folder, ret) == 0 ? 0 : -errno;
}

static int place_own(const ApplyPlace *p, const char *name, const struct stat *owner) {
        if (geteuid() != 0 || fchownat(p->folder, name, owner->st_uid, owner->st_gid, AT_SYMLINK_NOFOLLOW) == 0)
                return 0;
        return -errno;
}

static int place_file(const ApplyPlace *p, int kept, const struct stat *owner) {
        _cleanup_close_ int from = -1, to = -1;
        uint8_t hash[HASH_BYTES];
        char number[24], digest[HASH_HEX_MAX];
        uint64_t bytes;
        int r;

        snprintf(number, sizeof(number), "%" PRIu64, p->e->content);
        from = openat(kept, number, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
        if (from < 0)
                return -errno;
        to = openat(p->folder, p->unwritten, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (to < 0)
                return -errno;
        r = hash_copy(from, to, p->e->size, hash, &bytes);
        if (r != 0)
                return r > 0 ? -errno : r;
        if (strcmp(hex_encode(hash, sizeof(hash), digest), p->e->digest) != 0)
                return -EBADMSG;
        if (geteuid() == 0 && fchown(to, owner->st_uid, owner->st_gid) < 0)
                return -errno;
        if (fchmod(to, p->e->mode & 01777) < 0 || fsync(to) < 0)
                return -errno;
        return renameat(p->folder, p->unwritten, p->folder, p->temporary) < 0 ? -errno : 0;
}

/* The temporary file takes the path. The path's old file is judged afterwards, when no program finds the file by the
 * path: a file changed meanwhile goes back. */
static int place_exchange(const ApplyPlace *p) {
        struct stat st;

        if (renameat2(p->folder, p->temporary, p->folder, p->leaf, RENAME_EXCHANGE) < 0) {
                if (errno != EINVAL && errno != ENOSYS)
                        return errno == ENOENT ? -ESTALE : -errno;
                if (!place_stat(p, p->leaf, &st) || !state_is_base(p->e, p->folder, p->leaf, &st))
                        return -ESTALE;
                return renameat(p->folder, p->temporary, p->folder, p->leaf) < 0 ? -errno : 0;
        }
        if (!place_stat(p, p->temporary, &st) || !state_is_base(p->e, p->folder, p->temporary, &st)) {
                if (renameat2(p->folder, p->temporary, p->folder, p->leaf, RENAME_EXCHANGE) < 0)
                        return -errno; /* the next apply tries again */
                unlinkat(p->folder, p->temporary, 0);
                return -ESTALE;
        }
        return unlinkat(p->folder, p->temporary, 0) < 0 ? -errno : 0;
}

static int place_make(const ApplyPlace *p, int kept) {
        struct stat owner;
        int r = place_owner(p, &owner);

        if (r == 0 && p->e->type == 'd') {
                if (mkdirat(p->folder, p->leaf, APPLY_UNFINISHED) < 0 && errno != EEXIST)
                        return -errno;
                return place_own(p, p->leaf, &owner);
        }
        if (r == 0 && p->e->type == 'l')
                r = symlinkat(p->e->link, p->folder, p->temporary) < 0 ? -errno : place_own(p, p->temporary, &owner);
        else if (r == 0)
                r = place_file(p, kept, &owner);
        if (r == 0 && p->e->kind != LAYER_ADDED)
                return place_exchange(p);
        if (r == 0 && renameat2(p->folder, p->temporary, p->folder, p->leaf, RENAME_NOREPLACE) < 0)
                r = errno == EEXIST ? -ESTALE : -errno;
        if (r < 0) {
                unlinkat(p->folder, p->unwritten, 0);
                unlinkat(p->folder, p->temporary, 0);
        }
        return r;
}

static int place_remove(const ApplyPlace *p) {
        struct stat st;

        if (p->e->type == 'd') {
                if (unlinkat(p->folder, p->leaf, AT_REMOVEDIR) == 0 || errno == ENOENT)
                        return 0;
                return errno == ENOTEMPTY || errno == EEXIST ? -ESTALE : -errno;
        }
        if (renameat2(p->folder, p->leaf, p->folder, p->temporary, RENAME_NOREPLACE) < 0) {
                if (errno != EINVAL && errno != ENOSYS)
                        return errno == ENOENT ? 0 : -errno;
                return unlinkat(p->folder, p->leaf, 0) < 0 ? -errno : 0; /* judged a moment ago */
        }
        if (place_stat(p, p->temporary, &st) && state_is_base(p->e, p->folder, p->temporary, &st))
                return unlinkat(p->folder, p->temporary, 0) < 0 ? -errno : 0;
        return renameat2(p->folder, p->temporary, p->folder, p->leaf, RENAME_NOREPLACE) < 0 ? -errno : -ESTALE;
}

/* Modes of the layer; setgid of a folder stays as in the source. open: for the work below. */
static int place_mode(const ApplyPlace *p, bool open) {
        _cleanup_close_ int fd = openat(p->folder, p->leaf, O_PATH | O_NOFOLLOW | O_CLOEXEC);
        struct stat st;
        unsigned mode;

        if (fd < 0 || fstat(fd, &st) < 0)
                return -errno;
        if (layer_type(st.st_mode) != p->e->type)
                return -ESTALE;
        mode = open ? p->e->base_mode | APPLY_UNFINISHED : p->e->mode;
        mode = p->e->type == 'd' ? (mode & 01777) | (st.st_mode & 02000) : mode & 01777;
        if ((st.st_mode & 07777) == mode)
                return 0;
        return chmod(PROC_FD(fd), mode) < 0 ? -errno : 0;
}

typedef enum ApplyPass {
        APPLY_RECOVER, /* the rest of a killed apply */
        APPLY_OPEN,    /* folders whose mode changes can be written until the end */
        APPLY_REMOVE,  /* the content of a folder goes before the folder */
        APPLY_MAKE,    /* and comes behind the folder */
        APPLY_MODES,   /* the innermost folder first: behind a folder without write access nothing could be made */
} ApplyPass;

static bool pass_concerns(const Apply *a, ApplyPass pass, size_t i) {
        const LayerEntry *e = &a->layer->entries[i];

        if (!a->chosen[i])
                return false;
        switch (pass) {
        case APPLY_RECOVER:
                return e->type != 'd';
        case APPLY_OPEN:
                return !a->done[i] && e->kind == LAYER_MODE && e->type == 'd';
        case APPLY_REMOVE:
                return !a->done[i] && e->kind == LAYER_REMOVED;
        case APPLY_MAKE:
                return !a->done[i] && e->kind != LAYER_REMOVED && !(e->kind == LAYER_MODE && e->type == 'd');
        case APPLY_MODES:
                return e->type == 'd' && (e->kind == LAYER_MODE || e->kind == LAYER_ADDED);
        }
        return false;
}

static int pass_entry(const Apply *a, ApplyPass pass, size_t i) {
        _cleanup_place_ ApplyPlace p = {.folder = -1};
        int r = place_open(a, i, &p);

        if (r < 0)
                return pass == APPLY_RECOVER ? 0 : r; /* no folder, no rest */
        switch (pass) {
        case APPLY_RECOVER:
                return place_recover(&p);
        case APPLY_REMOVE:
                r = place_remove(&p);
                break;
        case APPLY_MAKE:
                r = p.e->kind == LAYER_MODE ? place_mode(&p, false) : place_make(&p, a->kept);
                break;
        case APPLY_OPEN:
        case APPLY_MODES:
                r = place_mode(&p, pass == APPLY_OPEN);
                break;
        }
        return r < 0 ? r : fsync(p.folder) < 0 ? -errno
                                               : 0;
}

static int apply_pass(Apply *a, ApplyPass pass) {
        const bool backwards = pass == APPLY_REMOVE || pass == APPLY_MODES;
        const size_t n = a->layer->n;

        for (size_t k = 0; k < n; k++) {
                const size_t i = backwards ? n - 1 - k : k;
                int r;

                if (!pass_concerns(a, pass, i))
                        continue;
                *a->bad = i;
                r = pass_entry(a, pass, i);
                if (r == -ESTALE)
                        return diag(a->reterr, LAYER_E_CHANGED, "changed by others at this moment");
                if (r < 0)
                        return diag(a->reterr, r, "%s", strerror(-r));
                if (pass == APPLY_REMOVE || pass == APPLY_MODES || (pass == APPLY_MAKE && a->layer->entries[i].type != 'd'))
                        a->done[i] = true;
        }
        return 0;
}

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

int layer_open_source(const char *source) {
        struct open_how how = {.flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC,
                               .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS};
        int fd = (int)syscall(SYS_openat2, AT_FDCWD, source, &how, sizeof(how));

        return fd < 0 ? -errno : fd;
}

int layer_apply(Layer *l, int folder, const bool *chosen, bool *done, size_t *ret_applied, size_t *ret_bad,
                Diag *reterr) {
        Apply a = {.layer = l, .kept = folder, .chosen = chosen, .done = done, .bad = ret_bad, .reterr = reterr};
        unsigned n = 0;
        int r = 0;

        *ret_applied = 0;
        *ret_bad = SIZE_MAX;
        for (; r == 0 && n < l->n_volumes; n++)
                if ((a.roots[n] = layer_open_source(l->sources[n])) < 0) {
                        r = diag(reterr, a.roots[n], "\"%s\" cannot be opened: %s", l->sources[n], strerror(-a.roots[n]));
                        break;
                }
        r = r ?: apply_pass(&a, APPLY_RECOVER) ?
                                               : apply_judge(&a);
        if (r == 0)
                r = apply_pass(&a, APPLY_OPEN)     ?
                    : apply_pass(&a, APPLY_REMOVE) ?
                    : apply_pass(&a, APPLY_MAKE)   ?
                                                   : apply_pass(&a, APPLY_MODES);
        else
                memset(done, 0, l->n * sizeof(*done)); /* nothing was applied */
        for (size_t i = 0; i < l->n; i++)
                *ret_applied += done[i];
        while (n > 0)
                close(a.roots[--n]);
        return r;
}

int layer_forget(Layer *l, int folder, const bool *done) {
        _cleanup_buf_ Buf text = {.max = LAYER_INDEX_MAX};
        size_t n = 0;

        for (size_t i = 0; i < l->n; i++) {
                LayerEntry *e = &l->entries[i];

                if (!done[i]) {
                        l->entries[n++] = *e;
                        continue;
                }
                free(e->path);
                free(e->link);
        }
        l->n = n;
        return layer_text(l, &text) ?: io_write_file(folder, "index", text.data, text.n, 0600, true);
}
