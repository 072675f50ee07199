#include "audit/certificate.h"
#include "base/hash.h"
#include "engine/engine.h"
#include "ledger/dsse.h"
#include "store/hooks.h"
#include "tests/support/store-fixture.h"

#include <sodium.h>
#include <string.h>

#define A "00000000000000000000000000"
#define ALIVE "11111111111111111111111111"
#define NEVER "22222222222222222222222222"

/* Region A ended, with the record that is given; ALIVE did not. */
static void fill(StoreFixture *f, const char *teardown_text) {
        _cleanup_json_ json_t *released = NULL, *ended = json_pack("{s:s}", "outcome", "exited"),
                              *by = json_pack("{s:s, s:i, s:s}", "host", "sha256:h", "uid", 7, "version", "1.2.3");
        RegionStart s = {.region = A, .skill_name = "s", .skill_digest = "sha256:d", .tier = "namespaces", .by = by};
        Txn *t;

        cr_assert_eq(json_parse(teardown_text, strlen(teardown_text), 4096, 8, &released, &f->d), 0, "%s", f->d.text);
        store_fixture_init(f, STORE_SUPERVISE);
        t = store_fixture_begin(f, true);
        cr_assert_eq(engine_region_start(t, &s, NULL, NULL, &f->d), 0);
        cr_assert_eq(engine_region_end(t, &(RegionEnd){A, true, released, ended}, NULL, NULL, NULL), 0);
        s.region = ALIVE;
        cr_assert_eq(engine_region_start(t, &s, NULL, NULL, &f->d), 0);
        store_fixture_commit(f, t);
        /* As the command line opens it: the key is read when it is needed. */
        store_fixture_close(f);
        store_fixture_open(f, STORE_READ);
}

#define CLEARED "{\"teardown\":{\"grade\":\"cleared\",\"passes\":1,\"bytes_overwritten\":8,\"bytes_verified\":8,\"usec\":5,\"new_field\":[\"kept\"]}}"

static void build(StoreFixture *f, Buf *ret) {
        _cleanup_txn_ Txn *t = store_fixture_begin(f, false);

        cr_assert_eq(certificate_build(t, A, ret, &f->d), 0, "%s", f->d.text);
}

static const char *text_at(const json_t *o, const char *a, const char *b) {
        const char *s = json_string_value(json_object_get(json_object_get(json_object_get(o, "predicate"), a), b));

        return s ? s : "";
}

// I-16, I-60: NIST's words are never better than the record.
Test(certificate, says_what_the_record_says) {
        static const struct {
                const char *name, *released, *method, *result;
                const char *technique; /* what it begins with; NULL: none */
        } rows[] = {
                {"cleared", CLEARED, "Clear", "passed", "overwritten in place"},
                {"partial", "{\"teardown\":{\"grade\":\"partial\",\"bytes_overwritten\":8,\"bytes_verified\":8}}", "Clear (incomplete)", "incomplete", "in part overwritten"},
                {"less verified", "{\"teardown\":{\"grade\":\"cleared\",\"bytes_overwritten\":8,\"bytes_verified\":7}}", "Clear (incomplete)", "incomplete", "in part overwritten"},
                {"missed", "{\"teardown\":{\"grade\":\"cleared\",\"bytes_missed\":{\"x\":1}}}", "Clear (incomplete)", "incomplete"},
                {"unscrubbed", "{\"teardown\":{\"grade\":\"unscrubbed\"}}", "None", "not performed"},
                {"unscrubbed, but for the supervisor's", "{\"teardown\":{\"grade\":\"unscrubbed\",\"method\":\"exit_stop\",\"bytes_overwritten\":8,\"bytes_verified\":8,\"usec\":0}}", "None",
                 "not performed", "none of any process"},
                {"nothing held", "{\"teardown\":{\"grade\":\"nothing_held\",\"method\":\"none\",\"bytes_overwritten\":8,\"bytes_verified\":8}}", "None", "nothing was held",
                 "none of any process"},
                {"unknown", "{\"teardown\":{\"grade\":\"spotless\"}}", "None", "not performed"},
                {"no record", "{}", "None", "not performed"},
        };

        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                _cleanup_store_fixture_ StoreFixture f;
                _cleanup_json_ json_t *o = NULL, *released = NULL;
                _cleanup_buf_ Buf b = {0};
                json_t *recorded;

                fill(&f, rows[i].released);
                build(&f, &b);
                cr_assert_eq(certificate_check(b.data, b.n, store_public_key(f.store), &o, &f.d), 0, "%s: %s", rows[i].name, f.d.text);
                cr_assert_str_eq(text_at(o, "sanitization", "method"), rows[i].method, "%s", rows[i].name);
                cr_assert_str_eq(text_at(o, "verification", "result"), rows[i].result, "%s", rows[i].name);
                cr_assert(rows[i].technique ? strncmp(text_at(o, "sanitization", "technique"), rows[i].technique, strlen(rows[i].technique)) == 0
                                            : strcmp(text_at(o, "sanitization", "technique"), "none") == 0,
                          "%s: %s", rows[i].name, text_at(o, "sanitization", "technique"));
                cr_assert_eq(strcmp(text_at(o, "verification", "method"), "none") == 0, strcmp(rows[i].result, "not performed") == 0 || strncmp(rows[i].name, "missed", 6) == 0, "%s",
                             rows[i].name);
                cr_assert_str_eq(text_at(o, "media", "id"), A);
                cr_assert_str_eq(text_at(o, "location", "host"), "sha256:h");
                /* The evidence is passed through, fields that nobody here knows among it. */
                cr_assert_eq(json_parse(rows[i].released, strlen(rows[i].released), 4096, 8, &released, &f.d), 0);
                recorded = json_object_get(released, "teardown");
                cr_assert(json_equal(json_object_get(json_object_get(o, "predicate"), "teardown"), recorded ? recorded : json_null()), "%s", rows[i].name);
        }
}

