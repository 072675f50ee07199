#include "object/entry.h"
#include "base/hash.h"
#include "signer.h"

#include <errno.h>
#include <string.h>

#define ID "01j9zzzzzz0123456789abcdef"
#define TRACE "01ja0000000000000000000000"
#define ZEROS "0000000000000000000000000000000000000000000000000000000000000000"

/* A right entry: TEXT has each member that TEST_ENTRY_WITH() does not replace. */
#define PLAIN_TEXT                                                                                                      \
        "{\"data\":{\"from\":\"uid:1000\",\"input\":\"go\"},\"kind\":\"input\",\"n\":7,\"node\":\"lethe/0000000000000001\","  \
        "\"object\":\"" ID "\",\"outcome\":null,\"policy\":{\"ref\":\"sha256:00\",\"verdict\":\"allowed\"},\"prev\":\"" ZEROS \
        "\",\"state\":\"dormant\",\"time\":1764256000000000,\"trace\":\"" TRACE "\",\"version\":1}"

static json_t *plain(void) {
        json_t *o = json_loads(PLAIN_TEXT, 0, NULL);

        cr_assert_not_null(o);
        return o;
}

static int parse_text(const char *text, size_t n, Diag *d) {
        _cleanup_buf_ Buf line = {0};
        _cleanup_entry_ Entry e = ENTRY_NULL;
        Signer s;

        signer_init(&s, 1);
        *d = (Diag){0};
        signer_line(&s, text, n, &line);
        return entry_parse(line.data, line.n, &e, d);
}

static void print_is(const Entry *e, const char *line, size_t n, unsigned i) {
        _cleanup_buf_ Buf again = {0};

        cr_assert_eq(entry_print(e, &again), 0);
        cr_assert(again.n == n && memcmp(again.data, line, n) == 0, "entry %u: %s\n%.*s", i, again.data, (int)n, line);
}

/* Lent values of EntryNew. */
typedef struct Values {
        json_t *data, *outcome, *policy;
        char object[REGION_ID_MAX], trace[REGION_ID_MAX];
        uint8_t prev[ENTRY_HASH_BYTES];
} Values;

static EntryNew random_entry(uint64_t *seed, const Signer *s, Values *v) {
        random_id(seed, v->object);
        random_id(seed, v->trace);
        for (size_t i = 0; i < sizeof(v->prev); i++)
                v->prev[i] = (uint8_t)random_below(seed, 256);
        v->data = random_below(seed, 4) ? json_pack("{s:o}", "x", random_json(seed, 4)) : NULL;
        v->outcome = random_below(seed, 2) ? json_pack("{s:s, s:o}", "kind", "success", "value", random_json(seed, 3)) : NULL;
        v->policy = random_below(seed, 2) ? json_pack("{s:s, s:s}", "ref", "r", "verdict", "denied") : NULL;
        return (EntryNew){
                .object = v->object,
                .n = random_below(seed, 3) ? random_below(seed, 1000) : UINT64_MAX - random_below(seed, 2),
                .time_usec = random_below(seed, 3) ? 1764256000000000 : UINT64_MAX,
                .prev = random_below(seed, 4) ? v->prev : NULL,
                .node = s->node,
                .trace = v->trace,
                .kind = random_below(seed, ENTRY_KIND_COUNT_),
                .state = 1 + random_below(seed, OBJECT_STATE_COUNT_ - 1),
                .policy = v->policy,
                .outcome = v->outcome,
                .data = v->data,
        };
}

static void values_deinit(Values *v) {
        json_decref(v->data);
        json_decref(v->outcome);
        json_decref(v->policy);
}

static void same_entry(const Entry *a, const Entry *b, unsigned i) {
        cr_assert(json_equal(a->json, b->json), "entry %u", i);
        cr_assert(a->n == b->n && a->time_usec == b->time_usec && a->kind == b->kind && a->state == b->state, "entry %u", i);
        cr_assert(a->n_text == b->n_text && strcmp(a->text, b->text) == 0, "entry %u", i);
        cr_assert(memcmp(a->hash, b->hash, sizeof(a->hash)) == 0 && memcmp(a->prev, b->prev, sizeof(a->prev)) == 0, "entry %u", i);
        cr_assert(strcmp(a->keyid, b->keyid) == 0 && memcmp(a->sig, b->sig, sizeof(a->sig)) == 0, "entry %u", i);
}

