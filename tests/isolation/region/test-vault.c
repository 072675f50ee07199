/* Keys, sections and handles of the isolation wing, without any pipe. */
#include "region/region-handle.h"
#include "region/region-section.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/id.h"
#include "region/region-locked.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define SECTIONS "{\"plan\":{\"schema\":{\"type\":\"object\"},\"bytes\":200},\"keep\":{\"schema\":{\"format\":\"lethe-key\"},\"bytes\":64}}"

typedef struct Instance {
        char region[REGION_ID_MAX], key[KEY_TEXT_BYTES + 1];
        Vault *v;
} Instance;

static Instance instance(KeyScope scope, const Instance *parent) {
        _cleanup_json_ json_t *sections = json_loads(SECTIONS, 0, NULL);
        Instance i;
        Diag d = {};

        cr_assert_eq(region_id_new(clock_real_usec(), i.region), 0);
        cr_assert_eq(vault_new(i.region, scope, parent ? parent->v : NULL, sections, &i.v, &d), 0, "%s", d.text);
        cr_assert(vault_hand_over(i.v, i.v, i.key));
        return i;
}

static Presented with(const Instance *by, const char *key) {
        return (Presented){.by = by->v, .key = key, .n_key = key ? strlen(key) : 0};
}

static int open_as(const Instance *by, const char *key, const char *region, const char *section, char handle[HANDLE_TEXT_MAX]) {
        Presented p = with(by, key);
        Diag d = {};

        return handle_open(&p, region, section, handle, &d);
}

static int read_as(const Instance *by, const char *key, const char *handle) {
        _cleanup_json_ json_t *value = NULL;
        Presented p = with(by, key);
        uint64_t version;
        Diag d = {};

        return handle_read(&p, handle, &value, &version, &d);
}

static int write_as(const Instance *by, const char *key, const char *handle, const char *text) {
        _cleanup_json_ json_t *value = json_loads(text, JSON_DECODE_ANY, NULL);
        Presented p = with(by, key);
        uint64_t version;
        Diag d = {};

        cr_assert(value, "%s", text);
        return handle_write(&p, handle, value, -1, &version, &d);
}

// I-10: 128 bits that never come twice. I-9: nobody but the region itself is given them.
Test(vault, keys) {
        Instance all[64];
        char text[KEY_TEXT_BYTES + 1];

        for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
                all[i] = instance(KEY_SCOPE_INVOCATION, NULL);
                cr_assert_eq(strspn(all[i].key, "0123456789abcdef"), 32);
                for (size_t k = 0; k < i; k++) {
                        cr_assert_str_neq(all[i].key, all[k].key);
                        cr_assert_str_neq(all[i].region, all[k].region); // I-1, I-53
                        cr_assert(!vault_hand_over(all[i].v, all[k].v, text));
                        cr_assert(!vault_hand_over(all[k].v, all[i].v, text));
                }
        }
        cr_assert_eq(region_keys_count(), ARRAY_SIZE(all));
        for (size_t i = 0; i < ARRAY_SIZE(all); i++)
                vault_free(all[i].v);
        cr_assert_eq(region_keys_count(), 0, "a key is looked for as long as its region lives");
}

