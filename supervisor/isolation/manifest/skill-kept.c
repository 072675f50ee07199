#include "manifest/skill-kept.h"

#include "base/lock.h"
#include "base/path-lookup.h"
#include "base/watchdog.h"

#include <fcntl.h>
#include <string.h>
#include <time.h>

#define KEPT_MAX 64
#define ENTRIES_MAX 64 /* of a skill; with more entries the look costs nearly as much as reading */
#define DEPTH_MAX 8

int skills_quiet_sec = 2;

typedef struct KeptSkill {
        Skill *skill; /* holds a use; NULL: the place is free */
        Look look;
        unsigned used;
} KeptSkill;

struct SkillsKept {
        pthread_mutex_t lock;
        KeptSkill kept[KEPT_MAX];
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

static bool kept_look(const char *dir, Look *ret) {
        _cleanup_close_ int fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

        return fd >= 0 && look_at(fd, dir, &kept_rule, ret);
}

static Skill *kept_find(SkillsKept *k, const char *dir, const Look *l) {
        _cleanup_unlock_ pthread_mutex_t *held = lock_take(&k->lock);

        for (size_t i = 0; i < KEPT_MAX; i++) {
                KeptSkill *e = &k->kept[i];

                if (!e->skill || !look_same(&e->look, l) || strcmp(e->skill->dir, dir) != 0)
                        continue;
                e->used = ++k->clock;
                return skill_use(e->skill);
        }
        return NULL;
}

/* Takes the place of the same folder's former skill, else a free place, else the place that was unused for longest. */
static void kept_store(SkillsKept *k, Skill *s, const Look *l) {
        KeptSkill *at = &k->kept[0];
        Skill *old;

        pthread_mutex_lock(&k->lock);
        for (size_t i = 0; i < KEPT_MAX; i++) {
                KeptSkill *e = &k->kept[i];

                if (e->skill && strcmp(e->skill->dir, s->dir) == 0) {
                        at = e;
                        break;
                }
                if (at->skill && (!e->skill || k->clock - e->used > k->clock - at->used))
                        at = e;
        }
        old = at->skill;
        *at = (KeptSkill){.skill = skill_use(s), .look = *l, .used = ++k->clock};
        pthread_mutex_unlock(&k->lock);
        skill_free(old);
}

static bool kept_is_quiet(const Look *l, const struct timespec *now) {
        return l->changed + skills_quiet_sec < now->tv_sec;
}

/* A changed or removed copy is not used: loading refuses the copy with the reason, or makes the copy again. */
static bool kept_copy_is_good(const Skill *s, const SkillSource *from) {
        return !from->store_dir || (s->copy.path && copy_is_untouched(&s->copy));
}

int skill_load_kept(SkillsKept *k, const SkillSource *from, Skill **ret, Diag *reterr) {
        _cleanup_free_ char *real = NULL;
        struct timespec now;
        Look before, after;
        Skill *s;
        bool can;
        int r;

        _cleanup_watchdog_ WatchdogWait w = watchdog_wait("the skill", from->dir);
        clock_gettime(CLOCK_REALTIME, &now);
        can = k && lookup_real(from->dir, &real) == 0 && lookup_may_read(real) == 0 && kept_look(real, &before) &&
              kept_is_quiet(&before, &now);
        s = can ? kept_find(k, real, &before) : NULL;
        if (s && kept_copy_is_good(s, from)) {
                *ret = s;
                return 0;
        }
        skill_free(s);
        r = skill_load_from(from, ret, reterr);
        if (r == 0 && can && (*ret)->manifest.n_files == 0 && strcmp((*ret)->dir, real) == 0 &&
            kept_look(real, &after) && look_same(&before, &after) && (!from->store_dir || (*ret)->copy.path))
                kept_store(k, *ret, &before);
        return r;
}