// O-5, O-39: parse of print is the entry, and print of parse the line, to the byte
Test(entry, round_trip) {
        static const uint8_t none[ENTRY_HASH_BYTES];
        uint64_t seed = 16;

        for (unsigned i = 0; i < 2000; i++) {
                _cleanup_(values_deinit) Values v = {0};
                _cleanup_entry_ Entry made = ENTRY_NULL, back = ENTRY_NULL;
                _cleanup_buf_ Buf line = {0};
                uint8_t hash[HASH_BYTES];
                EntryNew given;
                Signer s;
                Diag d = {0};

                signer_init(&s, (uint8_t)random_below(&seed, 3));
                given = random_entry(&seed, &s, &v);
                cr_assert_eq(entry_make(&given, s.keyid, signer_sign, &s, &made, &d), 0, "entry %u: %s", i, d.text);
                cr_assert_eq(entry_print(&made, &line), 0);
                cr_assert_null(memchr(line.data, '\n', line.n));
                cr_assert_eq(entry_parse(line.data, line.n, &back, &d), 0, "entry %u: %s", i, d.text);
                same_entry(&made, &back, i);
                print_is(&back, line.data, line.n, i);
                cr_assert_eq(entry_verify(&back, s.pk, &d), 0, "entry %u: %s", i, d.text);
                hash_bytes(back.text, back.n_text, hash);
                cr_assert_eq(memcmp(hash, back.hash, sizeof(hash)), 0);
                cr_assert(back.n == given.n && back.time_usec == given.time_usec && back.kind == given.kind && back.state == given.state);
                cr_assert_eq(memcmp(back.prev, given.prev ?: none, sizeof(back.prev)), 0);
                cr_assert(json_equal(json_object_get(back.json, "outcome"), v.outcome ?: json_null()), "entry %u", i);
                cr_assert(json_equal(json_object_get(back.json, "policy"), v.policy ?: json_null()), "entry %u", i);
                cr_assert_str_eq(json_str(back.json, "object"), v.object);
                cr_assert_str_eq(json_str(back.json, "trace"), v.trace);
                cr_assert_str_eq(json_str(back.json, "node"), s.node);
        }
}

// O-41: an entry of version 1 that was written once, and is read and made for ever
Test(entry, written_once) {
        static const char line[] = PLAIN_TEXT " 9902a58d GLQydhe3RSQ1RMFwqMXapbGCiIaJpJ9/Enxina+oJfBvI9JkNFiyiWgeboWJNjuRU7FSoVv22ZsJBJV00ME8Cg==";
        _cleanup_json_ json_t *data = json_pack("{s:s, s:s}", "from", "uid:1000", "input", "go");
        _cleanup_json_ json_t *policy = json_pack("{s:s, s:s}", "ref", "sha256:00", "verdict", "allowed");
        _cleanup_entry_ Entry e = ENTRY_NULL, made = ENTRY_NULL;
        char hex[HASH_HEX_MAX];
        Signer s;
        Diag d = {0};

        signer_init(&s, 1);
        cr_assert_eq(entry_parse(line, strlen(line), &e, &d), 0, "%s", d.text);
        cr_assert_eq(entry_verify(&e, s.pk, &d), 0, "%s", d.text);
        cr_assert_str_eq(hex_encode(e.hash, sizeof(e.hash), hex), "9df9338d26f1d5e870d33e7ea82262245ee4fb224c6d8d5d4243e6eb38e0767b");
        cr_assert_eq(entry_make(&(EntryNew){.object = ID, .n = 7, .time_usec = 1764256000000000, .node = s.node, .trace = TRACE, .kind = ENTRY_INPUT,
                                            .state = OBJECT_DORMANT, .policy = policy, .data = data},
                                s.keyid, signer_sign, &s, &made, &d), 0, "%s", d.text);
        same_entry(&e, &made, 0);
}

