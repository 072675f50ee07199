#include "random-object.h"
#include "base/hash.h"
#include "base/io.h"
#include "object/select.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>

#define LINES_MAX 64

/* The lines of a file, with their newlines; lent. */
typedef struct Lines {
        const char *at[LINES_MAX];
        size_t len[LINES_MAX], n;
} Lines;

enum { HEAD, INTENT, CONTEXT, KEYS, SCHEMAS, EMPTY, FIRST }; /* numbers of lines */

static void lines_of(const Buf *file, Lines *ret) {
        *ret = (Lines){0};
        for (const char *p = file->data, *end = p + file->n; p < end; ret->n++) {
                const char *nl = memchr(p, '\n', (size_t)(end - p));

                cr_assert(nl && ret->n < LINES_MAX);
                ret->at[ret->n] = p;
                ret->len[ret->n] = (size_t)(nl + 1 - p);
                p = nl + 1;
        }
}

static void add_line(Buf *to, const Lines *l, size_t i) {
        cr_assert_eq(buf_add(to, l->at[i], l->len[i]), 0);
}

static int parse(const char *text, size_t n, ObjectBundle *ret, Diag *d) {
        *d = (Diag){0};
        *ret = OBJECT_BUNDLE_NULL;
        int r = object_bundle_parse(text, n, ret, d);

        cr_assert_geq(r, 0, "%d", r);
        cr_assert((r == 0) == !*d->text, "%d: %s", r, d->text);
        return r;
}

/* A refusal leaves nothing behind. */
static int refusal(const Buf *file, Diag *d) {
        _cleanup_object_bundle_ ObjectBundle b;
        int r = parse(file->data ?: "", file->n, &b, d);

        cr_assert(r == 0 || (!b.entries && !b.keys && !b.memory.fold));
        return r;
}

static void same_memory(const ObjectMemory *a, const ObjectMemory *b, uint64_t seed) {
        _cleanup_json_ json_t *x = NULL, *y = NULL;

        cr_assert_eq(memory_to_json(a, &x), 0);
        cr_assert_eq(memory_to_json(b, &y), 0);
        cr_assert(json_equal(x, y), "object %d", (int)seed);
        cr_assert(strcmp(a->object, b->object) == 0 && a->n == b->n && a->state == b->state && memcmp(a->head, b->head, sizeof(a->head)) == 0);
}

static json_t *selected(const ObjectMemory *m, const json_t *local) {
        _cleanup_selected_ Selected s = {0};
        Diag d;
        int r = select_action(m, local, &s, &d);

        return json_pack("{s:i, s:s, s:s*, s:O*, s:O*}", "r", r, "action", object_action_name(s.action), "reason", s.reason, "data", s.data, "unmet", s.unmet);
}

/* O-11, O-39: for now, later, and under another policy. */
static void same_action(const ObjectMemory *a, const ObjectMemory *b, uint64_t now, uint64_t seed) {
        for (unsigned i = 0; i < 6; i++) {
                _cleanup_json_ json_t *local = json_pack(
                        "{s:I, s:s, s:{s:s, s:s, s:s, s:i, s:i, s:{s:b, s:b, s:b}}, s:{s:{}, s:{}, s:[]}}", "now", (json_int_t)(now + i % 3 * 7200000000), "node",
                        "lethe/0000000000000001", "policy", "ref", "sha256:00", "verdict", i < 3 ? "allowed" : "denied", "on_denied", "dormant", "depth", 8, "fanout", 64,
                        "allows", "execution", 1, "delegation", 1, "mutation", 1, "facts", "slots", "objects", "events");
                _cleanup_json_ json_t *x = selected(a, local), *y = selected(b, local);

                cr_assert(local && x && json_equal(x, y), "object %d", (int)seed);
        }
}

