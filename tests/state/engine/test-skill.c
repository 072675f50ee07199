/* Runs: tests. The registry of skills: events, rows, and that the audit sees through a changed row. */
#include "audit/audit.h"
#include "base/hash.h"
#include "record/event.h"
#include "engine/skill.h"
#include "ledger/ledger.h"
#include "tests/support/store-fixture.h"

#include <errno.h>
#include <string.h>

/* A record with one file; its digest is of the list, as the audit wants it. */
static SkillRecord record(const char *name, const char *content, json_t **ret_files, char digest[static SKILL_DIGEST_MAX]) {
        _cleanup_free_ char *text = NULL;
        uint8_t hash[HASH_BYTES];
        size_t n;

        *ret_files = json_pack("[{s:s, s:s}]", "path", "SKILL.md", "digest", content);
        cr_assert_eq(json_canonical(*ret_files, &text, &n), 0);
        hash_bytes(text, n, hash);
        memcpy(digest, "sha256:", 7);
        hex_encode(hash, sizeof(hash), digest + 7);
        return (SkillRecord){.name = name, .folder = "/srv/skill", .digest = digest, .manifest = strcmp(content, "none") ? content : NULL, .files = *ret_files};
}

static uint64_t add(StoreFixture *f, const char *name, const char *content, bool *ret_new) {
        _cleanup_json_ json_t *files = NULL;
        char digest[SKILL_DIGEST_MAX];
        SkillRecord r = record(name, content, &files, digest);
        Txn *t = store_fixture_begin(f, true);
        uint64_t seq;

        cr_assert_eq(engine_skill_register(t, "uid:0", &r, &seq, ret_new), 0);
        store_fixture_commit(f, t);
        return seq;
}

static int audit(StoreFixture *f, AuditReport *report) {
        *report = (AuditReport){0};
        return audit_run(f->store, report);
}

Test(skill, registered_again_and_changed) { // I-28
        _cleanup_store_fixture_ StoreFixture f;
        _cleanup_skill_row_ SkillRow row = {0};
        _cleanup_json_ json_t *entry = NULL;
        AuditReport report;
        SkillRow *rows;
        size_t n;
        bool fresh;
        Txn *t;

        store_fixture_init(&f, STORE_WRITE);
        cr_expect_eq(add(&f, "b", "one", &fresh), 1);
        cr_expect(fresh);
        cr_expect_eq(add(&f, "b", "one", &fresh), 1);
        cr_expect(!fresh, "the same again appends nothing");
        cr_expect_eq(add(&f, "a", "none", &fresh), 2);
        cr_expect_eq(add(&f, "b", "two", &fresh), 3);
        t = store_fixture_begin(&f, false);
        cr_assert_eq(engine_skill_get(t, "b", &row), 0);
        cr_expect_eq(row.seq, 3);
        cr_expect_str_eq(row.manifest, "two");
        cr_expect_str_eq(row.folder, "/srv/skill");
        cr_expect_str_eq(json_string_value(json_object_get(json_array_get(row.files, 0), "digest")), "two");
        cr_assert_eq(event_get(t, 3, &entry), 0);
        cr_expect_eq(json_integer_value(json_object_get(json_object_get(entry, "replaces"), "seq")), 1);
        cr_expect(json_is_true(json_object_get(json_object_get(entry, "replaces"), "manifest_changed")));
        cr_expect_eq(engine_skill_get(t, "c", &row), -ENOENT);
        cr_expect_eq(engine_skill_get(t, "", &row), -ENOENT);
        cr_assert_eq(engine_skill_list(t, &rows, &n), 0);
        cr_assert_eq(n, 2);
        cr_expect_str_eq(rows[0].name, "a");
        cr_expect_null(rows[0].manifest);
        cr_expect_str_eq(rows[1].name, "b");
        for (size_t i = 0; i < n; i++)
                skill_row_deinit(&rows[i]);
        free(rows);
        store_abort(t);
        cr_expect_eq(audit(&f, &report), 0);
}

/* A row that points at the older registration would let a changed skill run as registered. */
Test(skill, audit_sees_a_changed_row) {
        static const struct {
                const char *what;
                uint64_t seq; /* 0: the row is removed */
        } changes[] = {{"an older registration", 1}, {"another skill's", 2}, {"removed", 0}};

        for (size_t i = 0; i < ARRAY_SIZE(changes); i++) {
                _cleanup_store_fixture_ StoreFixture f;
                AuditReport report;
                uint8_t seq[8];
                bool fresh;
                Txn *t;

                store_fixture_init(&f, STORE_WRITE);
                add(&f, "b", "one", &fresh);
                add(&f, "a", "one", &fresh);
                add(&f, "b", "two", &fresh);
                t = store_fixture_begin(&f, true);
                be64_put(seq, changes[i].seq);
                if (changes[i].seq)
                        cr_assert_eq(table_put(t, TABLE_SKILL, BYTES_STR("b"), BYTES(seq, 8)), 0);
                else
                        cr_assert_eq(table_del(t, TABLE_SKILL, BYTES_STR("b")), 0);
                store_fixture_commit(&f, t);
                cr_expect_eq(audit(&f, &report), AUDIT_E_BROKEN, "%s", changes[i].what);
        }
}

/* An entry whose digest is not that of its list, made by something else than the engine. */
Test(skill, audit_sees_a_false_digest) {
        _cleanup_store_fixture_ StoreFixture f;
        _cleanup_json_ json_t *files = NULL;
        char digest[SKILL_DIGEST_MAX];
        AuditReport report;
        SkillRecord r;
        uint64_t seq;
        bool fresh;
        Txn *t;

        store_fixture_init(&f, STORE_WRITE);
        r = record("a", "one", &files, digest);
        digest[10] ^= 1;
        t = store_fixture_begin(&f, true);
        cr_assert_eq(engine_skill_register(t, "uid:0", &r, &seq, &fresh), 0);
        store_fixture_commit(&f, t);
        cr_expect_eq(audit(&f, &report), AUDIT_E_BROKEN);
}