static const struct {
        const char *name, *value; /* NULL: the member is away */
        int code;
} member_rows[] = {
        {"data", NULL, OBJECT_E_SYNTAX},
        {"data", "null", OBJECT_E_SYNTAX},
        {"data", "[]", OBJECT_E_SYNTAX},
        {"data", "{}", 0},
        {"data", "{\"x\":\"a\\u0000b\"}", 0},
        {"kind", NULL, OBJECT_E_SYNTAX},
        {"kind", "\"execution\"", OBJECT_E_SYNTAX}, /* a state */
        {"kind", "\"Input\"", OBJECT_E_SYNTAX},
        {"kind", "\"input\\u0000\"", OBJECT_E_SYNTAX},
        {"kind", "3", OBJECT_E_SYNTAX},
        {"n", NULL, OBJECT_E_SYNTAX},
        {"n", "-1", OBJECT_E_SYNTAX},
        {"n", "1.5", OBJECT_E_SYNTAX},
        {"n", "\"7\"", OBJECT_E_SYNTAX}, /* one form for each number */
        {"n", "\"9007199254740992\"", 0},
        {"n", "\"18446744073709551615\"", 0},
        {"n", "\"18446744073709551616\"", OBJECT_E_SYNTAX},
        {"n", "null", OBJECT_E_SYNTAX},
        {"node", NULL, OBJECT_E_SYNTAX},
        {"node", "\"\"", OBJECT_E_SYNTAX},
        {"node", "\"a b\"", OBJECT_E_SYNTAX},
        {"node", "\"a+b\"", OBJECT_E_SYNTAX},
        {"node", "\"a\\u0000\"", OBJECT_E_SYNTAX},
        {"node", "\"a\\nb\"", OBJECT_E_SYNTAX},
        {"node", "\"Köln\"", OBJECT_E_SYNTAX},
        {"node", "null", OBJECT_E_SYNTAX},
        {"object", NULL, OBJECT_E_SYNTAX},
        {"object", "\"\"", OBJECT_E_SYNTAX},
        {"object", "\"01J9ZZZZZZ0123456789ABCDEF\"", OBJECT_E_SYNTAX},
        {"object", "\"" ID "\\u0000\"", OBJECT_E_SYNTAX},
        {"object", "null", OBJECT_E_SYNTAX},
        {"outcome", NULL, OBJECT_E_SYNTAX},
        {"outcome", "{}", OBJECT_E_SYNTAX},
        {"outcome", "\"success\"", OBJECT_E_SYNTAX},
        {"outcome", "{\"kind\":1}", OBJECT_E_SYNTAX},
        {"outcome", "{\"kind\":\"success\",\"latency_usec\":12}", 0},
        {"policy", NULL, OBJECT_E_SYNTAX},
        {"policy", "null", 0},
        {"policy", "{\"ref\":\"r\",\"rule\":\"x\",\"verdict\":\"denied\"}", 0},
        {"policy", "{\"ref\":\"r\",\"rule\":null,\"verdict\":\"denied\"}", OBJECT_E_SYNTAX},
        {"policy", "{\"ref\":\"r\"}", OBJECT_E_SYNTAX},
        {"policy", "{\"ref\":\"r\\u0000\",\"verdict\":\"denied\"}", OBJECT_E_SYNTAX},
        {"policy", "{\"verdict\":\"denied\"}", OBJECT_E_SYNTAX},
        {"policy", "{\"ref\":\"r\",\"verdict\":\"perhaps\"}", OBJECT_E_SYNTAX},
        {"policy", "{\"more\":1,\"ref\":\"r\",\"verdict\":\"denied\"}", OBJECT_E_SYNTAX},
        {"policy", "[]", OBJECT_E_SYNTAX},
        {"prev", NULL, OBJECT_E_SYNTAX},
        {"prev", "null", OBJECT_E_SYNTAX},
        {"prev", "\"00\"", OBJECT_E_SYNTAX},
        {"prev", "\"A000000000000000000000000000000000000000000000000000000000000000\"", OBJECT_E_SYNTAX},
        {"prev", "\"g000000000000000000000000000000000000000000000000000000000000000\"", OBJECT_E_SYNTAX},
        {"prev", "\"" ZEROS "00\"", OBJECT_E_SYNTAX},
        {"prev", "\"" ZEROS "\\u0000\"", OBJECT_E_SYNTAX},
        {"state", NULL, OBJECT_E_SYNTAX},
        {"state", "\"none\"", OBJECT_E_SYNTAX},
        {"state", "\"Dormant\"", OBJECT_E_SYNTAX},
        {"state", "5", OBJECT_E_SYNTAX},
        {"time", NULL, OBJECT_E_SYNTAX},
        {"time", "-1", OBJECT_E_SYNTAX},
        {"time", "0", 0},
        {"time", "\"0\"", OBJECT_E_SYNTAX},
        {"trace", NULL, OBJECT_E_SYNTAX},
        {"trace", "\"x\"", OBJECT_E_SYNTAX},
        {"trace", "null", OBJECT_E_SYNTAX},
        {"version", NULL, OBJECT_E_SYNTAX},
        {"version", "0", OBJECT_E_SYNTAX},
        {"version", "-1", OBJECT_E_SYNTAX},
        {"version", "1.5", OBJECT_E_SYNTAX},
        {"version", "\"1\"", OBJECT_E_SYNTAX},
        {"version", "2", OBJECT_E_VERSION},
        {"version", "9007199254740991", OBJECT_E_VERSION},
        {"note", "1", OBJECT_E_SYNTAX}, /* a member too many */
        {"", "1", OBJECT_E_SYNTAX},
        {"Version", "1", OBJECT_E_SYNTAX},
};