// O-1, O-4, O-6, O-17, O-39, O-40: round trip to the byte over random objects and histories: file, entries, fold, next action
Test(bundle, round_trip) {
        size_t seen[ENTRY_KIND_COUNT_] = {0}, states[OBJECT_STATE_COUNT_] = {0};

        for (uint64_t seed = 0; seed < 300; seed++) {
                _cleanup_random_object_ RandomObject o;
                _cleanup_object_bundle_ ObjectBundle back;
                _cleanup_buf_ Buf file = {0}, again = {0};
                Diag d;

                random_object(&o, seed, 1 + (unsigned)seed % 40);
                random_print(&o, &file);
                cr_assert_eq(parse(file.data, file.n, &back, &d), 0, "object %d: %s\n%s", (int)seed, d.text, file.data);
                cr_assert_eq(object_bundle_print(&back, &again), 0);
                cr_assert(again.n == file.n && memcmp(again.data, file.data, file.n) == 0, "object %d", (int)seed);
                cr_assert_eq(back.n, o.b.n);
                cr_assert(json_equal(back.keys, o.b.keys) && json_equal(back.schemas, o.b.schemas));
                same_memory(&back.memory, &o.b.memory, seed);
                same_action(&back.memory, &o.b.memory, o.time_usec, seed);
                for (size_t i = 0; i < back.n; i++)
                        seen[back.entries[i].kind]++;
                states[back.memory.state]++;
        }
        for (EntryKind k = 0; k < ENTRY_KIND_COUNT_; k++)
                cr_expect(seen[k] > 0 || k == ENTRY_ADOPTED, "no entry \"%s\"", entry_kind_name(k));
        for (ObjectState s = OBJECT_INSTANTIATED; s < OBJECT_STATE_COUNT_; s++)
                cr_expect(states[s] > 0, "no object in state \"%s\"", object_state_name(s));
}

// O-7, O-40: a file that ends early is refused, wherever it ends
Test(bundle, each_cut) {
        _cleanup_random_object_ RandomObject o;
        _cleanup_buf_ Buf file = {0};
        Lines l;
        Diag d;

        random_object(&o, 3, 6);
        random_print(&o, &file);
        lines_of(&file, &l);
        for (size_t n = 0; n < file.n; n++) {
                const Buf part = {.data = file.data, .n = n};

                cr_expect_neq(refusal(&part, &d), 0, "%zu of %zu bytes", n, file.n);
        }
        for (size_t i = 0; i < l.n; i++) { /* between two lines */
                const Buf part = {.data = file.data, .n = (size_t)(l.at[i] - file.data)};
                int r = refusal(&part, &d);

                cr_expect_eq(r, i == 0 ? OBJECT_E_SYNTAX : OBJECT_E_CHAIN, "before line %zu: %d: %s", i + 1, r, d.text);
        }
}

// O-7, O-40: no bit of a file can be changed
Test(bundle, each_bit) {
        _cleanup_random_object_ RandomObject o;
        _cleanup_buf_ Buf file = {0};
        Diag d;

        random_object(&o, 3, 2);
        random_print(&o, &file);
        cr_assert_eq(refusal(&file, &d), 0);
        for (size_t i = 0; i < file.n; i++)
                for (unsigned bit = 0; bit < 8; bit++) {
                        file.data[i] = (char)(file.data[i] ^ 1 << bit);
                        cr_expect_neq(refusal(&file, &d), 0, "byte %zu, bit %u", i, bit);
                        file.data[i] = (char)(file.data[i] ^ 1 << bit);
                }
}

// O-7: bytes changed, left out and put in at random; line 5 alone is signed by nobody, and changes no entry
Test(bundle, random_damage) {
        uint64_t dice = 41;

        for (uint64_t seed = 0; seed < 400; seed++) {
                _cleanup_random_object_ RandomObject o;
                _cleanup_object_bundle_ ObjectBundle back;
                _cleanup_buf_ Buf file = {0}, damaged = {0};
                size_t at, left_out;
                Lines l;
                Diag d;
                int r;

                random_object(&o, seed % 8, 1 + (unsigned)seed % 20);
                random_print(&o, &file);
                lines_of(&file, &l);
                at = random_below(&dice, (unsigned)file.n);
                left_out = MIN((size_t)random_below(&dice, 4), file.n - at);
                cr_assert_eq(buf_add(&damaged, file.data, at), 0);
                for (unsigned i = random_below(&dice, 4); i > 0; i--)
                        cr_assert_eq(buf_add(&damaged, (char[]){(char)random_below(&dice, 256)}, 1), 0);
                cr_assert_eq(buf_add(&damaged, file.data + at + left_out, file.n - at - left_out), 0);
                if (damaged.n == file.n && memcmp(damaged.data, file.data, file.n) == 0)
                        continue;
                r = parse(damaged.data, damaged.n, &back, &d);
                if (r != 0)
                        continue;
                cr_expect(file.data + at >= l.at[SCHEMAS] && file.data + at < l.at[EMPTY], "object %d, byte %zu", (int)seed, at);
                same_memory(&back.memory, &o.b.memory, seed);
        }
}