// I-8: no key, a wrong key, half a key, a key with one digit more, another region's key: each refused, for each call.
Test(vault, each_key_but_the_right_one) {
        Instance a = instance(KEY_SCOPE_INVOCATION, NULL), b = instance(KEY_SCOPE_INVOCATION, NULL);
        char handle[HANDLE_TEXT_MAX], ignored[HANDLE_TEXT_MAX], more[40], flipped[33];

        cr_assert_eq(open_as(&a, a.key, a.region, "plan", handle), 0);
        cr_assert_eq(write_as(&a, a.key, handle, "{\"n\":1}"), 0);
        snprintf(more, sizeof(more), "%s0", a.key);
        for (int bit = -5; bit < 128; bit++) { /* each single bit of the key, too */
                static const char *const fixed[] = {NULL, "", "00000000000000000000000000000000", "0123456789abcdef"};
                const char *key = bit == -1 ? b.key : bit < -1 ? fixed[-bit - 2] : flipped;
                Presented p = with(&a, key);
                uint8_t bytes[KEY_BYTES];
                Diag d = {};

                hex_decode(a.key, bytes, sizeof(bytes));
                if (bit >= 0)
                        bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
                hex_encode(bytes, sizeof(bytes), flipped);
                cr_assert_eq(read_as(&a, key, handle), HANDLE_E_KEY, "bit %d", bit);
                cr_assert_eq(write_as(&a, key, handle, "{}"), HANDLE_E_KEY, "bit %d", bit);
                cr_assert_eq(open_as(&a, key, a.region, "plan", ignored), HANDLE_E_KEY, "bit %d", bit);
                cr_assert_eq(handle_close(&p, handle, &d), HANDLE_E_KEY, "bit %d", bit);
        }
        cr_assert_eq(read_as(&a, more, handle), HANDLE_E_KEY);
        /* The handle of a, in the hands of b: with b's key, and with a's own, which b must not have (I-26). */
        cr_assert_eq(read_as(&b, b.key, handle), HANDLE_E_KEY);
        cr_assert_eq(read_as(&b, a.key, handle), HANDLE_E_SCOPE);
        cr_assert_eq(read_as(&a, a.key, handle), 0, "after all that");
        vault_free(a.v);
        vault_free(b.v);
}

// I-7: a handle is a value; other spellings and other generations of it are nothing.
Test(vault, handles_are_values) {
        Instance a = instance(KEY_SCOPE_INVOCATION, NULL);
        char first[HANDLE_TEXT_MAX], again[HANDLE_TEXT_MAX], text[100];
        Presented p = with(&a, a.key);
        Diag d = {};
        static const struct {
                const char *tail;
                int code;
        } rows[] = {
                {".0.1", 0}, {".0.2", HANDLE_E_STALE}, {".0.0", HANDLE_E_STALE}, {".1.1", HANDLE_E_STALE}, {".999999999.1", HANDLE_E_STALE},
                {".0.4294967295", HANDLE_E_STALE}, {".0.4294967296", HANDLE_E_BAD}, {".00.1", HANDLE_E_BAD}, {".0.01", HANDLE_E_BAD}, {".0.1 ", HANDLE_E_BAD},
                {".+0.1", HANDLE_E_BAD}, {".-0.1", HANDLE_E_BAD}, {". 0.1", HANDLE_E_BAD}, {".0.1.1", HANDLE_E_BAD}, {".0.", HANDLE_E_BAD}, {".0", HANDLE_E_BAD},
                {"", HANDLE_E_BAD}, {".0x0.1", HANDLE_E_BAD}, {".0.1\n", HANDLE_E_BAD},
        };

        cr_assert_eq(open_as(&a, a.key, a.region, "plan", first), 0);
        write_as(&a, a.key, first, "{}");
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                snprintf(text, sizeof(text), "%s%s", a.region, rows[i].tail);
                cr_assert_eq(read_as(&a, a.key, text), rows[i].code, "%s", rows[i].tail);
        }
        for (int generation = 2; generation < 100; generation++) {
                cr_assert_eq(handle_close(&p, first, &d), 0);
                cr_assert_eq(read_as(&a, a.key, first), HANDLE_E_STALE, "a closed handle");
                cr_assert_eq(handle_close(&p, first, &d), HANDLE_E_STALE, "closed twice");
                cr_assert_eq(open_as(&a, a.key, a.region, "plan", again), 0);
                cr_assert_eq(read_as(&a, a.key, first), HANDLE_E_STALE, "the index is another's now");
                cr_assert_str_neq(first, again);
                strcpy(first, again);
        }
        vault_free(a.v);
}