// O-5, O-7, O-41: each member stands in each entry, in its form, and no other does; all of it under a right signature
Test(entry, members) {
        for (size_t i = 0; i < ARRAY_SIZE(member_rows); i++) {
                const char *name = member_rows[i].name, *value = member_rows[i].value;
                _cleanup_json_ json_t *o = plain();
                _cleanup_free_ char *text = NULL;
                size_t n;
                Diag d;
                int r;

                if (value)
                        cr_assert_eq(json_object_set_new(o, name, json_loads(value, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL)), 0, "%s %s", name, value);
                else
                        cr_assert_eq(json_object_del(o, name), 0, "%s", name);
                cr_assert_eq(json_canonical(o, &text, &n), 0, "%s %s", name, value ?: "-");
                r = parse_text(text, n, &d);
                cr_expect_eq(r, member_rows[i].code, "%s %s: %d: %s", name, value ?: "-", r, d.text);
                if (r == OBJECT_E_SYNTAX)
                        cr_expect(strstr(d.text, name), "%s %s: %s", name, value ?: "-", d.text);
        }
}

// O-41: a newer version is refused as such, whatever else the entry has or lacks
Test(entry, newer_version) {
        static const char *const rows[] = {
                "{\"version\":2}",
                "{ \"version\" : 2, \"entry\" : [] }",
                "{\"n\":\"x\",\"prev\":null,\"version\":3,\"z\":{}}",
        };

        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                Diag d;

                cr_expect_eq(parse_text(rows[i], strlen(rows[i]), &d), OBJECT_E_VERSION, "%s: %s", rows[i], d.text);
                cr_expect(strstr(d.text, "version"), "%s: %s", rows[i], d.text);
        }
}

/* The plain text with the first `from` replaced by `to`, which may have U+0000. */
static void replaced(const char *from, const char *to, size_t n_to, Buf *ret) {
        const char *at = strstr(PLAIN_TEXT, from);

        cr_assert_not_null(at, "%s", from);
        cr_assert_eq(buf_add(ret, PLAIN_TEXT, (size_t)(at - PLAIN_TEXT)), 0);
        cr_assert_eq(buf_add(ret, to, n_to), 0);
        cr_assert_eq(buf_add_str(ret, at + strlen(from)), 0);
}

