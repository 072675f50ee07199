/* Runs: tests. I-65: a copy has the bytes of its digest, is made once, and is refused when it was touched. */
#include "base/io.h"
#include "manifest/copies.h"
#include "manifest/copy.h"
#include "manifest/skill.h"
#include "tests/support/temp.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define MD "---\nname: s\ndescription: A skill.\n---\n"
#define MAKERS 4
#define SWAP_BYTES 200000

typedef struct Fixture {
        TempDir t;
        char skill[PATH_MAX + 8], store[PATH_MAX + 8];
} Fixture;

static void put(const Fixture *f, const char *path, const char *text, mode_t mode) {
        cr_assert_eq(io_write_file(f->t.fd, path, text, strlen(text), mode, false), 0, "%s", path);
}

static void init(Fixture *f) {
        *f = (Fixture){.t = TEMP_DIR_NULL};
        cr_assert_eq(temp_dir_make(&f->t), 0);
        cr_assert_eq(mkdirat(f->t.fd, "store", 0700), 0);
        put(f, "store/data.mdb", "", 0600); /* so that there is a cache */
        cr_assert_eq(mkdirat(f->t.fd, "s", 0700), 0);
        cr_assert_eq(mkdirat(f->t.fd, "s/lib", 0700), 0);
        cr_assert_eq(mkdirat(f->t.fd, "s/lib/deep", 0700), 0);
        cr_assert_eq(mkdirat(f->t.fd, "s/empty", 0755), 0);
        put(f, "s/SKILL.md", MD, 0600);
        put(f, "s/run", "#!/bin/sh\n", 0700);
        put(f, "s/lib/deep/a", "aaaa", 0600);
        cr_assert_eq(symlinkat("deep/a", f->t.fd, "s/lib/link"), 0);
        cr_assert_eq(fchmodat(f->t.fd, "s/run", 04711, 0), 0);
        snprintf(f->skill, sizeof(f->skill), "%s/s", f->t.path);
        snprintf(f->store, sizeof(f->store), "%s/store", f->t.path);
}

static void open_up(const char *path) {
        char command[PATH_MAX + 32];

        snprintf(command, sizeof(command), "chmod -R u+w '%.4000s'", path);
        cr_assert_eq(system(command), 0);
}

static void deinit(Fixture *f) {
        open_up(f->store);
        temp_dir_remove(&f->t);
}

static int load(const Fixture *f, Skill **ret, Diag *d) {
        return skill_load_from(&(const SkillSource){.dir = f->skill, .store_dir = f->store}, ret, d);
}

static Skill *loaded(const Fixture *f) {
        Skill *s = NULL;
        Diag d = {0};
        int r = load(f, &s, &d);

        cr_assert_eq(r, 0, "%d %s", r, d.text);
        cr_assert_not_null(s->copy.path);
        return s;
}

static void digest_at(const char *path, char ret[static DIGEST_TEXT_MAX]) {
        _cleanup_close_ int fd = open(path, O_RDONLY | O_DIRECTORY);
        _cleanup_bundle_ Bundle b = {0};
        Diag d = {0};

        cr_assert_eq(bundle_read(fd, &b, &d), 0, "%s", d.text);
        strcpy(ret, b.digest);
}

static mode_t mode_at(const char *folder, const char *name) {
        char path[2 * PATH_MAX];
        struct stat st;

        snprintf(path, sizeof(path), "%s/%s", folder, name);
        cr_assert_eq(lstat(path, &st), 0, "%s", path);
        cr_assert_eq(st.st_mtim.tv_sec, BUNDLE_COPY_TIME, "%s", path);
        return st.st_mode;
}

Test(copy, has_what_the_digest_has_and_nothing_else) { // I-65
        Fixture f;
        struct stat st;
        char got[DIGEST_TEXT_MAX], path[2 * PATH_MAX];

        init(&f);
        {
                _cleanup_skill_ Skill *s = loaded(&f), *again = loaded(&f);

                digest_at(s->copy.path, got);
                cr_expect_str_eq(got, s->bundle.digest);
                cr_expect_str_eq(again->copy.path, s->copy.path);
                cr_expect(strcmp(s->copy.path, f.skill) != 0);
                cr_expect_eq(mode_at(s->copy.path, "run"), S_IFREG | 0555); /* no setuid bit */
                cr_expect_eq(mode_at(s->copy.path, "SKILL.md"), S_IFREG | 0444);
                cr_expect_eq(mode_at(s->copy.path, "lib/deep"), S_IFDIR | 0555);
                cr_expect_eq(mode_at(s->copy.path, "lib/link"), S_IFLNK | 0777);
                snprintf(path, sizeof(path), "%s/empty", s->copy.path);
                cr_expect(lstat(path, &st) < 0 && errno == ENOENT);
                /* Nobody but its owner comes to it. */
                snprintf(path, sizeof(path), "%s/skills", f.store);
                cr_assert_eq(lstat(path, &st), 0);
                cr_expect_eq(st.st_mode & 07777, 0700);
        }
        deinit(&f);
}

