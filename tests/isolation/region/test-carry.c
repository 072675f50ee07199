/* Sections of a session, without any session: what is reserved, kept, refused and overwritten. */
#include "region/region-carry.h"

#include "region/region-locked.h"
#include "tests/support/child.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define SECTIONS "{\"count\":{\"schema\":{\"type\":\"integer\"},\"bytes\":8},\"text\":{\"schema\":{\"type\":\"string\"},\"bytes\":20000}}"

static json_t *sections(void) {
        json_t *o = json_loads(SECTIONS, 0, NULL);

        cr_assert(o);
        return o;
}

static Carry *carry(void) {
        _cleanup_json_ json_t *o = sections();
        Carry *c;
        Diag d = {};

        cr_assert_eq(carry_new(o, &c, &d), 0, "%s", d.text);
        return c;
}

static int put(Carry *c, const char *name, const char *json, uint64_t version, Diag *d) {
        _cleanup_json_ json_t *v = json_loads(json, JSON_DECODE_ANY, NULL);

        cr_assert(v, "%s", json);
        return carry_put(c, name, v, version, d);
}

/* A text of n bytes as JSON, quotes included. Owned. */
static char *text_of(size_t n, char of) {
        char *s = malloc(n + 1);

        memset(s, of, n);
        s[0] = s[n - 1] = '"';
        s[n] = 0;
        return s;
}

/* The declaration. */
static const struct {
        const char *name, *json;
} bad[] = {{"no size", "{\"a\":{\"schema\":true}}"},
           {"zero", "{\"a\":{\"bytes\":0}}"},
           {"negative", "{\"a\":{\"bytes\":-1}}"},
           {"too many", "{\"a\":{\"bytes\":524289}}"},
           {"the second", "{\"a\":{\"bytes\":1},\"b\":{\"bytes\":1e9}}"}};

Test(carry, declaration) { // I-84
        for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
                _cleanup_json_ json_t *o = json_loads(bad[i].json, 0, NULL);
                Carry *c;
                Diag d = {};

                cr_assert_eq(carry_new(o, &c, &d), CARRY_E_BAD, "%s", bad[i].name);
                cr_assert(strstr(d.text, "bytes must be from 1 to"), "%s: %s", bad[i].name, d.text);
        }
}

static const struct {
        const char *section, *json;
        int want;
        const char *words;
} checks[] = {{"count", "7", 0, ""},
              {"count", "\"7\"", CARRY_E_SCHEMA, "section count"},
              {"count", "12345678", 0, ""},
              {"count", "123456789", CARRY_E_TOO_LARGE, "9 bytes: at most 8"},
              {"count", "9007199254740992", CARRY_E_SCHEMA, "2^53-1"},
              {"text", "\"\"", 0, ""},
              {"text", "null", CARRY_E_SCHEMA, "section text"},
              {"other", "1", CARRY_E_UNDECLARED, "other"}};

Test(carry, check) { // I-84: typed by the session's sections
        _cleanup_json_ json_t *o = sections();

        for (size_t i = 0; i < ARRAY_SIZE(checks); i++) {
                _cleanup_json_ json_t *v = json_loads(checks[i].json, JSON_DECODE_ANY, NULL);
                size_t n = 999;
                Diag d = {};
                int r = carry_check(o, checks[i].section, v, &n, &d);

                cr_assert_eq(r, checks[i].want, "%s = %s: %d, %s", checks[i].section, checks[i].json, r, d.text);
                cr_assert(strstr(d.text, checks[i].words), "%s = %s: %s", checks[i].section, checks[i].json, d.text);
                cr_assert_eq(n, r == 0 ? strlen(checks[i].json) : 999, "%s = %s", checks[i].section, checks[i].json);
        }
}

Test(carry, a_value_is_there_until_the_next) { // I-48, I-84
        Carry *c = carry();
        _cleanup_json_ json_t *none = carry_values(c), *one = NULL, *two = NULL;
        VaultWiped w;
        Diag d = {};

        cr_assert_eq(json_object_size(none), 0);
        cr_assert_eq(carry_bytes(c), 0, "nothing is locked before something is carried");
        cr_assert_eq(put(c, "count", "7", 1, &d), 0, "%s", d.text);
        one = carry_values(c);
        cr_assert_eq(json_integer_value(json_object_get(json_object_get(one, "count"), "value")), 7);
        cr_assert_eq(put(c, "count", "-8", 2, &d), 0);
        cr_assert_eq(put(c, "text", "\"x\"", 1, &d), 0);
        two = carry_values(c);
        cr_assert_eq(json_integer_value(json_object_get(json_object_get(two, "count"), "value")), -8);
        cr_assert_eq(json_integer_value(json_object_get(json_object_get(two, "count"), "version")), 2);
        cr_assert_eq(json_object_size(two), 2);
        cr_assert_eq(carry_bytes(c), 2 * (size_t)sysconf(_SC_PAGESIZE));
        carry_wipe(c, 2, &w);
        cr_assert(w.bytes_held == 2 * (size_t)sysconf(_SC_PAGESIZE) && w.bytes_verified == w.bytes_held && w.bytes_overwritten == w.bytes_held && w.resident);
        cr_assert_eq(w.sections, 2);
        json_decref(two);
        two = carry_values(c);
        cr_assert_eq(json_object_size(two), 0);
        cr_assert_eq(carry_bytes(c), 0);
        carry_free(c);
}