static const struct {
        const char *name, *from, *to;
        size_t n_to; /* 0: strlen */
        int code;
} form_rows[] = {
        {"as it is", "\"n\":7", "\"n\":7", 0, 0},
        {"a blank behind a colon", "\"n\":7", "\"n\": 7", 0, OBJECT_E_SYNTAX},
        {"a blank at the beginning", "{\"data\"", " {\"data\"", 0, OBJECT_E_SYNTAX},
        {"a blank at the end", "\"version\":1}", "\"version\":1} ", 0, OBJECT_E_SYNTAX},
        {"a line feed", "\"version\":1}", "\"version\":1\n}", 0, OBJECT_E_SYNTAX},
        {"an exponent", "\"n\":7", "\"n\":7e0", 0, OBJECT_E_SYNTAX},
        {"a fraction of nothing", "\"version\":1}", "\"version\":1.0}", 0, OBJECT_E_SYNTAX},
        {"a leading zero", "\"n\":7", "\"n\":07", 0, OBJECT_E_SYNTAX},
        {"minus zero", "\"n\":7", "\"n\":-0", 0, OBJECT_E_SYNTAX},
        {"an escape that is not needed", "\"go\"", "\"g\\u006f\"", 0, OBJECT_E_SYNTAX},
        {"an escaped slash", "lethe/00", "lethe\\/00", 0, OBJECT_E_SYNTAX},
        {"the same escape in upper case", "\"go\"", "\"\\u001F\"", 0, OBJECT_E_SYNTAX},
        {"an escape that is needed", "\"go\"", "\"\\u001f\"", 0, 0},
        {"members in another order", "\"kind\":\"input\",\"n\":7", "\"n\":7,\"kind\":\"input\"", 0, OBJECT_E_SYNTAX},
        {"members inside in another order", "\"from\":\"uid:1000\",\"input\":\"go\"", "\"input\":\"go\",\"from\":\"uid:1000\"", 0, OBJECT_E_SYNTAX},
        {"a member twice", "\"n\":7", "\"n\":7,\"n\":7", 0, OBJECT_E_SYNTAX},
        {"a member twice, once escaped", "\"n\":7", "\"n\":7,\"\\u006e\":8", 0, OBJECT_E_SYNTAX},
        {"a member twice inside", "\"input\":\"go\"", "\"input\":\"go\",\"input\":\"stay\"", 0, OBJECT_E_SYNTAX},
        {"U+0000 in a member's name", "\"n\":7", "\"n\":7,\"n\\u0000\":8", 0, OBJECT_E_SYNTAX},
        {"U+0000 in a member's name inside", "\"input\":\"go\"", "\"input\":\"go\",\"input\\u0000\":1", 0, OBJECT_E_SYNTAX},
        {"U+0000 in a text inside", "\"go\"", "\"g\\u0000o\"", 0, 0},
        {"a NUL byte in a text", "\"go\"", "\"g\0o\"", 5, OBJECT_E_SYNTAX},
        {"a NUL byte in a number", "\"n\":7", "\"n\":7\0", 6, OBJECT_E_SYNTAX},
        {"a NUL byte at the end", "\"version\":1}", "\"version\":1}\0", 13, OBJECT_E_SYNTAX},
        {"a byte that is not UTF-8", "\"go\"", "\"g\xffo\"", 0, OBJECT_E_SYNTAX},
        {"half a character", "\"go\"", "\"g\xc3\"", 0, OBJECT_E_SYNTAX},
        {"half a surrogate pair", "\"go\"", "\"\\ud83d\"", 0, OBJECT_E_SYNTAX},
        {"a character in more bytes than it needs", "\"go\"", "\"\xc0\x80\"", 0, OBJECT_E_SYNTAX},
        {"a character outside of the plane", "\"go\"", "\"\xf0\x9f\x98\x80\"", 0, 0},
        {"an integer beyond 2^53-1", "\"go\"", "9007199254740992", 0, OBJECT_E_SYNTAX},
        {"the largest integer", "\"go\"", "9007199254740991", 0, 0},
        {"a number beyond a double", "\"go\"", "1e999", 0, OBJECT_E_SYNTAX},
        {"a comment", "\"n\":7", "/**/\"n\":7", 0, OBJECT_E_SYNTAX},
        {"a trailing comma", "\"version\":1}", "\"version\":1,}", 0, OBJECT_E_SYNTAX},
        {"a byte order mark", "{\"data\"", "\xef\xbb\xbf{\"data\"", 0, OBJECT_E_SYNTAX},
        {"two values", "\"version\":1}", "\"version\":1}{}", 0, OBJECT_E_SYNTAX},
};

