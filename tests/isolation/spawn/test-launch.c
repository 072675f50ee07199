#include "schema/launch.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const struct sock_filter code[] = {{0x20, 0, 0, 4}, {0x06, 0, 0, 0x7fff0000}};

static LaunchSpec sample(void) {
        static LaunchEntry entries[] = {
                {LAUNCH_BIND, LAUNCH_FOLLOW, -1, "/usr", "/usr"},
                {LAUNCH_LINK, 0, -1, "/bin", "usr/bin"},
                {LAUNCH_FILE, 0, -1, "/etc/hosts", "127.0.0.1 localhost\n"},
                {LAUNCH_BIND, LAUNCH_WRITE, 0, "/out", "/srv/out"},
                {LAUNCH_FOLDER, 0, -1, "/empty", ""},
        };
        static LaunchLimit limits[] = {{7, 256, 256}, {1, UINT64_MAX, UINT64_MAX - 1}};
        static const char *argv[] = {"program", "", "\xff\n", NULL}, *env[] = {"A=b", NULL};

        return (LaunchSpec){.tier = 2, .flags = LAUNCH_PROC, .n_trees = 1, .uid = 1000, .gid = 1001, .scratch_bytes = 1ULL << 40,
                            .scratch_inodes = 7, .scratch = "", .workdir = "/work", .search = "/usr/bin:/bin", .entries = entries,
                            .n_entries = 5, .limits = limits, .n_limits = 2, .argv = argv, .n_argv = 3, .env = env, .n_env = 1,
                            .filter = code, .n_filter = 2};
}

static void same(const LaunchSpec *a, const LaunchSpec *b) {
        cr_assert(a->tier == b->tier && a->flags == b->flags && a->n_trees == b->n_trees && a->uid == b->uid && a->gid == b->gid);
        cr_assert(a->scratch_bytes == b->scratch_bytes && a->scratch_inodes == b->scratch_inodes);
        cr_assert_str_eq(a->scratch, b->scratch);
        cr_assert_str_eq(a->workdir, b->workdir);
        cr_assert_str_eq(a->search, b->search);
        cr_assert(a->n_entries == b->n_entries && a->n_limits == b->n_limits && a->n_argv == b->n_argv && a->n_env == b->n_env);
        for (size_t i = 0; i < a->n_entries; i++) {
                const LaunchEntry *x = &a->entries[i], *y = &b->entries[i];

                cr_assert(x->kind == y->kind && x->flags == y->flags && x->tree == y->tree, "entry %zu", i);
                cr_assert_str_eq(x->target, y->target);
                cr_assert_str_eq(x->source, y->source);
        }
        for (size_t i = 0; i < a->n_limits; i++)
                cr_assert(a->limits[i].resource == b->limits[i].resource && a->limits[i].soft == b->limits[i].soft &&
                                  a->limits[i].hard == b->limits[i].hard, "limit %zu", i);
        for (size_t i = 0; i <= a->n_argv; i++)
                cr_assert(i < a->n_argv ? strcmp(a->argv[i], b->argv[i]) == 0 : !b->argv[i]);
        for (size_t i = 0; i <= a->n_env; i++)
                cr_assert(i < a->n_env ? strcmp(a->env[i], b->env[i]) == 0 : !b->env[i]);
        cr_assert(a->n_filter == b->n_filter && memcmp(a->filter, b->filter, a->n_filter * sizeof(code[0])) == 0);
}

Test(launch, decode_of_encode_is_identity) {
        LaunchSpec s = sample(), d;
        uint8_t *bytes, *again;
        size_t n, n_again;

        cr_assert(launch_encode(&s, &bytes, &n) == 0);
        cr_assert(launch_decode(bytes, n, &d) == 0);
        same(&s, &d);
        cr_assert((uintptr_t)d.filter % sizeof(uint32_t) == 0);
        cr_assert(launch_encode(&d, &again, &n_again) == 0 && n == n_again && memcmp(bytes, again, n) == 0);
        launch_deinit(&d);
        free(bytes);
        free(again);
}

/* Each prefix is refused, and each flip of one bit is either refused or read as another valid spec that encodes to the same bytes. The
 * copy ends at a page of its own for the sanitizers. */
Test(launch, damaged_bytes_are_refused_or_mean_what_they_say) {
        LaunchSpec s = sample(), d;
        uint8_t *bytes;
        size_t n, read = 0;

        cr_assert(launch_encode(&s, &bytes, &n) == 0);
        for (size_t i = 0; i < n; i++) {
                uint8_t *cut = malloc(i ? i : 1);

                memcpy(cut, bytes, i);
                cr_assert(launch_decode(cut, i, &d) == -EBADMSG, "prefix of %zu", i);
                free(cut);
        }
        for (size_t i = 0; i < n * 8; i++) {
                uint8_t *bad = malloc(n), *again;
                size_t n_again;
                int e;

                memcpy(bad, bytes, n);
                bad[i / 8] ^= (uint8_t)(1 << i % 8);
                e = launch_decode(bad, n, &d);
                cr_assert(e == 0 || e == -EBADMSG, "bit %zu: %d", i, e);
                if (e == 0) {
                        read++;
                        cr_assert(launch_encode(&d, &again, &n_again) == 0 && n_again == n && memcmp(again, bad, n) == 0, "bit %zu", i);
                        free(again);
                        launch_deinit(&d);
                }
                free(bad);
        }
        cr_assert(read > 0 && read < n * 8);
        free(bytes);
}

