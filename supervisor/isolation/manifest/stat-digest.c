#include "manifest/stat-digest.h"

#include "base/dirents.h"

#include <fcntl.h>
#include <sodium.h>
#include <string.h>
#include <sys/stat.h>

typedef struct LookWalk {
        crypto_generichash_state hash;
        const LookRule *rule;
        unsigned entries;
        time_t changed;
} LookWalk;

static void look_add(LookWalk *w, const char *name, const struct stat *st) {
        const uint64_t v[] = {st->st_dev, st->st_ino, st->st_mode, st->st_nlink, st->st_uid, st->st_gid,
                              (uint64_t)st->st_size, (uint64_t)st->st_mtim.tv_sec, (uint64_t)st->st_mtim.tv_nsec,
                              (uint64_t)st->st_ctim.tv_sec, (uint64_t)st->st_ctim.tv_nsec};

        crypto_generichash_update(&w->hash, (const uint8_t *)name, strlen(name) + 1);
        crypto_generichash_update(&w->hash, (const uint8_t *)v, sizeof(v));
        w->changed = MAX(w->changed, MAX(st->st_mtim.tv_sec, st->st_ctim.tv_sec));
}

static bool look_is_ours(const struct stat *st) {
        return (st->st_uid == 0 || st->st_uid == geteuid()) &&
               (S_ISLNK(st->st_mode) || (st->st_mode & (S_IWGRP | S_IWOTH)) == 0);
}

/* Returns false under the conditions of look_at(). */
static bool look_walk(LookWalk *w, int fd, const char *name, unsigned depth) {
        const char *entry;
        struct stat st;
        bool ok = true;
        Dirents d;

        if (fstat(fd, &st) < 0 || depth > w->rule->depth_max || !look_is_ours(&st))
                return false;
        look_add(w, name, &st);
        dirents_begin(&d, fd);
        while (ok && (entry = dirents_next(&d))) {
                _cleanup_close_ int below = -1;

                if (++w->entries > w->rule->entries_max || fstatat(fd, entry, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
                    (S_ISLNK(st.st_mode) && !w->rule->links))
                        ok = false;
                else if (S_ISDIR(st.st_mode)) { /* the owner of a folder is checked by the recursive call */
                        below = openat(fd, entry, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
                        ok = below >= 0 && look_walk(w, below, entry, depth + 1);
                } else {
                        ok = look_is_ours(&st);
                        look_add(w, entry, &st);
                }
        }
        crypto_generichash_update(&w->hash, (const uint8_t *)"", 1); /* an empty name marks the end of the folder */
        return ok && d.error == 0;
}

bool look_at(int fd, const char *name, const LookRule *rule, Look *ret) {
        LookWalk w = {.rule = rule};
        struct stat st;

        crypto_generichash_init(&w.hash, NULL, 0, LOOK_BYTES);
        if (fstat(fd, &st) < 0)
                return false;
        if (S_ISDIR(st.st_mode)) {
                if (!look_walk(&w, fd, name, 0))
                        return false;
        } else if (look_is_ours(&st))
                look_add(&w, name, &st);
        else
                return false;
        crypto_generichash_final(&w.hash, ret->digest, LOOK_BYTES);
        ret->changed = w.changed;
        return true;
}