/* An object without notes: any order of its entries but one breaks a move, a number or a hash. */
static void small_object(RandomObject *ret, Buf *file, Lines *l) {
        random_object(ret, 5, 9);
        random_print(ret, file);
        lines_of(file, l);
        cr_assert_geq(ret->b.n, 5);
}

// O-7: two lines in each other's place
Test(bundle, swapped_lines) {
        _cleanup_random_object_ RandomObject o;
        _cleanup_buf_ Buf file = {0};
        Lines l;
        Diag d;

        small_object(&o, &file, &l);
        for (size_t a = 0; a < l.n; a++)
                for (size_t b = a + 1; b < l.n; b++) {
                        _cleanup_buf_ Buf swapped = {0};
                        int r;

                        for (size_t i = 0; i < l.n; i++)
                                add_line(&swapped, &l, i == a ? b : i == b ? a : i);
                        r = refusal(&swapped, &d);
                        cr_expect_neq(r, 0, "lines %zu and %zu", a + 1, b + 1);
                        if (a >= FIRST && b < l.n - 1)
                                cr_expect_eq(r, OBJECT_E_CHAIN, "lines %zu and %zu: %d: %s", a + 1, b + 1, r, d.text);
                }
}

// O-7: a line left out, also with the last line put right
Test(bundle, removed_lines) {
        _cleanup_random_object_ RandomObject o;
        _cleanup_buf_ Buf file = {0};
        Lines l;
        Diag d;

        small_object(&o, &file, &l);
        for (size_t out = 0; out < l.n; out++) {
                _cleanup_buf_ Buf less = {0};
                int r;

                for (size_t i = 0; i < l.n - 1; i++)
                        if (i != out)
                                add_line(&less, &l, i);
                if (out >= FIRST && out < l.n - 2) { /* of the entries, not the last */
                        char hash[65];

                        cr_assert_eq(buf_printf(&less, "end %zu %s\n", o.b.n - 1, hex_encode(o.b.memory.head, 32, hash)), 0);
                } else if (out < l.n - 1)
                        add_line(&less, &l, l.n - 1);
                r = refusal(&less, &d);
                cr_expect_neq(r, 0, "line %zu", out + 1);
                if (out >= FIRST)
                        cr_expect_eq(r, OBJECT_E_CHAIN, "line %zu: %d: %s", out + 1, r, d.text);
        }
}

// O-7: a line put in at each place: one of the file again, an empty one, an entry of another object by the same nodes
Test(bundle, inserted_lines) {
        _cleanup_random_object_ RandomObject o, other;
        _cleanup_buf_ Buf file = {0}, others = {0};
        Lines l, m;
        Diag d;

        small_object(&o, &file, &l);
        random_object(&other, 6, 9);
        random_print(&other, &others);
        lines_of(&others, &m);
        for (size_t at = 0; at <= l.n; at++)
                for (size_t what = 0; what < l.n + 1 + m.n - FIRST; what++) {
                        _cleanup_buf_ Buf more = {0};

                        for (size_t i = 0; i <= l.n; i++) {
                                if (i == at && what < l.n)
                                        add_line(&more, &l, what);
                                else if (i == at && what == l.n)
                                        cr_assert_eq(buf_add(&more, "\n", 1), 0);
                                else if (i == at)
                                        add_line(&more, &m, FIRST + what - l.n - 1);
                                if (i < l.n)
                                        add_line(&more, &l, i);
                        }
                        cr_expect_neq(refusal(&more, &d), 0, "line %zu as line %zu", what, at + 1);
                }
}

