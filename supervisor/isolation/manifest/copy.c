#include "manifest/copy.h"

#include "base/cache.h"
#include "base/folder-empty.h"
#include "base/hash.h"
#include "manifest/bundle-walk.h"
#include "manifest/vocabulary.h"
#include "schema/limits.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>

#define NEW_NAME_MAX 32
#define REMOVE_TRIES 8
#define PART_MAX (COPY_NAME_MAX + NAME_MAX + 2)

static const LookRule copy_rule = {.entries_max = SKILL_FILES_MAX, .depth_max = BUNDLE_DEPTH_MAX, .links = true};

/* A folder of copies in the store. */
typedef struct Shelf {
        const char *kind; /* COPY_SKILLS or COPY_PROGRAMS */
        char *path;       /* absolute, without symlinks */
        int fd, cache;
} Shelf;

static void shelf_deinit(Shelf *s) {
        free(s->path);
        closep(&s->fd);
        closep(&s->cache);
}

void copy_deinit(Copy *c) {
        free(c->path);
        *c = (Copy){0};
}

bool copy_name(const char *digest, char ret[static COPY_NAME_MAX]) {
        uint8_t hash[HASH_BYTES];

        if (strncmp(digest, "sha256:", 7) != 0 || hex_decode(digest + 7, hash, sizeof(hash)) < 0)
                return false;
        snprintf(ret, COPY_NAME_MAX, "sha256-%.64s", digest + 7);
        return true;
}

int copy_remove(int folder, const char *name) {
        _cleanup_close_ int fd = -1;
        struct stat st;
        int e = 0;

        if (fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
                return errno == ENOENT ? 0 : -errno;
        if (!S_ISDIR(st.st_mode))
                return unlinkat(folder, name, 0) < 0 ? -errno : 0;
        fd = openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0 || fchmod(fd, 0700) < 0)
                return -errno;
        /* Some file systems skip entries of a folder during removal: emptied again while names are left. */
        for (unsigned tries = 0; tries < REMOVE_TRIES; tries++) {
                e = folder_empty(fd, NULL, NULL);
                if (e == 0 && unlinkat(folder, name, AT_REMOVEDIR) < 0 && errno != ENOENT)
                        e = -errno;
                if (e != -ENOTEMPTY && e != -ENOENT) /* ENOENT: `compact` removes the same copy */
                        return e;
        }
        return e;
}

static int copy_refusal(const char *path, const char *what, int e, Diag *reterr) {
        if (e == -ENOMEM)
                return e;
        return diag(reterr, COPY_E_STORE, "%s: %s: %s", path, what, strerror(-e));
}