// I-4: what is declared, as it is declared, and nothing else. I-5, I-6.
Test(vault, sections_are_typed_and_sized) {
        Instance a = instance(KEY_SCOPE_INVOCATION, NULL);
        char plan[HANDLE_TEXT_MAX], keep[HANDLE_TEXT_MAX], big[400];

        cr_assert_eq(open_as(&a, a.key, a.region, "nothing", plan), HANDLE_E_UNDECLARED);
        cr_assert_eq(open_as(&a, a.key, a.region, "", plan), HANDLE_E_UNDECLARED);
        cr_assert_eq(open_as(&a, a.key, a.region, "plan", plan), 0);
        cr_assert_eq(open_as(&a, a.key, a.region, "keep", keep), 0);
        cr_assert_eq(read_as(&a, a.key, plan), HANDLE_E_NO_VALUE);
        cr_assert_eq(write_as(&a, a.key, plan, "[]"), HANDLE_E_TYPE);
        cr_assert_eq(write_as(&a, a.key, plan, "7"), HANDLE_E_TYPE);
        cr_assert_eq(write_as(&a, a.key, plan, "{\"n\":9007199254740993}"), HANDLE_E_TYPE);
        cr_assert_eq(read_as(&a, a.key, plan), HANDLE_E_NO_VALUE, "what was refused left nothing");
        snprintf(big, sizeof(big), "{\"a\":\"%0193d\"}", 0);
        cr_assert_eq(write_as(&a, a.key, plan, big), HANDLE_E_TOO_LARGE);
        snprintf(big, sizeof(big), "{\"a\":\"%0192d\"}", 0);
        cr_assert_eq(write_as(&a, a.key, plan, big), 0, "exactly its bytes");
        cr_assert_eq(write_as(&a, a.key, keep, "\"no key\""), HANDLE_E_TYPE);
        snprintf(big, sizeof(big), "\"%s\"", a.key);
        cr_assert_eq(write_as(&a, a.key, keep, big), 0, "a key is of use in its own region");
        cr_assert_geq(vault_bytes(a.v), 264);
        vault_free(a.v);
}

Test(vault, handles_are_bounded) {
        Instance a = instance(KEY_SCOPE_INVOCATION, NULL);
        char handle[HANDLE_TEXT_MAX], first[HANDLE_TEXT_MAX];
        Presented p = with(&a, a.key);
        Diag d = {};

        for (int i = 0; i < HANDLES_MAX; i++)
                cr_assert_eq(open_as(&a, a.key, a.region, "plan", i == 0 ? first : handle), 0, "%d", i);
        cr_assert_eq(open_as(&a, a.key, a.region, "plan", handle), HANDLE_E_TOO_MANY);
        cr_assert_eq(handle_close(&p, first, &d), 0);
        cr_assert_eq(open_as(&a, a.key, a.region, "plan", handle), 0);
        cr_assert_eq(vault_unbind(a.v), HANDLES_MAX);
        vault_free(a.v);
}

// I-17: after teardown every handle is stale, also with the right key; unbinding is counted (I-16).
Test(vault, teardown) {
        Instance a = instance(KEY_SCOPE_TREE, NULL), child = instance(KEY_SCOPE_INVOCATION, &a);
        char one[HANDLE_TEXT_MAX], two[HANDLE_TEXT_MAX], more[HANDLE_TEXT_MAX], key[33];
        VaultWiped w;

        cr_assert_eq(open_as(&a, a.key, a.region, "plan", one), 0);
        cr_assert_eq(open_as(&child, a.key, a.region, "plan", two), 0);
        cr_assert_eq(write_as(&a, a.key, one, "{\"canary\":\"7f3a\"}"), 0);
        cr_assert_eq(vault_unbind(a.v), 2);
        cr_assert_eq(read_as(&a, a.key, one), HANDLE_E_STALE);
        cr_assert_eq(read_as(&child, a.key, two), HANDLE_E_STALE);
        cr_assert_eq(open_as(&a, a.key, a.region, "plan", more), HANDLE_E_STALE, "nothing is issued any more");
        cr_assert_eq(read_as(&a, child.key, one), HANDLE_E_KEY, "a wrong key is still a wrong key");
        vault_wipe(a.v, 3, &w);
        cr_assert_eq(w.handles_unbound, 2);
        cr_assert_eq(w.sections, 2);
        cr_assert_geq(w.bytes_held, 3 * 4096, "two sections and the key, in whole pages");
        cr_assert_eq(w.bytes_overwritten, w.bytes_held);
        cr_assert_eq(w.bytes_verified, w.bytes_held);
        cr_assert_eq(read_as(&child, a.key, two), HANDLE_E_STALE, "the region is gone");
        cr_assert(!vault_hand_over(a.v, child.v, key), "so is its key");
        cr_assert_eq(region_keys_count(), 1);
        vault_free(a.v);
        cr_assert_eq(read_as(&child, a.key, one), HANDLE_E_STALE);
        cr_assert_null(vault_above(child.v));
        vault_free(child.v);
}