/* An object that takes notes, after so many steps. */
static void random_alive(RandomObject *ret, unsigned steps) {
        uint64_t seed = 5;

        for (random_object(ret, seed, steps); ret->b.memory.state == OBJECT_TERMINATED || ret->b.n < 3; random_object(ret, ++seed, steps))
                random_object_deinit(ret);
}

/* The file with another entry as its last, by this signer; number, hash and object as given. */
static int forged(const RandomObject *o, Signer *s, uint64_t n, const uint8_t *prev, const char *id, const char *node, ObjectState state, json_t *keys,
                  Diag *d) {
        ObjectBundle b = o->b;
        _cleanup_json_ json_t *data = json_pack("{s:s, s:s}", "from", "uid:0", "input", "x");
        _cleanup_entry_ Entry e = ENTRY_NULL;
        _cleanup_free_ Entry *entries = calloc(b.n + 1, sizeof(Entry));
        _cleanup_buf_ Buf file = {0};
        const EntryNew given = {.object = id, .n = n, .time_usec = 1, .prev = prev, .node = node, .trace = o->id, .kind = ENTRY_INPUT, .state = state,
                                .data = data};

        cr_assert_eq(entry_make(&given, s->keyid, signer_sign, s, &e, d), 0, "%s", d->text);
        memcpy(entries, b.entries, b.n * sizeof(Entry));
        entries[b.n] = e;
        b.entries = entries;
        b.n++;
        b.keys = keys;
        cr_assert_eq(object_bundle_print(&b, &file), 0);
        return refusal(&file, d);
}

// O-7, O-9: an entry that is right but for one thing, under a right signature: number, hash, object, state, key, node
Test(bundle, forged_entries) {
        _cleanup_random_object_ RandomObject o, other;
        const uint8_t *prev, *before;
        _cleanup_json_ json_t *more = NULL;
        ObjectState now, wrong;
        Signer stranger, *s;
        Diag d;

        random_alive(&o, 9);
        random_object(&other, 6, 2);
        signer_init(&stranger, 77);
        s = &o.signers[0];
        json_object_set_new(o.b.keys, s->keyid, json_string(s->vkey));
        prev = o.b.entries[o.b.n - 1].hash;
        before = o.b.entries[o.b.n - 2].hash;
        now = o.b.memory.state;
        wrong = now == OBJECT_DORMANT ? OBJECT_EVALUATION : OBJECT_DORMANT;
        more = json_copy(o.b.keys);
        json_object_set_new(more, stranger.keyid, json_string(stranger.vkey));

        const struct {
                const char *name;
                Signer *s;
                uint64_t n;
                const uint8_t *prev;
                const char *id, *node;
                ObjectState state;
                json_t *keys;
                int code;
        } rows[] = {
                {"right", s, o.b.n, prev, o.id, s->node, now, o.b.keys, 0},
                {"right, by one who is new", &stranger, o.b.n, prev, o.id, stranger.node, now, more, 0},
                {"the number of the entry before", s, o.b.n - 1, prev, o.id, s->node, now, o.b.keys, OBJECT_E_CHAIN},
                {"a number too many", s, o.b.n + 1, prev, o.id, s->node, now, o.b.keys, OBJECT_E_CHAIN},
                {"the hash of the entry before the last", s, o.b.n, before, o.id, s->node, now, o.b.keys, OBJECT_E_CHAIN},
                {"no hash", s, o.b.n, NULL, o.id, s->node, now, o.b.keys, OBJECT_E_CHAIN},
                {"another object", s, o.b.n, prev, other.id, s->node, now, o.b.keys, OBJECT_E_CHAIN},
                {"another state", s, o.b.n, prev, o.id, s->node, wrong, o.b.keys, OBJECT_E_MOVE},
                {"a key that the file has not", &stranger, o.b.n, prev, o.id, stranger.node, now, o.b.keys, OBJECT_E_SIGNER},
                {"the name of another node", &stranger, o.b.n, prev, o.id, s->node, now, more, OBJECT_E_SIGNER},
                {"a key that signs nothing", s, o.b.n, prev, o.id, s->node, now, more, OBJECT_E_SIGNER},
        };

        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                int r = forged(&o, rows[i].s, rows[i].n, rows[i].prev, rows[i].id, rows[i].node, rows[i].state, rows[i].keys, &d);

                cr_expect_eq(r, rows[i].code, "%s: %d: %s", rows[i].name, r, d.text);
        }
        stranger = *s; /* the id of a node's key, and another key */
        stranger.sk[0] ^= 1;
        cr_expect_eq(forged(&o, &stranger, o.b.n, prev, o.id, s->node, now, o.b.keys, &d), OBJECT_E_SIGNATURE, "a wrong key: %s", d.text);
}