Test(launch, what_no_plan_makes_is_refused) {
        LaunchEntry e;
        LaunchSpec s, d;
        uint8_t *bytes;
        size_t n;

#define REFUSED(change, what)                                                                                          \
        do {                                                                                                           \
                s = sample();                                                                                          \
                e = s.entries[3];                                                                                      \
                s.entries = &e;                                                                                        \
                s.n_entries = 1;                                                                                       \
                change;                                                                                                \
                cr_assert(launch_encode(&s, &bytes, &n) == 0, "%s", what);                                             \
                cr_assert(launch_decode(bytes, n, &d) == -EBADMSG, "%s", what);                                        \
                free(bytes);                                                                                           \
        } while (0)
        REFUSED(s.tier = 0, "no tier");
        REFUSED(s.tier = 3, "a tier that is none");
        REFUSED(s.flags = 0x80, "an unknown flag");
        REFUSED(s.n_argv = 0, "no program");
        REFUSED(s.workdir = "work", "a relative working folder");
        REFUSED(s.n_trees = 2000, "more trees than descriptors");
        REFUSED(e.kind = 0, "an entry of no kind");
        REFUSED(e.kind = LAUNCH_KIND_END, "an entry of an unknown kind");
        REFUSED(e.flags = LAUNCH_TTY, "a terminal that is no device");
        REFUSED(e.tree = 1, "a tree that was not sent");
        REFUSED(e.tree = -2, "a tree below none");
        REFUSED(e.kind = LAUNCH_LINK, "a link that is a tree");
        REFUSED(e.target = "out", "a relative target");
}

/* What comes with the go is not in the spec, and a spec without words says when they come. */
Test(launch, words_that_come_later) {
        LaunchSpec s = sample(), later = s, d, back = {0};
        uint8_t *bytes, *spec, *file;
        size_t n, n_spec;

        later.flags |= LAUNCH_LATER;
        cr_assert(launch_encode(&later, &spec, &n_spec) == 0);
        cr_assert(launch_decode(spec, n_spec, &d) == -EBADMSG, "words twice");
        free(spec);
        later.flags |= LAUNCH_AHEAD; /* those of a bootstrap */
        cr_assert(launch_encode(&later, &spec, &n_spec) == 0 && launch_decode(spec, n_spec, &d) == 0 && d.n_argv == s.n_argv);
        launch_deinit(&d);
        free(spec);
        later.flags &= (uint8_t)~LAUNCH_LATER;
        cr_assert(launch_encode(&later, &spec, &n_spec) == 0 && launch_decode(spec, n_spec, &d) == -EBADMSG, "ahead of nothing");
        free(spec);
        later.flags ^= LAUNCH_LATER | LAUNCH_AHEAD;
        later.n_argv = later.n_env = 0;
        cr_assert(launch_encode(&later, &spec, &n_spec) == 0 && launch_decode(spec, n_spec, &d) == 0);
        file = calloc(1, n_spec + LAUNCH_WORDS_MAX);
        memcpy(file, spec, n_spec);
        cr_assert(launch_spec_bytes(file, n_spec + LAUNCH_WORDS_MAX) == n_spec);
        cr_assert(launch_words_decode(file + n_spec, LAUNCH_WORDS_MAX, &d) == -EBADMSG, "zeros are no words");
        cr_assert(launch_words_encode(&s, &bytes, &n) == 0);
        memcpy(file + n_spec, bytes, n);
        cr_assert(launch_words_decode(file + n_spec, LAUNCH_WORDS_MAX, &d) == 0);
        d.flags = s.flags;
        same(&s, &d);
        launch_deinit(&d);
        for (size_t i = 0; i < n; i++)
                cr_assert(launch_words_decode(bytes, i, &back) == -EBADMSG, "prefix of %zu", i);
        launch_deinit(&back);
        free(bytes);
        free(spec);
        free(file);
}

Test(launch, too_much_is_refused_by_the_writer) {
        LaunchSpec s = sample();
        char *big = malloc(LAUNCH_MAX + 1);
        const char *argv[] = {big, NULL};
        uint8_t *bytes;
        size_t n;

        memset(big, 'x', LAUNCH_MAX);
        big[LAUNCH_MAX] = 0;
        s.argv = argv;
        s.n_argv = 1;
        cr_assert(launch_encode(&s, &bytes, &n) == -EFBIG);
        cr_assert(launch_words_encode(&s, &bytes, &n) == -EFBIG);
        big[LAUNCH_WORDS_MAX] = 0;
        cr_assert(launch_words_encode(&s, &bytes, &n) == -EFBIG);
        free(big);
}