// I-26, I-27: who may use whose key, for every pair of a tree in which one region in between kept its key for itself.
Test(vault, key_scope) {
        Instance top = instance(KEY_SCOPE_TREE, NULL), left = instance(KEY_SCOPE_INVOCATION, &top), right = instance(KEY_SCOPE_TREE, &top),
                 below_left = instance(KEY_SCOPE_TREE, &left), below_right = instance(KEY_SCOPE_INVOCATION, &right),
                 stranger = instance(KEY_SCOPE_TREE, NULL);
        const struct {
                const char *name;
                const Instance *by, *owner;
        } may[] = {
                {"a sub-skill, its parent's", &left, &top},           {"another, its parent's", &right, &top},
                {"below one that has the scope", &below_right, &top}, {"its parent's", &below_right, &right},
        };
        const Instance *all[] = {&top, &left, &right, &below_left, &below_right, &stranger};

        for (size_t i = 0; i < ARRAY_SIZE(all); i++)
                for (size_t k = 0; k < ARRAY_SIZE(all); k++) {
                        char handle[HANDLE_TEXT_MAX], text[33];
                        bool expected = i == k;

                        for (size_t m = 0; m < ARRAY_SIZE(may); m++)
                                expected |= may[m].by == all[i] && may[m].owner == all[k];
                        cr_assert_eq(vault_hand_over(all[k]->v, all[i]->v, text), expected, "%zu is handed the key of %zu", i, k);
                        cr_assert_eq(open_as(all[i], all[k]->key, all[k]->region, "plan", handle), expected ? 0 : HANDLE_E_SCOPE, "%zu in %zu", i, k);
                        if (!expected)
                                continue;
                        cr_assert_eq(write_as(all[i], all[k]->key, handle, "{\"by\":1}"), 0);
                        cr_assert_eq(write_as(all[i], all[i]->key, handle, "{}"), i == k ? 0 : HANDLE_E_KEY, "with one's own key");
                }
        for (size_t i = 0; i < ARRAY_SIZE(all); i++)
                vault_free(all[i]->v);
}

// I-11, I-26: a sub-skill may write into its parent's section, and still not its own key: the parent would have it.
Test(vault, keys_do_not_climb) {
        Instance top = instance(KEY_SCOPE_TREE, NULL), child = instance(KEY_SCOPE_INVOCATION, &top);
        char handle[HANDLE_TEXT_MAX], own[HANDLE_TEXT_MAX], value[100];

        cr_assert_eq(open_as(&child, top.key, top.region, "plan", handle), 0);
        cr_assert_eq(open_as(&child, child.key, child.region, "plan", own), 0);
        snprintf(value, sizeof(value), "{\"k\":\"%s\"}", child.key);
        cr_assert_eq(write_as(&child, top.key, handle, value), HANDLE_E_ESCAPE);
        cr_assert_eq(read_as(&child, top.key, handle), HANDLE_E_NO_VALUE, "refused whole");
        cr_assert_eq(write_as(&child, child.key, own, value), 0, "in a section of its own it stays where it is");
        snprintf(value, sizeof(value), "{\"k\":\"%s\"}", top.key);
        cr_assert_eq(write_as(&child, top.key, handle, value), 0, "the parent's key is at home there");
        vault_free(child.v);
        vault_free(top.v);
}