Test(carry, a_refused_value_leaves_the_one_before) { // I-86
        char *large = text_of(20001, 'x'), *fits = text_of(20000, 'y');
        _cleanup_json_ json_t *is = NULL;
        Carry *c = carry();
        Diag d = {};

        cr_assert_eq(put(c, "text", "\"before\"", 4, &d), 0);
        cr_assert_eq(put(c, "text", large, 5, &d), CARRY_E_TOO_LARGE);
        cr_assert_eq(put(c, "other", "1", 5, &d), CARRY_E_UNDECLARED);
        cr_assert_eq(carry_reserve(c, "text", 20001, &d), CARRY_E_TOO_LARGE);
        cr_assert_eq(carry_reserve(c, "other", 1, &d), CARRY_E_UNDECLARED);
        is = carry_values(c);
        cr_assert_str_eq(json_string_value(json_object_get(json_object_get(is, "text"), "value")), "before");
        cr_assert_eq(put(c, "text", fits, 5, &d), 0, "%s", d.text);
        carry_free(c);
        free(large);
        free(fits);
}

/* How often the bytes stand in writable memory of this process, its stack left out. */
static unsigned copies(const char *needle, size_t n) {
        FILE *maps = fopen("/proc/self/maps", "re");
        int mem = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
        unsigned found = 0;
        char line[512];

        while (fgets(line, sizeof(line), maps)) {
                unsigned long from, to;
                char *text, *p, *end;
                ssize_t got;

                if (sscanf(line, "%lx-%lx rw", &from, &to) != 2 || !strstr(line, " rw") || strstr(line, "[stack]") || to - from > 64 << 20)
                        continue;
                text = malloc(to - from);
                got = pread(mem, text, to - from, (off_t)from);
                end = text + MAX(got, 0);
                for (p = text; (p = memmem(p, (size_t)(end - p), needle, n)); p++)
                        found++;
                explicit_bzero(text, to - from);
                free(text);
        }
        fclose(maps);
        close(mem);
        return found;
}

/* Made where it is used: the text stands nowhere else. */
static void secret_of(char out[static 25], char seed) {
        for (int i = 0; i < 24; i++)
                out[i] = (char)('a' + (i * 7 + seed) % 26);
        out[24] = 0;
}

Test(carry, longer_and_shorter_values_leave_nothing) { // I-47: not carried, not there
        char secret[25], json[64], *longer = text_of(19000, 'z');
        Carry *c = carry();
        Diag d = {};

        json_wipe_freed(); /* as the host of sessions: the parsed value leaves nothing in freed memory */
        secret_of(secret, 3);
        snprintf(json, sizeof(json), "\"filler filler %s\"", secret);
        cr_assert_eq(put(c, "text", json, 1, &d), 0);
        explicit_bzero(json, sizeof(json));
        cr_assert_gt(copies(secret, 24), 0, "the value is in the section");
        cr_assert_eq(put(c, "text", "\"\"", 2, &d), 0);
        cr_assert_eq(copies(secret, 24), 0, "the rest of the longer value is overwritten");
        snprintf(json, sizeof(json), "\"filler filler %s\"", secret);
        cr_assert_eq(put(c, "text", json, 3, &d), 0);
        explicit_bzero(json, sizeof(json));
        cr_assert_eq(put(c, "text", longer, 4, &d), 0, "%s", d.text); /* moves: more pages */
        cr_assert_eq(copies(secret, 24), 0, "the memory that the longer value left is overwritten");
        carry_free(c);
        free(longer);
}

