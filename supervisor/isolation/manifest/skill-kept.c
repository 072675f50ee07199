#include "manifest/skill-kept.h"

#include "base/quiet.h"
#include "base/waiting.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define KEPT_MAX 64
#define ENTRIES_MAX 64 /* of one skill; of more, looking is no longer much cheaper than reading */
#define DEPTH_MAX 8

int skills_quiet_sec = 2;

typedef struct SpawnCache {
        Skill *skill; /* one use of it; NULL: free */
        Look look;
        unsigned used;
} SpawnCache;

struct SkillsKept {
        pthread_mutex_t lock;
        SpawnCache kept[KEPT_MAX];
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

static const LookRule kept_rule = {.entries_max = ENTRIES_MAX, .depth_max = DEPTH_MAX};

static bool look(const char *dir, Look *ret) {
        _cleanup_close_ int fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

        return fd >= 0 && look_at(fd, dir, &kept_rule, ret);
}

static Skill *find(SkillsKept *k, const char *dir, const Look *l) {
        Skill *found = NULL;

        pthread_mutex_lock(&k->lock);
        for (size_t i = 0; i < KEPT_MAX && !found; i++) {
                SpawnCache *e = &k->kept[i];

                if (!e->skill || !look_same(&e->look, l) || strcmp(e->skill->dir, dir) != 0)
                        continue;
                e->used = ++k->clock;
                found = skill_use(e->skill);
        }
        pthread_mutex_unlock(&k->lock);
        return found;
}

/* In place of what the same folder was, of nothing, or of the one that was not used for longest. */
static void keep(SkillsKept *k, Skill *s, const Look *l) {
        SpawnCache *at = &k->kept[0];
        Skill *old;

        pthread_mutex_lock(&k->lock);
        for (size_t i = 0; i < KEPT_MAX; i++) {
                SpawnCache *e = &k->kept[i];

                if (e->skill && strcmp(e->skill->dir, s->dir) == 0) {
                        at = e;
                        break;
                }
                if (at->skill && (!e->skill || k->clock - e->used > k->clock - at->used))
                        at = e;
        }
        old = at->skill;
        *at = (SpawnCache){.skill = skill_use(s), .look = *l, .used = ++k->clock};
        pthread_mutex_unlock(&k->lock);
        skill_free(old);
}

static bool is_quiet(const Look *l, const struct timespec *now) {
        return l->changed + skills_quiet_sec < now->tv_sec;
}

/* A copy that was touched or removed is not used: loading says why, or makes it anew. */
static bool has_its_copy(const Skill *s, const SkillSource *from) {
        return !from->store_dir || (s->copy.path && copy_is_untouched(&s->copy));
}

int skill_load_kept(SkillsKept *k, const SkillSource *from, Skill **ret, Diag *reterr) {
        _cleanup_free_ char *real = NULL;
        struct timespec now;
        Look before, after;
        Skill *s;
        bool can;
        int r;

        _cleanup_waiting_ Waiting w = waiting_for("the skill", from->dir);
        clock_gettime(CLOCK_REALTIME, &now);
        can = k && quiet_real(from->dir, &real) == 0 && quiet_may_read(real) == 0 && look(real, &before) && is_quiet(&before, &now);
        s = can ? find(k, real, &before) : NULL;
        if (s && has_its_copy(s, from)) {
                *ret = s;
                return 0;
        }
        skill_free(s);
        r = skill_load_from(from, ret, reterr);
        if (r == 0 && can && (*ret)->manifest.n_files == 0 && strcmp((*ret)->dir, real) == 0 && look(real, &after) && look_same(&before, &after) &&
            (!from->store_dir || (*ret)->copy.path))
                keep(k, *ret, &before);
        return r;
}
