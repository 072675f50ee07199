/* Runs: tests. The digest that is a skill's identity, and folders that are no skill's. */
#include "base/hash.h"
#include "base/io.h"
#include "manifest/bundle.h"
#include "manifest/skill.h"
#include "schema/limits.h"
#include "tests/support/child.h"
#include "tests/support/temp.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static void put(const TempDir *t, const char *path, const char *text) {
        char whole[PATH_MAX];
        char *slash;

        snprintf(whole, sizeof(whole), "%.2000s/%.2000s", t->path, path);
        slash = strrchr(whole, '/');
        *slash = 0;
        cr_assert_eq(io_mkdir_parents(whole, 0755), 0);
        cr_assert_eq(io_write_file(t->fd, path, text, strlen(text), 0644, false), 0, "%s", path);
}

static void digest(const TempDir *t, char ret[static DIGEST_TEXT_MAX]) {
        _cleanup_bundle_ Bundle b = {0};
        Diag d = {0};
        int r = bundle_read(t->fd, &b, &d);

        cr_assert_eq(r, 0, "%d %s", r, d.text);
        memcpy(ret, b.digest, DIGEST_TEXT_MAX);
}

/* The formula of schema/manifest.md, computed here by hand. */
Test(bundle, formula) {
        _cleanup_temp_dir_ TempDir t = TEMP_DIR_NULL;
        static const char list[] =
                "[{\"bytes\":3,\"digest\":\"sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad\",\"executable\":false,\"link\":false,"
                "\"path\":\"a/b\"},"
                "{\"bytes\":3,\"digest\":\"sha256:c14cddc033f64b9dea80ea675cf280a015e672516090a5626781153dc68fea11\",\"executable\":false,\"link\":true,"
                "\"path\":\"l\"}]";
        uint8_t hash[HASH_BYTES];
        char hex[HASH_HEX_MAX], got[DIGEST_TEXT_MAX], target[DIGEST_TEXT_MAX];

        cr_assert_eq(temp_dir_make(&t), 0);
        put(&t, "a/b", "abc"); /* sha256 of "abc" is the example of FIPS 180-4 */
        cr_assert_eq(symlinkat("a/b", t.fd, "l"), 0);
        hash_bytes("a/b", 3, hash);
        snprintf(target, sizeof(target), "sha256:%s", hex_encode(hash, sizeof(hash), hex));
        cr_assert(strstr(list, target), "the list above has another digest for the link: %s", target);
        hash_bytes(list, strlen(list), hash);
        hex_encode(hash, sizeof(hash), hex);
        digest(&t, got);
        cr_expect_str_eq(got + 7, hex);
}

/* I-28: any change of any byte, name, kind or execute bit is another identity; times and owners are none. */
Test(bundle, every_change_shows) {
        _cleanup_temp_dir_ TempDir t = TEMP_DIR_NULL;
        char seen[16][DIGEST_TEXT_MAX];
        char text[] = "some content";
        size_t n = 0;

        cr_assert_eq(temp_dir_make(&t), 0);
        put(&t, "SKILL.md", text);
        put(&t, "d/x", "x");
        digest(&t, seen[n++]);
        cr_assert_eq(utimensat(t.fd, "SKILL.md", (struct timespec[2]){{1, 1}, {2, 2}}, 0), 0);
        cr_assert_eq(mkdirat(t.fd, "empty", 0700), 0);
        digest(&t, seen[n]);
        cr_expect_str_eq(seen[n], seen[0], "times and empty folders are no content");
        put(&t, "SKILL.md", "Some content");
        digest(&t, seen[n++]);
        put(&t, "SKILL.md", "some content\n");
        digest(&t, seen[n++]);
        put(&t, "SKILL.md", text);
        cr_assert_eq(fchmodat(t.fd, "d/x", 0755, 0), 0);
        digest(&t, seen[n++]);
        cr_assert_eq(fchmodat(t.fd, "d/x", 0644, 0), 0);
        cr_assert_eq(renameat(t.fd, "d/x", t.fd, "d/y"), 0);
        digest(&t, seen[n++]);
        cr_assert_eq(symlinkat("y", t.fd, "d/x"), 0);
        digest(&t, seen[n++]);
        cr_assert_eq(unlinkat(t.fd, "d/x", 0), 0);
        put(&t, "d/x", "y");
        digest(&t, seen[n++]);
        for (size_t i = 0; i < n; i++)
                for (size_t k = 0; k < i; k++)
                        cr_expect_str_neq(seen[i], seen[k], "states %zu and %zu", i, k);
}

