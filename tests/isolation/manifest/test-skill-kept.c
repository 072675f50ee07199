/* Runs: tests. A skill that is kept is the one that would be loaded, or it is not kept. */
#include "base/io.h"
#include "manifest/skill-kept.h"
#include "tests/support/temp.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MD "---\nname: s\ndescription: A skill.\n---\n"

typedef struct Fixture {
        TempDir t;
        char dir[PATH_MAX + 8];
        SkillsKept *kept;
} Fixture;

static void put(Fixture *f, const char *path, const char *text) {
        cr_assert_eq(io_write_file(f->t.fd, path, text, strlen(text), 0644, false), 0, "%s", path);
}

static void put_below(Fixture *f, const char *folder, const char *name, const char *text) {
        char path[64];

        snprintf(path, sizeof(path), "%s/%s", folder, name);
        if (text)
                put(f, path, text);
        else
                cr_assert_eq(mkdirat(f->t.fd, path, 0755), 0);
}

static void make_skill(Fixture *f, const char *folder, const char *library) {
        cr_assert_eq(mkdirat(f->t.fd, folder, 0755), 0);
        put_below(f, folder, "lib", NULL);
        put_below(f, folder, "SKILL.md", MD);
        put_below(f, folder, "lethe.json", "{\"version\": 1, \"entry\": {\"main\": [\"/skill/run\"]}}");
        put_below(f, folder, "run", "#!/bin/sh\n");
        put_below(f, folder, "lib/a", library);
}

static void init(Fixture *f) {
        *f = (Fixture){.t = TEMP_DIR_NULL};
        skills_quiet_sec = -10; /* at once, unless a test says otherwise */
        cr_assert_eq(temp_dir_make(&f->t), 0);
        make_skill(f, "s", "aaaa");
        snprintf(f->dir, sizeof(f->dir), "%s/s", f->t.path);
        f->kept = skills_kept_new();
        cr_assert_not_null(f->kept);
}

static void deinit(Fixture *f) {
        skills_kept_free(f->kept);
        temp_dir_remove(&f->t);
}

static Skill *load(Fixture *f) {
        Skill *s = NULL;
        Diag d = {0};
        int r = skill_load_kept(f->kept, &(const SkillSource){.dir = f->dir}, &s, &d);

        cr_assert_eq(r, 0, "%d %s", r, d.text);
        return s;
}

static bool same(Fixture *f) {
        _cleanup_skill_ Skill *a = load(f), *b = load(f);

        return a == b;
}

/* So that what comes next has another time than what was before. */
static void next_tick(Fixture *f) {
        struct stat before, now;

        put(f, "tick", "");
        cr_assert_eq(fstatat(f->t.fd, "tick", &before, 0), 0);
        do {
                cr_assert_eq(unlinkat(f->t.fd, "tick", 0), 0);
                put(f, "tick", "");
                cr_assert_eq(fstatat(f->t.fd, "tick", &now, 0), 0);
        } while (now.st_ctim.tv_sec == before.st_ctim.tv_sec && now.st_ctim.tv_nsec == before.st_ctim.tv_nsec);
}

static void set_back(Fixture *f, const char *path, const struct stat *to) {
        const struct timespec times[] = {to->st_atim, to->st_mtim};

        cr_assert_eq(utimensat(f->t.fd, path, times, 0), 0);
}

typedef enum Change { CONTENT,
                      LONGER,
                      MODE,
                      NEW,
                      GONE,
                      NEW_BELOW,
                      RENAMED,
                      REPLACED,
                      CHANGES_ } Change;

static void change(Fixture *f, Change c) {
        struct stat st;

        cr_assert_eq(fstatat(f->t.fd, "s/lib/a", &st, 0), 0);
        switch (c) {
        case CONTENT: /* the size and the time of the last change as they were */
                put(f, "s/lib/a", "bbbb");
                set_back(f, "s/lib/a", &st);
                break;
        case LONGER:
                put(f, "s/lib/a", "aaaaa");
                break;
        case MODE:
                cr_assert_eq(fchmodat(f->t.fd, "s/lib/a", 0755, 0), 0);
                break;
        case NEW:
                put(f, "s/new", "");
                break;
        case GONE:
                cr_assert_eq(unlinkat(f->t.fd, "s/lib/a", 0), 0);
                break;
        case NEW_BELOW:
                put(f, "s/lib/new", "");
                break;
        case RENAMED:
                cr_assert_eq(renameat(f->t.fd, "s/lib/a", f->t.fd, "s/lib/b"), 0);
                break;
        case REPLACED:
                put(f, "other", "bbbb");
                cr_assert_eq(renameat(f->t.fd, "other", f->t.fd, "s/lib/a"), 0);
                set_back(f, "s/lib/a", &st);
                break;
        case CHANGES_:
        default:
                break;
        }
}