// O-7, O-39: an entry has one text; each other spelling of the same JSON is refused, and so is all that is not JSON
Test(entry, forms) {
        for (size_t i = 0; i < ARRAY_SIZE(form_rows); i++) {
                _cleanup_buf_ Buf text = {0};
                Diag d;
                int r;

                replaced(form_rows[i].from, form_rows[i].to, form_rows[i].n_to ?: strlen(form_rows[i].to), &text);
                r = parse_text(text.data, text.n, &d);
                cr_expect_eq(r, form_rows[i].code, "%s: %d: %s", form_rows[i].name, r, d.text);
                cr_expect_eq(r == 0, !*d.text, "%s: %s", form_rows[i].name, d.text);
        }
}

// An entry of 256 KiB is taken, and one of a byte more refused; so is one that nests too deep
Test(entry, bounds) {
        const size_t n_go = ENTRY_TEXT_MAX - (strlen(PLAIN_TEXT) - 2);
        _cleanup_free_ char *long_text = malloc(n_go + 3), *deep = malloc(2 * ENTRY_DEPTH_MAX + 1);
        Diag d;

        for (size_t more = 0; more < 2; more++) {
                _cleanup_buf_ Buf text = {0};

                memset(long_text, 'x', n_go + 3);
                long_text[0] = long_text[n_go + 1 + more] = '"';
                replaced("\"go\"", long_text, n_go + 2 + more, &text);
                cr_assert_eq(text.n, ENTRY_TEXT_MAX + more);
                cr_expect_eq(parse_text(text.data, text.n, &d), more ? OBJECT_E_SIZE : 0, "%zu bytes: %s", text.n, d.text);
        }
        for (size_t more = 0; more < 2; more++) {
                const size_t levels = ENTRY_DEPTH_MAX - 2 + more; /* inside of data, inside of the entry */
                _cleanup_buf_ Buf text = {0};

                memset(deep, '[', levels);
                memset(deep + levels, ']', levels);
                replaced("\"go\"", deep, 2 * levels, &text);
                cr_expect_eq(parse_text(text.data, text.n, &d), more ? OBJECT_E_SYNTAX : 0, "%zu levels: %s", levels, d.text);
        }
}

/* What a reader makes of a line: the first refusal of parse, and of the signature. */
static int read_line(const char *line, size_t n, const uint8_t pk[static 32]) {
        _cleanup_entry_ Entry e = ENTRY_NULL;
        Diag d = {0};
        int r = entry_parse(line, n, &e, &d);

        r = r ?: entry_verify(&e, pk, &d);
        cr_assert((r == 0) == !*d.text, "%d: %s", r, d.text);
        return r;
}

// O-7: no bit of an entry can be changed: neither of its text nor of the signature; a key's id that was changed names another key
Test(entry, each_bit) {
        _cleanup_buf_ Buf line = {0};
        Signer s;

        signer_init(&s, 1);
        signer_line(&s, PLAIN_TEXT, strlen(PLAIN_TEXT), &line);
        cr_assert_eq(read_line(line.data, line.n, s.pk), 0);
        for (size_t i = 0; i < line.n; i++)
                for (unsigned bit = 0; bit < 8; bit++) {
                        _cleanup_entry_ Entry e = ENTRY_NULL;

                        line.data[i] = (char)(line.data[i] ^ 1 << bit);
                        if (read_line(line.data, line.n, s.pk) == 0) {
                                cr_assert_eq(entry_parse(line.data, line.n, &e, NULL), 0);
                                cr_expect_str_neq(e.keyid, s.keyid, "byte %zu, bit %u", i, bit);
                        }
                        line.data[i] = (char)(line.data[i] ^ 1 << bit);
                }
}