/* The folder changes when its digest was taken, and before it is copied: the race, made certain. */
Test(copy, is_told_by_what_was_copied) { // I-65
        _cleanup_close_ int fd = -1, copy = -1;
        _cleanup_bundle_ Bundle b = {0};
        _cleanup_copy_ Copy c = {0};
        char before[DIGEST_TEXT_MAX], got[DIGEST_TEXT_MAX];
        Diag d = {0};
        Fixture f;

        init(&f);
        fd = open(f.skill, O_RDONLY | O_DIRECTORY);
        cr_assert_eq(bundle_read(fd, &b, &d), 0, "%s", d.text);
        strcpy(before, b.digest);
        put(&f, "s/lib/deep/a", "bbbb", 0600);
        cr_assert_eq(copy_skill(f.store, fd, &b, &c, &copy, &d), 0, "%s", d.text);
        digest_at(c.path, got);
        cr_expect_str_eq(got, b.digest);
        cr_expect(strcmp(before, b.digest) != 0);
        deinit(&f);
}

typedef struct Swap {
        const Fixture *f;
        atomic_bool over;
        unsigned n;
} Swap;

static void *swap(void *userdata) {
        Swap *s = userdata;
        char *text = malloc(SWAP_BYTES);

        for (; !atomic_load(&s->over); s->n++) {
                _cleanup_close_ int fd = openat(s->f->t.fd, "s/lib/deep/a", O_WRONLY | O_CLOEXEC);

                memset(text, 'a' + (int)(s->n % 26), SWAP_BYTES);
                cr_assert_eq(write(fd, text, SWAP_BYTES), SWAP_BYTES);
        }
        free(text);
        return NULL;
}

/* In every order of reads and writes the copy has the digest that is told, or nothing is copied. */
Test(copy, holds_while_the_folder_changes) { // I-65
        Swap s = {0};
        unsigned copied = 0, refused = 0;
        pthread_t t;
        Fixture f;

        init(&f);
        s.f = &f;
        cr_assert_eq(pthread_create(&t, NULL, swap, &s), 0);
        for (int i = 0; i < 60; i++) {
                _cleanup_skill_ Skill *skill = NULL;
                char got[DIGEST_TEXT_MAX];
                Diag d = {0};
                int r = load(&f, &skill, &d);

                if (r == SKILL_E_BUNDLE) { /* "changed while it was read" */
                        refused++;
                        continue;
                }
                cr_assert_eq(r, 0, "%d %s", r, d.text);
                digest_at(skill->copy.path, got);
                cr_assert_str_eq(got, skill->bundle.digest);
                copied++;
        }
        atomic_store(&s.over, true);
        pthread_join(t, NULL);
        fprintf(stderr, "# %u swaps, %u copied, %u refused\n", s.n, copied, refused);
        deinit(&f);
}

static void *make(void *userdata) {
        return loaded(userdata);
}

Test(copy, is_made_by_one_of_many) { // I-65
        pthread_t t[MAKERS];
        Copies all = {0};
        Diag bad = {0};
        Fixture f;

        init(&f);
        for (size_t i = 0; i < MAKERS; i++)
                cr_assert_eq(pthread_create(&t[i], NULL, make, &f), 0);
        for (size_t i = 0; i < MAKERS; i++) {
                void *s;

                pthread_join(t[i], &s);
                skill_free(s);
        }
        cr_assert_eq(copies_verify(f.store, &all, &bad), 0);
        cr_expect_eq(all.n, 1);
        cr_expect_str_eq(bad.text, "");
        deinit(&f);
}

Test(copy, is_refused_when_it_was_touched) { // I-65
        _cleanup_skill_ Skill *s = NULL, *none = NULL, *again = NULL;
        char path[PATH_MAX + 64];
        Copies all = {0};
        Diag d = {0}, bad = {0};
        Fixture f;

        init(&f);
        s = loaded(&f);
        cr_expect(copy_is_untouched(&s->copy));
        open_up(s->copy.path);
        cr_expect(!copy_is_untouched(&s->copy));
        again = loaded(&f); /* other modes, but what it says is true */
        snprintf(path, sizeof(path), "%s/run", s->copy.path);
        cr_assert_eq(io_write_file(AT_FDCWD, path, "#!/bin/sh\necho no\n", 18, 0755, false), 0);
        cr_expect_eq(load(&f, &none, &d), SKILL_E_COPY);
        cr_expect(strstr(d.text, s->copy.path), "%s", d.text);
        cr_assert_eq(copies_verify(f.store, &all, &bad), 0);
        cr_expect(strstr(bad.text, s->copy.path), "%s", bad.text);
        deinit(&f);
}