static const struct {
        const char *name;
        size_t line;
        const char *text; /* instead of the line; with $: the line without its newline */
        int code;
} line_rows[] = {
        {"as it is", HEAD, "lethe-object/1\n", 0},
        {"a newer version", HEAD, "lethe-object/2\n", OBJECT_E_VERSION},
        {"a version far ahead", HEAD, "lethe-object/18446744073709551615\n", OBJECT_E_VERSION},
        {"version 0", HEAD, "lethe-object/0\n", OBJECT_E_SYNTAX},
        {"no version", HEAD, "lethe-object/\n", OBJECT_E_SYNTAX},
        {"a version with a zero before", HEAD, "lethe-object/01\n", OBJECT_E_SYNTAX},
        {"another file", HEAD, "lethe-ccs/1\n", OBJECT_E_SYNTAX},
        {"a blank behind the version", HEAD, "lethe-object/1 \n", OBJECT_E_SYNTAX},
        {"carriage returns", HEAD, "lethe-object/1\r\n", OBJECT_E_SYNTAX},
        {"another intent", INTENT, "intent {\"do\":{\"skill\":\"steal\"}}\n", OBJECT_E_CHAIN},
        {"an intent that is none", INTENT, "intent x\n", OBJECT_E_CHAIN},
        {"an intent without JSON", INTENT, "intent \n", OBJECT_E_SYNTAX},
        {"an intent with another name", INTENT, "Intent {}\n", OBJECT_E_SYNTAX},
        {"an intent and a blank", INTENT, "$ \n", OBJECT_E_CHAIN},
        {"another context", CONTEXT, "context {\"scope\":\"*\"}\n", OBJECT_E_CHAIN},
        {"a context and a blank", CONTEXT, "$ \n", OBJECT_E_CHAIN},
        {"no keys", KEYS, "keys {}\n", OBJECT_E_SIGNER},
        {"keys that are no object", KEYS, "keys []\n", OBJECT_E_SYNTAX},
        {"keys that are not JSON", KEYS, "keys {\n", OBJECT_E_SYNTAX},
        {"keys and a blank", KEYS, "$ \n", OBJECT_E_SYNTAX},
        {"a key twice", KEYS, "keys {\"00000000\":\"a\",\"00000000\":\"a\"}\n", OBJECT_E_SYNTAX},
        {"a key that is no text", KEYS, "keys {\"00000000\":1}\n", OBJECT_E_SYNTAX},
        {"a key that is none", KEYS, "keys {\"00000000\":\"a\"}\n", OBJECT_E_SYNTAX},
        {"a key with U+0000", KEYS, "keys {\"00000000\":\"a\\u0000\"}\n", OBJECT_E_SYNTAX},
        {"an id with U+0000", KEYS, "keys {\"00000000\\u0000\":\"a\"}\n", OBJECT_E_SYNTAX},
        {"keys that nest", KEYS, "keys {\"00000000\":{\"a\":{}}}\n", OBJECT_E_SYNTAX},
        {"a key under another id", KEYS, "keys {\"00000000\":\"@VKEY@\"}\n", OBJECT_E_SYNTAX},
        {"other schemas, which prove nothing", SCHEMAS, "schemas {\"work/x\":\"sha256:0000000000000000000000000000000000000000000000000000000000000000\"}\n", 0},
        {"a schema of no slot", SCHEMAS, "schemas {\"Work\":\"sha256:0000000000000000000000000000000000000000000000000000000000000000\"}\n", OBJECT_E_SYNTAX},
        {"a schema with another hash", SCHEMAS, "schemas {\"work/x\":\"md5:0000000000000000000000000000000000000000000000000000000000000000\"}\n", OBJECT_E_SYNTAX},
        {"a schema that is cut", SCHEMAS, "schemas {\"work/x\":\"sha256:00\"}\n", OBJECT_E_SYNTAX},
        {"a schema with upper-case digits", SCHEMAS, "schemas {\"work/x\":\"sha256:A000000000000000000000000000000000000000000000000000000000000000\"}\n", OBJECT_E_SYNTAX},
        {"a schema that is no text", SCHEMAS, "schemas {\"work/x\":null}\n", OBJECT_E_SYNTAX},
        {"schemas with a blank", SCHEMAS, "schemas { }\n", OBJECT_E_SYNTAX},
        {"no empty line", EMPTY, "", OBJECT_E_SYNTAX},
        {"a line that is not empty", EMPTY, " \n", OBJECT_E_SYNTAX},
        {"an empty line for an entry", FIRST, "\n", OBJECT_E_SYNTAX},
        {"a line that is no entry", FIRST, "x\n", OBJECT_E_SYNTAX},
        {"an entry and a blank", FIRST, "$ \n", OBJECT_E_SYNTAX},
};