// I-50, I-51: the evidence of a gate can be read by its region, and written and read by nobody else.
Test(vault, evidence) {
        Instance a = instance(KEY_SCOPE_INVOCATION, NULL), b = instance(KEY_SCOPE_INVOCATION, NULL);
        _cleanup_json_ json_t *value = json_pack("{s:i}", "score", 9);
        char handle[HANDLE_TEXT_MAX], ignored[HANDLE_TEXT_MAX];
        Diag d = {};

        cr_assert_eq(vault_add_evidence(a.v, "review/approved", value, EVIDENCE_LASTS, &d), 0, "%s", d.text);
        cr_assert_eq(open_as(&a, a.key, a.region, "gate.review/approved", handle), 0);
        cr_assert_eq(read_as(&a, a.key, handle), 0);
        cr_assert_eq(write_as(&a, a.key, handle, "{\"score\":10}"), HANDLE_E_READ_ONLY);
        cr_assert_eq(open_as(&b, b.key, b.region, "gate.review/approved", ignored), HANDLE_E_UNDECLARED);
        cr_assert_eq(open_as(&b, b.key, a.region, "gate.review/approved", ignored), HANDLE_E_KEY);
        cr_assert_eq(read_as(&b, a.key, handle), HANDLE_E_SCOPE);
        vault_free(a.v);
        vault_free(b.v);
}

// I-76: evidence that has become too old is refused to its own region as well, and with it no other section.
Test(vault, evidence_becomes_too_old) {
        Instance a = instance(KEY_SCOPE_INVOCATION, NULL);
        _cleanup_json_ json_t *value = json_pack("{s:i}", "score", 9);
        char old[HANDLE_TEXT_MAX], new[HANDLE_TEXT_MAX];
        Diag d = {};

        cr_assert_eq(vault_add_evidence(a.v, "old", value, 0, &d), 0, "%s", d.text);
        cr_assert_eq(vault_add_evidence(a.v, "new", value, clock_mono_usec() + UINT64_C(3600000000), &d), 0, "%s", d.text);
        cr_assert_eq(open_as(&a, a.key, a.region, "gate.old", old), 0);
        cr_assert_eq(open_as(&a, a.key, a.region, "gate.new", new), 0);
        cr_assert_eq(read_as(&a, a.key, old), HANDLE_E_OLD);
        cr_assert_eq(read_as(&a, a.key, new), 0);
        vault_free(a.v);
}

// I-76, I-51: a key that is lent reaches the sections of the region above, and not its evidence: neither by name nor by its handle.
Test(vault, evidence_is_not_lent) {
        Instance top = instance(KEY_SCOPE_TREE, NULL), child = instance(KEY_SCOPE_INVOCATION, &top);
        _cleanup_json_ json_t *value = json_pack("{s:i}", "score", 9), *own = NULL, *lent = NULL;
        char handle[HANDLE_TEXT_MAX], ignored[HANDLE_TEXT_MAX];
        Presented p = with(&child, top.key);
        Diag d = {};

        cr_assert_eq(vault_add_evidence(top.v, "review", value, EVIDENCE_LASTS, &d), 0, "%s", d.text);
        cr_assert_eq(open_as(&top, top.key, top.region, "gate.review", handle), 0);
        cr_assert_eq(open_as(&child, top.key, top.region, "plan", ignored), 0);
        cr_assert_eq(open_as(&child, top.key, top.region, "gate.review", ignored), HANDLE_E_SCOPE);
        cr_assert_eq(read_as(&child, top.key, handle), HANDLE_E_SCOPE);
        cr_assert_eq(write_as(&child, top.key, handle, "{}"), HANDLE_E_SCOPE);
        cr_assert_eq(handle_close(&p, handle, &d), HANDLE_E_SCOPE);
        cr_assert_eq(read_as(&top, top.key, handle), 0);
        own = vault_declared(top.v, top.v);
        lent = vault_declared(top.v, child.v);
        cr_assert_eq(json_array_size(own), 3);
        cr_assert_eq(json_array_size(lent), 2, "nor is it told of");
        vault_free(child.v);
        vault_free(top.v);
}

/* The words that a vault's record would get. */
typedef struct Told {
        char text[2000];
} Told;

static void tell(void *userdata, const HandleTrace *t) {
        Told *told = userdata;
        size_t n = strlen(told->text);

        snprintf(told->text + n, sizeof(told->text) - n, "%s%s%s%s%s%s%s%s.%llu%s ", t->what, t->code ? "/" : "", t->code ? handle_code_name(t->code) : "", t->section ? ":" : "",
                 t->section ? t->section : "", t->by ? "<" : "", t->of ? ">" : "", t->write ? "w" : "", (unsigned long long)t->version, t->more ? "+" : "");
}