/* Returns 0, -ENOENT when the shelf is missing and `make` is false, COPY_E_*, -errno. */
static int shelf_open(const char *store_dir, const char *kind, bool make, Shelf *ret, Diag *reterr) {
        _cleanup_(shelf_deinit) Shelf s = {.kind = kind, .fd = -1, .cache = -1};
        _cleanup_free_ char *store = realpath(store_dir, NULL);
        _cleanup_close_ int dir = store ? open(store, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
        struct stat st;

        if (dir < 0)
                return errno == ENOENT && !make ? -ENOENT : copy_refusal(store_dir, "cannot be opened", -errno, reterr);
        if (!(s.path = text_printf("%s/%s", store, kind)))
                return -ENOMEM;
        s.fd = openat(dir, kind, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (s.fd < 0 && errno == ENOENT && !make)
                return -ENOENT;
        if (s.fd < 0 && errno == ENOENT && (mkdirat(dir, kind, 0700) == 0 || errno == EEXIST))
                s.fd = openat(dir, kind, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (s.fd < 0 || fstat(s.fd, &st) < 0)
                return copy_refusal(s.path, "the folder of copies cannot be opened or made", -errno, reterr);
        if (st.st_uid != geteuid() && st.st_uid != 0)
                return diag(reterr, COPY_E_CHANGED,
                            "%s: belongs to user %u: the folder must belong to the user of Lethe, or to root", s.path,
                            st.st_uid);
        if (st.st_mode & (S_IWGRP | S_IWOTH))
                return diag(reterr, COPY_E_CHANGED, "%s: other users can write to the folder; run chmod 0700",
                            s.path);
        s.cache = cache_open(store_dir);
        *ret = s;
        s = (Shelf){.fd = -1, .cache = -1};
        return 0;
}

/* name: the copy's path below the shelf. */
static void copy_key(const Shelf *s, const char *name, char ret[static NAME_MAX]) {
        char part[sizeof(COPY_PROGRAMS) + PART_MAX], hex[HASH_HEX_MAX];
        uint8_t hash[HASH_BYTES];

        snprintf(part, sizeof(part), "%s/%s", s->kind, name);
        hash_bytes(part, strlen(part), hash);
        snprintf(ret, NAME_MAX, "copy-%s", hex_encode(hash, sizeof(hash), hex));
}

/* Whether the copy still has the look that was kept when the copy was made or read. */
static bool copy_looks_as_made(const Shelf *s, const char *name, const Look *look) {
        _cleanup_free_ uint8_t *bytes = NULL;
        char key[NAME_MAX];
        size_t n;

        copy_key(s, name, key);
        return s->cache >= 0 && cache_get(s->cache, key, LOOK_BYTES, &bytes, &n) == 0 && n == LOOK_BYTES &&
               memcmp(bytes, look->digest, LOOK_BYTES) == 0;
}

static void copy_keep_look(const Shelf *s, const char *name, const Look *look) {
        char key[NAME_MAX];

        copy_key(s, name, key);
        if (s->cache >= 0)
                cache_put(s->cache, key, look->digest, LOOK_BYTES);
}

static bool copy_look(int fd, Look *ret) {
        struct stat st;

        return fstat(fd, &st) == 0 && (!S_ISDIR(st.st_mode) || lseek(fd, 0, SEEK_SET) == 0) &&
               look_at(fd, "", &copy_rule, ret);
}

bool copy_is_untouched(const Copy *c) {
        _cleanup_close_ int fd = open(c->path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        Look now;

        return fd >= 0 && copy_look(fd, &now) && look_same(&now, &c->look);
}

int copy_check(int fd, const char *path, const char *digest, Diag *reterr) {
        _cleanup_bundle_ Bundle b = {0};
        char found[DIGEST_TEXT_MAX] = "";
        Diag why = {0};
        struct stat st;
        int e;

        if (fstat(fd, &st) < 0)
                return -errno;
        if (S_ISDIR(st.st_mode)) {
                e = bundle_read(fd, &b, &why);
                strcpy(found, b.digest);
        } else
                e = bundle_program_digest(fd, path, found, &why);
        if (e < 0)
                return e;
        if (e > 0 || strcmp(found, digest) != 0)
                return diag(reterr, COPY_E_CHANGED,
                            "%s: the copy was changed: %s%s; remove the copy (chmod -R u+w, then rm -r), and the next "
                            "start makes a new copy",
                            path, e > 0 ? why.text : "the content has the digest ", e > 0 ? "" : found);
        return 0;
}

/* Checks that the content of the copy behind fd has the digest. Returns 0, COPY_E_CHANGED, -errno. */
static int copy_trust(const Shelf *s, const char *name, int fd, const char *path, const char *digest, Look *ret,
                      Diag *reterr) {
        Look before;
        int e;

        if (!copy_look(fd, &before))
                return diag(reterr, COPY_E_CHANGED,
                            "%s: the copy was changed: a file belongs to a foreign user, or other users can write to a "
                            "file; remove the copy (chmod -R u+w, then rm -r), and the next start makes a new copy",
                            path);
        if (!copy_looks_as_made(s, name, &before)) {
                e = copy_check(fd, path, digest, reterr);
                if (e != 0)
                        return e;
                if (!copy_look(fd, ret) || !look_same(&before, ret))
                        return diag(reterr, COPY_E_CHANGED, "%s: the copy is being changed", path);
                copy_keep_look(s, name, ret);
        }
        *ret = before;
        return 0;
}

/* *ret is owned, *ret_fd too. */
static int copy_find(const Shelf *s, const char *name, const char *digest, int flags, Copy *ret, int *ret_fd,
                     Diag *reterr) {
        _cleanup_close_ int fd = openat(s->fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | flags);
        _cleanup_copy_ Copy c = {0};
        int e;

        if (fd < 0 && errno == ENOENT)
                return -ENOENT;
        if (!(c.path = text_printf("%s/%s", s->path, name)))
                return -ENOMEM;
        if (fd < 0)
                return copy_refusal(c.path, "the copy cannot be opened", -errno, reterr);
        e = copy_trust(s, name, fd, c.path, digest, &c.look, reterr);
        if (e != 0)
                return e;
        *ret = c;
        c = (Copy){0};
        *ret_fd = TAKE_FD(fd);
        return 0;
}

int copy_find_skill(const char *store_dir, const char *digest, Copy *ret, int *ret_fd, Diag *reterr) {
        _cleanup_(shelf_deinit) Shelf s = {.fd = -1, .cache = -1};
        char name[COPY_NAME_MAX];
        int e;

        if (!copy_name(digest, name))
                return -ENOENT;
        e = shelf_open(store_dir, COPY_SKILLS, false, &s, reterr);
        return e != 0 ? e : copy_find(&s, name, digest, O_DIRECTORY, ret, ret_fd, reterr);
}

/* A unique name for an unfinished copy; rename(2) gives the copy its final name. */
static int copy_new_name(char ret[static NEW_NAME_MAX]) {
        uint64_t n;

        if (getrandom(&n, sizeof(n), 0) != (ssize_t)sizeof(n))
                return -EIO;
        snprintf(ret, NEW_NAME_MAX, COPY_NEW "%016" PRIx64, n);
        return 0;
}

/* Whether the error says that a faster process has made the same copy. */
static bool copy_is_there(int e) {
        return e == EEXIST || e == ENOTEMPTY;
}

/* Fills a new folder and renames the folder to its place. Sets *b to the list of copied files, and the copy's
 * `name`. */
static int copy_make_skill(const Shelf *s, int from, Bundle *b, char name[static COPY_NAME_MAX], Diag *reterr) {
        _cleanup_close_ int made = -1;
        char fresh[NEW_NAME_MAX];
        bool placed = false;
        Look look;
        int e = copy_new_name(fresh);

        if (e < 0)
                return e;
        if (mkdirat(s->fd, fresh, 0700) < 0)
                return copy_refusal(s->path, "a copy cannot be made", -errno, reterr);
        made = openat(s->fd, fresh, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        e = made < 0 ? -errno : bundle_copy(from, made, b, reterr);
        e = e ?: bundle_settle(made, 0555);
        if (e == 0 && copy_name(b->digest, name)) {
                placed = renameat(s->fd, fresh, s->fd, name) == 0;
                e = placed || copy_is_there(errno) ? 0 : -errno;
        }
        if (!placed)
                copy_remove(s->fd, fresh);
        else if (fsync(s->fd) < 0)
                e = -errno;
        else if (copy_look(made, &look))
                copy_keep_look(s, name, &look);
        return e < 0 ? copy_refusal(s->path, "a copy cannot be made", e, reterr) : e;
}

int copy_skill(const char *store_dir, int from, Bundle *b, Copy *ret, int *ret_fd, Diag *reterr) {
        _cleanup_(shelf_deinit) Shelf s = {.fd = -1, .cache = -1};
        _cleanup_bundle_ Bundle copied = {0};
        char name[COPY_NAME_MAX];
        int e = shelf_open(store_dir, COPY_SKILLS, true, &s, reterr);

        if (e != 0)
                return e;
        if (!copy_name(b->digest, name))
                return -EINVAL;
        e = copy_find(&s, name, b->digest, O_DIRECTORY, ret, ret_fd, reterr);
        if (e != -ENOENT)
                return e;
        e = copy_make_skill(&s, from, &copied, name, reterr);
        e = e ?: copy_find(&s, name, copied.digest, O_DIRECTORY, ret, ret_fd, reterr);
        if (e != 0)
                return e;
        bundle_deinit(b);
        *b = copied;
        copied = (Bundle){0};
        return 0;
}

static int copy_program_part(const char *digest, const char *name, char ret[static PART_MAX]) {
        char folder[COPY_NAME_MAX];

        if (!copy_name(digest, folder) || strchr(name, '/') || strlen(name) > NAME_MAX)
                return -EINVAL;
        snprintf(ret, PART_MAX, "%s/%s", folder, name);
        return 0;
}

static int copy_find_on(const Shelf *s, const char *digest, const char *name, char **ret_path, Diag *reterr) {
        _cleanup_copy_ Copy c = {0};
        _cleanup_close_ int fd = -1;
        char part[PART_MAX];
        int e = copy_program_part(digest, name, part);

        e = e ?: copy_find(s, part, digest, 0, &c, &fd, reterr);
        if (e == 0)
                *ret_path = TAKE_PTR(c.path);
        return e;
}

int copy_find_program(const char *store_dir, const char *digest, const char *name, char **ret_path, Diag *reterr) {
        _cleanup_(shelf_deinit) Shelf s = {.fd = -1, .cache = -1};
        int e = shelf_open(store_dir, COPY_PROGRAMS, false, &s, reterr);

        return e != 0 ? e : copy_find_on(&s, digest, name, ret_path, reterr);
}

int copy_bytes(int from, int to, char ret_digest[static DIGEST_TEXT_MAX]) {
        uint8_t hash[HASH_BYTES];
        int e = hash_copy(from, to, UINT64_MAX, hash, NULL);

        if (e == 0)
                bundle_digest_text(hash, ret_digest);
        return e > 0 ? -errno : e;
}

/* Copies the program into the new file `fresh`, and renames the file to its digest. */
static int copy_make_program(const Shelf *s, int from, const char *name, const char *fresh,
                             char digest[static DIGEST_TEXT_MAX], Diag *reterr) {
        _cleanup_close_ int to = openat(s->fd, fresh, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        char folder[COPY_NAME_MAX], part[PART_MAX];
        Look look;
        int e = to < 0 ? -errno : copy_bytes(from, to, digest);

        e = e ?: bundle_settle(to, 0555);
        if (e < 0)
                return e;
        e = copy_program_part(digest, name, part);
        if (e < 0 || !copy_name(digest, folder))
                return e;
        if (mkdirat(s->fd, folder, 0700) < 0 && errno != EEXIST)
                return -errno;
        if (renameat2(s->fd, fresh, s->fd, part, RENAME_NOREPLACE) < 0)
                return errno == EEXIST ? 0 : -errno;
        if (fsync(s->fd) < 0)
                return -errno;
        if (copy_look(to, &look))
                copy_keep_look(s, part, &look);
        return 0;
}

int copy_program(const char *store_dir, int from, const char *name, char digest[static DIGEST_TEXT_MAX],
                 char **ret_path, Diag *reterr) {
        _cleanup_(shelf_deinit) Shelf s = {.fd = -1, .cache = -1};
        char fresh[NEW_NAME_MAX];
        int e = shelf_open(store_dir, COPY_PROGRAMS, true, &s, reterr);

        e = e ?: copy_new_name(fresh);
        if (e != 0)
                return e;
        e = copy_make_program(&s, from, name, fresh, digest, reterr);
        unlinkat(s.fd, fresh, 0);
        if (e < 0)
                return copy_refusal(s.path, "a copy of the program cannot be made", e, reterr);
        return e != 0 ? e : copy_find_on(&s, digest, name, ret_path, reterr);
}
