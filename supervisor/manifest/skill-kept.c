#include "manifest/skill-kept.h"

#include "base/dents.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define KEPT_MAX 64
#define ENTRIES_MAX 64 /* of one skill; of more, looking is no longer much cheaper than reading */
#define DEPTH_MAX 8
#define LOOK_BYTES 32

int skills_quiet_sec = 2;

/* What a folder looks like without being read. */
typedef struct Look {
        uint8_t digest[LOOK_BYTES];
        time_t changed; /* the last of all changes */
} Look;

typedef struct Kept {
        Skill *skill; /* one use of it; NULL: free */
        uint8_t digest[LOOK_BYTES];
        unsigned used;
} Kept;

struct SkillsKept {
        pthread_mutex_t lock;
        Kept kept[KEPT_MAX];
        unsigned clock;
};

SkillsKept *skills_kept_new(void) {
        SkillsKept *k = calloc(1, sizeof(*k));

        if (k)
                pthread_mutex_init(&k->lock, NULL);
        return k;
}

void skills_kept_free(SkillsKept *k) {
        if (!k)
                return;
        for (size_t i = 0; i < KEPT_MAX; i++)
                skill_free(k->kept[i].skill);
        pthread_mutex_destroy(&k->lock);
        free(k);
}

typedef struct Walk {
        crypto_generichash_state hash;
        unsigned entries;
        time_t changed;
} Walk;

static void add(Walk *w, const char *name, const struct stat *st) {
        const uint64_t v[] = {st->st_dev, st->st_ino, st->st_mode, st->st_nlink, st->st_uid, st->st_gid, (uint64_t)st->st_size,
                              (uint64_t)st->st_mtim.tv_sec, (uint64_t)st->st_mtim.tv_nsec, (uint64_t)st->st_ctim.tv_sec, (uint64_t)st->st_ctim.tv_nsec};

        crypto_generichash_update(&w->hash, (const uint8_t *)name, strlen(name) + 1);
        crypto_generichash_update(&w->hash, (const uint8_t *)v, sizeof(v));
        w->changed = MAX(w->changed, MAX(st->st_mtim.tv_sec, st->st_ctim.tv_sec));
}

static bool is_ours(const struct stat *st) {
        return (st->st_uid == 0 || st->st_uid == geteuid()) && (st->st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

/* Returns false when it cannot be said: it is then read. */
static bool walk(Walk *w, int fd, const char *name, unsigned depth) {
        const char *entry;
        struct stat st;
        bool ok = true;
        Dents d;

        if (fstat(fd, &st) < 0 || depth > DEPTH_MAX || !is_ours(&st))
                return false;
        add(w, name, &st);
        dents_begin(&d, fd);
        while (ok && (entry = dents_next(&d))) {
                _cleanup_close_ int below = -1;

                if (++w->entries > ENTRIES_MAX || fstatat(fd, entry, &st, AT_SYMLINK_NOFOLLOW) < 0 || S_ISLNK(st.st_mode))
                        ok = false;
                else if (S_ISDIR(st.st_mode)) { /* its own owner is looked at below */
                        below = openat(fd, entry, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
                        ok = below >= 0 && walk(w, below, entry, depth + 1);
                } else {
                        ok = is_ours(&st);
                        add(w, entry, &st);
                }
        }
        crypto_generichash_update(&w->hash, (const uint8_t *)"", 1); /* no name: its end */
        return ok && d.error == 0;
}

static bool look(const char *dir, Look *ret) {
        _cleanup_close_ int fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        Walk w = {0};

        crypto_generichash_init(&w.hash, NULL, 0, LOOK_BYTES);
        if (fd < 0 || !walk(&w, fd, dir, 0))
                return false;
        crypto_generichash_final(&w.hash, ret->digest, LOOK_BYTES);
        ret->changed = w.changed;
        return true;
}

static Skill *find(SkillsKept *k, const char *dir, const Look *l) {
        Skill *found = NULL;

        pthread_mutex_lock(&k->lock);
        for (size_t i = 0; i < KEPT_MAX && !found; i++) {
                Kept *e = &k->kept[i];

                if (!e->skill || memcmp(e->digest, l->digest, LOOK_BYTES) != 0 || strcmp(e->skill->dir, dir) != 0)
                        continue;
                e->used = ++k->clock;
                found = skill_use(e->skill);
        }
        pthread_mutex_unlock(&k->lock);
        return found;
}

/* In place of what the same folder was, of nothing, or of the one that was not used for longest. */
static void keep(SkillsKept *k, Skill *s, const Look *l) {
        Kept *at = &k->kept[0];
        Skill *old;

        pthread_mutex_lock(&k->lock);
        for (size_t i = 0; i < KEPT_MAX; i++) {
                Kept *e = &k->kept[i];

                if (e->skill && strcmp(e->skill->dir, s->dir) == 0) {
                        at = e;
                        break;
                }
                if (at->skill && (!e->skill || k->clock - e->used > k->clock - at->used))
                        at = e;
        }
        old = at->skill;
        *at = (Kept){.skill = skill_use(s), .used = ++k->clock};
        memcpy(at->digest, l->digest, LOOK_BYTES);
        pthread_mutex_unlock(&k->lock);
        skill_free(old);
}

static bool is_quiet(const Look *l, const struct timespec *now) {
        return l->changed + skills_quiet_sec < now->tv_sec;
}

int skill_load_kept(SkillsKept *k, const char *dir, Skill **ret, Diag *reterr) {
        _cleanup_free_ char *real = k ? realpath(dir, NULL) : NULL;
        struct timespec now;
        Look before, after;
        Skill *s;
        bool can;
        int r;

        clock_gettime(CLOCK_REALTIME, &now);
        can = real && look(real, &before) && is_quiet(&before, &now);
        s = can ? find(k, real, &before) : NULL;
        if (s) {
                *ret = s;
                return 0;
        }
        r = skill_load(dir, ret, reterr);
        if (r == 0 && can && (*ret)->manifest.n_files == 0 && strcmp((*ret)->dir, real) == 0 && look(real, &after) &&
            memcmp(before.digest, after.digest, LOOK_BYTES) == 0)
                keep(k, *ret, &before);
        return r;
}