// O-7: no part of a line is an entry, and no line with more behind
Test(entry, each_cut) {
        _cleanup_buf_ Buf line = {0};
        Signer s;

        signer_init(&s, 1);
        signer_line(&s, PLAIN_TEXT, strlen(PLAIN_TEXT), &line);
        for (size_t n = 0; n < line.n; n++) {
                cr_expect_eq(read_line(line.data, n, s.pk), OBJECT_E_SYNTAX, "%zu bytes", n);
                cr_expect_eq(read_line(line.data + line.n - n, n, s.pk), OBJECT_E_SYNTAX, "the last %zu bytes", n);
        }
        static const char behind[] = {'\n', ' ', 0, '=', 'x'};

        for (const char *p = behind; p < behind + sizeof behind; p++) {
                _cleanup_buf_ Buf more = {0};

                cr_assert_eq(buf_add(&more, line.data, line.n) ?: buf_add(&more, p, 1), 0);
                cr_expect_eq(read_line(more.data, more.n, s.pk), OBJECT_E_SYNTAX, "with byte %d", *p);
        }
}

// O-7, O-9: a signature is of one key, over the domain and the text
Test(entry, signatures) {
        _cleanup_buf_ Buf line = {0}, bare = {0};
        uint8_t sig[64];
        char b64[89];
        Signer s, other;

        signer_init(&s, 1);
        signer_init(&other, 2);
        signer_line(&s, PLAIN_TEXT, strlen(PLAIN_TEXT), &line);
        cr_expect_eq(read_line(line.data, line.n, s.pk), 0);
        cr_expect_eq(read_line(line.data, line.n, other.pk), OBJECT_E_SIGNATURE, "the key of another node");
        cr_expect_eq(read_line(line.data, line.n, (uint8_t[32]){0}), OBJECT_E_SIGNATURE, "a key of small order");

        /* As a node signs other things: without the domain. */
        crypto_sign_detached(sig, NULL, (const uint8_t *)PLAIN_TEXT, strlen(PLAIN_TEXT), s.sk);
        note_base64(sig, sizeof(sig), b64, sizeof(b64));
        cr_assert_eq(buf_printf(&bare, "%s %s %s", PLAIN_TEXT, s.keyid, b64), 0);
        cr_expect_eq(read_line(bare.data, bare.n, s.pk), OBJECT_E_SIGNATURE, "a signature without the domain");
}

static const struct {
        const char *name;
        EntryNew e;
        const char *data, *outcome, *policy;
        int code;
} make_rows[] = {
        {"right", {.object = ID, .node = "a", .trace = TRACE, .state = OBJECT_INSTANTIATED}, "{}", NULL, NULL, 0},
        {"an object that is no id", {.object = "x", .node = "a", .trace = TRACE, .state = OBJECT_INSTANTIATED}, "{}", NULL, NULL, OBJECT_E_SYNTAX},
        {"a trace that is no id", {.object = ID, .node = "a", .trace = "", .state = OBJECT_INSTANTIATED}, "{}", NULL, NULL, OBJECT_E_SYNTAX},
        {"a node with a blank", {.object = ID, .node = "a b", .trace = TRACE, .state = OBJECT_INSTANTIATED}, "{}", NULL, NULL, OBJECT_E_SYNTAX},
        {"a node that is not UTF-8", {.object = ID, .node = "\xff", .trace = TRACE, .state = OBJECT_INSTANTIATED}, "{}", NULL, NULL, OBJECT_E_SYNTAX},
        {"no state", {.object = ID, .node = "a", .trace = TRACE, .state = OBJECT_NONE}, "{}", NULL, NULL, OBJECT_E_SYNTAX},
        {"data that is no object", {.object = ID, .node = "a", .trace = TRACE, .state = OBJECT_DORMANT}, "[]", NULL, NULL, OBJECT_E_SYNTAX},
        {"an integer beyond 2^53-1", {.object = ID, .node = "a", .trace = TRACE, .state = OBJECT_DORMANT}, "{\"x\":9007199254740992}", NULL, NULL, OBJECT_E_SYNTAX},
        {"an outcome without a kind", {.object = ID, .node = "a", .trace = TRACE, .state = OBJECT_DORMANT}, "{}", "{}", NULL, OBJECT_E_SYNTAX},
        {"a policy without a verdict", {.object = ID, .node = "a", .trace = TRACE, .state = OBJECT_DORMANT}, "{}", NULL, "{\"ref\":\"r\"}", OBJECT_E_SYNTAX},
};