Test(carry, moved_memory_is_counted) { // I-28
        size_t page = (size_t)sysconf(_SC_PAGESIZE);
        char *longer = text_of(2 * page, 'z');
        Carry *c = carry();
        VaultWiped w;
        Diag d = {};

        cr_assert_eq(put(c, "text", "\"short\"", 1, &d), 0);
        cr_assert_eq(put(c, "text", longer, 2, &d), 0);
        cr_assert_eq(carry_bytes(c), 2 * page);
        carry_wipe(c, 1, &w);
        cr_assert_eq(w.bytes_held, 3 * page);
        cr_assert_eq(w.bytes_verified, 3 * page);
        carry_free(c);
        free(longer);
}

Test(carry, key) { // I-85
        char key[KEY_TEXT_BYTES + 1], other[KEY_TEXT_BYTES + 1];
        Carry *c = carry(), *c2 = carry();

        cr_assert(!carry_key_is(c, "00000000000000000000000000000000"), "no key was handed over");
        cr_assert_eq(carry_hand_over(c, key), 0);
        cr_assert_eq(carry_hand_over(c2, other), 0);
        cr_assert(carry_key_is(c, key) && carry_key_is(c2, other));
        cr_assert(!carry_key_is(c, other) && !carry_key_is(c2, key));
        cr_assert(!carry_key_is(c, "") && !carry_key_is(c, "x"));
        cr_assert_eq(strlen(key), KEY_TEXT_BYTES);
        key[3] = key[3] == 'a' ? 'b' : 'a';
        cr_assert(!carry_key_is(c, key));
        key[3] = 'g';
        cr_assert(!carry_key_is(c, key));
        carry_free(c);
        carry_free(c2);
}

/* A lock that fails leaves the value before, and succeeds once there is room. */
static int locked_out(void *arg) {
        const size_t page = (size_t)sysconf(_SC_PAGESIZE);
        const struct rlimit some = {3 * page, 3 * page};
        _cleanup_json_ json_t *is = NULL;
        Carry **pair = arg, *a = pair[0], *b = pair[1];
        char *longer = text_of(3 * page, 'l'), said[64];
        Diag d = {};

        if (geteuid() == 0)
                child_check(setresgid(65534, 65534, 65534) == 0 && setresuid(65534, 65534, 65534) == 0);
        child_check(setrlimit(RLIMIT_MEMLOCK, &some) == 0);
        child_check(put(a, "count", "1", 1, &d) == 0 && put(a, "text", "\"kept\"", 1, &d) == 0);
        child_check(put(a, "text", longer, 2, &d) == CARRY_E_UNLOCKED);
        snprintf(said, sizeof(said), "of the session's host is %zu bytes", 3 * page);
        child_check(strstr(d.text, "session section text: ") && strstr(d.text, "RLIMIT_MEMLOCK (ulimit -l)") && strstr(d.text, said));
        is = carry_values(a);
        child_check(strcmp(json_string_value(json_object_get(json_object_get(is, "text"), "value")), "kept") == 0);
        child_check(carry_bytes(a) == 2 * page);
        child_check(put(b, "count", "1", 1, &d) == 0);
        child_check(carry_reserve(b, "text", 1, &d) == CARRY_E_UNLOCKED && carry_bytes(b) == page);
        carry_free(a);
        child_check(carry_reserve(b, "text", 1, &d) == 0); /* the closed session's room */
        carry_free(b);
        free(longer);
        return 0;
}

Test(carry, memory_that_cannot_be_locked) { // I-84: a clear refusal, and the state before
#ifdef __SANITIZE_ADDRESS__ /* which makes mlock() do nothing */
        (void)locked_out;
#else
        Carry *pair[] = {carry(), carry()};

        child_assert_ok(locked_out, pair);
        carry_free(pair[0]);
        carry_free(pair[1]);
#endif
}

/* Each allocation fails once, one after the other. */
static int left = -1;

static void *failing_malloc(size_t n) {
        return left >= 0 && left-- == 0 ? NULL : malloc(n);
}

Test(carry, no_memory_for_json) { // each failure leaves the value before
        int steps = 0;
        Carry *c = carry();
        Diag d = {};

        cr_assert_eq(put(c, "text", "\"before\"", 1, &d), 0);
        json_set_alloc_funcs(failing_malloc, free);
        for (bool done = false; !done; steps++) {
                json_t *values;

                cr_assert_lt(steps, 1000);
                left = steps;
                values = carry_values(c);
                done = left >= 0; /* no allocation failed any more */
                left = -1;
                if (!values)
                        continue;
                cr_assert(done);
                cr_assert_str_eq(json_string_value(json_object_get(json_object_get(values, "text"), "value")), "before");
                json_decref(values);
        }
        json_set_alloc_funcs(malloc, free);
        cr_assert_gt(steps, 3, "some allocations failed");
        carry_free(c);
}
