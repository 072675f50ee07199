#include "manifest/copies.h"

#include "base/dirents.h"
#include "manifest/copy.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static const char *const copies_kinds[] = {COPY_SKILLS, COPY_PROGRAMS};

/* Calls fn for each name in a folder. Returns 0, or the first code that is not 0. */
static int copies_each(int folder, int (*fn)(void *userdata, int folder, const char *name), void *userdata) {
        _cleanup_close_ int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        const char *name;
        Dirents d;
        int e = 0;

        if (fd < 0)
                return -errno;
        dirents_begin(&d, fd);
        while (e == 0 && (name = dirents_next(&d)))
                e = fn(userdata, folder, name);
        return e != 0 ? e : d.error;
}

static int copies_add_bytes(void *userdata, int folder, const char *name) {
        uint64_t *bytes = userdata;
        struct stat st;

        if (fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
                return -errno;
        if (S_ISDIR(st.st_mode)) {
                _cleanup_close_ int fd = openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

                return fd < 0 ? -errno : copies_each(fd, copies_add_bytes, bytes);
        }
        *bytes += (uint64_t)st.st_size;
        return 0;
}

static int copies_count(int folder, const char *name, Copies *c) {
        c->n++;
        return copies_add_bytes(&c->bytes, folder, name);
}

/* The digest that the name of a copy stands for. */
static bool copies_digest(const char *name, char ret[static DIGEST_TEXT_MAX]) {
        char again[COPY_NAME_MAX];

        if (strncmp(name, "sha256-", 7) != 0 || strlen(name) != COPY_NAME_MAX - 1)
                return false;
        snprintf(ret, DIGEST_TEXT_MAX, "sha256:%s", name + 7);
        return copy_name(ret, again);
}

typedef struct Sweep {
        bool (*keep)(void *userdata, const char *digest);
        void *userdata;
        Copies *kept, *removed;
} Sweep;

static int copies_sweep_one(void *userdata, int folder, const char *name) {
        char digest[DIGEST_TEXT_MAX];
        Sweep *s = userdata;
        int e;

        if (copies_digest(name, digest)) {
                if (s->keep(s->userdata, digest))
                        return copies_count(folder, name, s->kept);
                e = copies_count(folder, name, s->removed);
                return e != 0 ? e : copy_remove(folder, name);
        }
        return strncmp(name, COPY_NEW, strlen(COPY_NEW)) == 0 ? copy_remove(folder, name) : 0;
}

static int copies_shelf(const char *store_dir, const char *kind) {
        _cleanup_close_ int store = open(store_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        int fd = store < 0 ? -1 : openat(store, kind, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

        return fd < 0 ? -errno : fd;
}

int copies_sweep(const char *store_dir, bool (*keep)(void *userdata, const char *digest), void *userdata,
                 Copies *ret_kept, Copies *ret_removed) {
        Sweep s = {keep, userdata, ret_kept, ret_removed};
        int e = 0;

        for (size_t i = 0; e == 0 && i < ARRAY_SIZE(copies_kinds); i++) {
                _cleanup_close_ int fd = copies_shelf(store_dir, copies_kinds[i]);

                e = fd == -ENOENT ? 0 : fd < 0 ? fd : copies_each(fd, copies_sweep_one, &s);
        }
        return e;
}

typedef struct Verify {
        const char *store_dir, *kind;
        const char *above; /* the folder of a program: its digest; NULL: a skill */
        Copies *copies;
        Diag *bad;
} Verify;

/* A file of another kind in the place of a copy or of a folder of copies: damage of the store, not a failure. */
static int copies_strange(const Verify *v, const char *name, int e) {
        if (e != -ENOTDIR && e != -ELOOP && e != -ENXIO && e != -ESPIPE)
                return e;
        if (!*v->bad->text)
                diag(v->bad, COPY_E_CHANGED, "%s/%s%s%s%s%s: neither a copy nor a folder of copies; fix: remove it",
                     v->store_dir, v->kind, v->above ? "/" : "", v->above ?: "", name ? "/" : "", name ?: "");
        return 0;
}

static int copies_verify_one(void *userdata, int folder, const char *name) {
        _cleanup_close_ int fd = -1;
        char digest[DIGEST_TEXT_MAX], path[PATH_MAX];
        Verify *v = userdata;
        Diag found = {0};
        int e;

        if (!copies_digest(v->above ?: name, digest))
                return 0;
        fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        if (fd < 0)
                return copies_strange(v, name, -errno);
        if (!v->above && v->kind == copies_kinds[1]) {
                Verify below = *v;

                below.above = name;
                return copies_strange(v, name, copies_each(fd, copies_verify_one, &below));
        }
        snprintf(path, sizeof(path), "%s/%s/%s%s%s", v->store_dir, v->kind, v->above ?: "", v->above ? "/" : "", name);
        e = copies_count(folder, name, v->copies);
        e = e ?: copy_check(fd, path, digest, &found);
        if (e > 0 && !*v->bad->text)
                *v->bad = found;
        return copies_strange(v, name, MIN(e, 0));
}

int copies_verify(const char *store_dir, Copies *ret, Diag *ret_bad) {
        Verify v = {.store_dir = store_dir, .copies = ret, .bad = ret_bad};
        int e = 0;

        for (size_t i = 0; e == 0 && i < ARRAY_SIZE(copies_kinds); i++) {
                _cleanup_close_ int fd = copies_shelf(store_dir, copies_kinds[i]);

                v.kind = copies_kinds[i];
                e = fd == -ENOENT ? 0 : fd < 0 ? copies_strange(&v, NULL, fd) : copies_each(fd, copies_verify_one, &v);
        }
        return e;
}