// O-40, O-41: each line has one form; a file of a newer version is refused as such
Test(bundle, lines) {
        _cleanup_random_object_ RandomObject o;
        _cleanup_buf_ Buf file = {0};
        Lines l;

        small_object(&o, &file, &l);
        for (size_t i = 0; i < ARRAY_SIZE(line_rows); i++) {
                _cleanup_buf_ Buf other = {0};
                Diag d;
                int r;

                for (size_t k = 0; k < l.n; k++) {
                        const char *text = line_rows[i].text, *vkey = strstr(text, "@VKEY@");

                        if (k != line_rows[i].line)
                                add_line(&other, &l, k);
                        else if (*text == '$')
                                cr_assert_eq(buf_add(&other, l.at[k], l.len[k] - 1) ?: buf_add_str(&other, text + 1), 0);
                        else if (vkey)
                                cr_assert_eq(buf_printf(&other, "%.*s%s%s", (int)(vkey - text), text, o.signers[0].vkey, vkey + 6), 0);
                        else
                                cr_assert_eq(buf_add_str(&other, text), 0);
                }
                r = refusal(&other, &d);
                cr_expect_eq(r, line_rows[i].code, "%s: %d: %s", line_rows[i].name, r, d.text);
                if (r == OBJECT_E_SYNTAX && line_rows[i].line > HEAD) {
                        char line[32];

                        snprintf(line, sizeof(line), "line %zu", line_rows[i].line + 1);
                        cr_expect(strstr(d.text, line), "%s: %s", line_rows[i].name, d.text);
                }
        }
}

// O-41: a newer version decides, whatever else the file has
Test(bundle, newer_version) {
        static const char newer[] = "lethe-object/2\nall else is different\n";
        Diag d;

        cr_expect_eq(refusal(&(Buf){.data = (char *)newer, .n = strlen(newer)}, &d), OBJECT_E_VERSION);
        cr_expect(strstr(d.text, "version 2"), "%s", d.text);
}

