#include "memory/records.h"
#include "record/rows.h"
#include "tests/state/engine/cleanup-fixture.h"

#include <criterion/criterion.h>
#include <errno.h>

// M-12: bytes in the store that do not hold are an error, and no answer that looks like one
Test(records, damaged_bytes_are_an_error) {
        static const struct {
                Table table;
                const char *bytes; /* in place of the row's; of a body behind its nonce */
        } rows[] = {
                {TABLE_BODY, ""},
                {TABLE_BODY, "{"},
                {TABLE_BODY, "[]"},
                {TABLE_BODY, "{}"},
                {TABLE_BODY, "{\"payload\":{}}"},
                {TABLE_BODY, "{\"payload\":{\"summary\":1}}"},
                {TABLE_BODY, "{\"payload\":{\"summary\":\"s\",\"support\":9}}"},
                {TABLE_BODY, NULL}, /* not there */
                {TABLE_REC, ""},
                {TABLE_REC, "{}"},
                {TABLE_REC, "{\"content\":2,\"created\":2,\"last\":2,\"state\":\"alive\",\"type\":\"episodic\",\"version\":1}"},
                {TABLE_REC, "{\"content\":2,\"created\":2,\"last\":2,\"state\":\"active\",\"type\":\"semantic\",\"version\":1}"},
                {TABLE_REC, "{\"content\":-2,\"created\":2,\"last\":2,\"state\":\"active\",\"type\":\"episodic\",\"version\":1}"},
        };

        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                _cleanup_json_ json_t *o = NULL, *list = NULL;
                _cleanup_record_ Record rec = RECORD_NULL;
                uint8_t key[RECORD_KEY_MAX] = {0}, bytes[512] = {0};
                size_t n_key = 8, n = 0;
                RecordFilter f = {0};
                StoreFixture store;
                Diag d = {0};
                RecordKey k;
                Txn *t;

                store_fixture_init(&store, STORE_WRITE);
                t = store_fixture_begin(&store, true);
                cr_assert_eq(save(t, 'm', "one", "", &d), 0, "%s", d.text);
                k = key_of(t, 'm', "one");
                cr_assert_eq(record_get(t, &k, &rec), 0);
                cr_assert_eq(memory_load(t, SCOPE_DEFAULT, KIND_MEMORY, "one", &o, &d), 0);
                json_decref(TAKE_PTR(o));
                if (rows[i].table == TABLE_BODY)
                        be64_put(key, rec.content);
                else
                        n_key = record_key(&k, key);
                n = rows[i].table == TABLE_BODY ? BODY_NONCE_BYTES : 0;
                if (rows[i].bytes) {
                        memcpy(bytes + n, rows[i].bytes, strlen(rows[i].bytes));
                        cr_assert_eq(table_put(t, rows[i].table, BYTES(key, n_key), BYTES(bytes, n + strlen(rows[i].bytes))), 0);
                } else
                        cr_assert_eq(table_del(t, rows[i].table, BYTES(key, n_key)), 0);
                cr_expect_eq(memory_load(t, SCOPE_DEFAULT, KIND_MEMORY, "one", &o, &d), -EUCLEAN, "row %zu", i);
                cr_expect_null(o);
                cr_expect_eq(memory_list(t, SCOPE_DEFAULT, &f, &list, &d), -EUCLEAN, "row %zu", i);
                store_abort(t);
                store_fixture_deinit(&store);
        }
}