// I-75: what a child does with its parent's section is in the record of both, with the region that did it; what it may not do, too.
Test(vault, both_sides_are_told) {
        Instance top = instance(KEY_SCOPE_TREE, NULL), child = instance(KEY_SCOPE_INVOCATION, &top), stranger = instance(KEY_SCOPE_INVOCATION, NULL);
        Told of_top = {""}, of_child = {""}, of_stranger = {""};
        char handle[HANDLE_TEXT_MAX], ignored[HANDLE_TEXT_MAX];
        Presented p = with(&child, top.key);
        Diag d = {};

        vault_trace_to(top.v, tell, &of_top);
        vault_trace_to(child.v, tell, &of_child);
        vault_trace_to(stranger.v, tell, &of_stranger);
        cr_assert_eq(open_as(&child, top.key, top.region, "plan", handle), 0);
        cr_assert_eq(read_as(&child, top.key, handle), HANDLE_E_NO_VALUE);
        cr_assert_eq(write_as(&child, top.key, handle, "{}"), 0);
        cr_assert_eq(read_as(&top, top.key, handle), 0);
        cr_assert_eq(write_as(&child, top.key, handle, "1"), HANDLE_E_TYPE);
        cr_assert_eq(handle_close(&p, handle, &d), 0);
        cr_assert_eq(read_as(&child, top.key, handle), HANDLE_E_STALE);
        cr_assert_eq(open_as(&child, top.key, top.region, "none such", ignored), HANDLE_E_UNDECLARED);
        cr_assert_eq(read_as(&stranger, stranger.key, handle), HANDLE_E_KEY);
        cr_assert_eq(open_as(&stranger, top.key, top.region, "plan", ignored), HANDLE_E_SCOPE);
        cr_expect_str_eq(of_child.text,
                         "issued:plan>.0 dereferenced:plan>.0 dereferenced:plan>w.1 refused/schema:plan>.0 closed:plan>.0 refused/stale>.0 refused/undeclared_section>.0 ");
        cr_expect_str_eq(of_top.text, "issued:plan<.0 dereferenced:plan<.0 dereferenced:plan<w.1 dereferenced:plan.1 refused/schema:plan<.0 closed:plan<.0 refused/stale<.0 "
                                      "refused/undeclared_section<.0 refused/bad_key<.0 refused/key_scope<.0 ");
        cr_expect_str_eq(of_stranger.text, "refused/bad_key>.0 refused/key_scope>.0 ");
        vault_unbind(top.v);
        *of_top.text = 0;
        cr_assert_eq(read_as(&child, top.key, handle), HANDLE_E_STALE);
        cr_expect_str_eq(of_top.text, "", "its record was made when its handles were unbound");
        vault_free(child.v);
        vault_free(stranger.v);
        vault_free(top.v);
}

typedef struct Elsewhere {
        const Instance *of;
        const char *handle;
        int codes[4];
        Told told;
} Elsewhere;

static void *elsewhere(void *userdata) {
        Elsewhere *e = userdata;
        Instance mine = instance(KEY_SCOPE_INVOCATION, NULL);
        char ignored[HANDLE_TEXT_MAX];

        vault_trace_to(mine.v, tell, &e->told);
        e->codes[0] = read_as(&mine, mine.key, e->handle);
        e->codes[1] = read_as(&mine, e->of->key, e->handle);
        e->codes[2] = open_as(&mine, NULL, e->of->region, "plan", ignored);
        for (int i = 0; i < 100; i++)
                e->codes[3] |= write_as(&mine, mine.key, e->handle, "{}");
        vault_free(mine.v);
        return NULL;
}