static bool keep_none(void *userdata, const char *digest) {
        return strcmp(userdata, digest) == 0;
}

Test(copy, is_swept_when_nobody_needs_it) { // I-65
        _cleanup_skill_ Skill *s = NULL, *other = NULL, *again = NULL;
        Copies kept = {0}, removed = {0};
        Fixture f;

        init(&f);
        s = loaded(&f);
        put(&f, "s/lib/deep/a", "bbbbbb", 0600);
        other = loaded(&f);
        cr_assert_eq(mkdirat(f.t.fd, "store/skills/" COPY_NEW "dead", 0700), 0);
        put(&f, "store/skills/" COPY_NEW "dead/x", "half", 0400);
        cr_assert_eq(copies_sweep(f.store, keep_none, other->bundle.digest, &kept, &removed), 0);
        cr_expect_eq(kept.n, 1);
        cr_expect_eq(removed.n, 1);
        cr_expect_eq(removed.bytes, s->bundle.bytes);
        cr_expect(access(s->copy.path, F_OK) < 0);
        cr_expect(copy_is_untouched(&other->copy));
        cr_expect(faccessat(f.t.fd, "store/skills/" COPY_NEW "dead", F_OK, 0) < 0);
        put(&f, "s/lib/deep/a", "aaaa", 0600);
        again = loaded(&f);
        cr_expect_str_eq(again->bundle.digest, s->bundle.digest);
        deinit(&f);
}

/* No room: what the kernel says at the limit of a file's size stands for what it says when the disk is full. */
Test(copy, leaves_nothing_half_done) { // I-65
        const struct rlimit small = {4096, RLIM_INFINITY};
        _cleanup_skill_ Skill *none = NULL;
        _cleanup_free_ char *big = malloc(100001);
        struct rlimit usual;
        Copies all = {0};
        Diag d = {0}, bad = {0};
        Fixture f;

        init(&f);
        memset(big, 'x', 100000);
        big[100000] = 0;
        put(&f, "s/zz", big, 0600);
        signal(SIGXFSZ, SIG_IGN);
        cr_assert_eq(getrlimit(RLIMIT_FSIZE, &usual), 0);
        cr_assert_eq(setrlimit(RLIMIT_FSIZE, &small), 0);
        cr_expect_eq(load(&f, &none, &d), SKILL_E_BUNDLE);
        cr_assert_eq(setrlimit(RLIMIT_FSIZE, &usual), 0);
        cr_expect(strstr(d.text, "zz") && strstr(d.text, "copied into the store"), "%s", d.text);
        cr_assert_eq(copies_verify(f.store, &all, &bad), 0);
        cr_expect_eq(all.n, 0);
        cr_expect(unlinkat(f.t.fd, "store/skills", AT_REMOVEDIR) == 0, "nothing is left in it: %s", strerror(errno));
        deinit(&f);
}

Test(copy, of_what_ran_needs_no_folder) { // I-65
        _cleanup_skill_ Skill *s = NULL, *gone = NULL, *none = NULL;
        SkillSource from = {.gone = true};
        Diag d = {0};
        Fixture f;

        init(&f);
        s = loaded(&f);
        from.dir = s->dir;
        from.store_dir = f.store;
        from.digest = s->bundle.digest;
        cr_assert_eq(temp_remove_tree(f.t.fd, "s"), 0);
        cr_assert_eq(skill_load_from(&from, &gone, &d), 0, "%s", d.text);
        cr_expect_str_eq(gone->copy.path, s->copy.path);
        cr_expect_str_eq(gone->md.name, "s");
        from.digest = "sha256:0000000000000000000000000000000000000000000000000000000000000000";
        cr_expect_eq(skill_load_from(&from, &none, &d), SKILL_E_MISSING);
        deinit(&f);
}

/* A folder of copies that others can write to proves nothing. */
Test(copy, is_in_no_folder_of_others) { // I-65
        _cleanup_skill_ Skill *s = NULL, *none = NULL;
        Diag d = {0};
        Fixture f;

        init(&f);
        s = loaded(&f);
        cr_assert_eq(fchmodat(f.t.fd, "store/skills", 0777, 0), 0);
        cr_expect_eq(load(&f, &none, &d), SKILL_E_COPY);
        cr_expect(strstr(d.text, "other users can write"), "%s", d.text);
        cr_assert_eq(fchmodat(f.t.fd, "store/skills", 0700, 0), 0);
        deinit(&f);
}