/* Law: for each byte of a file, changing it changes the digest. */
Test(bundle, each_byte_counts) {
        _cleanup_temp_dir_ TempDir t = TEMP_DIR_NULL;
        char text[] = "#!/bin/sh\nexec true\n", first[DIGEST_TEXT_MAX], now[DIGEST_TEXT_MAX];

        cr_assert_eq(temp_dir_make(&t), 0);
        put(&t, "run.sh", text);
        digest(&t, first);
        for (size_t i = 0; i < strlen(text); i++) {
                text[i] ^= 1;
                put(&t, "run.sh", text);
                text[i] ^= 1;
                digest(&t, now);
                cr_expect_str_neq(now, first, "byte %zu", i);
        }
        put(&t, "run.sh", text);
        digest(&t, now);
        cr_expect_str_eq(now, first);
}

static int make_fifo(const TempDir *t) {
        return mkfifoat(t->fd, "x", 0644);
}
static int make_device(const TempDir *t) {
        return mknodat(t->fd, "x", S_IFCHR | 0644, (1 << 8) | 3);
}
static int make_socket(const TempDir *t) {
        return mknodat(t->fd, "x", S_IFSOCK | 0644, 0);
}
static int link_absolute(const TempDir *t) {
        return symlinkat("/etc/passwd", t->fd, "x");
}
static int link_up(const TempDir *t) {
        return symlinkat("../x", t->fd, "x");
}
static int link_up_and_back(const TempDir *t) {
        char text[PATH_MAX];

        snprintf(text, sizeof(text), "../%.200s/SKILL.md", strrchr(t->path, '/') + 1);
        return symlinkat(text, t->fd, "x");
}
static int link_through_link(const TempDir *t) {
        return mkdirat(t->fd, "d", 0755) | symlinkat("..", t->fd, "d/up") | symlinkat("up/../etc", t->fd, "d/x");
}
static int link_dangling_out(const TempDir *t) {
        return symlinkat("not-there/../../etc", t->fd, "x");
}
static int link_loop(const TempDir *t) {
        return symlinkat("x", t->fd, "x");
}
static int name_not_utf8(const TempDir *t) {
        return symlinkat("SKILL.md", t->fd, "\xff");
}
static int name_with_escape(const TempDir *t) {
        return symlinkat("SKILL.md", t->fd, "a\033[2J");
}
static int too_deep(const TempDir *t) {
        char path[PATH_MAX] = "d";

        for (int i = 0; i <= BUNDLE_DEPTH_MAX; i++) {
                if (mkdirat(t->fd, path, 0755) < 0)
                        return -1;
                strcat(path, "/d");
        }
        return 0;
}
static int too_many(const TempDir *t) {
        char name[32];

        for (int i = 0; i < SKILL_FILES_MAX; i++) {
                snprintf(name, sizeof(name), "f%d", i);
                if (mkdirat(t->fd, name, 0755) < 0)
                        return -1;
        }
        return 0;
}
static int too_large(const TempDir *t) {
        _cleanup_close_ int fd = openat(t->fd, "x", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

        return fd < 0 ? -1 : ftruncate(fd, (off_t)SKILL_BYTES_MAX); /* with SKILL.md one byte too many, and sparse */
}

static const struct {
        const char *what;
        int (*make)(const TempDir *t);
        int code;
        const char *says;
} hostile[] = {
        {"FIFO", make_fifo, BUNDLE_E_KIND, "FIFO"},
        {"device", make_device, BUNDLE_E_KIND, "device"},
        {"socket", make_socket, BUNDLE_E_KIND, "socket"},
        {"absolute link", link_absolute, BUNDLE_E_KIND, "/etc/passwd"},
        {"link up", link_up, BUNDLE_E_KIND, "outside"},
        {"link up and back in", link_up_and_back, BUNDLE_E_KIND, "outside"},
        {"link out through a link", link_through_link, BUNDLE_E_KIND, "outside"},
        {"dangling link out", link_dangling_out, BUNDLE_E_KIND, "outside"},
        {"link to itself", link_loop, BUNDLE_E_KIND, "itself"},
        {"name that is not UTF-8", name_not_utf8, BUNDLE_E_KIND, "UTF-8"},
        {"name with an escape", name_with_escape, BUNDLE_E_KIND, "control"},
        {"too deep", too_deep, BUNDLE_E_LIMIT, "deeper"},
        {"too many", too_many, BUNDLE_E_LIMIT, "more than 4096"},
        {"too large", too_large, BUNDLE_E_LIMIT, "bytes"},
};

Test(bundle, hostile_folders) {
        for (size_t i = 0; i < ARRAY_SIZE(hostile); i++) {
                _cleanup_temp_dir_ TempDir t = TEMP_DIR_NULL;
                _cleanup_bundle_ Bundle b = {0};
                Diag d = {0};
                int r;

                cr_assert_eq(temp_dir_make(&t), 0);
                put(&t, "SKILL.md", "x");
                if (hostile[i].make(&t) < 0 && errno == EPERM)
                        continue; /* an ordinary user makes no devices */
                r = bundle_read(t.fd, &b, &d);
                cr_expect_eq(r, hostile[i].code, "%s: %d %s", hostile[i].what, r, d.text);
                cr_expect(strstr(d.text, hostile[i].says), "%s: %s", hostile[i].what, d.text);
                cr_expect_null(strchr(d.text, '\033'), "%s: an escape in the message", hostile[i].what);
        }
}

Test(bundle, links_inside_are_allowed) {
        static const struct {
                const char *name, *target;
        } links[] = {{"a", "SKILL.md"}, {"d/up", "../SKILL.md"}, {"d/self", "."}, {"gone", "not-there"}, {"d/folder", "../d/e"}};
        _cleanup_temp_dir_ TempDir t = TEMP_DIR_NULL;
        _cleanup_bundle_ Bundle b = {0};
        Diag d = {0};

        cr_assert_eq(temp_dir_make(&t), 0);
        put(&t, "SKILL.md", "x");
        put(&t, "d/e/f", "x");
        for (size_t i = 0; i < ARRAY_SIZE(links); i++)
                cr_assert_eq(symlinkat(links[i].target, t.fd, links[i].name), 0);
        cr_assert_eq(bundle_read(t.fd, &b, &d), 0, "%s", d.text);
        cr_expect_eq(b.n_files, 7);
        for (size_t i = 1; i < b.n_files; i++)
                cr_expect(strcmp(b.files[i - 1].path, b.files[i].path) < 0, "sorted");
        for (size_t i = 0; i < ARRAY_SIZE(links); i++)
                cr_expect(bundle_find(&b, links[i].name) && bundle_find(&b, links[i].name)->link, "%s", links[i].name);
        cr_expect_null(bundle_find(&b, "d"));
}

static int as_nobody(void *arg) {
        const TempDir *t = arg;
        Bundle b;
        Diag d = {0};

        if (geteuid() == 0)
                child_check(setegid(65534) == 0 && seteuid(65534) == 0);
        child_check(bundle_read(t->fd, &b, &d) == BUNDLE_E_ACCESS);
        child_say("%s", d.text);
        child_check(strstr(d.text, "secret"));
        return 0;
}

Test(bundle, unreadable_file) {
        _cleanup_temp_dir_ TempDir t = TEMP_DIR_NULL;

        cr_assert_eq(temp_dir_make(&t), 0);
        cr_assert_eq(fchmod(t.fd, 0755), 0);
        put(&t, "secret", "x");
        cr_assert_eq(fchmodat(t.fd, "secret", 0, 0), 0);
        child_assert_ok(as_nobody, &t);
}

/* What is parsed is what was hashed: a file that is exchanged between the two is noticed. */
Test(bundle, read_again_is_held_against_the_digest) {
        _cleanup_temp_dir_ TempDir t = TEMP_DIR_NULL;
        _cleanup_bundle_ Bundle b = {0};
        _cleanup_free_ char *text = NULL;
        Diag d = {0};
        size_t n;

        cr_assert_eq(temp_dir_make(&t), 0);
        put(&t, "f", "one");
        put(&t, "g", "one");
        cr_assert_eq(symlinkat("g", t.fd, "l"), 0);
        cr_assert_eq(bundle_read(t.fd, &b, &d), 0);
        cr_assert_eq(bundle_read_file(&b, t.fd, "f", 100, &text, &n, &d), 0);
        cr_expect_str_eq(text, "one");
        cr_expect_eq(bundle_read_file(&b, t.fd, "f", 2, &text, &n, &d), BUNDLE_E_LIMIT);
        cr_expect_eq(bundle_read_file(&b, t.fd, "l", 100, &text, &n, &d), BUNDLE_E_KIND);
        cr_expect_eq(bundle_read_file(&b, t.fd, "../f", 100, &text, &n, &d), BUNDLE_E_MISSING);
        put(&t, "f", "two");
        cr_expect_eq(bundle_read_file(&b, t.fd, "f", 100, &text, &n, &d), BUNDLE_E_CHANGED);
        put(&t, "f", "longer than it was");
        cr_expect_eq(bundle_read_file(&b, t.fd, "f", 100, &text, &n, &d), BUNDLE_E_CHANGED);
        cr_assert_eq(unlinkat(t.fd, "g", 0), 0);
        cr_assert_eq(symlinkat("f", t.fd, "g"), 0);
        cr_expect_eq(bundle_read_file(&b, t.fd, "g", 100, &text, &n, &d), BUNDLE_E_CHANGED);
}

/* `lethe run NAME` names the file that changed. */
Test(bundle, difference_names_the_file) {
        static const struct {
                const char *path, *text, *says;
        } changes[] = {{"a", "x", "a was added"}, {"m", "y", "m has another content"}, {"zz", "x", "zz was added"}, {"b", NULL, "b was removed"}};

        for (size_t i = 0; i < ARRAY_SIZE(changes); i++) {
                _cleanup_temp_dir_ TempDir t = TEMP_DIR_NULL;
                _cleanup_bundle_ Bundle before = {0}, after = {0};
                _cleanup_json_ json_t *recorded = NULL;
                _cleanup_free_ char *same = NULL, *text = NULL;

                cr_assert_eq(temp_dir_make(&t), 0);
                put(&t, "b", "x");
                put(&t, "m", "x");
                put(&t, "z", "x");
                cr_assert_eq(bundle_read(t.fd, &before, NULL), 0);
                recorded = bundle_to_json(&before);
                same = bundle_difference(&before, recorded);
                cr_expect_null(same);
                if (changes[i].text)
                        put(&t, changes[i].path, changes[i].text);
                else
                        cr_assert_eq(unlinkat(t.fd, changes[i].path, 0), 0);
                cr_assert_eq(bundle_read(t.fd, &after, NULL), 0);
                text = bundle_difference(&after, recorded);
                cr_expect(text && strcmp(text, changes[i].says) == 0, "%s: %s", changes[i].says, text ?: "no difference");
        }
}

/* The whole folder: lenient where a run can live with it, and a schema file of the folder is read in. */
Test(bundle, skill_load) {
        _cleanup_temp_dir_ TempDir t = TEMP_DIR_NULL;
        _cleanup_skill_ Skill *s = NULL;
        Skill *none = NULL;
        Diag d = {0};

        cr_assert_eq(temp_dir_make(&t), 0);
        cr_expect_eq(skill_load("/nowhere/at/all", &none, &d), SKILL_E_MISSING);
        cr_expect_eq(skill_load(t.path, &none, &d), SKILL_E_MISSING, "%s", d.text);
        cr_expect(strstr(d.text, "SKILL.md"), "%s", d.text);
        put(&t, "SKILL.md", "---\nname: Odd Name\ndescription: x\nversion: 1\n---\n");
        cr_assert_eq(skill_load(t.path, &s, &d), 0, "%s", d.text);
        cr_expect(!s->has_manifest);
        cr_expect_str_eq(s->md.name, "Odd Name");
        cr_expect(s->warnings && s->warnings[0] && s->warnings[1], "warnings of name and field");
        skill_free(TAKE_PTR(s));
        put(&t, "lethe.json", "{\"version\":1,\"slots\":{\"a\":\"schemas/a.json\"},\"writes\":[\"a\"]}");
        cr_expect_eq(skill_load(t.path, &none, &d), SKILL_E_BAD);
        cr_expect(strstr(d.text, "lethe.json#/slots/a") && strstr(d.text, "schemas/a.json"), "%s", d.text);
        put(&t, "schemas/a.json", "{\"type\":\"string\"}");
        cr_assert_eq(skill_load(t.path, &s, &d), 0, "%s", d.text);
        cr_expect_str_eq(json_string_value(json_object_get(json_object_get(s->manifest.slots, "a"), "type")), "string");
        put(&t, "lethe.json", "{\"version\":1,\"slots\":{\"a\":\"../a.json\"}}");
        cr_expect_eq(skill_load(t.path, &none, &d), SKILL_E_BAD, "%s", d.text);
        put(&t, "lethe.json", "{\"version\":1,\"x\":1,\"y\":2}");
        cr_expect_eq(skill_load(t.path, &none, &d), SKILL_E_BAD);
        cr_expect(strstr(d.text, "lethe.json#/x") && strstr(d.text, "1 more"), "%s", d.text);
        put(&t, "SKILL.md", "no front matter");
        cr_expect_eq(skill_load(t.path, &none, &d), SKILL_E_BAD);
        cr_expect(strstr(d.text, "SKILL.md:1"), "%s", d.text);
}