// O-40: a file of 100 MB is refused by its size alone: not a byte of it can be read here
Test(bundle, too_large) {
        const size_t n = 100 * 1000 * 1000;
        char *file = mmap(NULL, n, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        Diag d;

        cr_assert_neq(file, MAP_FAILED);
        cr_expect_eq(refusal(&(Buf){.data = file, .n = n}, &d), OBJECT_E_SIZE);
        cr_expect(strstr(d.text, "100000000"), "%s", d.text);
        munmap(file, n);
}

// O-40: what is parsed before the first signature is small
Test(bundle, large_heads) {
        static const struct {
                const char *name;
                size_t line;
        } rows[] = {{"keys", 3}, {"schemas", 4}};
        _cleanup_random_object_ RandomObject o;
        _cleanup_buf_ Buf file = {0};
        Lines l;

        small_object(&o, &file, &l);
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                _cleanup_buf_ Buf other = {0};
                Diag d;

                for (size_t k = 0; k < l.n; k++) {
                        if (k != rows[i].line) {
                                add_line(&other, &l, k);
                                continue;
                        }
                        cr_assert_eq(buf_printf(&other, "%s {", rows[i].name), 0);
                        for (unsigned n = 0; other.n < OBJECT_BUNDLE_TEXTS_MAX + 4096; n++)
                                cr_assert_eq(buf_printf(&other, "%s\"s%08u\":\"x\"", n ? "," : "", n), 0);
                        cr_assert_eq(buf_add_str(&other, "}\n"), 0);
                }
                cr_expect_eq(refusal(&other, &d), OBJECT_E_SIZE, "%s: %s", rows[i].name, d.text);
                cr_expect(strstr(d.text, rows[i].name), "%s", d.text);
        }
}

// O-40: an object that a file cannot hold is not written, and the text before stays
Test(bundle, print_has_a_bound) {
        _cleanup_random_object_ RandomObject o;
        _cleanup_buf_ Buf file = {.max = 3000};

        random_object(&o, 5, 30);
        cr_assert_eq(buf_add_str(&file, "before"), 0);
        cr_expect_eq(object_bundle_print(&o.b, &file), -EFBIG);
        cr_expect_eq(file.n, 6);
        cr_expect_str_eq(file.data, "before");
}

// O-37, O-40: a file begins with the object's first entry, not with a later one, nor with a checkpoint
Test(bundle, begins_with_the_first_entry) {
        size_t checkpoints = 0;

        for (uint64_t seed = 0; seed < 20; seed++) {
                _cleanup_random_object_ RandomObject o;
                _cleanup_buf_ Buf file = {0};
                char hash[65];
                Lines l;
                Diag d;

                random_object(&o, seed, 20);
                random_print(&o, &file);
                lines_of(&file, &l);
                for (size_t from = 1; from < o.b.n; from++) {
                        _cleanup_buf_ Buf late = {0};
                        int r;

                        checkpoints += o.b.entries[from].kind == ENTRY_CHECKPOINT;
                        for (size_t i = 0; i < l.n - 1; i++)
                                if (i < FIRST || i >= FIRST + from)
                                        add_line(&late, &l, i);
                        cr_assert_eq(buf_printf(&late, "end %zu %s\n", o.b.n - from, hex_encode(o.b.memory.head, 32, hash)), 0);
                        r = refusal(&late, &d);
                        cr_expect_eq(r, OBJECT_E_CHAIN, "object %d from entry %zu: %d: %s", (int)seed, from, r, d.text);
                }
        }
        cr_expect(checkpoints > 0);
}

// O-40: the example of schema/object.md is a file, and as it says
Test(bundle, example) {
        _cleanup_object_bundle_ ObjectBundle b;
        _cleanup_free_ char *page = NULL;
        char *text, *end;
        size_t n;
        Diag d;

        cr_assert_not_null(getenv("LETHE_OBJECT_MD"));
        cr_assert_eq(io_read_file(AT_FDCWD, getenv("LETHE_OBJECT_MD"), 1 << 20, &page, &n), 0);
        text = strstr(page, "lethe-object/1\nintent ");
        cr_assert_not_null(text);
        end = strstr(text, "```");
        cr_assert_not_null(end);
        cr_assert_eq(parse(text, (size_t)(end - text), &b, &d), 0, "%s", d.text);
        cr_expect_eq(b.memory.state, OBJECT_DORMANT);
        cr_expect_eq(b.n, 3);
}