// I-75, I-8: a handle of a region that another thread of the same process has is another region's, and not one that is stale; both records say who tried.
Test(vault, a_region_of_another_thread) {
        Instance a = instance(KEY_SCOPE_TREE, NULL), gone = instance(KEY_SCOPE_INVOCATION, NULL);
        char handle[HANDLE_TEXT_MAX];
        Elsewhere e = {.of = &a, .handle = handle};
        Told told = {""};
        pthread_t thread;

        vault_trace_to(a.v, tell, &told);
        cr_assert_eq(open_as(&a, a.key, a.region, "plan", handle), 0);
        cr_assert_eq(pthread_create(&thread, NULL, elsewhere, &e), 0);
        cr_assert_eq(pthread_join(thread, NULL), 0);
        cr_expect_eq(e.codes[0], HANDLE_E_KEY);
        cr_expect_eq(e.codes[1], HANDLE_E_SCOPE, "the right key serves nobody there");
        cr_expect_eq(e.codes[2], HANDLE_E_KEY);
        cr_expect_eq(e.codes[3], HANDLE_E_KEY);
        cr_expect(strncmp(e.told.text, "refused/bad_key>.0 refused/key_scope>.0 refused/bad_key>.0 ", 58) == 0, "%s", e.told.text);
        vault_unbind(a.v);
        cr_expect(strncmp(told.text, "issued:plan.0 unbound:plan.0 refused/bad_key<.0 refused/key_scope<.0 refused/bad_key<.0 ", 86) == 0, "%s", told.text);
        cr_expect(strstr(told.text, "refused/bad_key<.0+ "), "what had no room is counted: %s", told.text);
        vault_free(a.v);
        vault_free(gone.v);
}

Test(vault, refused_declarations) {
        static const char *const rows[] = {
                "{\"\":{\"schema\":{},\"bytes\":1}}", "{\"gate.x\":{\"schema\":{},\"bytes\":1}}", "{\"a/b\":{\"schema\":{},\"bytes\":1}}",
                "{\"a\":{\"schema\":{},\"bytes\":0}}", "{\"a\":{\"schema\":{},\"bytes\":-1}}", "{\"a\":{\"schema\":{},\"bytes\":524289}}",
                "{\"a\":{\"schema\":{},\"bytes\":\"1\"}}", "{\"a\":{\"schema\":{\"typ\":1},\"bytes\":1}}", "{\"a\":1}",
        };
        char region[REGION_ID_MAX];
        Vault *v = NULL;

        region_id_new(clock_real_usec(), region);
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                _cleanup_json_ json_t *sections = json_loads(rows[i], 0, NULL);
                Diag d = {};

                cr_assert(sections);
                cr_assert_eq(vault_new(region, KEY_SCOPE_INVOCATION, NULL, sections, &v, &d), SECTION_E_BAD, "%s", rows[i]);
                cr_assert_gt(strlen(d.text), 10, "%s", rows[i]);
        }
        cr_assert_eq(region_keys_count(), 0, "what was refused lives nowhere");
}

/* "VmFlags" of the mapping that begins at p. */
static const char *flags_of(const void *p, char line[static 512]) {
        FILE *f = fopen("/proc/self/smaps", "re");
        unsigned long from, to;
        bool here = false;

        while (fgets(line, 512, f)) {
                if (sscanf(line, "%lx-%lx ", &from, &to) == 2)
                        here = from == (uintptr_t)p;
                if (here && strncmp(line, "VmFlags:", 8) == 0)
                        break;
        }
        fclose(f);
        return line;
}

/* The memory: outside of swap, core dumps and forked children, and overwritten as often as was asked. */
Test(locked, wipe) {
        Locked l = {0};
        char line[512];

        cr_assert_eq(locked_new(5000, &l), 0);
        cr_assert_eq(l.n, 8192);
        cr_assert(l.resident);
        flags_of(l.p, line);
#ifndef __SANITIZE_ADDRESS__ /* which makes mlock() do nothing */
        cr_assert(strstr(line, " lo"), "locked: %s", line);
#endif
        cr_assert(strstr(line, " dd") && strstr(line, " dc"), "not dumped, not forked: %s", line);
        for (unsigned passes = 0; passes < 7; passes++) {
                memset(l.p, 'S', l.n);
                cr_assert_eq(locked_wipe(&l, passes), l.n);
                for (size_t i = 0; i + 8 <= l.n; i++)
                        cr_assert(memcmp(l.p + i, "SSSSSSSS", 8) != 0, "%u passes: left at %zu", passes, i);
        }
        locked_free(&l);
        cr_assert_null(l.p);
}