Test(certificate, only_of_a_region_that_was_released) {
        static const struct {
                const char *region;
                int code;
                const char *says;
        } rows[] = {{ALIVE, CERTIFICATE_E_NOT_RELEASED, "supervisor died"}, {NEVER, CERTIFICATE_E_NO_REGION, "not in this store"}};
        _cleanup_store_fixture_ StoreFixture f;

        fill(&f, CLEARED);
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                _cleanup_txn_ Txn *t = store_fixture_begin(&f, false);
                _cleanup_buf_ Buf b = {0};

                cr_assert_eq(certificate_build(t, rows[i].region, &b, &f.d), rows[i].code, "%s", f.d.text);
                cr_assert(strstr(f.d.text, rows[i].says), "%s", f.d.text);
                cr_assert_eq(b.n, 0);
        }
}

/* Every byte, in two ways; and every length that is not its own. */
Test(certificate, a_changed_byte_is_refused) {
        _cleanup_store_fixture_ StoreFixture f;
        _cleanup_buf_ Buf b = {0};

        fill(&f, CLEARED);
        build(&f, &b);
        for (size_t i = 0; i < b.n; i++)
                for (unsigned k = 0; k < 2; k++) {
                        unsigned char flip = k ? 0x20 : (unsigned char)(1u << (i % 8));
                        json_t *o = NULL;

                        b.data[i] ^= (char)flip;
                        cr_assert_eq(certificate_check(b.data, b.n, store_public_key(f.store), &o, &f.d), CERTIFICATE_E_WRONG, "byte %zu ^ %02x", i, flip);
                        cr_assert_null(o);
                        b.data[i] ^= (char)flip;
                }
        for (size_t n = 0; n < b.n; n += n < 200 ? 1 : 37) {
                json_t *o = NULL;

                cr_assert_eq(certificate_check(b.data, n, store_public_key(f.store), &o, &f.d), CERTIFICATE_E_WRONG, "%zu bytes", n);
        }
}

Test(certificate, of_another_key_is_refused) {
        _cleanup_store_fixture_ StoreFixture f;
        _cleanup_buf_ Buf b = {0};
        uint8_t other[32] = {0};
        json_t *o = NULL;

        fill(&f, CLEARED);
        build(&f, &b);
        cr_assert_eq(certificate_check(b.data, b.n, other, &o, &f.d), CERTIFICATE_E_WRONG);
        cr_assert(strstr(f.d.text, "another key"), "%s", f.d.text);
}

