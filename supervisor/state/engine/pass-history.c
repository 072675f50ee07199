#include "engine/pass-history.h"

#include "base/clock.h"
#include "engine/scope.h"
#include "record/event.h"
#include "record/rows.h"

#include <errno.h>
#include <string.h>

#define ROW_MAX 4096

static int pass_scope_row(Txn *t, const char *name, json_t **ret) {
        Bytes v;

        return table_get(t, TABLE_SCOPE, BYTES_STR(name), &v) ?: json_row_parse(v, ROW_MAX, ret);
}

int pass_last(Txn *t, uint64_t scope, uint64_t *ret_number, uint64_t *ret_seq) {
        _cleanup_json_ json_t *row = NULL;
        char name[SCOPE_NAME_MAX];
        int r = scope_name_of(t, scope, name)
                ?: pass_scope_row(t, name, &row)
                ?: json_row_number(row, "passes", ret_number);

        return r < 0 ? r : json_row_number(row, "pass", ret_seq);
}

int pass_project(Txn *t, const Projection *p) {
        const char *name = json_text(json_object_get(p->entry, "name"));
        _cleanup_json_ json_t *row = NULL;
        uint64_t number, last;
        int r;

        if (!name || json_get_u64(json_object_get(p->entry, "pass"), &number) < 0)
                return -EUCLEAN;
        r = pass_scope_row(t, name, &row) ?: json_row_number(row, "passes", &last);
        if (r < 0 || !json_equal(json_object_get(row, "created"), json_object_get(p->entry, "scope")) ||
            number != last + 1)
                return r < 0 && r != -ENOENT ? r : -EUCLEAN;
        if (json_object_set_new(row, "passes", json_u64(number)) < 0 ||
            json_object_set_new(row, "pass", json_u64(p->seq)) < 0)
                return -ENOMEM;
        return json_row_put(t, TABLE_SCOPE, BYTES_STR(name), row);
}

int pass_before(Txn *t, uint64_t seq, uint64_t *ret) {
        _cleanup_json_ json_t *entry = NULL;

        return event_get(t, seq, &entry) ?: json_row_number(entry, "before", ret);
}

int pass_erase(Txn *t, uint64_t scope) {
        uint64_t number, seq;
        int r = pass_last(t, scope, &number, &seq);

        while (r == 0 && seq) {
                r = body_del(t, seq);
                if (r == 0)
                        r = pass_before(t, seq, &seq);
        }
        return r;
}

int pass_unsupported_since(Txn *t, const RecordKey *k, uint64_t *ret_pass) {
        _cleanup_json_ json_t *body = NULL;
        const json_t *list, *since;
        uint64_t number, seq;
        int r = pass_last(t, k->scope, &number, &seq);

        if (r == 0)
                r = seq ? record_body(t, seq, &body) : -ENOENT;
        if (r < 0)
                return r;
        list = json_object_get(json_object_get(body, "unsupported"), kind_name(k->kind));
        since = json_object_get(list, k->id);
        if (!since)
                return -ENOENT;
        return json_get_u64(since, ret_pass) < 0 ? -EUCLEAN : 0;
}

int pass_archived_usec(Txn *t, const Record *rec, uint64_t *ret_usec) {
        _cleanup_json_ json_t *entry = NULL;
        uint64_t seq;
        int r = json_get_u64(json_object_get(rec->row, "closed"), &seq) < 0 ? -EUCLEAN : event_get(t, seq, &entry);

        return r < 0 ? r : clock_parse(json_str(entry, "time"), ret_usec) < 0 ? -EUCLEAN : 0;
}

int pass_of_archival(Txn *t, const Record *rec, uint64_t *ret_pass) {
        _cleanup_json_ json_t *entry = NULL;
        uint64_t seq;
        int r = json_get_u64(json_object_get(rec->row, "closed"), &seq) < 0 ? -EUCLEAN : event_get(t, seq, &entry);

        if (r == 0 && json_get_u64(json_object_get(entry, "pass"), ret_pass) < 0)
                r = -EUCLEAN;
        return r;
}