// I-28: whatever changes the digest, it is seen.
Test(skill_kept, every_change_is_seen) {
        for (Change c = 0; c < CHANGES_; c++) {
                _cleanup_(deinit) Fixture f;
                _cleanup_skill_ Skill *before = NULL, *after = NULL;

                init(&f);
                before = load(&f);
                cr_assert(same(&f), "it is not kept");
                next_tick(&f);
                change(&f, c);
                after = load(&f);
                cr_assert_str_neq(before->bundle.digest, after->bundle.digest, "change %d is not seen", c);
        }
}

// What was changed just now may be changed again within the same tick of the clock.
Test(skill_kept, not_what_is_fresh) {
        _cleanup_(deinit) Fixture f;

        init(&f);
        skills_quiet_sec = 1000;
        cr_assert(!same(&f));
}

// What else than the folder decides is looked at anew.
Test(skill_kept, not_what_leaves_the_folder) {
        for (int link = 0; link < 2; link++) {
                _cleanup_(deinit) Fixture f;

                init(&f);
                if (link)
                        cr_assert_eq(symlinkat("run", f.t.fd, "s/other"), 0);
                else
                        put(&f, "s/lethe.json", "{\"version\": 1, \"entry\": {\"main\": [\"/skill/run\"]}, \"files\": [{\"path\": \"/srv/x\", \"access\": \"read\"}]}");
                cr_assert(!same(&f), "%s", link ? "a symlink" : "a file of the host");
        }
}

// What somebody else can write to, and be it through a mapping, which changes no time.
Test(skill_kept, not_what_others_can_write) {
        static const struct {
                const char *path;
                mode_t mode; /* 0: another owner */
        } rows[] = {{"s/lib/a", 0666}, {"s/run", 0664}, {"s/lib", 0777}, {"s", 0775}, {"s/lib/a", 0}, {"s/lib", 0}};

        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                _cleanup_(deinit) Fixture f;

                init(&f);
                cr_assert(same(&f));
                if (rows[i].mode)
                        cr_assert_eq(fchmodat(f.t.fd, rows[i].path, rows[i].mode, 0), 0);
                else if (fchownat(f.t.fd, rows[i].path, 12345, (gid_t)-1, 0) < 0)
                        continue; /* only root can */
                cr_assert(!same(&f), "%s", rows[i].path);
        }
}

typedef struct Shared {
        Fixture f;
        char digests[2][DIGEST_TEXT_MAX];
        atomic_uint begun, wrong;
        atomic_bool stop;
} Shared;

static void *many(void *arg) {
        Shared *shared = arg;

        atomic_fetch_add(&shared->begun, 1);
        while (!atomic_load(&shared->stop)) {
                _cleanup_skill_ Skill *s = load(&shared->f);

                if (strcmp(s->bundle.digest, shared->digests[0]) != 0 && strcmp(s->bundle.digest, shared->digests[1]) != 0)
                        atomic_fetch_add(&shared->wrong, 1);
        }
        return NULL;
}

/* Two whole folders change places in one step: one whose files change while it is read is refused, which is another matter. There and back takes more
 * than a tick: within one only skills_quiet_sec tells them apart, which is off here. */
static void exchange(Fixture *f) {
        next_tick(f);
        cr_assert_eq(renameat2(f->t.fd, "s", f->t.fd, "other", RENAME_EXCHANGE), 0);
}

// Used by many at once, and thrown out while somebody uses it; without a place for them it is loaded.
Test(skill_kept, shared) {
        _cleanup_skill_ Skill *held = NULL, *alone = NULL;
        Shared shared = {0};
        pthread_t threads[4];
        Diag d = {0};

        init(&shared.f);
        make_skill(&shared.f, "other", "bbbb");
        for (size_t i = 0; i < 2; i++) {
                _cleanup_skill_ Skill *s = load(&shared.f);

                strcpy(shared.digests[i], s->bundle.digest);
                exchange(&shared.f);
        }
        cr_assert_str_neq(shared.digests[0], shared.digests[1]);
        held = load(&shared.f);
        for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
                cr_assert_eq(pthread_create(&threads[i], NULL, many, &shared), 0);
        while (atomic_load(&shared.begun) < ARRAY_SIZE(threads))
                sched_yield();
        for (int i = 0; i < 50; i++) {
                _cleanup_skill_ Skill *s = NULL;

                exchange(&shared.f);
                s = load(&shared.f);
                cr_assert_str_eq(s->bundle.digest, shared.digests[(i + 1) % 2], "change %d is not seen", i);
        }
        atomic_store(&shared.stop, true);
        for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
                pthread_join(threads[i], NULL);
        cr_assert_eq(atomic_load(&shared.wrong), 0);
        cr_assert_str_eq(held->bundle.digest, shared.digests[0]);
        cr_assert_eq(skill_load_kept(NULL, &(const SkillSource){.dir = shared.f.dir}, &alone, &d), 0);
        deinit(&shared.f);
}