/* Statements that the key signed, but that the ledger does not bear out. */
Test(certificate, what_the_ledger_does_not_say_is_refused) {
        static const struct {
                const char *name, *from, *to, *says;
        } rows[] = {
                {"better evidence", "\"teardown\":{\"bytes_overwritten\":8,", "\"teardown\":{\"bytes_overwritten\":9,", "evidence"},
                {"another subject", "\"name\":\"" A, "\"name\":\"" NEVER, "not the release"},
                {"another media", "\"media\":{\"id\":\"" A, "\"media\":{\"id\":\"" NEVER, "not the release"},
                {"another digest", "\"sha256\":\"", NULL, "digest"},
                {"another entry", "\"entry\":\"{", "\"entry\":\" ", "path does not lead"},
                {"another number", "\"seq\":2", "\"seq\":3", "proof's entry is not"},
                {"another origin", "\"origin\":\"lethe", "\"origin\":\"Lethe", "proof's checkpoint is not"},
                {"another result", "\"result\":\"passed\"", "\"result\":\"PASSED\"", "do not follow from the evidence"},
                {"another grade", "\"grade\":\"cleared\",\"method\"", "\"grade\":\"cleaned\",\"method\"", "do not follow from the evidence"},
                {"more passes", "\"passes\":1", "\"passes\":3", "do not follow from the evidence"},
                {"another type", "in-toto.io/Statement/v1", "in-toto.io/Statement/v2", "a different type"},
                {"another predicate", "urn:lethe:region", "urn:Lethe:region", "a different type"},
        };
        _cleanup_store_fixture_ StoreFixture f;
        _cleanup_free_ char *payload = NULL;
        _cleanup_buf_ Buf b = {0};
        size_t n;

        fill(&f, CLEARED);
        build(&f, &b);
        cr_assert_eq(dsse_open(b.data, b.n, CERTIFICATE_PAYLOAD_TYPE, store_public_key(f.store), &payload, &n, &f.d), 0, "%s", f.d.text);
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                _cleanup_free_ char *changed = malloc(n);
                _cleanup_buf_ Buf forged = {0};
                _cleanup_json_ json_t *o = NULL;
                char *at;

                memcpy(changed, payload, n);
                at = memmem(changed, n, rows[i].from, strlen(rows[i].from));
                cr_assert_not_null(at, "%s", rows[i].name);
                if (rows[i].to)
                        memcpy(at, rows[i].to, strlen(rows[i].to));
                else { /* the subject's digest is the last of them */
                        for (char *next = at; (next = memmem(next + 1, n - (size_t)(next + 1 - changed), rows[i].from, strlen(rows[i].from)));)
                                at = next;
                        at[10] = at[10] == '0' ? '1' : '0';
                }
                cr_assert_eq(dsse_seal(f.store, CERTIFICATE_PAYLOAD_TYPE, changed, n, &forged, &f.d), 0);
                cr_assert_eq(certificate_check(forged.data, forged.n, store_public_key(f.store), &o, &f.d), CERTIFICATE_E_WRONG, "%s", rows[i].name);
                cr_assert(strstr(f.d.text, rows[i].says), "%s: %s", rows[i].name, f.d.text);
        }
}

/* The example of the DSSE specification for the encoding that is signed: "DSSEv1 29 http://example.com/HelloWorld 11 hello world". */
Test(certificate, signs_what_dsse_says) {
        _cleanup_store_fixture_ StoreFixture f;
        _cleanup_buf_ Buf b = {0};
        _cleanup_json_ json_t *o = NULL;
        static const char pae[] = "DSSEv1 29 http://example.com/HelloWorld 11 hello world";
        const char *sig, *payload;
        uint8_t signature[64];

        fill(&f, CLEARED);
        cr_assert_eq(dsse_seal(f.store, "http://example.com/HelloWorld", "hello world", 11, &b, &f.d), 0, "%s", f.d.text);
        cr_assert_eq(json_parse(b.data, b.n, b.n, 8, &o, &f.d), 0);
        payload = json_string_value(json_object_get(o, "payload"));
        sig = json_string_value(json_object_get(json_array_get(json_object_get(o, "signatures"), 0), "sig"));
        cr_assert_str_eq(payload, "aGVsbG8gd29ybGQ=");
        cr_assert_eq(base64_decode(sig, strlen(sig), signature, 64), 64);
        cr_assert_eq(crypto_sign_verify_detached(signature, (const uint8_t *)pae, strlen(pae), store_public_key(f.store)), 0);
}