// Nothing is signed that a reader refuses
Test(entry, nothing_wrong_is_signed) {
        for (size_t i = 0; i < ARRAY_SIZE(make_rows); i++) {
                _cleanup_json_ json_t *data = json_loads(make_rows[i].data, 0, NULL), *outcome = json_loads(make_rows[i].outcome ?: "-", 0, NULL),
                                      *policy = json_loads(make_rows[i].policy ?: "-", 0, NULL);
                _cleanup_entry_ Entry made = ENTRY_NULL;
                EntryNew e = make_rows[i].e;
                Diag d = {0};
                Signer s;
                int r;

                signer_init(&s, 1);
                e.data = data;
                e.outcome = outcome;
                e.policy = policy;
                r = entry_make(&e, s.keyid, signer_sign, &s, &made, &d);
                cr_expect_eq(r, make_rows[i].code, "%s: %d: %s", make_rows[i].name, r, d.text);
                cr_expect_eq(s.signs, r == 0, "%s", make_rows[i].name);
                cr_expect_eq(r == 0, !*d.text, "%s: %s", make_rows[i].name, d.text);
        }
}

// An entry that is too large is not signed; the error of a key that cannot sign is passed on
Test(entry, make_fails) {
        _cleanup_free_ char *much = malloc(ENTRY_TEXT_MAX + 1);
        _cleanup_json_ json_t *data = NULL;
        _cleanup_entry_ Entry made = ENTRY_NULL;
        EntryNew e = {.object = ID, .node = "a", .trace = TRACE, .kind = ENTRY_INPUT, .state = OBJECT_DORMANT};
        Diag d = {0};
        Signer s;

        signer_init(&s, 1);
        memset(much, 'x', ENTRY_TEXT_MAX);
        much[ENTRY_TEXT_MAX] = 0;
        data = json_pack("{s:s}", "input", much);
        e.data = data;
        cr_expect_eq(entry_make(&e, s.keyid, signer_sign, &s, &made, &d), OBJECT_E_SIZE, "%s", d.text);
        cr_expect_eq(s.signs, 0);
        e.data = NULL;
        s.refuses = -ENOKEY;
        cr_expect_eq(entry_make(&e, s.keyid, signer_sign, &s, &made, &d), -ENOKEY);
        cr_expect_null(made.json);
        cr_expect_null(made.text);
}

// O-6: an entry shares nothing with what it was made of: later changes of that change no entry
Test(entry, shares_nothing) {
        _cleanup_json_ json_t *data = json_pack("{s:s}", "input", "go");
        _cleanup_entry_ Entry made = ENTRY_NULL;
        EntryNew e = {.object = ID, .node = "a", .trace = TRACE, .kind = ENTRY_INPUT, .state = OBJECT_DORMANT, .data = data};
        Signer s;

        signer_init(&s, 1);
        cr_assert_eq(entry_make(&e, s.keyid, signer_sign, &s, &made, NULL), 0);
        cr_assert_eq(json_object_set_new(data, "input", json_string("stay")), 0);
        cr_expect_str_eq(json_str(json_object_get(made.json, "data"), "input"), "go");
        cr_expect_eq(data->refcount, 1);
}
